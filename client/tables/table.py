"""What this client knows of its table: a model folded from the server's messages, without any I/O."""

from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from client.tables.draws import DrawsWitness
from client.tables.validation import check_speaker, check_table, check_view
from engine.events import Placed, SeenEvent, WolfPlaced
from engine.legal import Legal
from engine.pieces import Seat, Wolf
from engine.view import SPECTATOR, View, eyes_of
from protocol.codec import BadMessage, readable
from protocol.codes import SENT_AWAY
from protocol.events import event_of, legal_of
from protocol.messages import (
    Events,
    LegalMoves,
    Refused,
    Reseated,
    Said,
    SaidBefore,
    Seated,
    ServerMessage,
    Snapshot,
    Substitute,
    TableRemark,
    TableState,
    Watching,
)
from protocol.snapshot import view_of
from protocol.text import printable


class Happened(Struct, frozen=True):
    """These events happened in the game, the last one number `seq`; the model already contains them.

    `by` tells that the server's stand-in moved: a bot holds the seat, or its time was up. Among several
    moves, those with the numbers in `stood_in` are the stand-in's.
    """

    events: tuple[SeenEvent, ...]
    seq: int
    by: Substitute | None = None
    stood_in: tuple[int, ...] = ()


class Refreshed(Struct, frozen=True):
    """The model has changed as a whole; what happened in between is not listed.

    If nothing of the game was known, `before` are the placements so far, with the numbers from `first` on.
    """

    before: tuple[Placed | WolfPlaced, ...] = ()
    first: int = 0
    stood_in: tuple[int, ...] = ()


class TableChanged(Struct, frozen=True):
    """The seats have changed; `before` is None for the first state of a table."""

    state: TableState
    before: TableState | None


class Heard(Struct, frozen=True):
    """Somebody said something: a player, or the spectator with this number, who may have a name.

    `remark` is the remark's own number. If it is told `again`, when this client comes to the table, `player`
    is the name of the player who said it. All is safe to show.
    """

    seat: Seat | None
    text: str
    spectator: str | None = None
    number: int | None = None
    remark: int | None = None
    player: str | None = None
    again: bool = False


class TableClosed(Struct, frozen=True):
    """The table is closed to this client, for the reason in `refused`; it is in the lobby."""

    refused: Refused


TableUpdate: TypeAlias = Happened | Refreshed | TableChanged | Heard | TableClosed


class Gap(Exception):
    """Events are missing after number `after`: ask the server for them. The model is unchanged."""

    def __init__(self, after: int) -> None:
        super().__init__(f"the events after number {after} are missing")
        self.after = after


@dataclass(slots=True)
class TableModel:
    """A table as its seat sees it, or a spectator if `seat` is None; changed only by `take` and `clear`.

    `table` is None in the lobby, `view` until the game starts. `seq` numbers the last event in `view`;
    `legal` is set while this seat is on turn; `token` brings it back to its seat. `clock` is how many
    milliseconds the seat on turn had left at the last message, if the table has a clock. `draws` knows
    whether the game was dealt fairly.
    """

    table: str | None = None
    seat: Seat | None = None
    token: str | None = field(default=None, repr=False)
    state: TableState | None = None
    view: View | None = None
    seq: int = 0
    legal: Legal | None = None
    clock: int | None = None
    draws: DrawsWitness = field(default_factory=DrawsWitness)

    def take(self, message: ServerMessage) -> tuple[TableUpdate, ...]:
        """Apply a message from the server and return what changed; answers to other requests change nothing.

        Raises Gap if events were missed, and BadMessage if the message makes no sense.
        """
        match message:
            case Seated(table=table, seat=seat, token=token):
                held = self.token  # is valid at the next table as well, if this is a rematch
                self._go_to(table, Seat(seat))
                self.token = token or held
            case Reseated(seat=seat) if self.seat is not None and self.view is None:
                check_table(self.state, None, Seat(seat))
                self.seat = Seat(seat)
            case Watching(table=table):
                self._go_to(table, None)
            case TableState() if message.table == self.table:
                check_table(message, self.view, self.seat)
                before, self.state = self.state, _safe(message)
                return (TableChanged(self.state, before),)
            case Snapshot() if self.table is not None:
                view = view_of(message, self.seat)
                self._check(view)
                self.draws.look(view, self.state)
                news = Refreshed() if self.view is not None else _before(view, message)
                self.view, self.seq = view, message.seq
                self._may(message.legal)
                self.clock = message.clock
                return (news,)
            case Events() if self.table is not None:
                return self._fold(message)
            case Said() if self.table is not None:
                check_speaker(message.seat, self.state, self.view)
                return (self._heard(message),)
            case SaidBefore(remarks) if self.table is not None:
                for remark in remarks:
                    check_speaker(remark.seat, self.state, self.view)
                return tuple(map(_heard_before, remarks))
            case Refused(code=code, id=None) if code in SENT_AWAY and self.table is not None:
                self.clear()
                return (TableClosed(message),)
        return ()

    def clear(self) -> None:
        """Forget the table: this client is there no more."""
        self.table = self.seat = self.token = self.state = self.view = self.legal = self.clock = None
        self.seq = 0
        self.draws = DrawsWitness()

    def _go_to(self, table: str, seat: Seat | None) -> None:
        if (table, seat) != (self.table, self.seat):  # else it came back, and what it knows is still true
            self.clear()
            self.table, self.seat = table, seat

    def _fold(self, message: Events) -> tuple[TableUpdate, ...]:
        last = message.seq + len(message.events) - 1
        if message.seq > self.seq + 1:
            raise Gap(self.seq)
        if last < self.seq:
            return ()  # sent twice, around a reconnection; its legal moves are out of date too
        events = tuple(event_of(content) for content in message.events[self.seq + 1 - message.seq :])
        if events:
            view = self.view or View(eyes=SPECTATOR if self.seat is None else eyes_of(self.seat))
            self.view, self.seq = None, 0  # unless all of them make sense, it has to be sent anew
            try:
                for event in events:
                    view.fold(event)
            except (LookupError, ValueError, TypeError) as error:
                raise BadMessage(f"the events make no sense: {readable(error)}") from error
            self._check(view)
            self.view = view
            for event in events:
                self.draws.fold(event)
        before = self.legal, self.clock
        self.seq, self.clock = last, message.clock
        self._may(message.legal)
        if events:
            return (Happened(events, last, message.by, tuple(message.stood_in)),)
        return () if before == (self.legal, self.clock) else (Refreshed(),)

    def _heard(self, message: Said) -> Heard:
        """Return what was said, with the name of a spectator who has one."""
        watching = () if self.state is None else self.state.watching
        name = next((each.name for each in watching if each.number == message.spectator), None)
        seat = None if message.seat is None else Seat(message.seat)
        return Heard(seat, printable(message.text), name, message.spectator, message.number)

    def _check(self, view: View) -> None:
        """Raise BadMessage if the game cannot be as `view` has it: nothing of it could be shown."""
        try:
            _ = view.layout
            check_view(view)
            check_table(self.state, view, self.seat)
        except BadMessage:
            raise
        except (LookupError, ValueError, TypeError) as error:
            raise BadMessage(f"the game makes no sense: {readable(error)}") from error

    def _may(self, legal: LegalMoves | None) -> None:
        self.legal = None if legal is None or self.seat is None else legal_of(legal, self.seat)


def _heard_before(remark: TableRemark) -> Heard:
    seat = None if remark.seat is None else Seat(remark.seat)
    name = None if remark.name is None else printable(remark.name)
    spectator, player = (name, None) if seat is None else (None, name)
    return Heard(seat, printable(remark.text), spectator, remark.spectator, remark.number, player, again=True)


def _before(view: View, message: Snapshot) -> Refreshed:
    """Return the news of a game of which nothing was known: what was placed so far."""
    placed = tuple(
        WolfPlaced(view.owners[field], piece.people, field)
        if isinstance(piece, Wolf)
        else Placed(view.owners[field], piece, field)
        for field, piece in view.placed.items()
    )
    first = message.seq - len(view.scoring) - len(placed) + 1
    return Refreshed(placed, first, tuple(message.stood_in))


def _safe(state: TableState) -> TableState:
    """Return `state` with names that no terminal interprets, whatever the server let through."""
    seats = [seat if seat.name is None else replace(seat, name=printable(seat.name)) for seat in state.seats]
    watching = [
        each if each.name is None else replace(each, name=printable(each.name)) for each in state.watching
    ]
    return replace(state, seats=seats, watching=watching, title=printable(state.title))
