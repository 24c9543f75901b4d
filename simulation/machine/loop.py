"""Processes that share one virtual clock: an asyncio event loop for each, run by one scheduler.

A process is what can be killed and paused on its own. Within one, callbacks keep the order that asyncio
promises; which process goes on next, and in which order timers of one moment fire, is drawn from the seed.
"""

import asyncio
import heapq
import math
import random
import sys
import threading
from asyncio import base_events
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context
from typing import Any, Final, Protocol, TypeVar

from simulation.trace import Trace

T = TypeVar("T")

_NEVER: Final = math.inf
EPOCH: Final = 1_800_000_000.0  # the system's clock when a simulation begins
_STEPS_WITHOUT_TIME: Final = 200_000  # ... after which somebody must be running in a circle
_MOSTLY_SHORT: Final = 16
_USUAL_WORK: Final = 0.002  # seconds in which a thread does it at most ...
_LATE_WORK: Final = 0.5  # ... and if other work keeps it waiting


class Stuck(Exception):
    """Nothing is left to happen, or nothing but callbacks that call each other for ever."""


class ProcessNetwork(Protocol):
    """What processes need of the network."""

    async def connect(
        self,
        process: "Process",
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        address: tuple[str, int],
    ) -> tuple[asyncio.BaseTransport, asyncio.BaseProtocol]:
        """Connect a process with who listens at an address; raises OSError."""

    def drop(self, process: "Process", *, silently: bool) -> None:
        """Forget a process that has ended; `silently` if its system has, too."""


class Clock:
    """Runs what falls due in all processes, and lets the time in between pass at once."""

    def __init__(self, rng: random.Random, trace: Trace) -> None:
        self.now = 0.0
        self.trace = trace
        self._rng = rng
        self._events: list[tuple[float, float, int, Callable[[], None]]] = []
        self._count = 0
        self.processes: list[Process] = []
        self.graves: list[object] = []  # what processes held that were killed
        self.running: Process | None = None  # whose turn it is

    def at(self, when: float, do: Callable[[], None]) -> None:
        """Call `do` at this time, outside of all processes: what the world does to them."""
        self._count += 1
        heapq.heappush(self._events, (max(when, self.now), self._rng.random(), self._count, do))

    def after(self, seconds: float, do: Callable[[], None]) -> None:
        """Call `do` in so many seconds."""
        self.at(self.now + seconds, do)

    def run(self, main: "asyncio.Task[T]") -> T:
        """Let all processes run until a task is done; raises what it raises, or Stuck."""
        steps, since = 0, self.now
        while not main.done():
            steps += 1
            if self.now > since:
                steps, since = 0, self.now
            elif steps > _STEPS_WITHOUT_TIME:
                awake = [name for each in self.processes for name in each.called_next()]
                raise Stuck(f"time stands still at {self.now}: {', '.join(awake)}")
            self._step()
        return main.result()

    def _step(self) -> None:
        awake, when = [], _NEVER
        for process in self.processes:
            if (due := process.due()) <= self.now:
                awake.append(process)
            elif due < when:
                when = due
        if awake:
            self._let_run(awake[0] if len(awake) == 1 else self._rng.choice(awake))
        elif self._events and self._events[0][0] <= when:
            self.now, _, _, do = heapq.heappop(self._events)
            do()
        elif when == _NEVER:
            raise Stuck("nothing is left that could happen")
        else:
            self.now = max(self.now, when)

    def _let_run(self, process: "Process") -> None:
        self.running = process
        asyncio._set_running_loop(process)
        try:
            process.run_due()
        finally:
            asyncio._set_running_loop(None)
            self.running = None


class _Task(asyncio.Task[T]):
    """A task whose place in a set is the same in every run: its hash is not its address."""

    number = 0

    def __hash__(self) -> int:
        return self.number


class _Future(asyncio.Future[T]):
    number = 0

    def __hash__(self) -> int:
        return self.number


class Process(base_events.BaseEventLoop):
    """The event loop of one process at `host`; `drift` is how fast its clock goes, 1 if it goes right.

    Work for an executor is done here, at some later time; `work_delay` says in how many seconds it is done,
    and in how many more the loop learns of it. Each turn of the loop computes for up to `longest_turn`
    seconds, mostly for far less, and a `late` part of the work in threads is done much later than usual.
    """

    _scheduled: list[asyncio.TimerHandle]
    _ready: deque[asyncio.Handle]
    _timer_cancelled_count: int
    _run_once: Callable[[], None]
    _asyncgen_firstiter_hook: Any
    _asyncgen_finalizer_hook: Any

    def __init__(
        self, clock: Clock, network: ProcessNetwork, name: str, host: str, rng: random.Random
    ) -> None:
        super().__init__()
        self._network = network
        self.name = name
        self.host = host
        self.hosts: tuple[str, ...] = (host,)  # of which each connection that it opens comes from one
        self.paused = False
        self.dead = False
        self.drift = 1.0
        self.longest_turn = self.late = 0.0
        self.wall_offset = 0.0  # of the system's clock, seconds; it may jump
        self.work_delay: Callable[[], tuple[float, float]] = self.usual_delay
        self.sockets: list[Any] = []  # that it listens on
        self.transports: dict[int, Any] = {}  # by number, so that their order is that of their opening
        self.at_end: list[Callable[[], None]] = []  # what ends with the process
        self.errors: list[tuple[float, str]] = []  # that no task has handled, and when
        self._clock = clock
        self._rng = rng
        self._numbers = 0
        self._computes_until = 0.0
        self._busy: dict[int, float] = {}  # until when, by executors
        self._executors: list[Executor] = []  # so that no other gets the number of one
        self._selector: Any = self  # there is nothing to wait for
        self._thread_id = threading.get_ident()
        self.set_exception_handler(self._take_note)
        self.set_task_factory(self._new_task)
        clock.processes.append(self)

    # -- for the clock ------------------------------------------------------------------------------

    def due(self) -> float:
        """Return when there is something to run; this is asked of all processes before each step."""
        if self.paused or self.dead:
            return _NEVER
        if self._ready:
            due = self._clock.now
        else:
            scheduled = self._scheduled
            while scheduled and scheduled[0]._cancelled:
                self._timer_cancelled_count -= 1
                heapq.heappop(scheduled)._scheduled = False  # type: ignore[attr-defined]
            due = scheduled[0].when() / self.drift if scheduled else _NEVER
        if due < self._computes_until:
            return self._computes_until
        return due

    def called_next(self) -> list[str]:
        """Return the names of the callbacks and coroutines that are called in the next turn of the loop."""
        names = set()
        for handle in self._ready:
            callback = handle._callback  # type: ignore[attr-defined]
            task = getattr(callback, "__self__", None)
            called = task.get_coro() if isinstance(task, asyncio.Task) else callback
            names.add(f"{self.name}: {getattr(called, '__qualname__', called)}")
        return sorted(names)

    def run_due(self) -> None:
        """Run one turn of the loop."""
        sys.set_asyncgen_hooks(self._asyncgen_firstiter_hook, self._asyncgen_finalizer_hook)
        self._run_once()
        if self.longest_turn:
            self._computes_until = self._clock.now + self.longest_turn * self._rng.random() ** _MOSTLY_SHORT

    def select(self, _timeout: float | None) -> list[Any]:
        """Stand in for the selector: nothing comes from outside."""
        return []

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def end(self, *, silently: bool = False) -> None:
        """Do nothing more, from now on and for good: not even clean up, so nothing of this may be freed.

        The system ends its connections, unless it ends `silently`, too.
        """
        self.dead = True
        if self in self._clock.processes:
            self._clock.processes.remove(self)
            self._clock.graves += [self, *asyncio.all_tasks(self), *self.transports.values()]
            self._network.drop(self, silently=silently)
            for ended in list(self.at_end):
                ended()

    # -- as a loop ----------------------------------------------------------------------------------

    def time(self) -> float:
        return self._clock.now * self.drift

    def wall_time(self) -> float:
        """Return the system's clock."""
        return EPOCH + self._clock.now * self.drift + self.wall_offset

    def call_at(  # type: ignore[override]
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        # Timers of one moment are in no order: a few nanoseconds say which comes first.
        return super().call_at(when + self._rng.random() * 1e-9, callback, *args, context=context)

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.Handle:
        return self.call_soon(callback, *args, context=context)

    def create_future(self) -> "asyncio.Future[Any]":
        future = _Future[Any](loop=self)
        self._numbers += 1
        future.number = self._numbers
        return future

    def _new_task(self, loop: Any, coroutine: Any, context: Context | None = None, **rest: Any) -> Any:
        self._numbers += 1
        task = _Task.__new__(_Task)
        task.number = self._numbers  # before it is in the set of all tasks
        task.__init__(coroutine, loop=loop, context=context, **rest)  # type: ignore[misc]
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> "asyncio.Future[T]":
        future = self.create_future()
        work, report = self.work_delay()
        when = self._clock.now + work
        if executor is not None:  # which has one thread
            if executor not in self._executors:
                self._executors.append(executor)
            number = self._executors.index(executor)
            when = max(when, self._busy.get(number, 0.0))
            self._busy[number] = when + report

        def done(error: BaseException | None, result: T | None) -> None:
            if future.done():
                return
            if error is not None:
                future.set_exception(error)
            else:
                future.set_result(result)

        def do() -> None:
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - whatever it is, who asked for the work is told
                self.call_later(report, done, error, None)
            else:
                self.call_later(report, done, None, result)

        self.call_at(when * self.drift, do)
        return future

    async def create_connection(  # type: ignore[override]
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], host: str, port: int, **_options: Any
    ) -> tuple[asyncio.BaseTransport, asyncio.BaseProtocol]:
        return await self._network.connect(self, protocol_factory, (host, port))

    def _start_serving(self, protocol_factory: Any, sock: Any, *_options: Any) -> None:
        sock.accept = protocol_factory

    def _stop_serving(self, sock: Any) -> None:
        sock.accept = None
        sock.close()

    def usual_delay(self) -> tuple[float, float]:
        most = _LATE_WORK if self.late and self._rng.random() < self.late else _USUAL_WORK
        return self._rng.uniform(0.0, most), self._rng.uniform(0.0, most / 2)

    def _take_note(self, _loop: Any, context: dict[str, Any]) -> None:
        error = context.get("exception")
        what = f"{context.get('message')}: {error!r}"
        self.errors.append((EPOCH + self._clock.now, what))
        self._clock.trace.note(self.name, "error", what)
