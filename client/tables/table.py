"""What this client knows of its table: a model folded from the server's messages, without any I/O.

What contradicts itself is refused: a server that keeps to the protocol never sends it, a hostile one may.
"""

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias, TypeVar, assert_never

from msgspec import Struct
from msgspec.structs import replace

from client.language import N_
from client.tables.draws import DrawsWitness
from engine import events as facts
from engine.board import TILES, Field
from engine.components import DEALS
from engine.legal import Legal
from engine.pieces import People, Piece, Seat, Wolf
from engine.view import SPECTATOR, Phase, View, eyes_of, folded, seat_of
from protocol import messages
from protocol.codec import BadMessage, readable
from protocol.codes import SENT_AWAY, SENT_FROM_EVENING
from protocol.events import event_of, legal_of, view_of
from protocol.text import printable

Safe = TypeVar("Safe")


def check_seats(state: messages.TableState | None, view: View | None, seat: Seat | None) -> None:
    """Raise BadMessage if the seats cannot be those of the game, or this client's seat is not among them."""
    seats = None if view is None else view.seats
    if state is not None:
        votes = (voter for each in state.seats for voter in each.votes)
        pauses = (*state.pause_asked, 0 if state.paused is None else state.paused.seat)
        asked = () if state.asked is None else (*state.asked.seats, state.asked.refused or 0)
        asked = (*asked, *state.still_asked)
        leads = 0 if state.shown is None else state.shown.seat or 0
        studies = 0 if state.studied is None else state.studied.seat
        named = (state.host, state.starting or 0, *votes, *pauses, *asked, leads, studies)
        if len(state.seats) not in DEALS or max(named) >= len(state.seats):
            raise BadMessage(N_("no table has such seats"))
        if seats not in {None, len(state.seats)}:
            raise BadMessage(N_("the table and its game have different seats"))
        seats = len(state.seats)
    if seats is not None and seat is not None and seat >= seats:
        raise BadMessage(N_("this client's seat is not at the table"))


def check_speaker(seat: int | None, state: messages.TableState | None, view: View | None) -> None:
    """Raise BadMessage if somebody speaks from a seat that the table does not have."""
    seats = view.seats if view is not None else max(DEALS) if state is None else len(state.seats)
    if seat is not None and seat >= seats:
        raise BadMessage(N_("nobody sits where this was said"))


def check_plans(planned: messages.Planned, state: messages.TableState | None) -> None:
    """Raise BadMessage if a plan depends on a seat that the table does not have, or none was played."""
    played = planned.played
    moves = (*planned.moves, *(() if played is None else played.tried))
    named = [each.condition.seat or 0 for each in moves if each.condition is not None]
    if max(named, default=0) >= (max(DEALS) if state is None else len(state.seats)):
        raise BadMessage(N_("no table has such seats"))
    if played is not None and len(played.tried) != len(played.skipped) + 1:
        raise BadMessage(N_("no plan was played"))


def check_view(view: View) -> None:
    """Raise BadMessage if a started game cannot be as it is in `view`."""
    started = view.start
    if not _is_dealt(started):
        raise BadMessage(N_("no game starts like this"))
    laid = [each.tile for each in view.tiles if each is not None]
    if len(laid) != len(set(laid)):
        raise BadMessage(N_("a tile is laid twice"))
    if not _can_be_placed(view):
        raise BadMessage(N_("pieces are on the board that cannot be there"))
    if view.turn is not None and view.turn >= view.seats:
        raise BadMessage(N_("nobody has the seat whose turn it is"))
    if any(seat is not None and seat >= view.seats for seat in view.laid_by):
        raise BadMessage(N_("nobody has the seat that has laid a tile"))
    if view.phase is not Phase.LAYING and (None in view.tiles or set(view.laurels) != set(TILES)):
        raise BadMessage(N_("the territory is not complete"))
    scored = view.scoring != ()
    if scored != (view.phase is Phase.OVER) or not all(_can_be_scored(event, view) for event in view.scoring):
        raise BadMessage(N_("the scoring contradicts the board"))


def _is_dealt(started: facts.GameStarted) -> bool:
    """Return whether peoples and hands are those that a game of so many deals (R3.5, R9.6)."""
    deal = DEALS.get(len(started.peoples))
    peoples = [people for own in started.peoples for people in own]
    return (
        deal is not None
        and started.starting < len(started.peoples)
        and (started.draws is None or len(started.draws.shares) == len(started.peoples))
        and len(peoples) == len(set(peoples))
        and all(len(own) == (2 if deal.second else 1) for own in started.peoples)
        and list(started.hands)
        == [deal.hand(own[0], own[1] if deal.second else None) for own in started.peoples]
    )


def _can_be_placed(view: View) -> bool:
    """Return whether all pieces on the board are from the hands, and nothing more is left in those known."""
    placed = Counter(view.placed.values())
    dealt = Counter[Piece]()
    for hand in view.start.hands:
        dealt.update(hand)
    wolves = Counter[People]()  # without those whose kinds are known
    for each, count in dealt.items():
        if each.wolf:
            wolves[each.people] += count - placed[each]
    for piece, count in placed.items():
        if count > (wolves[piece.people] if isinstance(piece, Wolf) else dealt[piece]):
            return False
    for name, piece in view.placed.items():
        if view.owners.get(name) != seat_of(view.start, piece.people):
            return False
    return all(
        hand
        == {piece: left for piece, count in view.start.hands[seat].items() if (left := count - placed[piece])}
        for seat, hand in view.hands.items()
    )


def _can_be_scored(event: facts.ScoringEvent, view: View) -> bool:
    """Return whether an event of the scoring speaks of pieces and seats that there are."""
    match event:
        case facts.WolvesRevealed():
            return not any(isinstance(piece, Wolf) for piece in view.placed.values())
        case facts.SoldierFled(field=field, seat=seat, merchants=merchants, farmers=farmers):
            return seat < view.seats and _are_placed((field, *merchants, *farmers), view)
        case facts.Captured():
            fields = (event.field, *event.merchants, *event.farmers, *event.taken, *event.shared)
            return event.seat < view.seats and _are_placed(fields, view)
        case facts.HillScored():
            return (
                len(event.influence) == view.seats
                and all(seat < view.seats for seat in event.leaders)
                and all(piece.seat < view.seats for piece in event.pieces)
                and _are_placed((piece.field for piece in event.pieces), view)
            )
        case facts.GameEnded():
            return len(event.tallies) == view.seats > max(event.winners, default=view.seats)
        case _:
            assert_never(event)


def _are_placed(fields: Iterable[Field], view: View) -> bool:
    return all(field in view.placed for field in fields)


class Happened(Struct, frozen=True):
    """These events happened in the game, the last one number `seq`; the model already contains them.

    `by` tells that the server's stand-in moved: a bot holds the seat, or its time was up. Among several
    moves, those with the numbers in `stood_in` are the stand-in's.
    """

    events: tuple[facts.SeenEvent, ...]
    seq: int
    by: messages.Substitute | None = None
    stood_in: tuple[int, ...] = ()


class Refreshed(Struct, frozen=True):
    """The model has changed as a whole; what happened in between is not listed.

    If nothing of the game was known, `before` are the placements so far, with the numbers from `first` on.
    """

    before: tuple[facts.Placed | facts.WolfPlaced, ...] = ()
    first: int = 0
    stood_in: tuple[int, ...] = ()


class TableChanged(Struct, frozen=True):
    """The seats have changed; `before` is None for the first state of a table."""

    state: messages.TableState
    before: messages.TableState | None


class HeardRemark(Struct, frozen=True):
    """Somebody said something: a player, or the spectator with this number, who may have a name.

    `remark` is the remark's own number. If it is told `again`, when this client comes to the table, `player`
    is the name of the player who said it; `missed` if this one was away then. All is safe to show.
    """

    seat: Seat | None
    text: str
    spectator: str | None = None
    number: int | None = None
    remark: int | None = None
    player: str | None = None
    again: bool = False
    missed: bool = False


class TableClosed(Struct, frozen=True):
    """The table is closed to this client, for the reason in `refused`; it is in the lobby."""

    refused: messages.Refused


class NoticesChanged(Struct, frozen=True):
    """The player is called elsewhere while away, or nowhere any more."""

    notices: messages.Notices


class PlanNews(Struct, frozen=True):
    """A move of the player's was made from a plan."""

    played: messages.PlanPlayed


TableUpdate: TypeAlias = (
    Happened | Refreshed | TableChanged | HeardRemark | NoticesChanged | PlanNews | TableClosed
)


PAST_FROM: Final = 2  # the number of the first event after the one that starts the game


class Gap(Exception):
    """Events are missing after number `after`: ask the server for them. The model is unchanged."""

    def __init__(self, after: int) -> None:
        super().__init__(f"the events after number {after} are missing")
        self.after = after


_NO_NOTICES: Final = messages.Notices("none")


@dataclass(slots=True)
class TableModel:
    """A table as its seat sees it, or a spectator if `seat` is None; changed only by `take` and `clear`.

    `table` is None in the lobby, `view` until the game starts. `seq` numbers the last event in `view`;
    `legal` is set while this seat is to move; `token` brings it back to its seat. `clock` is how many
    milliseconds the seat to move had left at the last message, if the table has a clock. `left_at` is the
    number of the last event before the player was away, if there were later ones. `draws` knows whether the
    game was dealt fairly. `past` is what the game has brought so far, when it was last asked for; `notices`
    says where the player is called while away.
    """

    table: str | None = None
    seat: Seat | None = None
    token: str | None = field(default=None, repr=False)
    state: messages.TableState | None = None
    view: View | None = None
    seq: int = 0
    legal: Legal | None = None
    clock: int | None = None
    left_at: int | None = None
    draws: DrawsWitness = field(default_factory=DrawsWitness)
    past: tuple[facts.SeenEvent, ...] = ()
    notices: messages.Notices = _NO_NOTICES
    recorded: bool = False  # a past game, whichever seat's view is shown
    plans: tuple[messages.PlannedMove, ...] = ()  # for this seat's next turn; nobody else knows
    plan_played: messages.PlanPlayed | None = None  # in its last turn

    def take(self, message: messages.ServerMessage) -> tuple[TableUpdate, ...]:
        """Apply a message from the server and return what changed; answers to other requests change nothing.

        Raises Gap if events were missed, and BadMessage if the message makes no sense.
        """
        match message:
            case messages.Seated(table=table, seat=seat, token=token):
                held = self.token  # is valid at the next table as well, if this is a rematch
                self._go_to(table, Seat(seat))
                self.token, self.left_at = token or held, message.left_at
                if self.left_at is not None and self.view is not None:  # it lost the connection even before
                    self.left_at = min(self.left_at, self.seq)
            case messages.Reseated(seat=seat) if self.seat is not None and self.view is None:
                check_seats(self.state, None, Seat(seat))
                self.seat = Seat(seat)
            case messages.Watching(table=table):
                self._go_to(table, None)
            case messages.TableState() if message.table == self.table:
                check_seats(message, self.view, self.seat)
                before, self.state = self.state, safe_to_show(message)
                return (TableChanged(self.state, before),)
            case messages.Snapshot(seq=seq, missed=[_, *_] as missed) if self.table is not None:
                # It tells events, and says the same for clients that do not know them all.
                first, at, by = seq - len(missed) + 1, message.clock, message.stood_in
                told = messages.Events(first, missed, message.turn, message.legal, clock=at, stood_in=by)
                return self._fold(told)
            case messages.Snapshot() if self.table is not None:
                view = view_of(message, self.seat)
                self._check(view)
                self.draws.look(view, self.state)
                news = Refreshed() if self.view is not None else _before(view, message)
                self.view, self.seq, self.plans = view, message.seq, ()  # what is planned comes later
                self._may(message.legal)
                self.clock = message.clock
                return (news,)
            case messages.Events() if self.table is not None:
                return self._fold(message)
            case messages.Planned(played=played) if self.seat is not None:
                check_plans(message, self.state)
                known, self.plans, self.plan_played = self.plan_played, message.moves, played
                return () if played is None or played == known else (PlanNews(played),)
            case messages.Said() if self.table is not None:
                check_speaker(message.seat, self.state, self.view)
                watching = () if self.state is None else self.state.watching
                name = next((each.name for each in watching if each.number == message.spectator), None)
                speaker = None if message.seat is None else Seat(message.seat)
                return (
                    HeardRemark(speaker, printable(message.text), name, message.spectator, message.number),
                )
            case messages.SaidBefore(remarks) if self.table is not None:
                for remark in remarks:
                    check_speaker(remark.seat, self.state, self.view)
                return tuple(map(_heard_before, remarks))
            case messages.Notices() if self.seat is not None and message != self.notices:
                self.notices = message
                return (NoticesChanged(message),)
            case messages.Refused(code=code, id=None) if code in SENT_AWAY and self.table is not None:
                self.clear()
                return (TableClosed(message),)
        return ()

    def clear(self) -> None:
        """Forget the table: this client is in the lobby."""
        TableModel.__init__(self)

    def _go_to(self, table: str, seat: Seat | None) -> None:
        if (table, seat) != (self.table, self.seat):  # else it came back, and what it knows is still true
            self.clear()
            self.table, self.seat = table, seat

    def _fold(self, message: messages.Events) -> tuple[TableUpdate, ...]:
        last = message.seq + len(message.events) - 1
        if message.seq == PAST_FROM and self.view is not None:
            past = self.view.start, *map(event_of, message.events)
            with _refusing_nonsense("the past events make"):
                folded(past, self.view.eyes)
            self.past = past
        if message.seq > self.seq + 1:
            raise Gap(self.seq)
        if last < self.seq:
            return ()  # sent twice, around a reconnection; its legal moves are out of date too
        events = tuple(event_of(content) for content in message.events[self.seq + 1 - message.seq :])
        if events:
            view = self.view or View(eyes=SPECTATOR if self.seat is None else eyes_of(self.seat))
            self.view, self.seq = None, 0  # unless all of them make sense, it has to be sent anew
            with _refusing_nonsense("the events make"):
                for event in events:
                    view.fold(event)
            self._check(view)
            self.view = view
            for event in events:
                self.draws.fold(event)
                if isinstance(event, facts.Placed) and event.seat == self.seat:
                    self.plans = ()
        before = self.legal, self.clock
        self.seq, self.clock = last, message.clock
        self._may(message.legal)
        if events:
            return (Happened(events, last, message.by, tuple(message.stood_in)),)
        return () if before == (self.legal, self.clock) else (Refreshed(),)

    def _check(self, view: View) -> None:
        """Raise BadMessage if the game cannot be as `view` has it: nothing of it could be shown."""
        with _refusing_nonsense("the game makes"):
            _ = view.layout
            check_view(view)
            check_seats(self.state, view, self.seat)

    def _may(self, legal: messages.LegalMoves | None) -> None:
        self.legal = None if legal is None or self.seat is None else legal_of(legal, self.seat)


@contextlib.contextmanager
def _refusing_nonsense(what: str) -> Iterator[None]:
    """Raise BadMessage whatever is wrong with what the server says."""
    try:
        yield
    except BadMessage:
        raise
    except (LookupError, ValueError, TypeError) as error:
        raise BadMessage(f"{what} no sense: {readable(error)}") from error


def _heard_before(remark: messages.TableRemark) -> HeardRemark:
    remark = safe_to_show(remark)
    seat = None if remark.seat is None else Seat(remark.seat)
    spectator, player = (remark.name, None) if seat is None else (None, remark.name)
    at, text, missed = remark.number, remark.text, remark.missed
    return HeardRemark(seat, text, spectator, remark.spectator, at, player, again=True, missed=missed)


def _before(view: View, message: messages.Snapshot) -> Refreshed:
    """Return the news of a game of which nothing was known: what was placed so far."""
    placed = tuple(
        facts.WolfPlaced(view.owners[field], piece.people, field)
        if isinstance(piece, Wolf)
        else facts.Placed(view.owners[field], piece, field)
        for field, piece in view.placed.items()
    )
    first = message.seq - len(view.scoring) - len(placed) + 1
    return Refreshed(placed, first, tuple(message.stood_in))


def safe_to_show(value: Safe) -> Safe:
    """Return a message, or a part of one, with texts that no terminal interprets, whatever they were."""
    safe: Any = value
    if type(safe) is str:  # and no constant, such as the name of a people
        safe = printable(safe)
    elif isinstance(safe, list):
        safe = [safe_to_show(each) for each in safe]
    elif isinstance(safe, Struct):
        parts = {name: safe_to_show(getattr(safe, name)) for name in safe.__struct_fields__}
        safe = replace(safe, **parts)
    result: Safe = safe
    return result


def open_request(state: messages.TableState) -> messages.Asked | None:
    """Return what a player asks the others for now; older servers know of pauses alone."""
    if state.asked is not None and state.asked.open:
        return state.asked
    return messages.Asked("pause", state.pause_asked) if state.pause_asked else None


class ConnectionLost(Struct, frozen=True):
    """The connection broke; another attempt follows in `retry_in` seconds."""

    reason: str
    retry_in: float


class Back(Struct, frozen=True):
    """The connection and the place at the table are back; `stopping` if the server has said when it stops."""

    stopping: bool = False


class Closed(Struct, frozen=True):
    """The connection is closed for good; `code` is the server's close code, if it sent one."""

    code: int | None
    reason: str


class SentFromEvening(Struct, frozen=True):
    """The player is no longer in the evening, for the reason in `refused`."""

    refused: messages.Refused


# What a server tells that is not about a table; names and texts are safe to show.
NewsOfServer: TypeAlias = (
    messages.News | messages.Online | messages.SaidInLobby | messages.Evening | SentFromEvening
)
Update: TypeAlias = TableUpdate | ConnectionLost | Back | Closed | NewsOfServer


def news_of_server(message: messages.ServerMessage) -> NewsOfServer | None:
    """Return the message if it is not about a table, safe to show."""
    if isinstance(message, messages.Refused) and message.id is None and message.code in SENT_FROM_EVENING:
        return SentFromEvening(message)
    return safe_to_show(message) if isinstance(message, NewsOfServer) else None
