"""The terminal around a screen: what every program with a screen needs, and leaves as it was."""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.layout import Layout, Window

from client.colouring import wanted
from client.language import _
from client.ui.control import Screen, bindings
from client.ui.frame import Frame
from client.ui.keys import Action
from client.ui.look import Look, look_for
from client.ui.palette import DEPTHS, style_for

_ESCAPE_SECONDS: Final = 0.05  # how long Esc may be the start of another key's sequence
# Terminals that know this mode show what lies between in one go; the others pass over it.
_HOLD: Final = "\x1b[?2026h"
_LET_GO: Final = "\x1b[?2026l"


class Shell:
    """A full screen: it shows what `frame_for` draws, and hands keys and clicks on."""

    def __init__(
        self,
        frame_for: Callable[[int, int], Frame],
        press: Callable[[str], None],
        act: Callable[[Action], None],
    ) -> None:
        """Prepare the terminal, coloured as the player wants it."""
        colouring = wanted().settled(os.environ)
        self._frame_for, self._press, self._act = frame_for, press, act
        self._app: Application[None] = Application(
            layout=Layout(Window(Screen(self._frame, self._pressed, self._acted), always_hide_cursor=True)),
            key_bindings=bindings(self._pressed, self._acted),
            style=style_for(colouring),
            color_depth=DEPTHS[colouring.colours],
            full_screen=True,
            mouse_support=True,
            before_render=lambda app: app.output.write_raw(_HOLD),
            after_render=_let_go,
        )
        self._app.ttimeoutlen = _ESCAPE_SECONDS
        self._stopped = False

    async def run(self) -> bool:
        """Show the screen until the end; tell whether `quit` was called, or the program told to stop."""
        with _ending_on_signals(self._stop):
            await self._app.run_async(set_exception_handler=False)
        return not self._stopped

    def redraw(self) -> None:
        self._app.invalidate()

    def quit(self) -> None:
        if self._app.is_running and not self._app.is_done:
            self._app.exit()

    def _stop(self) -> None:
        self._stopped = True
        self.quit()

    def _frame(self, width: int, height: int) -> Frame:
        with self._guarded():
            return self._frame_for(width, height)
        return Frame(())

    def _pressed(self, name: str) -> None:
        with self._guarded():
            self._press(name)

    def _acted(self, action: Action) -> None:
        with self._guarded():
            self._act(action)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the program with an error raised here, which would be lost in the event loop otherwise."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - it is raised again where the program ends
            if self._app.is_running and not self._app.is_done:
                self._app.exit(exception=error)


def look_here(*, ascii_wanted: bool) -> Look:
    """Return the look for the terminal that this program writes to."""
    return look_for(sys.stdout.encoding or "ascii", os.environ.get("TERM", ""), ascii_wanted=ascii_wanted)


def stopped_by(error: BaseException) -> str:
    """Return the sentence that people are owed when the program fails, whatever it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return _("The client stopped: {error}. Please report this.").format(
        error=f"{type(error).__name__}: {error}"
    )


def _let_go(app: Application[None]) -> None:
    app.output.write_raw(_LET_GO)
    app.output.flush()


@contextlib.contextmanager
def _ending_on_signals(quit_: Callable[[], None]) -> Iterator[None]:
    """End the program in good order when it is told to stop, so that the terminal is restored."""
    loop = asyncio.get_running_loop()
    # Windows has no SIGHUP, and its event loop takes no handlers.
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with contextlib.suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, quit_)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)
