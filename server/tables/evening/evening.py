"""An evening as it runs: people sign up, tables are opened for them, and their results are kept.

One task makes all changes to tables, step by step, and every event wakes it. It stores each step before it
sends anything, under a name that no table has, so that a restart goes on from there.
"""

import asyncio
import contextlib
import logging
import math
import secrets
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import SystemRandom
from typing import Final

from msgspec.structs import replace

from engine.draws import Bytes32, commitment_to
from engine.pieces import Seat
from protocol import messages, pages
from protocol.absence import GAME_CLOCK_SECONDS, GameClock
from protocol.codes import CloseCode, CloseReason, Code
from protocol.pages import Awaited, EveningShown
from protocol.settings import Spectators
from server.errors import JournalError, NotStoredNow, TableLost
from server.monitoring.logs import about
from server.net.session import Session, build_frame
from server.net.tokens import hash_fits, new_token, token_hash
from server.probes import probe
from server.refusal import Refusal
from server.storage import entries as stored
from server.storage.entries import Entry
from server.storage.names import EVENING
from server.storage.records import EveningRecord, evening_name, write_evening
from server.tables.absence.deadlines import RETRY_SECONDS
from server.tables.context import ENTRIES_BETWEEN_SHORTENINGS
from server.tables.evening.people import People
from server.tables.evening.rounds import LEAST, PATIENCE, draw_tables, meetings, tables_now
from server.tables.evening.state import EveningState, EveningTable, live_entries
from server.tables.game.game_start import begin_of_evening
from server.tables.names import alike, check_name, name_for_bot
from server.tables.owner import TableOwner
from server.tables.registry.table_registry import TableRegistry
from server.tables.seats.seat_admission import renew_seat
from server.tables.table import Table

log = logging.getLogger(__name__)

SECONDS_TO_COME: Final = 60.0  # to a table before its game begins without those who have not come
SECONDS_BETWEEN_ROUNDS: Final = 60.0  # after the last table of a round is over
SECONDS_BEFORE_FIRST: Final = 300.0  # after the third person has signed up; the host can draw sooner
# For clients that lost their connection, before anything happens without them.
_SECONDS_TO_COME_BACK: Final = 20.0
_SECONDS_TO_BEGIN: Final = 5.0  # for the clients to show their shares, before another attempt
# After it was opened; later, a restart begins a new evening of the same name.
_SECONDS_SHOWN: Final = 12 * 3600
_LEAST_PAUSE: Final = 0.5  # seconds between two steps
_PRESENCE_PAUSE: Final = 10.0  # seconds between two messages that only say who is here


class RunningEvening:
    """An evening of this server; `state` is the fold of its stored entries."""

    def __init__(self, lobby: TableOwner, registry: TableRegistry, state: EveningState) -> None:
        self._lobby, self._registry, self._timers = lobby, registry, lobby.timers
        records = lobby.config.records
        self.state, self.plan = state, state.plan
        self._record = None if records is None else records / evening_name(state.opened)
        self._people = People(state, registry.origins, lobby.timers.time)
        self._followers: dict[Session, None] = {}  # in order
        self._free_since: dict[int, float] = {}  # of those who are here and neither play nor pause
        # Its clock begins with the time of day, or with the last one stored if that is later, and runs with
        # the timers: whoever sets the computer's clock moves no deadline.
        self._clock_began = max(time.time(), state.round_drawn, state.countdown or 0) - lobby.timers.time()
        self._resumed = self._now()
        self._asked_for = math.inf  # when the host asked for the next round
        self._few_since = math.inf  # since when too few people are here for one
        self._shorten_at = self.state.entry_count + ENTRIES_BETWEEN_SHORTENINGS
        self._rng = SystemRandom()
        self._lock = asyncio.Lock()  # held while something is stored
        self._changed = asyncio.Event()
        self._told, self._told_here, self._tell_here_at = b"", frozenset[int](), 0.0
        self._ended: Exception | None = None  # what those are told who ask for something
        self._work = lobby.tasks.keep(self._run, "the evening")

    # -- what sessions ask --------------------------------------------------------------------------

    async def answer(self, session: Session, message: messages.InEvening) -> None:
        """Carry out a request and answer it; raises Refusal or JournalError and changes nothing."""
        match message:
            case messages.AskEvening():
                pass
            case messages.SignUp():
                async with self._lock:
                    self._check_goes_on()
                    session.send(await self._sign_up(session, message))
            case messages.TakePart(_, how):
                async with self._lock:
                    self._check_goes_on()
                    await self._take_part(session, how)
        self._followers[session] = None
        session.send(self.message())
        if not isinstance(message, messages.SignUp):
            session.send(messages.Done(message.id))

    def disconnect(self, session: Session) -> None:
        self._followers.pop(session, None)
        if self._people.unbind(session):
            self.look()

    # -- what the lobby asks ------------------------------------------------------------------------

    def look(self) -> None:
        """Wake the evening's task after a change of people or tables."""
        self._changed.set()

    @property
    def is_long_over(self) -> bool:
        """Return whether it is over, and was opened so long ago that a new one of its name may begin."""
        return self.state.over and time.time() > self.state.opened + _SECONDS_SHOWN

    def draw_now(self) -> None:
        """Draw the next round as soon as possible; raises Refusal if none is to be drawn."""
        few = len(self._free()) < self._fewest
        if self.state.draws_no_more or not self.plan.rounds or self._in_round() or few:
            raise Refusal(Code.NO_ROUND_DUE)
        self._asked_for = self._now()
        probe("the host draws the next round")
        self.look()

    async def close(self) -> None:
        """Draw no more rounds; raises Refusal or JournalError."""
        async with self._lock:
            if not self.state.closed:
                probe("the host closes an evening")
                await self._store(stored.EveningClosed())
        self.look()

    async def give_way(self, begun: stored.EveningBegun) -> None:
        """Store the next evening in place of this one, whose tables must be over.

        Raises Refusal or JournalError and changes nothing.
        """
        async with self._lock:
            self._check_goes_on()
            if self.state.running:
                raise Refusal(Code.EVENING_RUNS, name=self.plan.name)
            end = EVENING, self.state.entry_count, [stored.Forgotten()]
            await self._registry.journal.append_together([end, (EVENING, 0, [begun])])
            self._ended = Refusal(Code.NO_EVENING)
        self.stop()
        probe("an evening gives way to the next one")

    async def remove(self, name: str) -> bool:
        """Remove the person of this name, who is told; return False if there is none. Raises JournalError.

        They can finish the game that they are playing.
        """
        async with self._lock:
            self._check_goes_on()
            if (person := self._named(name)) is None:
                return False
            await self._store(replace(person, takes_part="leave", removed=True))
            log.warning("person removed from the evening by the host", extra=about(person=person.person))
            probe("somebody is removed from an evening")
            self._dismiss(person.person, Code.REMOVED_FROM_EVENING)
        return True

    async def hand_over_person(self, name: str) -> str | None:
        """Return a new token for the person of this name, None if there is none.

        The device with the old token is notified. Raises Refusal or JournalError.
        """
        async with self._lock:
            self._check_goes_on()
            if (person := self._named(name)) is None:
                return None
            token = new_token()
            await self._renew_token(person.person, token_hash(token))
            log.warning("person handed over by the host", extra=about(person=person.person))
            self.look()
        return token

    def _named(self, name: str) -> stored.PersonEntered | None:
        people = (each for each in self.state.people.values() if not each.removed)
        return next((each for each in people if alike(name, each.name)), None)

    async def hand_over(self, give: Callable[[str], Awaitable[str | None]]) -> str | None:
        """Hand the evening over with `give`; return the new server's address, None if nobody takes it.

        Raises TableLost if the outcome is unknown.
        """
        async with self._lock:
            self._ended = NotStoredNow("another server takes the evening up")
            try:
                address = await give(EVENING)
            except BaseException:  # even if it is cancelled: another server may have it, or will
                self.give_up()
                raise
            if address is None:
                probe("nobody takes an evening")
                self._ended = None
                return None
        self.stop()
        probe("an evening is handed over")
        for session in self._followers:
            session.move_from_lobby(address)
        return address

    def give_up(self) -> None:
        """Stop without storing anything more: the evening was lost, and its clients reconnect elsewhere."""
        probe("an evening is lost with its lease")
        self._ended = TableLost("the lease is lost")
        self.stop()
        for session in self._followers:
            session.close(CloseCode.SERVICE_RESTART, CloseReason.TABLE_MOVED)

    def stop(self) -> None:
        """Stop: the server stops, or another evening has begun."""
        self._work.cancel()

    # -- what everybody sees ------------------------------------------------------------------------

    def message(self) -> messages.Evening:
        state, plan = self.state, self.plan
        here, scores = self._people.here, self._people.listed()
        people = [
            messages.EveningPerson(
                score.person,
                state.people[score.person].name,
                state.people[score.person].takes_part,
                score.person in here,
                score.place,
                score.tied,
                round(score.average * 10_000),
                score.games,
                score.wins,
                score.points,
                [(other, *counts) for other, counts in sorted(score.against.items())],
                round(score.score * 10_000),
            )
            for score in scores
        ]
        tables = [
            self._describe_table(code, table)
            for code, table in state.tables.items()
            if table.result is None or table.round == state.round
        ]
        left = self._due - self._now()
        return messages.Evening(
            plan.name,
            state.round,
            plan.rounds,
            plan.minutes,
            None if left == math.inf else max(0, math.ceil(left)),
            plan.same_draws,
            state.over,
            people,
            tables,
            [commitment_to(seed) for seed in state.seeds],
            state.draws_no_more,
        )

    def shown(self) -> EveningShown:
        """Return the evening's status, for rooms of its tables."""
        state, now = self.state, self._now()
        opened = {
            code: self._registry.tables[code] for code in state.running if code in self._registry.tables
        }
        gathering = {code: table for code, table in opened.items() if table.state.stage == "gathering"}
        come = {
            state.tables[code].people[seat]
            for code, table in gathering.items()
            for seat in table.audience.seated
            if seat < len(state.tables[code].people)
        }
        awaited: Awaited | None = None
        due = now
        if gathering:
            awaited, due = "begin", max(self._begins_by(state.tables[code]) for code in gathering)
        elif self.plan.rounds and self._in_round():
            awaited, due = "end", self._round_ends
        elif self._due < math.inf:
            awaited, due = "draw", self._due
        before = {each.person: (each.place, round(each.score * 10_000)) for each in state.scores_before()}
        message = replace(self.message(), seconds=None)
        return EveningShown(message, awaited, max(0, math.ceil(due - now)), frozenset(come), before)

    def person_of(self, session: Session) -> int | None:
        """Return the number of the person in this session, None without one."""
        return self._people.person_of(session)

    def _describe_table(self, code: str, table: EveningTable) -> messages.EveningTable:
        if (found := self._registry.tables.get(code)) is None:
            return messages.EveningTable(code, table.round, "over", list(table.people))
        bots = [None] * (len(found.state.players) - len(table.people))
        return messages.EveningTable(code, table.round, found.state.stage, [*table.people, *bots])

    def _tell(self) -> float:
        """Send the state of the evening to everybody who follows it, if it has changed.

        A change of the seconds alone is not sent, and one of who is here is sent later: otherwise every
        connection that comes or goes would have everything sent to everybody. Return the seconds until then.
        """
        message, now = self.message(), self._timers.time()
        here = frozenset(each.person for each in message.people if each.here)
        people = [replace(each, here=False) for each in message.people]
        news = build_frame(replace(message, seconds=None if message.seconds is None else 0, people=people))
        if news == self._told and (here == self._told_here or now < self._tell_here_at):
            return math.inf if here == self._told_here else self._tell_here_at - now
        self._told, self._told_here, self._tell_here_at = news, here, now + _PRESENCE_PAUSE
        frame = build_frame(message)
        for session in self._followers:
            session.post(frame)
        return math.inf

    # -- people -------------------------------------------------------------------------------------

    async def _sign_up(self, session: Session, message: messages.SignUp) -> messages.SignedUp:
        given = token_hash(message.token)
        if message.new_token is not None:
            renewed = token_hash(message.new_token)
            if (number := self._holder(given)) is not None:  # otherwise the answer may have been lost
                await self._renew_token(number, renewed, session)
            given = renewed
        if (number := self._holder(given)) is not None:
            return self._bind(session, message, number)
        if message.back or message.new_token is not None:
            raise Refusal(Code.NOT_SIGNED_UP)
        check_name(message.name)
        self._lobby.rates.count_name(session)
        if self.state.over:
            raise Refusal(Code.NO_EVENING)
        leaving = self._people.room_for_newcomer(session, message.name)
        number = self.state.last_person + 1
        origin = self._people.origin(session)
        await self._replace(leaving, stored.PersonEntered(number, message.name, given, "play", origin))
        return self._bind(session, message, number)

    def _holder(self, given: str) -> int | None:
        """Return the person whose token has this hash, None if there is none; raises Refusal if removed."""
        for number, person in self.state.people.items():
            if hash_fits(given, person.token_hash):
                if person.removed:
                    raise Refusal(Code.REMOVED_FROM_EVENING)
                return number
        return None

    async def _renew_token(self, number: int, renewed: str, by: Session | None = None) -> None:
        """Replace a person's token; other clients that used the old one are told.

        Raises Refusal or JournalError.
        """
        if self._holder(renewed) is not None:
            raise Refusal(Code.BAD_TOKEN, table=pages.EVENING)
        await self._store(replace(self.state.people[number], token_hash=renewed))
        for code, drawn in self.state.running.items():
            if number in drawn.people and (table := self._registry.tables.get(code)) is not None:
                seat = Seat(drawn.people.index(number))
                with contextlib.suppress(Refusal):  # the table ends, or the seat is no longer theirs
                    await table.change(partial(renew_seat, seat=seat, renewed=renewed), urgent=True)
        for session in self._people.dismiss(number):
            if session is not by:
                session.close(CloseCode.TAKEN_OVER, CloseReason.TAKEN_OVER)
        probe("somebody in an evening goes to another device")

    def _bind(self, session: Session, message: messages.SignUp, number: int) -> messages.SignedUp:
        self._people.bind(session, number)
        self.look()
        return messages.SignedUp(message.id, number)

    async def _take_part(self, session: Session, how: messages.TakesPart) -> None:
        if (number := self._people.person_of(session)) is None:
            raise Refusal(Code.NOT_SIGNED_UP)
        person = self.state.people[number]
        if person.takes_part == how:
            return
        self._lobby.rates.count_name(session)
        leaving = self._people.room_for(session) if person.takes_part == "leave" else []
        await self._replace(leaving, replace(person, takes_part=how))
        self.look()

    async def _replace(self, leaving: Sequence[stored.PersonEntered], comes: stored.PersonEntered) -> None:
        """Store who comes and who makes room, and tell the latter; raises Refusal or JournalError."""
        had_left = {each.person for each in leaving if self.state.people[each.person].takes_part == "leave"}
        await self._store(*leaving, comes)
        for each in leaving:
            self._dismiss(each.person, Code.NOT_SIGNED_UP if each.person in had_left else Code.EVENING_FULL)

    def _dismiss(self, number: int, why: Code) -> None:
        """Tell somebody that they are no longer in the evening."""
        for session in self._people.dismiss(number):
            session.send(Refusal(why).message())
        self.look()

    # -- step by step -------------------------------------------------------------------------------

    async def _run(self) -> None:
        while True:
            self._changed.clear()
            try:
                async with self._lock:
                    wait = await self._step()
            except JournalError as error:
                self._lobby.counts.journal_failed(error)
                probe("a step of an evening cannot be stored")
                wait = RETRY_SECONDS
            except Refusal as refusal:  # no room for tables now, or the server is about to stop
                probe("an evening waits for room")
                log.warning("the evening waits", extra=about(reason=refusal.code))
                wait = SECONDS_BETWEEN_ROUNDS
            wait = min(wait, self._tell())
            timer = None if wait == math.inf else self._timers.call_later(wait, self._changed.set)
            await self._changed.wait()
            if timer is not None:
                timer.cancel()
            pause = asyncio.Event()
            self._timers.call_later(_LEAST_PAUSE, pause.set)
            await pause.wait()

    async def _step(self) -> float:
        """Do what is due; return the seconds until something else may be."""
        if not all([await self._note_result(code) for code in self.state.running]):
            return RETRY_SECONDS
        waits = [await self._begin_games(), await self._draw()]
        return max(0.0, min(waits))

    async def _note_result(self, code: str) -> bool:
        """Store what came of a table, if it is over; return False if another server still has it."""
        table = self._registry.tables.get(code)
        if table is None and not await self._is_gone(code):
            probe("a table of an evening is at another server")
            return False
        if table is None:
            await self._store(stored.TableResult(code, []))
            probe("a table of an evening has gone without a result")
        elif table.state.stage == "over":
            scores = [
                (self.state.tables[code].people[seat], points, items)
                for seat, points, items in table.state.scores
                if seat < len(self.state.tables[code].people)
            ]
            await self._store(stored.TableResult(code, scores))
            await self._write_record()
        return True

    async def _is_gone(self, code: str) -> bool:
        """Return whether a table that is not here was closed, or everybody left it for long.

        Otherwise it comes from another server, after the evening. Raises JournalError while that is unknown.
        """
        journal = self._registry.journal
        if code in journal.archived or code in journal.codes_set_aside:
            return True
        return await journal.whereabouts(code) is None and code not in self._registry.tables

    async def _write_record(self) -> None:
        """Write the results so far into the folder of records, for standings over several evenings."""
        if self._record is None:
            return
        # The hash of a hash: whoever has a token finds its results, and nobody who has these finds the token.
        keys = {number: token_hash(person.token_hash) for number, person in self.state.people.items()}
        results = [
            [(keys[number], points, items) for number, points, items in table.result if number in keys]
            for table in self.state.tables.values()
            if table.result
        ]
        names = {keys[number]: person.name for number, person in self.state.people.items()}
        record = EveningRecord(self.plan.name, self.state.opened, names, results)
        try:
            await asyncio.to_thread(write_evening, self._record, record)
        except OSError as error:
            log.warning("the evening cannot be recorded", extra=about(reason=str(error)))

    async def _begin_games(self) -> float:
        """Begin the games whose people have come, or have had time to; return the seconds to the next."""
        registry, now = self._registry, self._now()
        waits = [math.inf]
        running = {code: registry.tables[code] for code in self.state.running if code in registry.tables}
        gathering = {code: table for code, table in running.items() if table.state.stage == "gathering"}
        together = defaultdict[int | str, list[str]](list)  # by rounds, if all their tables begin at once
        for code in gathering:
            together[self.state.tables[code].round if self.plan.same_draws else code].append(code)
        for codes in together.values():
            wait = max(self._begins_by(self.state.tables[code]) for code in codes) - now
            tables = [gathering[code] for code in codes]
            if wait > 0 and not all(each.state.people <= each.audience.seated.keys() for each in tables):
                waits.append(wait)
                continue
            waits.append(_SECONDS_TO_BEGIN)
            for code in codes:
                with contextlib.suppress(Refusal, TableLost):  # it ended in the meantime
                    await self._begin_game(gathering[code], self.state.tables[code])
        return min(waits)

    async def _begin_game(self, table: Table, drawn: EveningTable) -> None:
        seed = self.state.seeds[drawn.round - 1] if self.plan.same_draws else None
        absent = [
            number for seat, number in enumerate(drawn.people) if Seat(seat) not in table.audience.seated
        ]
        people = [self.state.people[number] for number in absent if number in self.state.people]
        pauses = [replace(each, takes_part="pause") for each in people if each.takes_part == "play"]
        if pauses:  # first: if it cannot be stored, both are tried again
            probe("somebody does not come to a table of an evening")
            await self._store(*pauses)
        if len(absent) == len(drawn.people):
            probe("nobody comes to a table of an evening")
            await table.close(None)
        else:
            await table.change(lambda context: begin_of_evening(context, seed), urgent=True)

    def _now(self) -> float:
        """Return the time of day by the evening's own clock, in seconds since 1970."""
        return self._clock_began + self._timers.time()

    def _begins_by(self, table: EveningTable) -> float:
        """Return when the game at a table begins without those who have not come."""
        return self._after_return((table.opened or self._resumed) + SECONDS_TO_COME)

    def _after_return(self, due: float) -> float:
        """Return when something is due that must not happen before people could return after a restart."""
        return max(due, self._resumed + _SECONDS_TO_COME_BACK)

    @property
    def _due(self) -> float:
        """Return when the next round is drawn; infinite if there are no rounds, or it is not awaited."""
        state = self.state
        if state.countdown is None or state.draws_no_more or not self.plan.rounds:
            return self._asked_for
        seconds = SECONDS_BETWEEN_ROUNDS if state.round else SECONDS_BEFORE_FIRST
        return min(self._asked_for, self._after_return(state.countdown + seconds))

    def _in_round(self) -> bool:
        """Return whether a round is under way: some of its tables play, and its time is not up."""
        state = self.state
        playing = any(table.round == state.round for table in state.running.values())
        return playing and self._now() < self._round_ends

    @property
    def _round_ends(self) -> float:
        """Return when the time for the round is up."""
        return (self.state.round_drawn or self._resumed) + self.plan.minutes * 60 + SECONDS_TO_COME

    @property
    def _fewest(self) -> int:
        """Return how few people have a table of their own."""
        return 2 if self.plan.bots is None else 1

    def _free(self) -> list[int]:
        """Return who waits for a table, the longest first."""
        came = now = self._now()
        if self.state.countdown is not None and now < self._after_return(0.0):
            came = self.state.countdown  # they are back, and may have waited before
        here = self._people.here - self._people.at_tables
        free = sorted(number for number in here if self.state.people[number].takes_part == "play")
        self._free_since = {number: self._free_since.get(number, came) for number in free}
        return sorted(free, key=self._free_since.__getitem__)

    async def _draw(self) -> float:
        """Open tables for those who wait, if it is time; return the seconds until it may be."""
        state, now = self.state, self._now()
        free = self._free()
        if state.draws_no_more:
            self._asked_for = math.inf
            return math.inf
        met = meetings(table.people for table in state.tables.values())
        origins = self._people.origins(free)
        if state.plan.rounds:
            if self._in_round():
                return self._round_ends - now
            if len(free) < (LEAST if self._due == math.inf and not state.round else self._fewest):
                return await self._stop_countdown()
            self._few_since = math.inf
            if self._due == math.inf:
                await self._store(stored.Countdown(int(now)))
            if self._due > now:
                return self._due - now
            tables = draw_tables(free, met, self._rng, origins)
        else:
            if not free:
                return await self._stop_countdown()
            self._few_since = math.inf
            since, others_play = self._free_since[free[0]], bool(state.running)
            wait = self._after_return(since + PATIENCE) - now
            waited = PATIENCE - wait
            tables = tables_now(free, met, self._rng, origins, others_play=others_play, waited=waited)
            probe("an evening draws tables as people become free")
            if not tables and wait > 0:
                if state.countdown is None:
                    await self._store(stored.Countdown(int(since)))
                return wait
            if not tables and self._fewest > 1:
                probe("somebody waits until others of an evening are free")
                return math.inf  # until others are free
            tables = tables or draw_tables(free, met, self._rng, origins)
        await self._open(tables or [free])
        self._asked_for = math.inf
        return 0.0

    async def _stop_countdown(self) -> float:
        """Stop the countdown, because too few people are here, or return the seconds to wait for them."""
        if self.state.countdown is not None:
            now = self._now()
            self._few_since = min(self._few_since, now)
            if (wait := self._after_return(self._few_since + _SECONDS_TO_COME_BACK) - now) > 0:
                probe("a countdown waits for people who may return")
                return wait
            await self._store(stored.Countdown())
        self._few_since = self._asked_for = math.inf
        return math.inf

    async def _open(self, tables: Sequence[Sequence[int]]) -> None:
        """Open these tables, and seat everybody at random."""
        plan, number = self.plan, self.state.round + 1
        seed = new_seed() if plan.same_draws else None
        seated = [self._rng.sample(table, len(table)) for table in tables]
        contents = [self._entries(people) for people in seated]
        drawn = stored.RoundDrawn([], seed, int(self._now()))

        def part(codes: Sequence[str]) -> tuple[str, int, Sequence[Entry]]:
            nonlocal drawn
            drawn = replace(drawn, tables=list(zip(codes, seated, strict=True)))
            return EVENING, self.state.entry_count, [drawn]

        await self._registry.open_tables(contents, part)
        self.state.fold(drawn)
        log.info("tables drawn", extra=about(round=number, tables=len(tables)))
        self.look()

    def _entries(self, people: Sequence[int]) -> list[Entry]:
        plan, state = self.plan, self.state
        bots = 0 if plan.bots is None else max(0, LEAST - len(people))
        seats = len(people) + bots
        least, most = GAME_CLOCK_SECONDS
        clock = GameClock(min(most, max(least, plan.minutes * 60 // seats)))
        entries: list[Entry] = [stored.Opened(seats, plan.same_draws, None, clock), stored.OfEvening()]
        players = [state.people[each] for each in people]
        entries += [stored.Kept(seat, each.name, each.token_hash) for seat, each in enumerate(players)]
        names = [each.name for each in players]
        for seat in range(len(people), seats):
            names.append(name_for_bot(plan.bots or "", names, self._rng))
            entries.append(stored.BotSeated(seat, plan.bots or "", names[-1]))
        if plan.same_draws:  # otherwise anybody could look how others play it
            probe("the tables of a round have the same draws")
            entries.append(stored.Changed(Spectators(on=False)))
        return entries

    def _check_goes_on(self) -> None:
        """Raise Refusal or JournalError if this server does not hold it any more."""
        if self._ended is not None:
            raise self._ended

    async def _store(self, *entries: stored.EveningEntry) -> None:
        self._check_goes_on()
        journal, state = self._registry.journal, self.state
        if state.entry_count >= self._shorten_at:
            state.entry_count = await journal.shorten(EVENING, live_entries)
            probe("the journal of an evening is shortened")
            self._shorten_at = state.entry_count + ENTRIES_BETWEEN_SHORTENINGS
        await journal.append(EVENING, state.entry_count, entries)
        for entry in entries:
            state.fold(entry)


def new_seed() -> Bytes32:
    """Return the seed of all draws in a round."""
    return Bytes32(secrets.token_hex(32))
