"""How a run is ended by whoever has started it, before it comes to its end: with Ctrl-C, or SIGTERM."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator


class Stop:
    """Takes the signals: the first asks for an orderly end, and the next cancels the task that made this."""

    def __init__(self) -> None:
        self.asked = False
        self._task = asyncio.current_task()
        self._in_order: Callable[[], object] | None = None

    @contextlib.contextmanager
    def by_signals(self) -> Iterator[None]:
        """Take the signals while the context lasts, also in the background, where Ctrl-C may be ignored."""
        loop = asyncio.get_running_loop()
        signals = (signal.SIGINT, signal.SIGTERM)
        try:
            with contextlib.suppress(NotImplementedError):  # Windows has none
                for number in signals:
                    loop.add_signal_handler(number, self.ask)
            yield
        finally:
            with contextlib.suppress(NotImplementedError):
                for number in signals:
                    loop.remove_signal_handler(number)

    @contextlib.contextmanager
    def calling(self, in_order: Callable[[], object]) -> Iterator[None]:
        """Have the first signal call this, while the context lasts."""
        self._in_order = in_order
        try:
            yield
        finally:
            self._in_order = None

    def ask(self) -> None:
        """Ask for the end, as a signal does."""
        if self.asked and self._task is not None:
            self._task.cancel()
        self.asked = True
        if self._in_order is not None:
            self._in_order()
