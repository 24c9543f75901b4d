"""A server of a simulation: its processes, one after another, with the disk that outlives them."""

import asyncio
import logging
import random
import re
from collections import Counter
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Final, NamedTuple

from server.app import Running, serve_until
from server.config import Config
from server.errors import JournalError, StartError
from server.monitoring.failures import _keep_running
from server.monitoring.logs import HumanFormatter
from simulation.machine.disk import Disk, Disks
from simulation.machine.loop import EPOCH, Clock, Process
from simulation.machine.network import Network

_SECONDS_TO_START: Final = 200.0  # a node waits for its database for a minute
_SECONDS_BETWEEN_STARTS: Final = 1.0
_SECONDS_TO_STOP: Final = 60.0
_SECONDS_TO_NOTICE: Final = 120.0  # that somebody has gone without a word
_LOOK: Final = 0.02  # seconds between two looks at a process
_NO_DATABASE: Final = re.compile(r"\b[Dd]atabase\b|journal could not be used|started under the name")


class LogLine(NamedTuple):
    """A line that a server has logged, `at` a time of the system's clock, as in the taps."""

    at: float
    text: str


class NotStarted(Exception):
    """The server refused to start on what it had left, for the reason in the text."""


class Server:
    """A server at `host`, which the configuration has to name, with its files in a folder.

    `log` has what its processes have logged; `left` what was still there after they had stopped in order.
    """

    def __init__(
        self,
        name: str,
        config: Config,
        clock: Clock,
        network: Network,
        disks: Disks,
        *,
        rng: random.Random,
        keeps_undo: bool,
    ) -> None:
        assert config.data is not None
        self.folder = config.data.parent
        self.name = name
        self.host = config.host
        self.records = config.records or self.folder
        self.life = 0
        self.log: list[LogLine] = []
        self.left: list[str] = []
        self.undone = 0  # writes, by power cuts
        self.killed: list[Process] = []
        self.died = False  # in the middle of a write, and is to be killed now
        self.running: Running | None = None
        self.process: Process | None = None
        self.drift = 1.0  # of the clocks of its processes
        self.longest_turn = self.late = 0.0  # as in `Process`
        self.wall_offset = 0.0
        self.errors: list[tuple[float, str]] = []  # that no task of its processes has handled, and when
        self._config = config
        self._data = config.data
        self._clock = clock
        self._network = network
        self._disks = disks
        self._rng = rng
        self._serving: asyncio.Task[None] | None = None
        self._stop = asyncio.Event()
        self._failure: str | None = None
        self._usual_tasks: Counter[str] = Counter()  # of a process that nobody has connected with yet
        self.disk = Disk(self._data, rng, self._die, keeps_undo=keeps_undo)
        disks.add(self.disk)

    @property
    def runs(self) -> bool:
        return self.process is not None and not self.process.dead

    async def start(self) -> None:
        """Start a process and wait until it accepts connections; raises NotStarted.

        As long as it cannot use the database, it is started again, as by a supervisor.
        """
        # An outage of the database lasts at most one and a half leases, long ones in correspondence games.
        until = self._clock.now + _SECONDS_TO_START + 2 * self._config.lease_seconds
        while True:
            await self._start_once()
            if self._failure is None:
                return
            if self.process is not None:
                self._bury(self.process, silently=False)
            if (
                self._config.database is None
                or self._clock.now > until
                or not _NO_DATABASE.search(self._failure)
            ):
                raise NotStarted(f"{self.name} did not start: {self._failure}")
            await asyncio.sleep(_SECONDS_BETWEEN_STARTS)

    async def _start_once(self) -> None:
        self.life += 1
        self.died = False
        self.running = self._failure = None
        process = self.process = Process(self._clock, self._network, self.name, self.host, self._rng)
        process.drift, process.wall_offset, process.errors = self.drift, self.wall_offset, self.errors
        process.longest_turn, process.late = self.longest_turn, self.late
        process.call_soon(self._begin, process)
        until = self._clock.now + _SECONDS_TO_START
        while self.running is None and self._failure is None and self._clock.now < until:
            if process.dead:
                break
            await asyncio.sleep(_LOOK)
        if process.dead:  # killed while it started; whoever killed it starts another
            self._failure = None
            return
        if self.running is None and self._failure is None:
            self._failure = "it takes too long"
        self._usual_tasks = _tasks_of(process) - _of_evening(self.running)

    def _begin(self, process: Process) -> None:
        self._stop = asyncio.Event()
        self._serving = process.create_task(self._serve())

    async def _serve(self) -> None:
        try:
            await serve_until(self._stop, self._config, self._note_running)
        except (StartError, JournalError) as error:
            self._failure = str(error)
        except Exception as error:
            self._failure = repr(error)
            raise

    def _note_running(self, running: Running) -> None:
        self.running = running

    def _die(self) -> None:
        """Do nothing more, in the middle of a write."""
        if self.process is not None:
            self.died = self.process.dead = True

    def kill(self, *, power: bool = False) -> None:
        """End the process at once; with the power, what it has not synced is lost as well."""
        process = self.process
        if process is None:
            return
        self.killed.append(process)
        self._bury(process, silently=power)
        if power:
            self.undone += self.disk.cut_power()
        self.disk.dead = True
        self.disk = self.disk.after_death()
        self._disks.add(self.disk)

    async def left_by_guests(self) -> list[str]:
        """Return what the process still has of those who were there, some time after all have gone."""
        until = self._clock.now + _SECONDS_TO_NOTICE
        while (left := self._left()) and self._clock.now < until:
            await asyncio.sleep(1.0)
        return left

    def _left(self) -> list[str]:
        process, running = self.process, self.running
        if process is None or running is None:
            return []
        left = [f"connection {number}" for number in process.transports]
        if not left:
            left += ["clients"] if len(running.clients) else []
            usual = self._usual_tasks + _of_evening(running)
            left += [f"task {task}" for task in sorted(_tasks_of(process) - usual)]
        return [f"{self.name} keeps what was somebody's who has gone: {each}" for each in left]

    async def stop(self) -> str | None:
        """Have the process stop in order; return what is wrong with how it did."""
        process, serving = self.process, self._serving
        if process is None or serving is None or process.dead:
            return None
        process.call_soon(self._stop.set)
        until = self._clock.now + _SECONDS_TO_STOP
        while not (serving.done() or process.dead) and self._clock.now < until:
            await asyncio.sleep(_LOOK)
        if process.dead:
            return None
        wrong = None
        if not serving.done():
            wrong = f"{self.name} did not stop within {_SECONDS_TO_STOP:g} seconds"
        elif (error := serving.exception()) is not None:
            wrong = f"{self.name} stopped with {error!r}"
        else:
            await asyncio.sleep(1.0)
            self.left += [f"{self.name} left a task: {task}" for task in sorted(_tasks_of(process))]
            self.left += [f"{self.name} left connection {number} open" for number in process.transports]
            self.left += [f"{self.name} left a connection to the database open" for _ in process.at_end]
        self._bury(process, silently=False)
        return wrong

    @property
    def serves(self) -> bool:
        """Return whether it has neither stopped nor died."""
        return self.runs and self._serving is not None and not self._serving.done()

    async def drain(self, seconds: float) -> None:
        """Have the process take no new tables, and stop after so long, or when nobody plays any more."""
        process, running, serving = self.process, self.running, self._serving
        if process is None or running is None or serving is None:
            return
        process.call_soon(running.drain.begin, seconds)
        until = self._clock.now + seconds + _SECONDS_TO_STOP
        while not (serving.done() or process.dead) and self._clock.now < until:
            await asyncio.sleep(_LOOK)

    async def drain_for_a_while(self, seconds: float) -> None:
        """Have the process take no new tables for so long."""
        process, running = self.process, self.running
        if process is None or running is None:
            return
        process.call_soon(running.drain.begin, 10 * seconds + 60.0)
        await asyncio.sleep(seconds)
        process.call_soon(running.drain.cancel)

    def trace(self, fault: str) -> None:
        """Take note of what is done to it."""
        self._clock.trace.note(self.name, "fault", fault)

    def _bury(self, process: Process, *, silently: bool) -> None:
        process.end(silently=silently)
        self.wall_offset = process.wall_offset
        self.running = self.process = None


class Log(logging.Handler):
    """Gives each server the lines that its own process logs."""

    def __init__(
        self, clock: Clock, servers: Callable[[], list[Server]], heard: Callable[[Server, str], None]
    ) -> None:
        super().__init__()
        self._heard = heard
        self._clock = clock
        self._servers = servers
        self.setFormatter(HumanFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        process = self._clock.running
        if process is None or process.dead:
            return
        for server in self._servers():
            if server.process is process:
                line = self.format(record).replace(str(server.folder), "DATA")
                server.log.append(LogLine(EPOCH + self._clock.now, line))
                self._heard(server, line)
                self._clock.trace.note(server.name, "log", line)


def begin(process: Process, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Return a task of a process that is not running just now."""
    running = asyncio._get_running_loop()
    asyncio._set_running_loop(process)
    try:
        return process.create_task(work)
    finally:
        asyncio._set_running_loop(running)


def _tasks_of(process: Process) -> Counter[str]:
    return Counter(str(getattr(task.get_coro(), "__qualname__", "")) for task in asyncio.all_tasks(process))


def _of_evening(running: Running | None) -> Counter[str]:
    """Return the task of the evening, if the server has it, which may have come from another one."""
    return Counter(
        {_keep_running.__qualname__: int(running is not None and running.lobby.evenings.running is not None)}
    )


def records_in(folder: Path, table: str) -> list[Path]:
    """Return the records of a table's game that were written."""
    return sorted(folder.glob(f"*-{table}.txt"))
