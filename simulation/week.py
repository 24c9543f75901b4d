"""Correspondence games: players are away for hours and days, and called; a server is restarted meanwhile."""

import asyncio
import logging
import random
import re
from typing import Final

from engine.game import RandomChance
from engine.pieces import Seat
from protocol.absence import letter_seconds
from server.storage.entries import (
    Entry,
    NoticesTo,
    OnHoliday,
    Paused,
    Played,
    StoodIn,
    Taken,
    TokenRevoked,
    TookBack,
)
from server.tables.post import notice_key
from server.tables.state.persistent_state import PersistentState
from simulation.judging.notices import (
    check_calls,
    check_calls_after_pauses,
    check_calls_in_time,
    is_plain,
    note_ends_of_pauses,
)
from simulation.machine.loop import EPOCH
from simulation.people.correspondent import Correspondent, is_called_at
from simulation.people.games import Games
from simulation.plan import FaultKind, Moment, PlannedFault
from simulation.server import Server
from simulation.verdict import Finding
from simulation.world import World

_DAY: Final = 86_400.0
_STOOD_IN: Final = re.compile(r"stand-in moved: table=(\w+) .*by=clock")
_LONGEST_DAYS: Final = 120.0
_HOUR: Final = 3600.0
_A_RESTART: Final = _HOUR  # of a turn's time is lost with a server at most
_A_WHILE: Final = 300.0  # seconds of a turn: who visits then may be seen when the notice is due
_STRUCK: Final = 0.03  # of the servers that have sent a notice, before they know that it has arrived
_LONG_ENOUGH: Final = 12 * _HOUR  # of a turn for every attempt to call
_LONG_SINCE: Final = 10 * _HOUR  # then the last notice was given up
_SPARE: Final = 60.0  # seconds: the stand-in thinks, and a server that is down does not
_HAPPENS: Final = (
    FaultKind.KILL,
    FaultKind.STOP,
    FaultKind.CLOCK,
    FaultKind.CUTS,
    FaultKind.PAUSE,
    FaultKind.PARTITION,
)
_HAPPENS_TO_NODES: Final = (*_HAPPENS, FaultKind.SLEEP, FaultKind.RESTART, FaultKind.FAILOVER)


class Week(World):
    """A world in which nobody is connected most of the time, and every clock has to be right all the same."""

    _stood_in: dict[str, list[float]]
    _down: list[float]
    _struck: int
    _unpaused: dict[str, list[float]]

    async def _live(self) -> None:
        self._stood_in, self._down, self._struck, self._unpaused = {}, [], 0, {}
        note_ends_of_pauses(self._unpaused, lambda: self._clock.now)
        logging.getLogger("server").setLevel(logging.INFO)  # which says when the stand-in moves
        for absent in (self._browser, self._guests, self._stranger):
            absent.end()
        way = await self._start()
        self._games = Games(self._plan.people, way, self.outcome)
        async with asyncio.TaskGroup() as around:
            disturbing = around.create_task(self._disturbing.run())
            striking = around.create_task(self._strike_now_and_then())
            try:
                async with asyncio.timeout(_LONGEST_DAYS * _DAY):
                    await self._games.play_all()
            except TimeoutError:
                pass  # the verdict lists the games that have not ended
            striking.cancel()
            self.postbox.arrived = lambda: None
            await self._disturbing.end()
            disturbing.cancel()
        await asyncio.sleep(_DAY / 2)  # for the last notices
        self._judge_archiving()
        self.outcome.counts["days"] += int(self._clock.now / _DAY)
        await self._end()
        await self._judge()

    async def _strike_now_and_then(self) -> None:
        """Have something go wrong once a day or more often."""
        rng = random.Random(f"{self._plan.seed} days")
        kinds = _HAPPENS if self.database is None else _HAPPENS_TO_NODES
        self.postbox.arrived = lambda: self._strike(FaultKind.KILL) if rng.random() < _STRUCK else None
        while True:
            await asyncio.sleep(rng.expovariate(1.5 / _DAY))
            self._strike(rng.choice(kinds))

    def _strike(self, kind: FaultKind) -> None:
        self._struck += 1
        if f"fault{self._struck}" not in self._plan.people.without:
            self._down.append(self._clock.now)
            self._disturbing.strike(PlannedFault(self._struck, kind, Moment.MOVE, 0, 0))

    def _check_log_line(self, server: Server, line: str) -> None:
        super()._check_log_line(server, line)
        if (found := _STOOD_IN.search(line)) is not None:
            self._stood_in.setdefault(found[1], []).append(self._clock.now)

    async def _judge(self) -> None:
        await super()._judge()
        journal = (await self._journal()).tables
        for party in [] if self._games is None else self._games.parties:
            for table in party.tables:
                entries = journal.get(table, [])
                made = sum(isinstance(each, Played) and each.planned for each in entries)
                self.outcome.counts["planned moves made"] += made
                people = [each for each in party.players if isinstance(each, Correspondent)]
                moved = {seq: at for each in people for seq, at in each.moved.items()}
                if is_called_at(table):
                    self._judge_notices(table, people, moved, entries)
                    letters = [each for each in self.postbox.letters if each.notice.table == table]
                    self.outcome.verdict.add(check_calls(table, people, letters, self._down))
                    late = check_calls_in_time(table, people, letters, entries, moved)
                    self.outcome.verdict.add(late)
                    ends = self._unpaused.get(table, [])
                    missed = check_calls_after_pauses(table, people, letters, entries, ends=ends, moved=moved)
                    self.outcome.verdict.add(missed)
                else:
                    self._judge_clocks(table, moved, entries)
        self._judge_repeated()
        for letter in self.postbox.letters:
            if not is_plain(letter.notice):
                found = Finding(
                    f"a notice has more in it: {letter.notice}", letter.notice.table, EPOCH + letter.at
                )
                self.outcome.verdict.leaked.append(found)

    def _judge_archiving(self) -> None:
        """A finished table where nobody has been for hours is in the archive."""
        running = [server.running for server in self.servers if server.running is not None]
        for table in (table for each in running for table in each.lobby.tables.values()):
            if table.state.stage == "over" and (table.seconds_unattended() or 0) > _LONG_SINCE:
                self.outcome.verdict.unfinished.append(
                    self._finding("it is not archived after its end", table.code)
                )

    def _judge_repeated(self) -> None:
        """A notice comes again only if a kill, or the loss of a lease, kept its server from noting that."""
        killed = [process for server in self.servers for process in server.killed]
        for first, again in self.postbox.again():
            lost = self.database is not None and any(first.at - _HOUR <= at <= again.at for at in self._down)
            if first.sender in killed or (lost and first.sender is not again.sender):
                self.outcome.counts["notices sent again after a kill"] += 1
            else:
                at, since = EPOCH + again.at, EPOCH + first.at
                found = Finding(f"{again.notice} came twice", again.notice.table, at, since=since)
                self.outcome.verdict.doubled.append(found)

    def _judge_notices(
        self, table: str, people: list[Correspondent], moved: dict[int, float], entries: list[Entry]
    ) -> None:
        """Check that who was away in their turn, and everyone at the end, was notified, and nobody else."""
        verdict, counts = self.outcome.verdict, self.outcome.counts
        came = {each.notice.key: each for each in self.postbox.letters if each.notice.table == table}
        called = {each.name: each for each in people if each.called_since}
        due: dict[str, str] = {"": ""}
        stood, back = _turns_that_stood(entries), _turns_with_a_return(entries)
        counts["turns that stood still"] += len(stood)
        state = PersistentState([], RandomChance(random.Random(0)))
        pauses = agreed_pause = 0
        for entry in entries:
            state.fold(entry)
            if isinstance(entry, Paused):
                pauses += 1
                agreed_pause = agreed_pause if entry.until is None else pauses
                goes_on = [
                    notice_key(table, each.token_hash, "resumed", agreed_pause)
                    for each in state.players
                    if each is not None
                ]
                due |= dict.fromkeys(goes_on, "resumed")
                counts["notices after a pause"] += len(came.keys() & goes_on)
            if not isinstance(entry, Played | StoodIn) or state.game is None:
                continue
            seat, seq = state.game.view.turn, len(state.game.events)
            held = None if seat is None else state.players[seat]
            if held is None or seat is None:
                continue
            if seat not in state.stopped or seq in back:
                due |= _due_in_a_turn(table, held.token_hash, seq)
            began, ended = moved.get(seq - len(entry.events)), moved.get(seq)
            away = called.get(held.name)
            if away is None or began is None or ended is None or ended - began < _LONG_ENOUGH:
                continue
            since = away.called_since or 0.0
            if (
                since < began
                and seq not in stood
                and not any(began <= visit <= began + _A_WHILE for visit in away.visits)
            ):
                counts["turns with a notice"] += 1
                # Whoever hears after a pause that the game continues is told of the turn by that.
                resumed = came.get(notice_key(table, held.token_hash, "resumed", agreed_pause))
                told = came.get(notice_key(table, held.token_hash, "turn", seq), resumed)
                if told is None or told.at < began:
                    text = f"{held.name} was not called after event {seq}"
                    verdict.lost.append(Finding(text, table, EPOCH + ended, since=EPOCH + began))
        for seat, each in state.held:
            key = notice_key(table, each.token_hash, "over", 0)
            due[key] = "over"
            if state.stage != "over":
                continue
            if seat in _called_in_the_end(entries):
                text = f"the address of {each.name} is kept after the end"
                verdict.leaked.append(Finding(text, table))
            away = called.get(each.name)
            end = max(moved.values(), default=0.0)
            if away is not None and away.visits[-1] > end + _A_WHILE:
                counts["ends with a notice"] += 1
                if key not in came:
                    verdict.lost.append(Finding(f"{each.name} was not called at the end", table, EPOCH + end))
        verdict.invented += [
            Finding(f"nothing has caused {letter.notice}", table, EPOCH + letter.at)
            for key, letter in came.items()
            if key not in due
        ]

    def _judge_clocks(self, table: str, moves: dict[int, float], entries: list[Entry]) -> None:
        """The stand-in moves when time is up: never sooner, and later only by what restarts cost."""
        verdict, counts = self.outcome.verdict, self.outcome.counts
        by_clock = [each for each in entries if isinstance(each, StoodIn) and each.by == "clock"]
        when = self._stood_in.get(table, [])
        counts["moves by the clock"] += len(by_clock)
        if len(when) != len(by_clock):
            return  # a server was killed between the move and its line in the log
        stood = _turns_that_stood(entries)
        counts["turns that stood still"] += len(stood)
        times, moved = iter(when), None
        state = PersistentState([], RandomChance(random.Random(0)))
        ends: dict[int, float] = {}  # when the turn before an event ended, by the events so far
        for entry in entries:
            seq = 0 if state.game is None else len(state.game.events)
            if isinstance(entry, StoodIn) and entry.by == "clock":
                moved, seat = next(times), Seat(entry.seat)
                reserve = state.clocks.reserve(seat) / 1000
                allowed = letter_seconds(state.absence) + reserve
                # A journal that was shortened no longer has what was used of it.
                least = allowed - (reserve if table in self.shortened else 0.0)
                if seq in ends and seq not in stood:
                    took = moved - ends[seq]
                    lost = sum(ends[seq] - _A_RESTART <= down <= moved for down in self._down)
                    counts["turns timed"] += 1
                    if not least - 1 <= took <= allowed + _SPARE + lost * (_A_RESTART + _SPARE):
                        text = f"time was up after {took / _HOUR:.2f} h, not {allowed / _HOUR:.2f} h"
                        found = Finding(text, table, EPOCH + moved, since=EPOCH + ends[seq])
                        verdict.different.append(found)
            else:
                moved = moves.get(seq) if isinstance(entry, Played) else None
            state.fold(entry)
            if isinstance(entry, Played | StoodIn) and state.game is not None and moved is not None:
                ends[len(state.game.events)] = moved


def _turns_with_a_return(entries: list[Entry]) -> set[int]:
    """Return the turns, by the events before them, in which somebody came back from a holiday."""
    turns, events = set(), 0
    for entry in entries:
        if isinstance(entry, Played | StoodIn | TookBack):
            events += len(entry.events)
        elif isinstance(entry, OnHoliday) and not entry.on:
            turns.add(events)
    return turns


def _due_in_a_turn(table: str, token_hash: str, seq: int) -> dict[str, str]:
    """Return the keys of the notices that are due in the turn after so many events, with their kinds."""
    return {notice_key(table, token_hash, kind, seq): kind for kind in ("turn", "short")}


def _called_in_the_end(entries: list[Entry]) -> set[int]:
    """Return the seats whose players have an address left."""
    addresses = dict[int, str]()
    for entry in entries:
        match entry:
            case NoticesTo(seat, address):
                addresses[seat] = address
            case Taken(seat) | TokenRevoked(seat):
                addresses.pop(seat, None)
    return {seat for seat, address in addresses.items() if address}


def _turns_that_stood(entries: list[Entry]) -> set[int]:
    """Return the turns, by the events before them, in which a pause or a holiday stopped the clock."""
    turns, state = set(), PersistentState([], RandomChance(random.Random(0)))
    for entry in entries:
        state.fold(entry)
        if state.game is not None and (state.paused is not None or state.game.view.turn in state.stopped):
            turns.add(len(state.game.events))
    return turns
