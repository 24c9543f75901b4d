"""The game: its draws, its moves, what happened, and its record."""

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from protocol.messages.bases import FromClient, FromServer, hiding_secrets
from protocol.messages.fields import (
    CommandId,
    EventMap,
    FieldName,
    FieldSet,
    Hex32,
    Milliseconds,
    OrientationNumber,
    PieceName,
    PositionNumber,
    SeatNumber,
    Seq,
    Substitute,
    TileName,
)


class StartGame(FromClient, frozen=True, tag="start"):
    """Start the game when every seat is taken; only the host may. Answered by Events with the id."""

    id: CommandId


class AddShare(FromClient, frozen=True, tag="share"):
    """Show the share that was pledged, as the answer to DrawBegins with this commitment; answered by Done.

    The new `pledge` is for the next draw at this table, if this one is broken off.
    """

    id: CommandId
    commitment: Hex32
    share: Hex32
    pledge: Hex32

    def __repr__(self) -> str:
        return hiding_secrets(self)


class Lay(FromClient, frozen=True, tag="lay"):
    """Lay the tile just drawn; answered by Events with the id."""

    id: CommandId
    position: PositionNumber
    orientation: OrientationNumber


class PlacePiece(FromClient, frozen=True, tag="place"):
    """Place a piece from the hand; answered by Events with the id."""

    id: CommandId
    piece: PieceName
    field: FieldName


class Sync(FromClient, frozen=True, tag="sync"):
    """Ask for what happened since event `after`; answered by Events or a Snapshot, and Done."""

    id: CommandId
    after: Seq = 0


class GetRecord(FromClient, frozen=True, tag="record"):
    """Ask for the record of the table's finished game; answered by Record."""

    id: CommandId


class Lays(Struct, frozen=True, tag_field="t", tag="lay"):
    """Any of these positions with any of these orientations may be laid."""

    positions: Annotated[list[PositionNumber], Meta(min_length=1)]
    orientations: Annotated[list[OrientationNumber], Meta(min_length=1)]


class Places(Struct, frozen=True, tag_field="t", tag="place"):
    """Any of these pieces may be placed on any of these fields."""

    pieces: Annotated[list[PieceName], Meta(min_length=1)]
    fields: FieldSet


LegalMoves: TypeAlias = Lays | Places


class DrawBegins(FromServer, frozen=True, tag="draw"):
    """The game is about to start: the server is committed to its seed, and the clients to these shares.

    A client that finds its pledge at its seat answers with AddShare. docs/fairness.md says what for.
    """

    commitment: Hex32
    pledges: list[Hex32 | None]


class Snapshot(FromServer, frozen=True, tag="snapshot"):
    """The game as you may know it after event `seq`; `legal` only if you are on turn.

    `stood_in` are the numbers of the events that are moves of the stand-in, for seats that players hold.
    """

    seq: Seq
    phase: Literal["laying", "placing", "over"]
    started: EventMap
    tiles: Annotated[list[tuple[TileName, OrientationNumber] | None], Meta(min_length=7, max_length=7)]
    laurels: dict[TileName, str]
    placed: list[tuple[SeatNumber, str, FieldName]]
    turn: SeatNumber | None = None
    drawn: TileName | None = None
    hand: dict[PieceName, int] | None = None
    scoring: list[EventMap] = []
    legal: LegalMoves | None = None
    clock: Milliseconds | None = None
    stood_in: list[Seq] = []


class Events(FromServer, frozen=True, tag="events"):
    """What happened: the first of `events` has number `seq`. `turn` is whose turn it is now, if anyone's.

    With `id` it is also the answer to the move that caused it: done, and stored. `by` tells that the stand-in
    made the move, for a seat that a bot holds or whose time was up; where several moves are sent again,
    `stood_in` has the numbers of those that it made. At a table with a clock, `clock` is how
    many milliseconds the seat whose turn it is had left when the message was sent.
    """

    seq: Seq
    events: list[EventMap]
    turn: SeatNumber | None = None
    legal: LegalMoves | None = None
    id: CommandId | None = None
    by: Substitute | None = None
    clock: Milliseconds | None = None
    stood_in: list[Seq] = []


class Record(FromServer, frozen=True, tag="record"):
    """The record of the table's finished game (docs/record.md), line by line."""

    id: CommandId
    lines: list[str]
