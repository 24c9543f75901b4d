"""The keys: one table from which key bindings, function bar and help page are made."""

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias

from client.ui.look import Look
from client.ui.state import Where
from engine.board import Hex
from engine.pieces import Piece


class Act(enum.Enum):
    """What a key without further meaning does."""

    CONFIRM = enum.auto()
    CANCEL = enum.auto()
    NEXT_PIECE = enum.auto()
    LAST_PIECE = enum.auto()
    TURN = enum.auto()
    TURN_BACK = enum.auto()
    NEXT = enum.auto()
    BACK = enum.auto()
    NEXT_HILL = enum.auto()
    FIRST = enum.auto()
    SKIP = enum.auto()
    OPEN = enum.auto()
    LAYOUT = enum.auto()
    WATCH = enum.auto()
    REFRESH = enum.auto()
    START = enum.auto()
    LEAVE = enum.auto()
    GO = enum.auto()
    NEXT_EYES = enum.auto()
    LAST_EYES = enum.auto()
    ALL_EYES = enum.auto()
    NO_EYES = enum.auto()
    COMMAND = enum.auto()
    CHAT = enum.auto()
    HELP = enum.auto()
    RULES = enum.auto()
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
    """Where a key moves to: the value is the hex it leads to, none for up and down a column."""

    EAST = (1, 0)
    SOUTHEAST = (0, 1)
    SOUTHWEST = (-1, 1)
    WEST = (-1, 0)
    NORTHWEST = (0, -1)
    NORTHEAST = (1, -1)
    UP = "up"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Pick:
    """Take what bears this number: a piece of the hand, a position, how many players, a seat."""

    number: int


@dataclass(frozen=True, slots=True)
class Hold:
    """Pick this piece from the hand."""

    piece: Piece


@dataclass(frozen=True, slots=True)
class PointAt:
    """Point at a hex; at the one already pointed at: confirm."""

    cell: Hex


@dataclass(frozen=True, slots=True)
class ChooseLine:
    """Choose a line of the lobby; the one already chosen: confirm."""

    number: int


@dataclass(frozen=True, slots=True)
class Insert:
    """Type this text."""

    text: str


Action: TypeAlias = Act | Way | Pick | Hold | PointAt | ChooseLine | Insert


@dataclass(frozen=True, slots=True)
class Key:
    """Keys, as prompt_toolkit names them, and what they do where.

    `short` is the word in the function bar, none if the key is not shown there.
    """

    names: tuple[str, ...]
    action: Action
    where: frozenset[Where]
    help: str
    short: str = ""


_LOBBY, _ROOM, _LAYING, _PLAYING = (
    frozenset({where}) for where in (Where.LOBBY, Where.ROOM, Where.LAYING, Where.PLAYING)
)
_SCORING, _RESULT, _READING, _QUITTING, _TYPING = (
    frozenset({where}) for where in (Where.SCORING, Where.RESULT, Where.READING, Where.QUITTING, Where.TYPING)
)
_REPLAY: Final = frozenset({Where.REPLAY})
_BOARD: Final = _LAYING | _PLAYING
_WALK: Final = _SCORING | _RESULT
_AT_TABLE: Final = _ROOM | _BOARD | _WALK
_ANYWHERE: Final = _LOBBY | _AT_TABLE | _REPLAY

KEYS: Final = (
    # The lobby
    Key(("up", "k", "scroll-up"), Way.UP, _LOBBY, "the table above"),
    Key(("down", "j", "scroll-down"), Way.DOWN, _LOBBY, "the table below"),
    Key(("enter",), Act.CONFIRM, _LOBBY, "join, or take your seat again; last line: a new one", "join"),
    Key(("w",), Act.WATCH, _LOBBY, "watch the table", "watch"),
    Key(("o", "n"), Act.OPEN, _LOBBY, "open a new table", "open new"),
    *(Key((str(n),), Pick(n), _LOBBY, "players at a new table") for n in range(2, 6)),
    Key(("x",), Act.LAYOUT, _LOBBY, "new table: lay the tiles, or have them laid at random", "layout"),
    Key(("r",), Act.REFRESH, _LOBBY, "ask for the list again", "refresh"),
    # Waiting at a table
    Key(("enter", "s"), Act.START, _ROOM, "start the game, as host", "start"),
    Key(("escape",), Act.LEAVE, _ROOM, "back to the lobby", "leave"),
    # Laying tiles
    *(Key((str(n),), Pick(n), _LAYING, "the position with that number") for n in range(1, 7)),
    Key(("right", "down", "l", "j", "n", "b"), Way.EAST, _LAYING, "the next position clockwise"),
    Key(("left", "up", "h", "k", "y", "u"), Way.WEST, _LAYING, "the next position anticlockwise"),
    Key(("r", "]", "scroll-down"), Act.TURN, _LAYING, "turn the tile clockwise", "turn"),
    Key(("R", "[", "scroll-up"), Act.TURN_BACK, _LAYING, "turn it back"),
    Key(("enter", " "), Act.CONFIRM, _LAYING, "lay the tile", "lay"),
    # Placing inhabitants
    Key(("left", "h"), Way.WEST, _PLAYING, "west"),
    Key(("right", "l"), Way.EAST, _PLAYING, "east"),
    Key(("up", "k"), Way.UP, _PLAYING, "up"),
    Key(("down", "j"), Way.DOWN, _PLAYING, "down"),
    Key(("y",), Way.NORTHWEST, _PLAYING, "north-west"),
    Key(("u",), Way.NORTHEAST, _PLAYING, "north-east"),
    Key(("b",), Way.SOUTHWEST, _PLAYING, "south-west"),
    Key(("n",), Way.SOUTHEAST, _PLAYING, "south-east"),
    *(Key((str(n),), Pick(n), _PLAYING, "pick that piece from the hand") for n in range(1, 10)),
    Key(("tab", "scroll-down"), Act.NEXT_PIECE, _PLAYING, "the next piece of the hand", "piece"),
    Key(("s-tab", "scroll-up"), Act.LAST_PIECE, _PLAYING, "the piece before"),
    Key(("enter", " "), Act.CONFIRM, _PLAYING, "place the piece on the field", "place"),
    Key(("escape",), Act.CANCEL, _PLAYING, "put the piece back in the hand"),
    # The scoring
    Key(
        ("enter", " ", "right", "n", "l", "down", "j", "scroll-down"),
        Act.NEXT,
        _SCORING,
        "the next step",
        "next",
    ),
    Key(("left", "p", "backspace", "h", "up", "k", "scroll-up"), Act.BACK, _WALK, "a step back", "back"),
    Key(("tab", "pagedown"), Act.NEXT_HILL, _SCORING, "on to the next hill", "next hill"),
    Key(("s", "end", "escape"), Act.SKIP, _SCORING, "skip to the result", "result"),
    Key(("home",), Act.FIRST, _WALK, "back to the first step", "from the start"),
    Key(("enter", "escape"), Act.LEAVE, _RESULT, "back to the lobby", "lobby"),
    # Looking at a record
    Key(
        ("right", " ", "enter", "n", "l", "scroll-down"),
        Act.NEXT,
        _REPLAY,
        "the next move, or step of the scoring",
        "next",
    ),
    Key(("left", "backspace", "p", "h", "scroll-up"), Act.BACK, _REPLAY, "the move or step before", "back"),
    Key(("down", "pagedown", "j"), Act.PAGE_DOWN, _REPLAY, "a round of moves on, or a hill", "round"),
    Key(("up", "pageup", "k"), Act.PAGE_UP, _REPLAY, "a round of moves back, or a hill"),
    Key(("home",), Act.FIRST, _REPLAY, "to the start"),
    Key(("end",), Act.SKIP, _REPLAY, "to the end: the result, if there is one"),
    Key(("g",), Act.GO, _REPLAY, "go to the move with the number that is typed", "go to"),
    Key(("tab",), Act.NEXT_EYES, _REPLAY, "the next one's eyes: all open, each seat, who watches", "eyes"),
    Key(("s-tab",), Act.LAST_EYES, _REPLAY, "the eyes before"),
    *(Key((str(n),), Pick(n), _REPLAY, "the eyes of the seat with that number") for n in range(5)),
    Key(("a",), Act.ALL_EYES, _REPLAY, "all open: every hand and every wolf"),
    Key(("w",), Act.NO_EYES, _REPLAY, "as it was for who watched"),
    # At every table
    Key((":", "/"), Act.COMMAND, _ANYWHERE, "type a command", "command"),
    Key(("t",), Act.CHAT, _AT_TABLE, "say something to the table", "say"),
    Key(("pageup",), Act.PAGE_UP, _BOARD, "older lines of the log"),
    Key(("pagedown",), Act.PAGE_DOWN, _BOARD, "newer lines of the log"),
    Key(("?", "f1"), Act.HELP, _ANYWHERE, "show the help", "help"),
    Key(("i", "f2"), Act.RULES, _ANYWHERE, "the rules in short", "rules"),
    Key(("q", "c-c"), Act.QUIT, _ANYWHERE, "quit", "quit"),
    # Reading help or rules
    Key(
        ("right", "down", "j", " ", "pagedown", "scroll-down"),
        Act.PAGE_DOWN,
        _READING,
        "the next page",
        "next page",
    ),
    Key(("left", "up", "k", "pageup", "scroll-up"), Act.PAGE_UP, _READING, "the page before", "back"),
    Key(("?", "f1"), Act.HELP, _READING, "the help", "help"),
    Key(("i", "f2"), Act.RULES, _READING, "the rules in short", "rules"),
    Key(("escape", "enter", "q"), Act.CANCEL, _READING, "back to the table", "close"),
    Key(("c-c",), Act.QUIT, _READING, "quit"),
    # Quitting
    Key(("y", "q", "c-c"), Act.CONFIRM, _QUITTING, "quit", "quit"),
    Key(("n", "escape"), Act.CANCEL, _QUITTING, "stay", "stay"),
    # Typing
    Key(("enter",), Act.CONFIRM, _TYPING, "send the line", "send"),
    Key(("tab",), Act.COMPLETE, _TYPING, "complete the command", "complete"),
    Key(("escape", "c-c"), Act.CANCEL, _TYPING, "forget the line", "cancel"),
    Key(("backspace", "c-h"), Act.ERASE, _TYPING, "erase"),
    Key(("delete",), Act.DELETE, _TYPING, "erase what follows"),
    Key(("left",), Way.WEST, _TYPING, "left"),
    Key(("right",), Way.EAST, _TYPING, "right"),
    Key(("home", "c-a"), Act.TO_START, _TYPING, "to the start"),
    Key(("end", "c-e"), Act.TO_END, _TYPING, "to the end"),
    Key(("c-u",), Act.CLEAR, _TYPING, "erase the line"),
    Key(("up",), Way.UP, _TYPING, "the line typed before", "earlier"),
    Key(("down",), Way.DOWN, _TYPING, "the line typed after"),
)

_ACTIONS: Final = {(name, where): key.action for key in KEYS for name in key.names for where in key.where}

_NAMES: Final = {
    "enter": "Enter",
    "escape": "Esc",
    "tab": "Tab",
    "s-tab": "Shift-Tab",
    " ": "Space",
    "left": "Left",
    "right": "Right",
    "up": "Up",
    "down": "Down",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "home": "Home",
    "end": "End",
    "backspace": "Backspace",
    "delete": "Del",
    "f1": "F1",
    "f2": "F2",
    "scroll-up": "wheel up",
    "scroll-down": "wheel down",
}


def action_of(name: str, where: Where) -> Action | None:
    """Return what the key does there; a printable one is typed where a line is being typed."""
    if found := _ACTIONS.get((name, where)):
        return found
    if where is Where.TYPING and len(name) == 1 and name.isprintable():
        return Insert(name)
    return None


def key_name(name: str, look: Look) -> str:
    """Return how the key is called on screen."""
    if name in look.keys:
        return look.keys[name]
    return _NAMES.get(name) or (f"Ctrl-{name[2:].upper()}" if name.startswith("c-") else name)


def keys_at(where: Where) -> tuple[Key, ...]:
    return tuple(key for key in KEYS if where in key.where)
