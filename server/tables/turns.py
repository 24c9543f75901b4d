"""Turns at a table: one piece of work at a time, and internal messages before requests."""

import asyncio
from collections import deque
from types import TracebackType
from typing import TypeAlias

Waiting: TypeAlias = deque[asyncio.Future[None]]


class Turns:
    """Gives the work at a table its turn: urgent work first, all else in order of arrival."""

    def __init__(self) -> None:
        self._taken = False
        self._urgent: Waiting = deque()
        self._others: Waiting = deque()

    async def take(self, *, urgent: bool = False) -> None:
        """Wait for the turn; `give_back` ends it."""
        if not self._taken:
            self._taken = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        (self._urgent if urgent else self._others).append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was given the turn just then
                self.give_back()
            raise

    def give_back(self) -> None:
        """Give the turn to the next who waits for it."""
        for waiting in (self._urgent, self._others):
            while waiting:
                turn = waiting.popleft()
                if not turn.cancelled():
                    turn.set_result(None)
                    return
        self._taken = False

    def __len__(self) -> int:
        return sum(not turn.cancelled() for turn in (*self._urgent, *self._others))

    async def __aenter__(self) -> None:
        await self.take()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()
