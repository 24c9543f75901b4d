"""A fair queue: one item per requester and round, however many each requester adds."""

import asyncio
import contextlib
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """What waits, in the order in which it is to be done: one piece for each asker, then the next round.

    An asker is named by the groups that it belongs to as well, the largest last; these take turns first.
    Askers who have had nothing in a round come first, even if they come late: so to keep pieces in the queue
    gains nothing.
    """

    def __init__(self) -> None:
        self._here: deque[T] = deque()
        self._now: dict[str, Turns[T]] = {}  # groups that wait for their turn in this round, in order ...
        self._later: dict[str, Turns[T]] = {}  # ... and for the next one
        self._served: set[str] = set()  # in this round

    def __bool__(self) -> bool:
        return bool(self._here or self._now or self._later)

    def add(self, asker: Sequence[str], work: T) -> None:
        """Queue a piece of work for the asker's turn."""
        if asker:
            groups = self._later if asker[-1] in self._served else self._now
            groups.setdefault(asker[-1], Turns()).add(asker[:-1], work)
        else:
            self._here.append(work)

    def next(self, wanted: Callable[[T], bool] = lambda _work: True) -> T | None:
        """Remove and return the next piece of work, or None if nothing is waiting.

        Pieces that are not `wanted` any more are dropped, and are nobody's turn.
        """
        while self._now or self._later:
            if not self._now:
                self._begin_round()
            name = next(iter(self._now))
            group = self._now.pop(name)
            if (work := group.next(wanted)) is not None:
                self._served.add(name)
                if group:
                    self._later[name] = group
                return work
        self._begin_round()
        while self._here:
            if wanted(work := self._here.popleft()):
                return work
        return None

    def _begin_round(self) -> None:
        self._now, self._later, self._served = self._later, {}, set()

    def clear(self) -> None:
        self._here.clear()
        self._now.clear()
        self._later.clear()


class InTurn:
    """Places that are given in turn to those who wait, however often each of them asks.

    With `of_each`, no network holds more than so many at a time, even if nobody else wants one.
    """

    def __init__(self, places: int = 1, of_each: int | None = None) -> None:
        self._free = places
        self._of_each = of_each
        self._turns: Turns[asyncio.Future[None]] = Turns()
        self._networks: dict[str, InTurn] = {}  # those that have places or wait for one
        self._users: Counter[str] = Counter()  # of these, by network

    @contextlib.asynccontextmanager
    async def turn(self, asker: Sequence[str]) -> AsyncIterator[None]:
        """Hold a place, from the asker's turn to the end of the context."""
        async with self._turn_of_network(asker):
            await self._take(asker)
            try:
                yield
            finally:
                self._give_back()

    @contextlib.asynccontextmanager
    async def _turn_of_network(self, asker: Sequence[str]) -> AsyncIterator[None]:
        """Hold one of the places of the asker's network, whose members have them by turns."""
        if self._of_each is None:
            yield
            return
        *members, network = asker
        own = self._networks.setdefault(network, InTurn(self._of_each))
        self._users[network] += 1
        try:
            async with own.turn(members):
                yield
        finally:
            self._users[network] -= 1
            if not self._users[network]:
                del self._users[network], self._networks[network]

    async def _take(self, asker: Sequence[str]) -> None:
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.add(asker, mine)
        self._give_next()
        try:
            await mine
        except asyncio.CancelledError:
            if not mine.cancelled():  # it had just been given
                self._give_back()
            raise

    def _give_back(self) -> None:
        self._free += 1
        self._give_next()

    def _give_next(self) -> None:
        if self._free and (waiting := self._turns.next(lambda each: not each.done())) is not None:
            self._free -= 1
            waiting.set_result(None)
