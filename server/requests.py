"""What a table is asked, by its sessions and by the clock."""

import asyncio
from dataclasses import dataclass
from typing import TypeAlias

from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import AtTable, JoinTable, Resume, Watch
from server.session import Session

Entrance: TypeAlias = JoinTable | Resume | Watch


@dataclass(frozen=True, slots=True)
class Departed:
    """The session's connection is gone."""


@dataclass(frozen=True, slots=True)
class FreeIfAway:
    """The grace of a seat whose player is away has run out."""

    seat: Seat


@dataclass(frozen=True, slots=True)
class Forget:
    """Everybody has been away for too long."""


Errand: TypeAlias = FreeIfAway | Forget


@dataclass(frozen=True, slots=True)
class Request:
    """What a session asks of its table; `handled` is set when whoever asked must wait for the outcome."""

    session: Session
    message: AtTable | Entrance | Departed
    handled: asyncio.Future[None] | None = None

    def settle(self) -> None:
        if self.handled is not None and not self.handled.done():
            self.handled.set_result(None)


class Refusal(Exception):
    """The request breaks no rule of the game but cannot be done here and now."""

    def __init__(self, code: Code, text: str) -> None:
        super().__init__(text)
        self.code = code
