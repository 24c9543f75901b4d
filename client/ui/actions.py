"""Actions: the meaning of keys, clicks and mouse movements on the screen."""

import enum
from typing import TypeAlias

from msgspec import Struct

from engine.board import Hex
from engine.pieces import Piece


class Act(enum.Enum):
    """An action without further data."""

    CONFIRM = enum.auto()
    CANCEL = enum.auto()
    NEXT_PIECE = enum.auto()
    LAST_PIECE = enum.auto()
    ROTATE = enum.auto()
    ROTATE_BACK = enum.auto()
    NEXT = enum.auto()
    BACK = enum.auto()
    NEXT_HILL = enum.auto()
    FIRST = enum.auto()
    SKIP = enum.auto()
    RUN = enum.auto()
    OPEN = enum.auto()
    LAYOUT = enum.auto()
    STARTING = enum.auto()
    BRAIN = enum.auto()
    PACE = enum.auto()
    NAME = enum.auto()
    ADDRESS = enum.auto()
    WATCH = enum.auto()
    REFRESH = enum.auto()
    START = enum.auto()
    READY = enum.auto()
    PEOPLE = enum.auto()
    ABSENCE = enum.auto()
    PRIVATE = enum.auto()
    HINTS = enum.auto()
    BELL = enum.auto()
    WINDOW_TITLE = enum.auto()
    NOTICES = enum.auto()
    WAYS_IN = enum.auto()
    MORE = enum.auto()
    LESS = enum.auto()
    SEAT_BOT = enum.auto()
    REMATCH = enum.auto()
    REVIEW = enum.auto()
    ANALYSE = enum.auto()
    DECIDING = enum.auto()
    SAVE_RECORD = enum.auto()
    SAVE_PICTURE = enum.auto()
    REMOVE = enum.auto()
    VOTE = enum.auto()
    PAUSE = enum.auto()
    HINT = enum.auto()
    LEAVE = enum.auto()
    GO = enum.auto()
    NEXT_EYES = enum.auto()
    LAST_EYES = enum.auto()
    ALL_EYES = enum.auto()
    NO_EYES = enum.auto()
    MENU = enum.auto()
    COMMAND = enum.auto()
    CHAT = enum.auto()
    TALK = enum.auto()
    HELP = enum.auto()
    RULES = enum.auto()
    COUNTS = enum.auto()
    WHOLE = enum.auto()
    QUIT = enum.auto()
    PAGE_UP = enum.auto()
    PAGE_DOWN = enum.auto()
    ERASE = enum.auto()
    DELETE = enum.auto()
    CLEAR = enum.auto()
    COMPLETE = enum.auto()
    TO_START = enum.auto()
    TO_END = enum.auto()


class Way(enum.Enum):
    """The direction of a key: the value is the step to the next hex; up and down a column it varies."""

    EAST = (1, 0)
    SOUTHEAST = (0, 1)
    SOUTHWEST = (-1, 1)
    WEST = (-1, 0)
    NORTHWEST = (0, -1)
    NORTHEAST = (1, -1)
    UP = "up"
    DOWN = "down"


class Pick(Struct, frozen=True):
    """Choose what has this number: a piece of the hand, a position, how many players, a seat."""

    number: int


class Hold(Struct, frozen=True):
    """Pick this piece from the hand."""

    piece: Piece


class PointAt(Struct, frozen=True):
    """Point at a hex; a second time, confirm."""

    cell: Hex


class Hover(Struct, frozen=True):
    """The mouse is over this hex, or over none; that chooses nothing."""

    cell: Hex | None


class ChooseLine(Struct, frozen=True):
    """Choose a line of a list; a second time, confirm."""

    number: int


class Insert(Struct, frozen=True):
    """Type this text."""

    text: str


Action: TypeAlias = Act | Way | Pick | Hold | PointAt | Hover | ChooseLine | Insert
