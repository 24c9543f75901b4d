"""A fair queue: one item per requester and round, however many each requester adds."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """What waits, in the order in which it is to be done: one piece for each asker, then the next round.

    An asker is named by the groups that it belongs to as well, the largest last; these take turns first.
    """

    def __init__(self) -> None:
        self._here: deque[T] = deque()
        self._groups: dict[str, Turns[T]] = {}  # in turn

    def __bool__(self) -> bool:
        return bool(self._here or self._groups)

    def add(self, asker: Sequence[str], work: T) -> None:
        """Queue a piece of work for the asker's turn."""
        if asker:
            self._groups.setdefault(asker[-1], Turns()).add(asker[:-1], work)
        else:
            self._here.append(work)

    def next(self) -> T | None:
        """Return the piece whose turn it is, which waits no longer; None if there is none."""
        if not self._groups:
            return self._here.popleft() if self._here else None
        first = next(iter(self._groups))
        group = self._groups.pop(first)
        work = group.next()
        if group:
            self._groups[first] = group  # after all others
        return work

    def next_wanted(self, wanted: Callable[[T], bool]) -> T | None:
        """Return what `next` does, without what is not wanted any more."""
        while (work := self.next()) is not None and not wanted(work):
            pass
        return work

    def clear(self) -> None:
        self._here.clear()
        self._groups.clear()


class InTurn:
    """A lock that those who wait for it have by turns, whoever asks for it more often."""

    def __init__(self) -> None:
        self._held = False
        self._turns: Turns[asyncio.Future[None]] = Turns()

    @contextlib.asynccontextmanager
    async def turn(self, asker: Sequence[str]) -> AsyncIterator[None]:
        """Hold the lock, from the asker's turn to the end of the context."""
        if self._held:
            mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._turns.add(asker, mine)
            try:
                await mine
            except asyncio.CancelledError:
                if not mine.cancelled():  # it had just been given
                    self._give_on()
                raise
        self._held = True
        try:
            yield
        finally:
            self._give_on()

    def _give_on(self) -> None:
        if (waiting := self._turns.next_wanted(lambda each: not each.done())) is not None:
            waiting.set_result(None)
        else:
            self._held = False
