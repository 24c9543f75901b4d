"""The state that a table's functions share: what is stored, who is here, and what is kept in memory."""

import logging
import math
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from msgspec import Struct
from msgspec.structs import replace

from engine.draws import Bytes32, Share, commitment_to
from engine.events import Event
from engine.pieces import Seat
from protocol.absence import Absence, letter_seconds
from protocol.messages import (
    ServerMessage,
    Stage,
    StartGame,
    TableState,
)
from server.config import Limits
from server.errors import JournalError, NotStoredNow
from server.limits.networks import Networks, networks_in
from server.limits.rate_limits import RateLimiter
from server.net.session import AttendedTable, Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import Clocked, Played, StoodIn
from server.tables.absence.deadlines import Deadlines, Due
from server.tables.absence.policy import AbsencePolicy
from server.tables.audience import Audience, catch_up
from server.tables.exclusions import Exclusions
from server.tables.feature import (
    Feature,
    Fleeting,
    Letter,
    Moment,
    Occasion,
)
from server.tables.owner import TableOwner
from server.tables.post import Post
from server.tables.rooms import TELLING
from server.tables.state.live_entries import live_entries
from server.tables.state.persistent_state import PersistentState

log = logging.getLogger(__name__)

ENTRIES_BETWEEN_SHORTENINGS: Final = 100  # more than most games have in all
# At most, between two checks whether a moment has come: somebody may set the computer's clock.
LOOK_SECONDS: Final = 3600.0
_STATES_PER_SECOND: Final = 2.0  # after a burst of this size: each may have 3 KiB, and some lines are slow


@dataclass(slots=True, eq=False)
class Draw:
    """A game that starts as soon as the shares are in; nothing of it is stored before.

    `starter` is the host's session, None if the evening starts the game, `message` its request. The shares of
    `awaited` seats are to come. If `subject` is no longer what it was, or None, another draw begins instead.
    """

    starter: Session | None
    seat: Seat
    message: StartGame
    subject: object
    seed: Bytes32 = field(repr=False)
    shares: list[Share] = field(repr=False)
    awaited: dict[Session, tuple[Seat, str]]  # with their pledges

    @property
    def commitment(self) -> Bytes32:
        return commitment_to(self.seed)


class Moved(Fleeting, Struct, frozen=True, eq=False):  # a struct, because one is made at each move
    """The events of a stored move, which are sent to everybody.

    To the session of the `mover` they are the answer. `ended` is the time at which the game ended, in seconds
    since 1970.
    """

    entry: Played | StoodIn
    happened: tuple[Event, ...]
    mover: Session | None
    ended: int | None


# What a turn depends on beside the game's events: whether, under which clock and until when it runs.
Course: TypeAlias = tuple[Stage, Seat | None, int | None, Collection[Seat], Absence]
# What a move can change of the table's state unseen by rooms: else it changes with other entries.
Clock: TypeAlias = tuple[Absence, Collection[Seat]]
Turn: TypeAlias = tuple[Course, Clock]


def turn_of(state: PersistentState) -> Turn:
    """Return the values compared before and after a fold to find its consequences."""
    clocks = state.clocks
    return (
        (state.stage, state.paused, state.paused_until, state.stopped, state.absence),
        (clocks.policy, clocks.all_used_up()),
    )


@dataclass(frozen=True, slots=True)
class Then(Fleeting):
    """Effects on sessions and memory, applied once everything before them is stored."""

    do: Callable[[], None]


@dataclass(slots=True, eq=False, repr=False)
class TableContext:
    """A table's state and collaborators; changed only while the table's lock is held."""

    code: str
    state: PersistentState
    lobby: TableOwner
    table: AttendedTable = field(init=False)
    deadlines: Deadlines = field(init=False)
    audience: Audience = field(default_factory=Audience)
    policy: AbsencePolicy = field(init=False)
    # Sets the deadline of an absent host, after a change and after a restart.
    watch_host: Callable[["TableContext"], None] = field(init=False)
    paused_at: float | None = None  # by the table's clock, if the game is paused
    removed: frozenset[Seat] = frozenset()  # free seats whose players were removed
    left_at: dict[Seat, int] = field(default_factory=dict)  # events when players left
    away_since: dict[Seat, float] = field(default_factory=dict)  # in a running game, as the table noticed it
    # Players' sessions that have ended, by token hashes.
    last_sessions: dict[str, tuple[str, Networks]] = field(default_factory=dict)
    exclusions: Exclusions = field(init=False)
    # The hands that sessions have seen in the running game.
    hands_known: WeakKeyDictionary[Session, Seat] = field(default_factory=WeakKeyDictionary)
    host_overdue: bool = False  # the host has been away for long enough, but nobody was here to follow
    draw: Draw | None = None
    called_for_shares: bool = False  # at least once
    post: Post = field(init=False)
    room_due: dict[tuple[type[Feature], Seat], float] = field(default_factory=dict)  # by the table's clock
    record: list[str] | None = None  # of the finished game, once somebody has asked for it
    _shorten_at: int = field(default_factory=lambda: ENTRIES_BETWEEN_SHORTENINGS)
    _states: RateLimiter = field(init=False)
    clocks_read: Clocked | None = None  # as they stood when they were last to be stored
    turn: Turn = field(init=False)  # as the clocks and the stand-in know it
    news: int = 0  # events of the game that nobody was told yet
    turn_differs: bool = False  # from what everybody was told of it
    _untold: Literal["nothing", "state", "state at once"] = "nothing"
    _changed_by: Session | None = None
    is_settled: bool = True  # nothing has changed from which more may follow

    def __post_init__(self) -> None:
        self.turn = turn_of(self.state)
        self.post = Post(self.lobby, self.code)
        self._states = RateLimiter(self.limits.states_at_once, _STATES_PER_SECOND)
        self.exclusions = Exclusions(self.lobby.timers.time, self.limits)

    @property
    def limits(self) -> Limits:
        return self.lobby.config.limits

    def stop(self) -> None:
        self.deadlines.stop()
        self.policy.stop()  # but moves that still arrive are timed by its clock

    def check_lease(self) -> None:
        """Raise NotStored if another server may have the table, and know more of it."""
        if self.lobby.journal.lapsed:
            probe("the lease has run out when somebody at a table asks for something")
            raise NotStoredNow("the lease has run out")

    def send_away(self, session: Session, why: Refusal) -> None:
        self.audience.remove(session)
        self.changed()
        session.send(why.message())

    def moment(self) -> Moment:
        return Moment(
            int(time.time()),
            self.audience.seated.keys(),
            self.policy.people_here,
            self.audience.spectators.values(),
            self.policy.absent,
            self.paused_for,
            self.clock_entries,
            self.deadlines.time(),
            self.policy.time_left,
            self.limits,
            self.removable_in,
        )

    def set_deadlines(self) -> None:
        """Set the deadlines that the state calls for, and cancel the others."""
        if self.state.paused is None:
            self.paused_at = None
        elif self.paused_at is None:
            self.paused_at = self.deadlines.time()
        self.watch_host(self)

    def await_rooms(self) -> None:
        """Set the deadlines of the rooms; one that comes earlier than needed is set once more then."""
        set_for, awaiting = self.room_due, self.state.awaiting
        if not (awaiting or set_for):  # after most moves
            return
        rooms, moment, now = self.state.rooms, self.moment(), self.deadlines.time()
        due = {
            (kind, seat): now + max(0.0, min(seconds, LOOK_SECONDS))
            for kind in awaiting
            for seat, seconds in rooms[kind].due(moment).items()
        }
        for each in set_for.keys() - due.keys():
            self.deadlines.cancel(Due.ROOM, each)
            del set_for[each]
        for each, at in due.items():
            if at < set_for.get(each, math.inf):
                set_for[each] = at
                self.deadlines.set(Due.ROOM, at - now, each)

    @property
    def is_held(self) -> bool:
        """Return whether something is to be done that cannot be once the table is archived."""
        return self.post.is_busy or any(kind.holds_table for kind, _ in self.room_due)

    def send_letter(self, letter: Letter) -> None:
        opener = networks_in(self.state.opened.origin or self.code)  # who is called may be anywhere
        self.post.send(letter, opener, self._pass_on_outcome)

    async def _pass_on_outcome(self, letter: Letter, fault: str | None) -> None:
        await self.deadlines.carry_out(Due.DELIVERED, letter, fault)

    def tell_alone(self, session: Session, told: Sequence[ServerMessage]) -> None:
        for message in told:
            session.send(message)

    @property
    def is_long(self) -> bool:
        """Return whether the journal of this table is so long that obsolete entries are dropped."""
        return self.state.entry_count >= self._shorten_at

    async def shorten_if_long(self) -> None:
        if self.is_long:
            await self.shorten()

    async def shorten(self) -> None:
        probe("a table's journal is shortened")
        self.state.entry_count = await self.lobby.journal.shorten(self.code, live_entries)
        self._shorten_at = self.state.entry_count + ENTRIES_BETWEEN_SHORTENINGS

    async def shorten_or_log(self) -> None:
        self._shorten_at = 0  # if it fails, with the next entries
        try:
            await self.shorten()
        except JournalError as error:
            probe("an address that is no longer used cannot be dropped")
            self.lobby.counts.journal_failed(error)

    def changed(self, by: Session | None = None, *, at_once: bool = False) -> None:
        """Mark the table's state as changed, so that it is sent; stored changes are noticed without this.

        It may be sent a little later, but to the session `by` immediately.
        """
        if at_once:
            self._untold = "state at once"
        elif self._untold == "nothing":
            self._untold = "state"
        self._changed_by, self.is_settled = by or self._changed_by, False

    def is_at_rest(self) -> bool:
        """Return whether nothing follows from what has happened, and everybody was told all of it."""
        told = self._untold == "nothing" and not (self.news or self.turn_differs)
        return told and self.is_settled and self.draw is None

    def turn_told(self) -> None:
        """Record that everybody has been sent all events, the turn and its clock."""
        self.news, self.turn_differs = 0, False

    def tell(self) -> None:
        """Send everybody the changes that they have not been sent yet.

        The state comes first, so that no client sees a request that has been granted as open.
        """
        if self._untold != "nothing":
            self.broadcast_state(self._changed_by, at_once=self._untold == "state at once")
        if (game := self.state.game if self.news or self.turn_differs else None) is not None:
            known = len(game.events) - self.news
            self.turn_told()
            for session in self.audience:
                self.catch_up(session, known)

    def broadcast_state(self, newcomer: Session | None = None, *, at_once: bool = False) -> None:
        """Send everyone the state of the table: who sits where, and who is here.

        If it changes often, it is sent later, with the changes in the meantime. A `newcomer`, who knows
        nothing yet, gets it immediately, and so does everyone when the game continues or ends (`at_once`).
        """
        self._untold, self._changed_by = "nothing", None
        self.set_deadlines()
        self.lobby.table_changed(self.code)
        if at_once:
            self.send_state()
        elif not self.deadlines.is_set(Due.STATE):
            if (wait := self._states.wait(self.deadlines.time())) == 0:
                self.send_state()
                return
            self.deadlines.set(Due.STATE, wait)
            probe("a table that changes often tells its state later")
        if newcomer is not None and not at_once and not self.lobby.journal.lapsed:
            newcomer.send(self.table_state())

    def send_changed_state(self) -> None:
        """Send everyone the state of the table now if they do not know it: what comes next is about it."""
        if self._untold != "nothing" or self.deadlines.is_set(Due.STATE):
            self.broadcast_state(at_once=True)

    def send_state(self) -> None:
        self.deadlines.cancel(Due.STATE)
        if self.audience and not self.lobby.journal.lapsed:
            self.audience.broadcast(self.table_state())

    def table_state(self) -> TableState:
        """Return the table's state as everybody there sees it."""
        told = self.state.table_state(self.code, self.moment())
        seats = told.seats
        for seat, each in enumerate(seats):
            if each.name is None and seat in self.removed:
                seats[seat] = replace(each, removed=True)
            elif told.stage == "playing":
                seats[seat] = self.policy.summary(Seat(seat), each)
        return told

    def removable_in(self, seat: Seat) -> int:
        """Return in how many seconds the host may remove a player who is away from a running game.

        They count from when the table first sees this, because anyone who takes the seat over sees its hand,
        and from the end of what excuses them.
        """
        now = self.deadlines.time()
        excused = max((room.excused(seat) for room in self.state.rooms.values()), default=0) - time.time()
        if excused > 0:
            self.away_since[seat] = now + excused
        since = self.away_since.setdefault(seat, now)
        return max(0, math.ceil(self.patience(self.limits.seat_grace_seconds) - (now - since)))

    def patience(self, seconds: float) -> float:
        """Return the seconds for which others wait: these, or those of a move in a correspondence game."""
        return max(seconds, letter_seconds(self.state.absence))

    @property
    def paused_for(self) -> float:
        """Return for how many seconds the game has been paused."""
        return 0.0 if self.paused_at is None else self.deadlines.time() - self.paused_at

    def catch_up(self, session: Session, after: int) -> None:
        """Send the session the game's events since event `after`."""
        if self.state.game is not None:
            left = self.policy.time_left()
            catch_up(session, self.state.game, after, left, self.state.stood_in, moves=self.may_move)

    def synchronize(self, session: Session, after: int, why: Occasion) -> None:
        """Send the session the game's events since `after`, and what is told to it alone."""
        self.catch_up(session, after)
        for room in TELLING:
            self.tell_alone(session, self.state.rooms[room].told(session.seat, why))

    @property
    def may_move(self) -> bool:
        """Return whether the game is running, and not paused."""
        return self.state.stage == "playing" and self.state.paused is None

    def clock_entries(self) -> list[Clocked]:
        """Return the entry that stores the clocks, none between turns."""
        game = self.state.game
        if game is None or game.view.turn is None:
            return []
        self.clocks_read = self.state.clocks.stopped(game.view.turn, self.policy.read_clock())
        return [self.clocks_read]
