"""A visit to a server: how it starts, and how it ends."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from client.network.transport import FREE_ACCESS, ServerAccess
from client.player.preferences import Explanations
from client.records import Analyse, Recording, Suggestion
from client.ui import requests
from client.ui.interaction import Service
from client.ui.program import shown_alone
from client.ui.seat_keeper import Keeping
from client.ui.state import Ways
from engine.legal import Legal
from engine.view import View
from protocol.messages import CameBy

Suggest = Callable[[View, Legal], Awaitable[Suggestion]]
Show = Callable[[Service], Awaitable[requests.Request]]  # shows a page until it is left for what is returned


@dataclass(frozen=True, slots=True)
class LookingBack:
    """The means to look back at a finished game.

    `read_record` makes a recording of a record's text; it raises DamagedRecord. Files are saved in `folder`;
    without one, none are. `analyse` judges a game; without it, none is judged. With `keep` the record of each
    game that the player has played is kept: it is given the table and the text, and may raise OSError.
    With `games` a key of the lobby opens the page of these. With `plays_on` one of a record ends the visit to
    play on from there.
    """

    read_record: Callable[[str], Recording]
    folder: Path | None
    analyse: Analyse | None = None
    keep: Callable[[str, str], None] | None = None
    games: "Callable[[LookingBack], Awaitable[Service]] | None" = None
    plays_on: bool = False

    @property
    def analyses(self) -> bool:
        return self.analyse is not None

    @property
    def saves(self) -> bool:
        return self.folder is not None


class SeatedBots(NamedTuple):
    """This program's bots: a function that seats a number of them at a table, and their failures.

    If the game `takes_back`, the visit ends when its player wants that, and the game begins again before it.
    """

    seat: Callable[[str, int], None]
    failures: asyncio.Queue[str]
    takes_back: bool = False


class Explaining(NamedTuple):
    """What is explained to a beginner, and where that is remembered."""

    what: Explanations
    remember: Callable[[Explanations], None]


@dataclass(frozen=True, slots=True)
class Player:
    """The player and the services of their computer, the same at every server."""

    name: str
    suggest: Suggest  # hints, where the table allows them
    looking_back: LookingBack | None = None  # for finished games
    confirms: bool = False  # every move has to be confirmed
    explaining: Explaining | None = None  # without it, no game is
    show: Show = shown_alone  # where the visit is seen
    comes_by: CameBy = "terminal"


@dataclass(frozen=True, slots=True)
class Destination:
    """The server to visit, and how to reach it."""

    url: str
    access: ServerAccess = FREE_ACCESS
    asks: bool = False  # end at once if the server may send the player on to hosts they have not confirmed
    ways: Ways = field(default_factory=Ways)
    found_as: Callable[[], str] | None = None  # the name under which others find the server, once they do
    bots: SeatedBots | None = None  # they take all other seats of every table that is opened


@dataclass(frozen=True, slots=True)
class Stay:
    """The start of a visit, and how its seat is kept."""

    first: requests.Open | requests.Join | requests.WatchTable | None = None  # without it, to the lobby
    keeping: Keeping = field(default_factory=Keeping)
    news: tuple[str, ...] = ()  # the first lines of the log


def at_table(table: str | None, *, watch: bool = False) -> requests.Join | requests.WatchTable | None:
    """Return the first request at a table; nothing without one."""
    if table is None:
        return None
    return requests.WatchTable(table) if watch else requests.Join(table)


@dataclass(frozen=True, slots=True)
class Visit:
    """How a visit to a server ended: exit code, what there is to say, and what the player asked for last.

    `name` is the one that the player had last, empty if that is not known; `hosts` are to be confirmed or not
    before the next visit.
    """

    code: int = 0
    sentence: str = ""
    request: requests.Request = requests.Errand.QUIT
    password_wanted: bool = False
    name: str = ""
    hosts: tuple[str, ...] = ()
