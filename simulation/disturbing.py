"""What goes wrong in a simulation, when its time has come."""

import asyncio
import contextlib
import math
import random
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from protocol.messages import Resume
from simulation.database.server import DatabaseServer
from simulation.machine.network import Network
from simulation.plan import FaultKind, Moment, PlannedFault, WorldPlan
from simulation.server import LogLine, Server
from simulation.verdict import Finding, Outcome
from simulation.wiretap import Wiretap

_LOOK: Final = 0.02
# What a server says when its disk fails, and in no other case.
_SAID_ABOUT_THE_DISK: Final = re.compile(
    r"not stored|stored again|not archived|not removed|can(not)? be cleared|cannot be written"
    r"|(WARNING|ERROR) [^:]*record|commit list lacked"
)
# A checkpoint is made after so many entries, whenever that is.
_SAID_AT_LAST: Final = re.compile("the journal's log can be cleared again")
# The commit list is not synced with each commit, and the journal is.
_SAID_AFTER_A_POWER_CUT: Final = re.compile("the commit list lacked the last commits")
_AFTERWARDS: Final = 60.0  # seconds in which a server may still log what a fault has done
_OF_THE_DATABASE: Final = {FaultKind.RESTART, FaultKind.CRASH, FaultKind.FAILOVER}
_OF_THE_LEASE: Final = {FaultKind.PAUSE, FaultKind.LINE_CUT, FaultKind.LINE_SILENT, FaultKind.LINE_SLOW}
_DIES_AGAIN: Final = 0.3  # of the servers that are started after a fault: in the middle of a write
_DOWN: Final = {
    FaultKind.KILL,
    FaultKind.TORN_WRITE,
    FaultKind.POWER_CUT,
    FaultKind.STOP,
    FaultKind.DRAIN,
}
_SAID_ABOUT_A_DRAIN: Final = re.compile(
    r"WARNING (no longer )?draining|evening waits: reason=server-stopping"
)


@dataclass(slots=True)
class _Excuse:
    server: str
    said: re.Pattern[str]
    since: float
    until: float = math.inf


class Excuses:
    """What servers may log from the beginning of each fault until a while after its end."""

    def __init__(self) -> None:
        self._excuses: list[_Excuse] = []

    @contextlib.contextmanager
    def excuse(self, server: str, said: re.Pattern[str]) -> Iterator[None]:
        """Expect something in a server's log because of what happens in this context."""
        self._excuses.append(excuse := _Excuse(server, said, time.time()))
        try:
            yield
        finally:
            excuse.until = time.time() + _AFTERWARDS

    def explain(self, server: str, line: LogLine) -> bool:
        """Return whether a server may have logged a line."""
        return any(
            each.server == server
            and each.since <= line.at
            and (line.at <= each.until or _SAID_AT_LAST.search(line.text))
            and each.said.search(line.text)
            for each in self._excuses
        )


class Disturbing:
    """Brings about the faults of a plan, each as long as it lasts; `calm` while there is none."""

    def __init__(
        self,
        plan: WorldPlan,
        servers: Sequence[Server],
        database: DatabaseServer | None,
        network: Network,
        players: Sequence[str],
        *,
        outcome: Outcome,
        woken: Callable[[Server], None],
    ) -> None:
        self._plan, self._players = plan, players
        self._servers, self._database, self._network = servers, database, network
        self._counts, self._verdict = outcome.counts, outcome.verdict
        self._woken = woken  # is told which server goes on after a pause
        self._to_come = sorted(plan.faults, key=lambda fault: (fault.moves, fault.pieces))
        self._pieces: Counter[int] = Counter()  # that have come since a fault's moves, by the faults' numbers
        self._ended: set[str] = set()
        self._struck: asyncio.Queue[tuple[PlannedFault, str]] = asyncio.Queue()  # and perhaps the server
        self._lasting: set[asyncio.Task[None]] = set()
        # While a server, or the database, is taken down and started again.
        self._down: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.excuses = Excuses()

    @property
    def calm(self) -> bool:
        """Tell whether nothing is wrong just now."""
        return not self._lasting and self._struck.empty()

    def note_arrival(self, tap: Wiretap) -> None:
        """Take note that something has reached the server; see what falls due."""
        ended = bool(tap.ended - self._ended)
        self._ended |= tap.ended
        returns = bool(tap.asked) and isinstance(tap.asked[-1].message, Resume)
        for fault in list(self._to_come):
            if self._counts["moves"] < fault.moves:
                break
            match fault.moment:
                case Moment.MOVE:
                    self._pieces[fault.number] += 1
                    if self._pieces[fault.number] > fault.pieces:
                        self.strike(fault)
                case Moment.END if ended:
                    self.strike(fault, tap.server)
                case Moment.RETURN if returns:
                    self.strike(fault, tap.server)
                    return

    def at_rematch(self) -> None:
        """Take note that players are on their way to another table."""
        for fault in self._to_come:
            if fault.moment is Moment.REMATCH:
                self.strike(fault)
                return

    def strike(self, fault: PlannedFault, server: str = "") -> None:
        """Have a fault happen now, at the server if one is named."""
        if fault in self._to_come:
            self._to_come.remove(fault)
        self._counts["faults"] += 1
        self._counts[f"fault: {fault.kind}"] += 1
        self._struck.put_nowait((fault, server))

    async def run(self) -> None:
        """Bring about what falls due, until cancelled; raises NotStarted."""
        async with asyncio.TaskGroup() as tasks:
            while True:
                task = tasks.create_task(self._happen(*await self._struck.get()))
                self._lasting.add(task)
                task.add_done_callback(self._lasting.discard)

    async def end(self) -> None:
        """Begin nothing more, and wait until the server runs."""
        self._to_come.clear()
        while not self.calm:
            await asyncio.sleep(_LOOK)

    async def _happen(self, fault: PlannedFault, name: str) -> None:
        rng = random.Random(f"{self._plan.seed} fault {fault.number}")
        server = next((each for each in self._servers if each.name == name), None) or rng.choice(
            self._servers
        )
        if fault.moment is Moment.RETURN:  # while that is being stored
            await asyncio.sleep(rng.choice([0.0, 0.002, 0.01]))
        server.trace(f"fault {fault.number} begins: {fault.kind}")
        await self._bring_about(fault, server, rng)
        server.trace(f"fault {fault.number} is over")

    async def _bring_about(self, fault: PlannedFault, server: Server, rng: random.Random) -> None:
        if fault.kind in _OF_THE_DATABASE:
            async with self._down["database"]:
                await self._take_database_down(fault.kind, rng)
            return
        if fault.kind in _DOWN:
            async with self._down[server.name]:
                await self._take_down(server, fault.kind, rng)
            return
        seconds = self._plan.people.longest_hold * rng.choice([0.05, 0.2, 0.5, 1.0])
        if self._database is not None and fault.kind in _OF_THE_LEASE:
            seconds = self._plan.lease * rng.choice([0.1, 0.5, 0.9])
            if fault.kind is not FaultKind.PAUSE:
                seconds *= rng.choice([1.0, 2.0])
        if fault.kind is FaultKind.SLEEP:
            seconds = self._plan.lease * rng.uniform(1.05, 2.5)
        with contextlib.ExitStack() as lasting:
            async with self._down[server.name]:
                lasting.enter_context(self._trouble(server, fault.kind, rng))
            await asyncio.sleep(seconds)
        if server.died:
            async with self._down[server.name]:
                await self._start_again(server, rng)

    async def _take_database_down(self, kind: FaultKind, rng: random.Random) -> None:
        database = self._database
        assert database is not None
        if kind is FaultKind.RESTART:
            database.stop()
        else:
            database.crash()
        await asyncio.sleep(self._plan.lease * rng.choice([0.0, 0.1, 0.5, 1.5]))
        if kind is FaultKind.FAILOVER:
            database.start(offset=rng.uniform(-0.1, 0.1) * self._plan.lease, standby=True)
            database.read_only = True
            await asyncio.sleep(rng.choice([0.0, 0.5, 2.0]))
            database.read_only = False
        else:
            database.start()

    async def _take_down(self, server: Server, kind: FaultKind, rng: random.Random) -> None:
        match kind:
            case FaultKind.STOP | FaultKind.DRAIN:
                if kind is FaultKind.DRAIN and server.runs and rng.random() < 0.3:
                    with self.excuses.excuse(server.name, _SAID_ABOUT_A_DRAIN):
                        await server.drain_for_a_while(rng.uniform(0.0, 5.0))
                    if server.serves:  # somebody was playing
                        return
                elif kind is FaultKind.DRAIN:
                    with self.excuses.excuse(server.name, _SAID_ABOUT_A_DRAIN):
                        await server.drain(rng.choice([1.0, 10.0, 60.0]))
                if (wrong := await server.stop()) is not None:
                    self._verdict.unfinished.append(Finding(wrong, at=time.time()))
                if server.runs:
                    server.kill()
                await server.start()
                return
            case FaultKind.TORN_WRITE:
                server.disk.writes_left = rng.randrange(30)
                for _ in range(500):
                    if server.died:
                        break
                    await asyncio.sleep(_LOOK)
        power = kind is FaultKind.POWER_CUT or (self._plan.durable and rng.random() < 0.3)
        power = power and self._database is None
        server.kill(power=power)
        with self.excuses.excuse(server.name, _SAID_AFTER_A_POWER_CUT) if power else contextlib.nullcontext():
            await self._start_again(server, rng)

    async def _start_again(self, server: Server, rng: random.Random) -> None:
        if server.runs:
            server.kill()
        await asyncio.sleep(rng.choice([0.0, 0.1, 1.0, self._plan.people.longest_hold]))
        if self._plan.nodes == 1 and rng.random() < _DIES_AGAIN:
            server.disk.writes_left = rng.randrange(20)
            await server.start()
            self._counts["kills of a server that starts"] += server.died
            server.kill()
        await server.start()

    @contextlib.contextmanager
    def _trouble(self, server: Server, kind: FaultKind, rng: random.Random) -> Iterator[None]:
        """Have something be wrong while the context lasts; its end ends others of its kind that overlap."""
        network, process = self._network, server.process
        assert process is not None
        match kind:
            case FaultKind.PAUSE | FaultKind.SLEEP:
                process.paused = True
                yield
                if server.process is process:
                    self._woken(server)
                process.paused = False
            case FaultKind.LINE_CUT | FaultKind.LINE_SILENT | FaultKind.LINE_SLOW:
                with self._bad_lines(server, kind, rng):
                    yield
            case FaultKind.FULL_DISK:
                server.disk.room = rng.choice([0, 1000, 3000, 20_000])
                with self.excuses.excuse(server.name, _SAID_ABOUT_THE_DISK):
                    yield
                server.disk.room = None
            case FaultKind.BAD_DISK:
                server.disk.failing = rng.choice([0.02, 0.2, 1.0])
                with self.excuses.excuse(server.name, _SAID_ABOUT_THE_DISK):
                    yield
                server.disk.failing = 0.0
            case FaultKind.SLOW_DISK:
                slow = rng.choice([0.05, 0.5, 2.0])
                process.work_delay = lambda: (rng.uniform(0, slow), rng.uniform(0, slow))
                yield
                process.work_delay = process.usual_delay
            case FaultKind.PARTITION:
                apart = rng.sample(self._players, rng.randint(1, len(self._players)))
                heals = [network.part(player, server.host) for player in apart]
                yield
                for heal in heals:
                    heal()
            case FaultKind.CUTS:
                network.weather = replace(self._plan.weather, cut=rng.choice([0.02, 0.1, 0.3]))
                yield
                network.weather = self._plan.weather
            case _:
                process.wall_offset += rng.choice([-7200.0, -1.0, 1.0, 86_400.0])
                yield

    @contextlib.contextmanager
    def _bad_lines(self, server: Server, kind: FaultKind, rng: random.Random) -> Iterator[None]:
        """Have something be wrong between the database and a node, or all nodes."""
        database = self._database
        assert database is not None
        lines = database.lines if rng.random() < 0.3 else [database.line(server.host)]
        requests, delay, then_cut = rng.random() < 0.5, rng.choice([0.005, 0.03, 0.15]), rng.random() < 0.3
        for line in lines:
            if kind is FaultKind.LINE_CUT:
                line.refuses = True
                line.cut()
            elif kind is FaultKind.LINE_SILENT:
                line.silent = {True: requests, False: True}
            else:
                line.delay = delay
        yield
        for line in lines:
            line.refuses, line.delay = False, 0.0
            if kind is FaultKind.LINE_SILENT and then_cut:
                line.cut()
            line.let_go()
