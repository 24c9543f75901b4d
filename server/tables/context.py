"""The state that a table's functions share: what is stored, who is here, and what is kept in memory."""

import contextlib
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final, Literal, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

from msgspec.structs import replace

from engine.draws import Bytes32, Share, commitment_to
from engine.events import Event, Place
from engine.pieces import Seat
from protocol.absence import Absence, letter_seconds
from protocol.codes import Code
from protocol.messages import (
    SeatSummary,
    ServerMessage,
    Stage,
    StartGame,
    TableState,
)
from protocol.settings import Switches
from server.config import Limits
from server.errors import JournalError, NotStoredNow
from server.limits.networks import Networks, networks_in
from server.limits.rate_limits import RateLimiter
from server.monitoring.logs import about
from server.net.session import AttendedTable, Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import (
    Answered,
    Clocked,
    EndedByHost,
    Entry,
    Played,
    StoodIn,
    TookBack,
)
from server.tables.absence.deadlines import Deadlines, Due
from server.tables.absence.policy import AbsencePolicy
from server.tables.audience import Audience, catch_up
from server.tables.exclusions import Exclusions
from server.tables.feature import (
    Aloud,
    Delivered,
    Feature,
    Fleeting,
    Happening,
    Letter,
    Moment,
    Occasion,
    Opening,
    Shortened,
)
from server.tables.owner import TableOwner
from server.tables.post import Post
from server.tables.rooms import AWAITING, FOLDING, TELLING
from server.tables.state.live_entries import live_entries
from server.tables.state.persistent_state import PersistentState, Rearranged

log = logging.getLogger(__name__)

ENTRIES_BETWEEN_SHORTENINGS: Final = 100  # more than most games have in all
# At most, between two checks whether a moment has come: somebody may set the computer's clock.
LOOK_SECONDS: Final = 3600.0
_MADE: Final = frozenset[type[Entry]]({Played, StoodIn})
_MOVES: Final = _MADE | {TookBack}
_STATES_PER_SECOND: Final = 2.0  # after a burst of this size: each may have 3 KiB, and some lines are slow


@dataclass(slots=True, eq=False)
class Draw:
    """A game that starts as soon as the shares are in; nothing of it is stored before.

    `starter` is the host's session, None if the evening starts the game, `message` its request. The shares of
    `awaited` seats are to come. If `subject` is no longer what it was, the draw is for another game.
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


class Course(NamedTuple):
    """What a turn depends on beside the game's events: whether, under which clock and until when it runs."""

    stage: Stage
    paused: Seat | None
    paused_until: int | None
    stopped: tuple[Seat, ...]
    absence: Absence


ToldAlone: TypeAlias = Mapping[tuple[Session, type[Feature]], Sequence[ServerMessage]]


class Shown(NamedTuple):
    """What a move can change of the table's state unseen by rooms: else it changes with other entries."""

    clock: Absence
    used_up: tuple[Seat, ...]


class Outline(NamedTuple):
    """What is compared before and after entries are folded, to see what follows; of moves, the first two."""

    course: Course
    shown: Shown
    planned: Place | None = None  # what is placed in this turn without its player, if that is legal
    # What each player who is here is told alone of each room.
    alone: ToldAlone = MappingProxyType({})


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
    # What becomes of sessions when something happens that is not stored.
    effects: Mapping[type[Fleeting], Callable[["TableContext", Any], None]] = field(init=False)
    paused_at: float | None = None  # by the table's clock, if the game is paused
    removed: set[Seat] = field(default_factory=set)  # free seats whose players were removed
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
    request: Answered | None = None  # that is being carried out, until it has stored something
    post: Post = field(init=False)
    room_due: dict[tuple[type[Feature], Seat], float] = field(default_factory=dict)  # by the table's clock
    record: list[str] | None = None  # of the finished game, once somebody has asked for it
    _shorten_at: int = field(default_factory=lambda: ENTRIES_BETWEEN_SHORTENINGS)
    _states: RateLimiter = field(init=False)
    _clocks_read: Clocked | None = None  # as they stood when they were last to be stored
    _news: int = 0  # events of the game that nobody was told yet
    _turn_differs: bool = False  # from what everybody was told of it
    _untold: Literal["nothing", "state", "state at once"] = "nothing"
    _changed_by: Session | None = None
    is_settled: bool = True  # nothing has changed from which more may follow

    def __post_init__(self) -> None:
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

    @contextlib.contextmanager
    def carrying_out(self, request: Answered | None) -> Iterator[None]:
        """Have the request stored with the first entries that it stores, so that it is carried out once."""
        self.request = request
        try:
            yield
        finally:
            self.request = None

    async def store(self, *happens: Happening) -> None:
        """Commit what is stored of this, and take it in; raises JournalError and changes nothing."""
        if await self._take_in(happens, self._answered(happens)):
            self.request = None

    def _answered(self, happens: Sequence[Happening]) -> Sequence[Answered]:
        """Return the entry for the request under way, at the seat that its player has then."""
        if self.request is None:
            return ()
        seat = self.request.seat
        for each in happens:
            if isinstance(each, Rearranged):
                seat = each.order.index(Seat(seat))
        return [replace(self.request, seat=seat)]

    async def _take_in(self, happens: Sequence[Happening], answered: Sequence[Answered] = ()) -> bool:
        """Store what lasts, with what was `answered`, and fold everything; return whether anything lasts."""
        lasting = [each for each in happens if isinstance(each, Entry)]
        if lasting:
            await self._store(*lasting, *answered)
        for each in happens:
            if isinstance(each, Fleeting):
                self.happen(each)
            if isinstance(each, Shortened) and not self.state.forgotten:
                await self._shorten_or_log()
        return bool(lasting)

    def happen(self, what: Fleeting) -> None:
        """Have the rooms take in what is not stored, and tell everybody who is to know at once."""
        rooms = [room for room in FOLDING.get(type(what), ()) if room in TELLING]
        before = self._told_alone(rooms)
        if self.state.fold_in_rooms(what):
            self.changed()
        self._tell_what_differs(before, self._told_alone(rooms))
        self.is_settled = False
        if isinstance(what, Aloud):
            self.audience.broadcast(what.message, to_players=what.to_players)
        elif isinstance(what, Letter):
            opener = networks_in(self.state.opened.origin or self.code)  # who is called may be anywhere
            self.post.send(what, opener, self._pass_on_outcome)
        elif (effect := self.effects.get(type(what))) is not None:
            effect(self, what)

    async def _pass_on_outcome(self, letter: Letter, fault: str | None) -> None:
        await self.deadlines.carry_out(Due.DELIVERED, letter, fault)

    async def note_outcome(self, letter: Letter, fault: str | None) -> None:
        self.happen(Delivered(letter, fault, self.deadlines.time()))

    async def store_move(
        self, *entries: Entry, happened: Sequence[Event], recorded: int | None = None
    ) -> None:
        """Commit a move, with what else happened, as `store` does; a game that it ends is `recorded` then."""
        await self._store(*entries, happened=happened, recorded=recorded)

    async def _store(
        self, *entries: Entry, happened: Sequence[Event] = (), recorded: int | None = None
    ) -> None:
        await self.shorten_if_long()
        state = self.state
        await self.lobby.journal.append(self.code, state.entry_count, entries, recorded)
        before, seen = self._outline(kinds := set(map(type, entries))), False
        switches = state.switches
        for entry in entries:
            if isinstance(entry, Played | StoodIn) and happened:
                seen |= state.fold_move(entry, happened)
            else:
                seen |= state.fold(entry)
            if isinstance(entry, Played | StoodIn | TookBack):
                self._news += len(entry.events)
        now = self._outline(kinds)
        given = any(isinstance(each, Clocked) and each != self._clocks_read for each in entries)
        self._follow_clocks(kinds, before, now, seen=seen, given=given)
        if before.course != now.course:
            self._turn_differs = True
            self.changed(at_once=True)
        elif not kinds.isdisjoint(_MOVES):
            if seen or before.shown != now.shown:
                self.changed(at_once=True)
        elif seen:
            self.changed()
        else:
            self.is_settled = False
        if now.alone:
            self._tell_what_differs(before.alone, now.alone)
        if state.switches is not switches:
            self._follow_switches(switches)
        if EndedByHost in kinds:
            log.info("game ended by its host", extra=about(table=self.code))

    def _follow_switches(self, before: Switches) -> None:
        """Have the lobby and the spectators follow what the host has switched on or off."""
        now = self.state.switches
        if now.private != before.private:
            self.lobby.privacy_changed()
        if not now.spectators:
            for spectator in list(self.audience.spectators):
                self.send_away(spectator, Refusal(Code.NO_SPECTATORS, table=self.code))

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
        set_for, rooms, moment = self.room_due, self.state.rooms, self.moment
        by_rooms = []
        for kind in AWAITING:  # after every move
            if by_seats := rooms[kind].due(moment):
                by_rooms.append((kind, by_seats))  # noqa: PERF401 - a comprehension costs a call
        if not (by_rooms or set_for):
            return
        now = self.deadlines.time()
        due = {
            (kind, seat): now + max(0.0, min(seconds, LOOK_SECONDS))
            for kind, by_seats in by_rooms
            for seat, seconds in by_seats.items()
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

    def _told_alone(self, rooms: Sequence[type[Feature]] = TELLING) -> ToldAlone:
        return {
            (session, room): self.state.rooms[room].told(seat, "changed")
            for room in rooms
            for seat, session in self.audience.seated.items()
        }

    def _tell_what_differs(self, before: ToldAlone, now: ToldAlone) -> None:
        for whom, told in now.items():
            if told != before.get(whom):
                self.tell_alone(whom[0], told)

    def tell_alone(self, session: Session, told: Sequence[ServerMessage]) -> None:
        for message in told:
            session.send(message)

    def _outline(self, kinds: Set[type[Entry]]) -> Outline:
        """Return what entries of these kinds can change, and others are told or depend on."""
        state, game = self.state, self.state.game
        course = Course(state.stage, state.paused, state.paused_until, state.stopped, state.absence)
        shown = Shown(state.clocks.policy, state.clocks.all_used_up())
        if not kinds.isdisjoint(_MADE):  # whoever moves knows what that does
            return Outline(course, shown)
        turn = None if game is None else game.view.turn
        return Outline(
            course,
            shown,
            None if turn is None else state.planned(turn),
            self._told_alone(),
        )

    def _follow_clocks(
        self, kinds: Set[type[Entry]], before: Outline, now: Outline, *, seen: bool, given: bool
    ) -> None:
        """Have the clocks and the stand-in follow what has been stored; somebody may have been given time."""
        if before.course != now.course:
            self.policy.begin()
        elif given or not kinds.isdisjoint(_MOVES):
            self._turn_differs |= given
            self.policy.turn_began()
        elif Clocked in kinds:
            self.policy.clock_was_saved()
        elif before.planned != now.planned:
            self.policy.plan_changed()
        elif seen:
            self.policy.reconsider()

    async def open_table(self, session: Session, opening: Opening) -> Fleeting:
        """Open another table for a session, and return what happens here then.

        With it, store the request that is being carried out. Raises Refusal or JournalError.
        """
        await self.shorten_if_long()
        answered = [] if self.request is None else [self.request]
        beside = self.code, self.state.entry_count, answered
        code = await self.lobby.open_beside(session, opening, beside)
        for entry in answered:
            self.state.fold(entry)
        self.request = None
        self.changed(session)
        return opening.then(code)

    async def shorten_if_long(self) -> None:
        """Drop obsolete entries from the journal, so that nobody can fill it."""
        if self.state.entry_count >= self._shorten_at:
            await self.shorten()

    async def shorten(self) -> None:
        probe("a table's journal is shortened")
        self.state.entry_count = await self.lobby.journal.shorten(self.code, live_entries)
        self._shorten_at = self.state.entry_count + ENTRIES_BETWEEN_SHORTENINGS

    async def _shorten_or_log(self) -> None:
        self._shorten_at = 0  # if it fails, with the next entries
        try:
            await self.shorten()
        except JournalError as error:
            probe("an address that is no longer used cannot be dropped")
            self.lobby.counts.journal_failed(error)

    async def store_or_log(self, *happens: Happening) -> bool:
        """Do what no client asked for: there is no request to refuse, so a failure to store is logged.

        Return whether it is done.
        """
        try:
            await self._take_in(happens)
        except JournalError as error:
            probe("what no client asked for cannot be stored")
            self.lobby.counts.journal_failed(error)
            return False
        return True

    async def follow_again(self) -> None:
        """Have what follows from an earlier change carried out, which could not be stored."""
        self.is_settled = False

    def changed(self, by: Session | None = None, *, at_once: bool = False) -> None:
        """Have everybody told the table's state when all is done; what is stored is noticed without this.

        That may be a little later, but not for who has asked for the change.
        """
        if at_once:
            self._untold = "state at once"
        elif self._untold == "nothing":
            self._untold = "state"
        self._changed_by, self.is_settled = by or self._changed_by, False

    def turn_told(self) -> None:
        """Remember that everybody was told all of the game's events, and whose turn it is for how long."""
        self._news, self._turn_differs = 0, False

    def tell(self) -> None:
        """Send everybody what differs from what they were told.

        The state comes first, so that nobody is asked for what has happened.
        """
        if self._untold != "nothing":
            self.broadcast_state(self._changed_by, at_once=self._untold == "state at once")
        if (game := self.state.game if self._news or self._turn_differs else None) is not None:
            known = len(game.events) - self._news
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

    def send_state(self) -> None:
        self.deadlines.cancel(Due.STATE)
        if self.audience and not self.lobby.journal.lapsed:
            self.audience.broadcast(self.table_state())

    async def send_state_late(self) -> None:
        self.send_state()

    def table_state(self) -> TableState:
        """Return the table's state as everybody there sees it."""
        state = self.state.table_state(self.code, self.moment())
        return replace(
            state,
            seats=[self._seat_now(Seat(seat), each) for seat, each in enumerate(state.seats)],
            spectators=len(self.audience.spectators),
            watching=list(self.audience.spectators.values()),
        )

    def _seat_now(self, seat: Seat, stored: SeatSummary) -> SeatSummary:
        if stored.name is None:
            return replace(stored, removed=seat in self.removed)
        here = stored.level is not None or seat in self.audience.seated
        away = self.state.stage == "playing" and not (here or stored.vacant)
        removable_in = self.removable_in(seat) if away else None
        return self.policy.summary(seat, replace(stored, here=here, removable_in=removable_in))

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
        """Return for how long others wait for an absent player: these seconds, or for a move by letters."""
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
        """Return the entry for the seats' current clocks, none if it is nobody's turn."""
        game = self.state.game
        if game is None or game.view.turn is None:
            return []
        self._clocks_read = self.state.clocks.stopped(game.view.turn, self.policy.read_clock())
        return [self._clocks_read]

    async def stop_clock(self) -> None:
        """Store how much of its clock, if any, the turn has used; it continues from there."""
        if self.may_move and self.policy.time_taken():
            await self.store_or_log(*self.clock_entries())
