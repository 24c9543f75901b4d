"""Something that a player can ask for: how it is typed and read, who may when, its lines and its keys."""

import enum
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Literal, TypeAlias

from msgspec import Struct, structs

from client.language import _
from client.tables.table import TableModel
from client.typed_text import BadText, Misplaced
from client.ui.keys import Act, GoToStop, Handler, Key, Pick
from client.ui.requests import Request
from client.ui.screens.arguments import ON_OR_OFF, known_seat, seat_and_name, typed_players
from client.ui.screens.menu import At, MenuLine, Page
from client.ui.state import Mute, Outcome, Ui
from engine.view import Phase
from protocol import messages
from protocol.messages import NEW

Meaning: TypeAlias = Request | Act | Pick | GoToStop | Mute | Handler
Read: TypeAlias = Callable[[str, At], Meaning | None]
Stage: TypeAlias = Literal["lobby"] | messages.Stage


class May(enum.Enum):
    """Whether a player may do something now: no, only see how it is, or yes."""

    NO = enum.auto()
    SEEN = enum.auto()
    YES = enum.auto()


class Who(enum.Enum):
    ANYBODY = enum.auto()
    SPECTATORS = enum.auto()  # and who is in the lobby
    PLAYERS = enum.auto()
    HOST = enum.auto()


LOBBY: Final[tuple[Stage, ...]] = ("lobby",)
GATHERING: Final[tuple[Stage, ...]] = ("gathering",)
PLAYING: Final[tuple[Stage, ...]] = ("playing",)
UNFINISHED: Final[tuple[Stage, ...]] = ("gathering", "playing")
OVER: Final[tuple[Stage, ...]] = ("over",)
AT_TABLES: Final[tuple[Stage, ...]] = ("gathering", "playing", "over")
ANYWHERE: Final[tuple[Stage, ...]] = ("lobby", *AT_TABLES)


def stage_of(model: TableModel) -> Stage | None:
    """Return how far the table is, None while that is not known."""
    if model.table is None:
        return "lobby"
    if (
        model.view is not None and model.view.phase is Phase.OVER
    ):  # which the table's state says a moment later
        return "over"
    return None if model.state is None else model.state.stage


class Action(Struct, frozen=True):
    """Something that a player can ask for.

    `typed` is how the help shows the command, beginning with its verb, and `more` are further rows of the
    help. `read` returns what the text after the verb asks for; if it makes no sense it returns None, or
    raises BadText. The line can be completed with `texts`, "..." where anything can be typed, and with what
    the lines of `pages` type.

    `stages`, `who` and `possible` say when it is possible; if it is `shown`, everybody sees in the menu how
    the table is set up. What is `for_company` is neither in the help nor in the menu of a game against bots
    alone. `menu` are its lines in the menu, `keys` its keys on the screens of its stage.
    """

    typed: str
    help: str
    read: Read
    name: str = ""
    more: tuple[tuple[str, str], ...] = ()
    texts: Callable[[At], Iterable[str]] = lambda _at: ("",)
    pages: tuple[Page, ...] = ()
    stages: tuple[Stage, ...] = AT_TABLES
    who: Who = Who.PLAYERS
    possible: Callable[[At], object] = lambda _at: True
    shown: bool = False
    for_company: bool = False
    menu: Callable[[At], Iterable[MenuLine]] = lambda _at: ()
    keys: tuple[Key, ...] = ()

    @property
    def verb(self) -> str:
        return self.name or re.split("[ ,]", self.typed)[0]

    @property
    def example(self) -> str:
        parts = self.typed.split(", ")
        return ", ".join(part if part.startswith(self.verb) else f"{self.verb} {part}" for part in parts)

    def may(self, at: At) -> May:
        model = at.model
        if stage_of(model) not in self.stages or not self.possible(at):
            return May.NO
        hosts = self.who is not Who.HOST or (model.state is not None and model.seat == model.state.host)
        seated = self.who is not Who.SPECTATORS if model.seat is not None else self.who is not Who.PLAYERS
        if not hosts or not seated:
            return May.SEEN if self.shown else May.NO
        return May.YES

    def concerns(self, at: At) -> bool:
        """Return whether it can become possible for the player at this stage of the table."""
        seated = self.who is Who.ANYBODY or (at.model.seat is None) == (self.who is Who.SPECTATORS)
        return seated and stage_of(at.model) in self.stages

    def meaning(self, text: str, at: At) -> Meaning:
        """Return the request that the text after the verb stands for; raises BadText."""
        if at.model.state is None and "lobby" not in self.stages:
            raise Misplaced(_("You are not at a table. Open or join one first."))
        if (asked := self.read(text, at)) is None:
            raise BadText(_("Type it like this: {example}").format(example=self.example))
        return asked

    def lines(self, at: At) -> Iterator[str]:
        """Yield the lines that can be typed for it."""
        every = (line for page in self.pages for line in page.lines(at) if line.effect is not None)
        for text in (*self.texts(at), *(line.typed for line in every if line.typed is not None)):
            yield f"{self.verb} {text}".removesuffix("...").rstrip() + (" " if text == "..." else "")

    def keys_offered(self) -> Iterator[Key]:
        """Yield the action's keys, offered while it is possible."""

        def possible(_screen: object, ui: Ui, model: TableModel) -> bool:
            return self.may(At(ui, model)) is May.YES

        for key in self.keys:
            yield structs.replace(key, help=key.help or self.help, when=possible)

    def keys_elsewhere(self, does: Act, when: Callable[[Any, Ui, TableModel], bool]) -> Iterator[Key]:
        """Yield its keys for a screen of another stage, which does it in its own way."""
        for key in self.keys_offered():
            yield structs.replace(key, action=does, when=when)


def nothing(_at: At) -> tuple[str, ...]:
    return ()


def anything(_at: At) -> tuple[str, ...]:
    return ("...",)


def either(*texts: str) -> Callable[[At], tuple[str, ...]]:
    return lambda _at: texts


def exactly(text: str, asked: Meaning) -> Read:
    return lambda said, _at: asked if said == text else None


def switching(ask: Callable[[bool], Request]) -> Read:
    """Return a parser of on, off, or nothing for on."""

    def read(text: str, _at: At) -> Request | None:
        on = {"": True, **ON_OR_OFF}.get(text)
        return None if on is None else ask(on)

    return read


def of_seat(kind: Callable[[int, int], Request]) -> Read:
    def read(text: str, at: At) -> Request | None:
        seat = known_seat(text, at.state)
        return None if seat is None else kind(NEW, seat)

    return read


def page_of_seats(
    heading: str, seats: Callable[[TableModel], Sequence[int]], kind: Callable[[int, int], Request]
) -> Page:
    """Return a menu page that lists these seats with a request for each."""

    def lines(at: At) -> Iterator[MenuLine]:
        typed = typed_players(at.state)
        for seat in seats(at.model):
            yield MenuLine(
                seat_and_name(at.state, seat), kind(NEW, seat), typed=typed.get(seat, str(seat + 1))
            )

    return Page(heading, lines)


def pressing(handler: Callable[[At], Outcome]) -> Handler:
    """Return a key's effect that is the same wherever it is pressed."""
    return lambda _screen, ui, model: handler(At(ui, model))


def asking(request: Request) -> Handler:
    return lambda _screen, ui, _model: (ui, request)


def asking_if(possible: Callable[[At], object], request: Request) -> Handler:
    return lambda _screen, ui, model: (ui, request if possible(At(ui, model)) else None)
