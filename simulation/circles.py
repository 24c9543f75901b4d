"""What a simulation does that does not end: which task or callback runs, again and again, and where."""

import asyncio
import traceback
from asyncio import events
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Final

from simulation.machine.loop import Clock
from simulation.report import in_words
from simulation.trace import Trace

_SHOWN: Final = 3  # of what ran most often
_LAST: Final = 20  # events


class Circle:
    """Looks at what runs, several times, so that what runs in a circle is seen in each part of it."""

    def __init__(self, clock: Clock, trace: Trace) -> None:
        self._clock, self._trace = clock, trace
        self._began: float | None = None
        self._seen: Counter[str] = Counter()
        self._stacks: dict[str, list[str]] = {}  # the last one of each

    def look(self, frame: FrameType | None) -> None:
        """Take note of what runs in this frame."""
        self._began = self._clock.now if self._began is None else self._began
        process = self._clock.running
        task = None if process is None else asyncio.current_task(process)
        stack = traceback.extract_stack(frame)
        # Below it is only the loop: what it has called begins here.
        first = max((at for at, each in enumerate(stack) if each.filename == events.__file__), default=-1) + 1
        called = stack[first].name if first < len(stack) else "the loop"
        name = called if task is None else f"task {getattr(task.get_coro(), '__qualname__', '')}"
        who = f"{'the world' if process is None else process.name}: {name}"
        self._seen[who] += 1
        self._stacks[who] = traceback.format_list(stack[first:])

    @property
    def looks(self) -> int:
        """Return how many times it has looked."""
        return self._seen.total()

    def described(self) -> Iterator[str]:
        """Yield lines that say what was seen."""
        yield f"in {self.looks} looks, time went from {self._began:.6f} to {self._clock.now:.6f} s"
        for who, times in self._seen.most_common(_SHOWN):
            yield f"{times} times, {who}"
            yield from "".join(self._stacks[who]).splitlines()
        yield "the last that happened:"
        yield from in_words(self._trace.events[-_LAST:])
