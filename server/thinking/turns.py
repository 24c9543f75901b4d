"""A queue in which everybody who asks has a turn, whoever asks for more."""

from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """What waits, in the order in which it is to be done: one piece for each asker, then the next round."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}  # in turn

    def add(self, asker: str, work: T) -> None:
        """Let a piece of work wait for the asker's turn."""
        self._waiting.setdefault(asker, deque()).append(work)

    def next(self) -> T | None:
        """Return the piece whose turn it is, which waits no longer; None if there is none."""
        if not self._waiting:
            return None
        asker = next(iter(self._waiting))
        queue = self._waiting.pop(asker)
        work = queue.popleft()
        if queue:
            self._waiting[asker] = queue  # after all others
        return work

    def clear(self) -> None:
        """Forget all that waits."""
        self._waiting.clear()
