"""What lies over a page: texts, questions, announcements, and the menu of a table."""

import enum
from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from msgspec import Struct

from client.ui.texts.rules import RULES
from client.ui.update.requests import Leave, Quit

_HELP_PAGES: Final = 4


class Topic(enum.Enum):
    """What there is to read."""

    HELP = enum.auto()
    RULES = enum.auto()
    COUNTS = enum.auto()
    WHOLE = enum.auto()


@dataclass(frozen=True, slots=True)
class Reading:
    """A text that is open over the page, at its page of this number.

    In a window too small for a page, `top` is the first line shown, and `last_top` what it can be at most.
    `told` is the notice that there was no room for.
    """

    topic: Topic
    number: int = 0
    top: int = 0
    last_top: int = 0
    told: str = ""

    @property
    def pages(self) -> int:
        """Return how many pages the text has."""
        match self.topic:
            case Topic.HELP:
                return _HELP_PAGES
            case Topic.RULES:
                return len(RULES)
            case Topic.COUNTS | Topic.WHOLE:
                return 1
            case _:
                assert_never(self.topic)


class Quitting(Struct, frozen=True):
    """The question whether to quit a running game, or to leave a table before its game."""

    request: Quit | Leave = Quit()


@dataclass(frozen=True, slots=True)
class Announcements:
    """What the people who run the server have to say, oldest first, until the player closes it."""

    texts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TalkPage:
    """All that was said at the table, from line `top` on; without one, as far as the latest.

    `last_top` is the last line that it can begin with.
    """

    top: int | None = None
    last_top: int = 0


class MenuPage(enum.Enum):
    """What the menu of a table is about."""

    MAIN = enum.auto()
    STARTING = enum.auto()
    ABSENCE = enum.auto()
    SEAT = enum.auto()
    PEOPLE = enum.auto()
    BOT = enum.auto()
    SWAP = enum.auto()
    REMOVE = enum.auto()
    HAND_OVER = enum.auto()
    SUBSTITUTE = enum.auto()
    SPECTATORS = enum.auto()
    MUTE = enum.auto()
    END = enum.auto()


@dataclass(frozen=True, slots=True)
class TableMenu:
    """The menu of a table at one of its pages; `chosen` is the line that the player is on."""

    page: MenuPage = MenuPage.MAIN
    chosen: int = 0


Overlay: TypeAlias = Reading | Quitting | Announcements | TableMenu | TalkPage
