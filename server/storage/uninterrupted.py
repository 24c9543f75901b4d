"""Waiting for work that goes on even if the task that asked for it is cancelled."""

import asyncio
from typing import Any, TypeVar

T = TypeVar("T")


class Uninterrupted(asyncio.Future[T]):
    """A future for one task, which is cancelled only once the future is done, with `completed`.

    Not asyncio.shield: that costs a twentieth of a move, and leaves the task without the outcome.
    """

    cancelled_meanwhile = False

    def cancel(self, msg: Any | None = None) -> bool:  # noqa: ARG002 - asyncio's signature
        """Record that the task was cancelled; it takes True to mean that it is going to end."""
        self.cancelled_meanwhile = True
        return True


async def completed(work: Uninterrupted[T]) -> T:
    """Return the result of `work`, or raise what it raises; a cancellation takes effect at the next await.

    So a task always learns what has become of a change that it asked for, and takes in what is stored.
    """
    try:
        return await work
    finally:
        if work.cancelled_meanwhile and (task := asyncio.current_task()) is not None:
            task.uncancel()  # it was counted, and is counted again
            task.cancel()
