"""Simulations in processes of their own: each enters its world for good, and leaves only its outcome."""

import gc
import multiprocessing
import os
import shutil
import signal
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from types import FrameType
from typing import Final

from server.probes import awaited
from server.tables.names import skeleton
from simulation.plan import Choice, parts_of, plan_of
from simulation.probes import all_probes
from simulation.trace import Trace
from simulation.verdict import Outcome
from simulation.week import Week
from simulation.world import World

_MOST_SECONDS: Final = 300.0  # of CPU time for a simulation: then something runs in a circle
_LOOKS: Final = 100  # at what runs, if it does not end by then ...
_SECONDS_BETWEEN_LOOKS: Final = 0.02  # ... of CPU time
_TIMINGS: Final = 3  # with which a smaller simulation is tried ...
_MOST_TRIES: Final = 200  # ... of all
_MEMORY: Final = Path("/dev/shm")  # noqa: S108 - files in memory, in folders of our own


def outcomes(
    choices: Iterable[Choice], jobs: int, *, trace: Path | None = None, until: float | None = None
) -> Iterator[tuple[Choice, Outcome]]:
    """Yield what has come of each simulation, so many at once; none begins after `until`."""
    waiting, running = deque(choices), dict[Connection, tuple[ForkProcess, Choice]]()
    skeleton("é")  # reads the list of look-alikes: what is loaded is shared by all processes
    awaited.update(all_probes())  # in each of them
    gc.collect()
    gc.freeze()
    try:
        while True:
            while waiting and len(running) < jobs and (until is None or time.monotonic() < until):
                choice = waiting.popleft()
                process, ours = _begin(choice, trace)
                running[ours] = process, choice
            if not running:
                return
            for ready in wait(list(running)):
                assert isinstance(ready, Connection)
                process, choice = running.pop(ready)
                yield choice, _receive(ready, process)
    finally:
        for process, _ in running.values():
            process.kill()


def shrink(choice: Choice, outcome: Outcome, jobs: int) -> tuple[Choice, Outcome]:
    """Return the same simulation without what its failure does not need, and what has come of that.

    Whatever is left out changes when the rest happens, so each attempt is made with several timings.
    """
    wanted, faults, tries = _kinds(outcome), outcome.counts["faults"], _MOST_TRIES

    def found_among(smaller: list[Choice]) -> bool:
        nonlocal choice, outcome, tries
        for at in range(0, min(len(smaller), tries), jobs):
            together = smaller[at : at + jobs]
            tries -= len(together)
            found = dict(outcomes(together, jobs))
            for tried in together:
                if _kinds(found[tried]) & wanted:
                    choice, outcome = tried, found[tried]
                    return True
        return False

    if plan_of(choice).nodes > 1:
        found_among([replace(choice, nodes=1)])
    if not choice.calm:
        found_among([replace(choice, calm=True)])
    size = len(parts_of(plan_of(choice), faults))
    while parts := parts_of(plan_of(choice), faults):
        size = min(size, len(parts))
        groups = [parts[at : at + size] for at in range(0, len(parts), size)]
        fewer = [replace(choice, without=choice.without.union(group)) for group in groups]
        later = [replace(each, timing=choice.timing + by) for by in range(_TIMINGS) for each in fewer]
        if not found_among(later):
            if size == 1:
                break
            size = (size + 1) // 2
    return choice, outcome


def _kinds(outcome: Outcome) -> set[str]:
    found = {kind for kind, cases in outcome.verdict.kinds().items() if cases}
    return found | ({"failure"} if outcome.failure else set())


def _begin(choice: Choice, trace: Path | None) -> tuple[ForkProcess, Connection]:
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_live, args=(choice, trace, theirs), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _receive(ours: Connection, process: ForkProcess) -> Outcome:
    try:
        outcome: Outcome = ours.recv()
    except EOFError:
        process.join()
        return Outcome(failure=f"its process ended with {process.exitcode}")
    finally:
        ours.close()
    process.join()
    return outcome


def _live(choice: Choice, trace: Path | None, theirs: Connection) -> None:
    real_cpu = time.process_time  # which the machine replaces
    folder = Path(tempfile.mkdtemp(prefix="palatinus-simulation-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        with nullcontext() if trace is None else trace.open("w", encoding="utf-8", buffering=1) as file:
            world = (Week if choice.letters else World)(plan_of(choice), folder, Trace(file))
            _limit(world, folder, theirs)
            outcome = world.run()
    except Exception:  # noqa: BLE001 - whatever it is, the seed that it happened with is printed
        outcome = Outcome(failure=traceback.format_exc())
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    outcome.cpu, outcome.reached = real_cpu(), set(all_probes()) - awaited
    theirs.send(outcome)


def _limit(world: World, folder: Path, theirs: Connection) -> None:
    """End this process when it has run for too long, and say what it was doing.

    Not in real time: however busy the machine is, or however long it sleeps, a simulation is the same.
    """
    circle = world.circle()

    def look(_signal: int, frame: FrameType | None) -> None:
        circle.look(frame)
        if circle.looks == _LOOKS:
            theirs.send(Outcome(slow="\n".join(circle.described())))
            shutil.rmtree(folder, ignore_errors=True)
            os._exit(1)
        # Only now, so that no look interrupts one that takes long.
        signal.setitimer(signal.ITIMER_PROF, _SECONDS_BETWEEN_LOOKS)

    signal.signal(signal.SIGPROF, look)
    signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)
