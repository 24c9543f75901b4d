"""A table: one game with its seats and spectators, handling one thing at a time.

It handles requests and deadlines one by one, and delegates them: arrivals and departures to the seat
admission, requests at the table to `requests`, and the game to `moves`.
"""

import contextlib
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from engine.pieces import Seat
from protocol import messages
from protocol.absence import LongClock, for_older_clients, letter_seconds
from protocol.codes import CloseCode, CloseReason, Code
from protocol.messages import MOVES, Stage
from server.errors import JournalError, TableLost
from server.monitoring.logs import about
from server.monitoring.tracing import traced_move
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Forgotten
from server.tables import change, requests
from server.tables.absence.deadlines import Deadlines, Due
from server.tables.absence.policy import AbsencePolicy
from server.tables.change import carry_out, happen, settle, stop_clock
from server.tables.context import TableContext, Then
from server.tables.feature import Deserted, Happening, Moment, PostOpened
from server.tables.game import game_start, moves
from server.tables.priority_lock import PriorityLock
from server.tables.seats import seat_admission
from server.tables.state.persistent_state import Player

log = logging.getLogger(__name__)

T = TypeVar("T")

_SECONDS_UNTIL_ROOM: Final = 60
_LISTED: Final = frozenset(messages.TableSummary.__struct_fields__)

# What is decided when it falls due; a table that nobody attends is archived.
WORK: Final[Mapping[Due, Callable[..., Sequence[Happening]]]] = {
    Due.SEAT_FREE: seat_admission.free_if_away,
    Due.AWAY_TOO_LONG: moves.away_too_long,
    Due.ROOM: requests.fall_due,
    Due.HOST_AWAY: seat_admission.follow_host,
    Due.TIME_UP: moves.end_turn,
    Due.CLOCK: moves.save_clock,
    Due.MOVE: moves.stand_in,
    Due.SHARES: game_start.await_no_share,
    Due.FOLLOW: change.follow_again,
    Due.STATE: change.send_state_late,
    Due.DELIVERED: change.note_outcome,
}


class Table:
    """One game, its seats and its spectators; `code` is what players call it."""

    def __init__(self, context: TableContext) -> None:
        self.code = context.code
        self.state = context.state
        self.archived = False
        self._ended = False
        self._lost = False
        self._moved_to: str | None = None  # the address of another server
        self.unattended_since: float | None = None  # by the table's clock; None if somebody is here
        # The stage at which everybody left, and whether it is a correspondence game.
        self._left_at: tuple[Stage | None, bool] = None, False
        self._why_closed = Code.TABLE_CLOSED
        self._lock = PriorityLock()  # only the task that holds it reads and changes the table
        self._context = context
        self.audience = context.audience
        context.table, lobby = self, context.lobby
        context.deadlines = Deadlines(lobby.timers, lobby.tasks, lobby.counts, self._do_due)
        try:
            self._begin()
        except BaseException:
            context.deadlines.stop()  # nobody will know the table
            raise

    def _begin(self) -> None:
        """Set up the table's parts; raises whatever its unchecked state causes."""
        context, state = self._context, self.state
        context.policy = AbsencePolicy(state, self.audience.seated, context.lobby.stand_in, context.deadlines)
        for seat, _ in state.held:
            seat_admission.keep_for_a_while(context, seat)
        context.watch_host = seat_admission.watch_host
        context.set_deadlines()
        if context.lobby.config.postman is not None:
            happen(context, PostOpened())
        self._look_who_is_here()
        context.await_rooms()
        self.summary()  # the list of all tables must not fail because of this one

    # -- what sessions ask --------------------------------------------------------------------------

    def handle(
        self, session: Session, message: messages.AtTable | messages.Seating | messages.GetRecord
    ) -> Coroutine[Any, Any, None]:
        """Carry out a request from a session at this table, and answer it; raises Refusal or JournalError."""
        if isinstance(message, MOVES):
            done = self.do(lambda context: requests.answer(context, session, message))
            return self._traced(done, type(message).__name__)
        if isinstance(message, messages.Seating):
            return self.do(lambda context: requests.go_on(context, session, message), leased=True)
        if isinstance(message, messages.GetRecord):
            return self.do(lambda context: requests.send_record(context, session, message), leased=True)
        return self.do(lambda context: requests.answer(context, session, message))

    def _traced(self, move: Coroutine[Any, Any, T], kind: str) -> Coroutine[Any, Any, T]:
        return traced_move(move, kind, None if self.state.switches.private else self.code)

    async def enter(
        self, session: Session, message: messages.JoinTable | messages.Resume | messages.Watch
    ) -> None:
        """Admit the session as it asks; raises Refusal or JournalError."""

        def admit(context: TableContext) -> Sequence[Happening]:
            match message:
                case messages.JoinTable():
                    return seat_admission.join(context, session, message)
                case messages.Resume():
                    return seat_admission.resume(context, session, message)
                case messages.Watch():
                    return seat_admission.watch(context, session, message)

        await self.change(admit, leased=True)

    async def disconnect(self, session: Session) -> None:
        with contextlib.suppress(Refusal, TableLost):  # the table ended in the meantime
            await self.change(lambda context: seat_admission.disconnect(context, session), urgent=True)

    # -- what the lobby asks ------------------------------------------------------------------------

    @property
    def waits_for_players(self) -> bool:
        return self.state.stage == "gathering"

    @property
    def talks_with_lobby(self) -> bool:
        return self.waits_for_players and not self.state.switches.private and not self.state.of_evening

    def summary(self) -> messages.TableSummary:
        """Return this table's entry in the list of tables."""
        state = self.state
        host = None if state.host is None else state.players[state.host]
        vacant = sum(player.vacant for _, player in state.held)
        return messages.TableSummary(
            self.code,
            "" if host is None else host.name,
            state.most_seats,
            len(state.players) - len(state.free) - vacant,
            state.stage,
            state.opened.random_layout,
            for_older_clients(state.absence),
            state.title,
            state.switches,
            vacant if state.stage == "playing" else 0,
            len(state.bots),
            deserted=not self.audience.seated,
            long_clock=state.absence if isinstance(state.absence, LongClock) else None,
            study=state.study,
            **{name: shown for name, shown in state.shown(Moment()).items() if name in _LISTED},
        )

    def as_seen(self) -> messages.TableState:
        self._check_open()
        return self._context.table_state()

    def turn(self, id: int, seat: Seat) -> messages.Turn:  # noqa: A002 - the wire's own word
        """Return the state of the game for the player of `seat`; raises Refusal."""
        self._check_open()
        told = self.state.turn_of_game(id, seat)
        if told.stage == "over":
            seen = self._context.table_state()
            return replace(told, next=seen.next, again=[each.name or "" for each in seen.seats if each.again])
        return told if told.turn is None else replace(told, clock=self._context.policy.time_left())

    def seconds_unattended(self) -> int | None:
        """Return for how many seconds the table has been deserted, None if somebody is here."""
        since = self.unattended_since
        return None if since is None else int(self._context.deadlines.time() - since)

    async def return_opener(self, session: Session, message: messages.OpenTable) -> bool:
        """Return whether this very request opened the table; then its session gets the seat back.

        Raises Refusal or JournalError.
        """
        happened = await self.change(
            lambda context: seat_admission.return_to_seat(context, session, message), leased=True
        )
        return bool(happened)

    async def seat_opener(self, session: Session, id: int, token: str | None) -> None:  # noqa: A002 - the wire's own word
        """Give seat 0 to the session that has just opened the table; raises Refusal."""
        answer = messages.Seated(id, self.code, 0, token)
        await self.change(
            lambda context: [Then(partial(seat_admission.sit, context, session, Seat(0), answer))]
        )

    async def arrive(self, session: Session, id: int, player: Player) -> None:  # noqa: A002 - the wire's own word
        """Seat a player of the previous game; raises Refusal or JournalError."""
        await self.change(lambda context: seat_admission.arrive(context, session, id, player), leased=True)

    async def close(self, reason: str | None) -> None:
        """Close the table for good, and send everybody the `reason`, if any.

        Raises Refusal or JournalError and changes nothing.
        """

        def announce() -> None:
            if reason is not None:
                self.audience.broadcast(messages.Announced(reason))
            self._why_closed = Code.CLOSED_BY_SERVER

        probe("a table is closed")
        await self.change(lambda _: [Forgotten(), Then(announce)], urgent=True)

    async def remove_player(self, seat: Seat) -> bool:
        """Take the seat from its player for good, unless it is free; raises Refusal or JournalError."""
        removed = await self.change(lambda context: seat_admission.remove_player(context, seat), urgent=True)
        return bool(removed)

    async def archive(self, *, attended: bool) -> bool:
        """Archive or forget the table, if `attended` even with people here; return whether it has ended."""
        with contextlib.suppress(Refusal, TableLost):  # it has ended already
            await self._do_after_letters(lambda: self._archive(self._context, attended=attended))
        return self._ended

    async def shorten_if_long(self) -> None:
        """Drop the table's obsolete entries from the journal; raises JournalError."""
        with contextlib.suppress(Refusal, TableLost):  # it ended in the meantime
            await self.do(TableContext.shorten_if_long, urgent=True)

    async def hand_over(self, give: Callable[[str], Awaitable[str | None]]) -> None:
        """Hand the table over with `give`, and redirect everybody there if that succeeds."""
        with contextlib.suppress(Refusal, TableLost):  # it ended in the meantime, or nobody knows where it is
            await self._do_after_letters(lambda: self._hand_over(give))

    async def _do_after_letters(self, work: Callable[[], Awaitable[None]]) -> None:
        """Do `work` when no letter is being sent, which takes as long as a slow server: without the lock."""

        async def unless_sending(context: TableContext) -> bool:
            if context.post.is_busy:
                probe("a table stays until a notice has arrived")
                return False
            await work()
            return True

        while not self._ended:
            await self._context.post.finish()
            if await self.do(unless_sending, urgent=True):
                return

    def give_up(self) -> None:
        """End silently, in the middle of any work: another server has the table."""
        if not self._ended:
            self._lost = True
            self._end()

    def send_on(self) -> None:
        """Close all connections: another server may have the table soon."""
        if not self._ended:
            for session in self._context.audience:
                session.close(CloseCode.SERVICE_RESTART, CloseReason.TABLE_MOVED)

    def tell_state(self) -> None:
        if not self._ended:
            with self._closed_if_it_fails():
                self._context.broadcast_state()

    def stop(self) -> None:
        """Cancel everything that would fall due: the server stops, and a lost connection is no departure."""
        if not self._ended:
            game_start.break_off(self._context)
            self._context.stop()

    # -- one thing at a time ------------------------------------------------------------------------

    async def change(
        self,
        decide: Callable[[TableContext], Sequence[Happening]],
        *,
        urgent: bool = False,
        leased: bool = False,
    ) -> Sequence[Happening]:
        """Carry out the decision that `decide` makes, which only reads and may refuse, and return it.

        Raises what `decide` raises, or JournalError, and then nothing has changed; otherwise like `do`.
        """

        async def work(context: TableContext) -> Sequence[Happening]:
            happens = decide(context)
            await carry_out(context, happens)
            return happens

        return await self.do(work, urgent=urgent, leased=leased)

    async def do(
        self, work: Callable[[TableContext], Awaitable[T]], *, urgent: bool = False, leased: bool = False
    ) -> T:
        """Do `work` in its turn: no other work is under way, and the table has not ended.

        Urgent work comes before all requests, so that no number of them can delay the server's own. `leased`
        work is refused with NotStored if another server may have the table. If `work` fails, or what follows
        from it, only this table is closed. Raises Refusal or TableLost if the table has ended, and what
        `work` refuses.
        """
        if not self._lock.take():
            await self._lock.acquire(urgent=urgent)
        try:
            self._check_open()
            context = self._context
            if leased:
                context.check_lease()
            try:
                result = await work(context)
            except (Refusal, JournalError):
                await self._settle()  # something may have been stored before
                raise
            if not context.is_at_rest():
                await self._settle()
        except (Refusal, JournalError):
            raise
        except Exception as error:  # an error at one table must not stop the others
            if not self._lost:  # else it was given up under the work, which can find it in pieces
                self._fail()
            raise self._why_ended() from error
        else:
            if self._lost:  # whoever asked is sent on, like everybody else here
                probe("work is done when its table has been given up")
                raise self._why_ended()
            return result
        finally:
            self._lock.release()  # whoever waits for it goes on in a later turn of the loop
            if not self._ended:
                try:  # `_closed_if_it_fails` would cost each move six calls
                    self._conclude()
                except Exception:  # noqa: BLE001 - an error at one table must not stop the others
                    self._fail()

    async def _settle(self) -> None:
        if self._ended or self._is_over:
            return
        context = self._context
        if not context.is_settled or context.draw is not None:
            await settle(context)
        context.tell()

    def _conclude(self) -> None:
        """End the table if it is over; else see who is here, and what falls due."""
        if self._is_over:
            self._end()
        else:
            self._look_who_is_here()
            self._context.await_rooms()

    @contextlib.contextmanager
    def _closed_if_it_fails(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # noqa: BLE001 - an error at one table must not stop the others
            self._fail()

    def _fail(self) -> None:
        """Report the error that is being handled, and close the table."""
        probe("a table fails, and the others continue")
        log.exception("table failed and is closed", extra=about(table=self.code))
        if not self._ended:
            self._end(failed=True)

    async def _do_due(self, due: Due, *about: Any) -> None:
        with contextlib.suppress(Refusal, TableLost):  # the table ended in the meantime
            if due is Due.UNATTENDED:
                await self.do(self._archive, urgent=True)
                return
            done = self.change(lambda context: WORK[due](context, *about), urgent=True)
            if due is Due.MOVE and about[0].command.done():
                done = self._traced(done, "PlacePiece" if about[0].by == "plan" else "StandIn")
            await done

    # -- the end ------------------------------------------------------------------------------------

    def _look_who_is_here(self) -> None:
        if self.audience.seated or self.audience.spectators:
            if self._left_at[0] is not None:
                self._await_return(None)
            return
        self.state.pack()
        self._context.record = None  # nobody is here who could ask for it
        happen(self._context, Deserted())
        self._await_return(self.state.stage)

    def _await_return(self, stage: Stage | None) -> None:
        """Start or stop the time after which a table that was left at `stage` is archived or forgotten.

        A correspondence game is not archived: its clock has to run. Before it, seats are kept for as long.
        """
        stays = stage is not None and stage != "over" and self.is_awaited
        if (stage, stays) == self._left_at:
            return
        context, state = self._context, self.state
        self._left_at = stage, stays
        context.deadlines.cancel(Due.UNATTENDED)
        self.unattended_since = None
        if stage is not None:
            self.unattended_since = context.deadlines.time()
            brief = stage == "over" or not state.people  # no person is going to come back
            limits = context.limits
            seconds = limits.over_seconds if brief else limits.unattended_seconds
            if not stays:
                context.deadlines.set(Due.UNATTENDED, seconds)

    @property
    def is_awaited(self) -> bool:
        """Return whether this is a correspondence game, until the stand-in plays a whole round for them.

        Or they have agreed when they play on.
        """
        state = self.state
        if state.paused_until is not None and state.people:
            return True
        if not letter_seconds(state.absence) or not state.people or state.stage == "over":
            return False
        round_ago = 0 if state.game is None else len(state.game.events) - len(state.players)
        return sum(number > round_ago for number in state.stood_in) < len(state.people)

    async def _archive(self, context: TableContext, *, attended: bool = False) -> None:
        """Archive a game so that its players can come back to it, or forget a table without a game.

        Do nothing if somebody is here, unless `attended`.
        """
        state = self.state
        if self.audience and not attended:
            return
        if context.is_held and not attended:
            self._left_at = None, False  # try again
            return
        await stop_clock(context)
        try:
            if state.stage == "gathering" or (state.study and not state.taken):  # nobody could come back
                await carry_out(context, [Forgotten()])
                return
            # A table of an old journal has no origin, and shares one with no other.
            origin = state.opened.origin or self.code
            await context.lobby.journal.archive(self.code, ArchivedGame(origin, state.played))
            self.archived = True
        except JournalError as error:
            probe("a table cannot be archived")
            context.lobby.counts.journal_failed(error)
            self._left_at = None, False  # try again

    async def _hand_over(self, give: Callable[[str], Awaitable[str | None]]) -> None:
        await stop_clock(self._context)
        try:
            self._moved_to = await give(self.code)
        except BaseException:  # even if it is cancelled: another server may have the table, or will
            self.give_up()
            probe("a hand-over ends without an answer")
            raise
        if self._moved_to is None:
            probe("nobody takes a table that is to be handed over")
            self._context.policy.begin()  # whose clock goes on from where it was stopped

    def _end(self, *, failed: bool = False) -> None:
        """Disconnect everybody from the table, and remove it from the lobby, even if some of that fails."""
        context, self._ended = self._context, True
        self.unattended_since = None
        why = self._why_ended()
        with self._closed_if_it_fails(), contextlib.ExitStack() as steps:  # the last one is done first
            steps.callback(context.lobby.table_ended, self.code, failed=failed)
            for session in list(self.audience):
                steps.callback(self._send_away, session, why)
                steps.callback(self.audience.remove, session)
            steps.callback(context.stop)
            steps.callback(game_start.break_off, context)
        # They know the table: without this the game would stay until Python looks for cycles.
        del self._context

    def _send_away(self, session: Session, why: Refusal | TableLost) -> None:
        if self._moved_to is not None:
            session.move(self._moved_to)
        elif isinstance(why, Refusal):
            session.send(why.message())
        else:
            session.close(CloseCode.SERVICE_RESTART, CloseReason.TABLE_MOVED)

    @property
    def _is_over(self) -> bool:
        """Return whether the table is to end, after what was done."""
        return self.state.forgotten or self.archived or self._moved_to is not None

    def _check_open(self) -> None:
        if self._ended:
            raise self._why_ended()

    def _why_ended(self) -> Refusal | TableLost:
        """Return why there is no table here any more; players of an archived one may return."""
        if self._lost:
            return TableLost("another server has it")
        if self._moved_to is not None:
            return Refusal(Code.TABLE_ELSEWHERE, table=self.code, address=self._moved_to)
        if self.archived:
            return Refusal(Code.TABLE_CLOSED, table=self.code, seconds=_SECONDS_UNTIL_ROOM)
        return Refusal(self._why_closed, table=self.code)
