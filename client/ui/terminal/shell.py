"""The terminal around a screen: what every program with a screen needs, and leaves as it was.

prompt_toolkit reads the keys and writes for the terminal at hand. Its Application is left out: to make one
takes longer than to draw a screen, most of it for the keys of an editor.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from prompt_toolkit.application.current import get_app_session
from prompt_toolkit.input.typeahead import get_typeahead, store_typeahead
from prompt_toolkit.key_binding import KeyPress

from client.colouring import wanted
from client.language import _
from client.ui.draw.frame import Frame
from client.ui.terminal.input import REPAINT, Click, Move, heard
from client.ui.terminal.painter import Painter
from client.ui.terminal.palette import DEPTHS, style_for
from client.ui.texts.glyphs import GlyphSet, glyphs_for
from client.ui.update.actions import Action, Hover, Insert, PointAt

_ESCAPE_SECONDS: Final = 0.05  # how long Esc may be the start of another key's sequence
_NEWS_SECONDS: Final = 0.005  # for what comes together to be drawn together; keys do not wait for that
_UNSEEN: Final = frozenset({"q", "c-c"})  # the keys that a page without room hears
_SIZE_SECONDS: Final = 0.5  # how often to look at the window's size where nothing tells of it


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
        session = get_app_session()
        self._input, self._output = session.input, session.output
        self._painter = Painter(self._output, style_for(colouring), DEPTHS[colouring.colours])
        self._frame = Frame(())
        self._hover = Hover(None)
        self._ended: asyncio.Future[bool] | None = None
        self._drawing: asyncio.TimerHandle | None = None
        self._escape: asyncio.TimerHandle | None = None

    async def run(self) -> bool:
        """Show the screen until the end; tell whether `quit` was called, or the program told to stop."""
        self._ended = asyncio.get_running_loop().create_future()
        handlers = {
            "SIGTERM": self._stop,
            "SIGHUP": self._stop,
            "SIGINT": self._interrupt,
            "SIGWINCH": self._repaint,
        }
        with self._input.raw_mode(), _signals(handlers), self._input.attach(self._read):
            try:
                self._painter.enter()
                self._draw()
                self._take(get_typeahead(self._input))
                if not hasattr(signal, "SIGWINCH"):
                    self._watch_size()
                return await self._ended
            finally:
                for timer in filter(None, (self._drawing, self._escape)):
                    timer.cancel()
                with contextlib.suppress(OSError):  # the terminal may be gone
                    self._painter.leave()

    def redraw(self) -> None:
        """Draw the screen again soon."""
        if self._running and self._drawing is None:
            self._drawing = asyncio.get_running_loop().call_later(_NEWS_SECONDS, self._draw)

    def quit(self) -> None:
        self._end(by_player=True)

    @property
    def _running(self) -> bool:
        return self._ended is not None and not self._ended.done()

    def _end(self, *, by_player: bool) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(by_player)

    def _fail(self, error: Exception) -> None:
        if self._ended is not None and not self._ended.done():
            self._ended.set_exception(error)

    def _stop(self) -> None:
        self._end(by_player=False)

    # -- what is shown ------------------------------------------------------------------------------

    def _draw(self) -> None:
        if self._drawing is not None:
            self._drawing.cancel()
            self._drawing = None
        if not self._running:
            return
        try:
            size = self._output.get_size()
            with self._guarded():
                self._frame = self._frame_for(size.columns, size.rows)
            self._painter.paint(self._frame.lines, size)
        except OSError:  # the terminal is gone
            self._stop()

    def _repaint(self) -> None:
        self._painter.forget()
        self._draw()

    def _watch_size(self) -> None:
        if self._running:
            self.redraw()
            asyncio.get_running_loop().call_later(_SIZE_SECONDS, self._watch_size)

    # -- what is heard ------------------------------------------------------------------------------

    def _read(self) -> None:
        self._take(self._input.read_keys())
        if self._input.closed:
            self._stop()
            return
        if self._escape is not None:
            self._escape.cancel()
        self._escape = asyncio.get_running_loop().call_later(
            _ESCAPE_SECONDS, lambda: self._take(self._input.flush_keys())
        )

    def _take(self, presses: Sequence[KeyPress]) -> None:
        """Hand on what was pressed, and show at once what comes of it; the rest is for the next screen."""
        for at, press in enumerate(presses):
            if not self._running:
                store_typeahead(self._input, list(presses[at:]))
                return
            with self._guarded():
                self._hand_on(press)
        if self._drawing is not None:
            self._draw()

    def _hand_on(self, press: KeyPress) -> None:
        match heard(press):
            case Click(column, line):
                action = self._frame.action_at(column, line)
                if action is not None:
                    self._act(action)
            case Move(column, line):
                self._hovered(self._frame.action_at(column, line))
            case Insert() as pasted if self._frame.seen:
                self._act(pasted)
            case str(name) if name == REPAINT:
                self._repaint()
            case str(name) if self._frame.seen or name in _UNSEEN:
                self._press(name)

    def _hovered(self, target: Action | None) -> None:
        """Tell what the mouse is over when that is another hex than before: it moves through many cells."""
        hover = Hover(target.cell if isinstance(target, PointAt) else None)
        if hover != self._hover:
            self._hover = hover
            self._act(hover)

    def _interrupt(self) -> None:
        with self._guarded():
            self._press("c-c")

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the program with an error raised here, which would be lost in the event loop otherwise."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - it is raised again where the program ends
            self._fail(error)


def glyphs_here(*, ascii_wanted: bool) -> GlyphSet:
    """Return the glyphs for the terminal that this program writes to."""
    return glyphs_for(sys.stdout.encoding or "ascii", os.environ.get("TERM", ""), ascii_wanted=ascii_wanted)


def stopped_by(error: BaseException) -> str:
    """Return the sentence that people are owed when the program fails, whatever it is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return _("The client crashed: {error}. Please report this.").format(
        error=f"{type(error).__name__}: {error}"
    )


@contextlib.contextmanager
def _signals(handlers: Mapping[str, Callable[[], None]]) -> Iterator[None]:
    """Call these on signals, so that the terminal is restored whatever ends the program."""
    loop = asyncio.get_running_loop()
    interrupted = signal.getsignal(signal.SIGINT)
    # Windows lacks some of them, and its event loop takes no handlers.
    numbers = {getattr(signal, name): handler for name, handler in handlers.items() if hasattr(signal, name)}
    with contextlib.suppress(NotImplementedError):
        for number, handler in numbers.items():
            loop.add_signal_handler(number, handler)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)
        if interrupted is not None:  # as where it was not set from Python
            signal.signal(signal.SIGINT, interrupted)
