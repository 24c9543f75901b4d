"""What a table is asked, by its sessions and by the clock."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import AtTable, JoinTable, Refused, Rematch, Resume, Watch
from server.net.session import Session

if TYPE_CHECKING:
    from server.tables.table import Table


class Arrival(Struct, frozen=True):
    """A player comes from the table `before` to play again; `id` is the request that it answers."""

    id: int
    before: "Table"
    seat: Seat
    name: str
    token_hash: str
    program: bool


Entrance: TypeAlias = JoinTable | Resume | Watch | Arrival


class Departed(Struct, frozen=True):
    """The session's connection is gone."""


class FreeIfAway(Struct, frozen=True):
    """The grace of a seat whose player is away has run out."""

    seat: Seat


class PutAway(Struct, frozen=True):
    """Everybody has been away for long enough; `ended` is told whether the table ended over it."""

    ended: asyncio.Future[bool] | None = None

    def settle(self, *, ended: bool) -> None:
        if self.ended is not None and not self.ended.done():
            self.ended.set_result(ended)


class GoneOn(Struct, frozen=True):
    """The player of a seat has sat down at the next table."""

    session: Session
    seat: Seat


class AwayTooLong(Struct, frozen=True):
    """A player of a running game has been away for as long as the table's policy bears."""

    seat: Seat


class TimeUp(Struct, frozen=True):
    """The clock of the turn after event `turn` has run out."""

    turn: int


class MoveInstead(Struct, frozen=True):
    """The stand-in's time for the turn after event `turn` is over: it moves."""

    turn: int


Errand: TypeAlias = FreeIfAway | PutAway | GoneOn | AwayTooLong | TimeUp | MoveInstead
Later: TypeAlias = Callable[
    [float, Errand], asyncio.TimerHandle
]  # puts it into the queue after so many seconds


class Request(Struct, frozen=True):
    """What a session asks of its table; `handled` is set when whoever asked must wait for the outcome."""

    session: Session
    message: AtTable | Rematch | Entrance | Departed
    handled: asyncio.Future[None] | None = None

    def settle(self) -> None:
        if self.handled is not None and not self.handled.done():
            self.handled.set_result(None)


class Refusal(Exception):
    """The request breaks no rule of the game but cannot be done here and now.

    `about` are the facts that the text is filled in with, by name.
    """

    def __init__(self, code: Code, text: str, **about: object) -> None:
        super().__init__(text.format(**about) if about else text)
        self.code = code
        self.about = {name: str(fact) for name, fact in about.items()} or None

    def answer(self, id: int | None = None) -> Refused:  # noqa: A002 - the wire's own word
        """Return what is sent to the one who asked, under the id of the question."""
        return Refused(self.code, str(self), id, about=self.about)


def not_stored() -> Refusal:
    """Return how a request is refused that the journal could not take; sent again it may succeed."""
    return Refusal(Code.NOT_STORED, "The server cannot store that, so nothing has changed. Tell the host.")


def players_seat(session: Session) -> Seat:
    """Return the session's seat; raises Refusal for a spectator."""
    if session.seat is None:
        raise Refusal(Code.NOT_A_PLAYER, "You are watching. Only players do that.")
    return session.seat
