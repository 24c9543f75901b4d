"""How clients come to a table, as players or spectators, and leave it."""

from typing import Annotated

from msgspec import Meta

from protocol.absence import WAIT, Absence
from protocol.messages.bases import FromClient, FromServer, hiding_secrets
from protocol.messages.fields import (
    CommandId,
    Hex32,
    Milliseconds,
    Name,
    SeatNumber,
    Seq,
    Stage,
    TableCode,
    Token,
)


class OpenTable(FromClient, frozen=True, tag="open"):
    """Open a table and take its seat 0 as host; answered by Seated. For `program` see JoinTable.

    The `pledge`, as in JoinTable, Resume and Rematch, is the hash of the share that this client adds to the
    draws of the table's game (see DrawBegins).

    A `private` table is not in the list: it is found by its code alone. With `hints`
    clients may suggest moves to their players.
    """

    id: CommandId
    players: Annotated[int, Meta(ge=2, le=5)]
    name: Name
    random_layout: bool = False
    starting: SeatNumber | None = None
    absence: Absence = WAIT
    program: bool = False
    private: bool = False
    hints: bool = False
    pledge: Hex32 | None = None


class JoinTable(FromClient, frozen=True, tag="join"):
    """Take a free seat, the first one unless `seat` names it; answered by Seated.

    In a running game that is a seat whose player the host has removed. Before the game, a person may also
    take the seat of a bot of the server: at a full table without `seat`, the first of these. A `program` has
    no vote on absent players, and whenever it is away the stand-in plays for it at once.
    """

    id: CommandId
    table: TableCode
    name: Name
    seat: SeatNumber | None = None
    program: bool = False
    pledge: Hex32 | None = None


class Resume(FromClient, frozen=True, tag="resume"):
    """Come back to a seat with its token; answered by Seated and what happened since event `after`."""

    id: CommandId
    table: TableCode
    token: Token
    after: Seq = 0
    pledge: Hex32 | None = None

    def __repr__(self) -> str:
        return hiding_secrets(self)


class AskTurn(FromClient, frozen=True, tag="turn"):
    """Ask how the game stands at a table where you have a seat, without going there; answered by Turn.

    The `proof` is the SHA-256 hash of the seat's token: whoever reads it cannot take the seat with it.
    """

    id: CommandId
    table: TableCode
    proof: Hex32

    def __repr__(self) -> str:
        return hiding_secrets(self)


class Watch(FromClient, frozen=True, tag="watch"):
    """Watch a table as a spectator; answered by Watching and what happened since event `after`."""

    id: CommandId
    table: TableCode
    after: Seq = 0
    name: Name | None = None


class Leave(FromClient, frozen=True, tag="leave"):
    """Leave the table; answered by Done. A seat in a running game stays kept for its token."""

    id: CommandId


class Rematch(FromClient, frozen=True, tag="rematch"):
    """Play again with the same players after a game; answered by Seated, at another table."""

    id: CommandId
    pledge: Hex32 | None = None


class Seated(FromServer, frozen=True, tag="seated"):
    """The seat is yours; `token`, given once, brings you back to it.

    `taken_over` is the name of the player who had it in the running game.
    """

    id: CommandId
    table: TableCode
    seat: SeatNumber
    token: Token | None = None
    taken_over: str | None = None

    def __repr__(self) -> str:
        return hiding_secrets(self)


class Turn(FromServer, frozen=True, tag="turn"):
    """How the game stands at a table where you have the seat `seat`.

    While it runs, it is the turn of `turn`, whose player is `name` and has `clock` milliseconds left if a
    clock runs. If the table is `archived`, nobody is there, and only the stage is known.
    """

    id: CommandId
    stage: Stage
    seat: SeatNumber | None = None
    turn: SeatNumber | None = None
    name: str | None = None
    clock: Milliseconds | None = None
    archived: bool = False


class Reseated(FromServer, frozen=True, tag="reseated"):
    """Your seat at the table is this one now; its token is the same."""

    seat: SeatNumber


class Watching(FromServer, frozen=True, tag="watching"):
    """You are a spectator of the table."""

    id: CommandId
    table: TableCode
