"""Calls the player to the terminal: by its bell, its window's title and a desktop notice."""

import asyncio
import contextlib
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Final

from prompt_toolkit.application import Application
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.mouse import load_mouse_bindings
from prompt_toolkit.keys import ALL_KEYS, KEY_ALIASES, Keys
from prompt_toolkit.layout import ConditionalContainer, Layout, Window
from prompt_toolkit.layout.mouse_handlers import MouseHandlers
from prompt_toolkit.mouse_events import MouseButton, MouseEvent, MouseEventType
from prompt_toolkit.output import Output
from prompt_toolkit.output.vt100 import Vt100_Output

from client.language import _, labelled
from client.player.terminal import Calling, DesktopNotices
from client.ui.frame import Frame, cut
from client.ui.keys import NAMED, Action, Hover, InsertText, PointAt
from client.ui.terminal.device import Device, own_device
from client.ui.terminal.painter import DEPTHS, Painter, style_for

_BELL: Final = "\a"
_END: Final = "\x1b\\"  # of a control string
_REPORT_FOCUS: Final = "\x1b[?1004h"
_IGNORE_FOCUS: Final = "\x1b[?1004l"
_KEEP_TITLE: Final = "\x1b[22;0t"
_GIVE_TITLE_BACK: Final = "\x1b[23;0t"
_LONGEST: Final = 120  # cells


class Caller:
    """A terminal's window; `focused` is None until the terminal reports it."""

    def __init__(self, output: Output, calling: Calling) -> None:
        """Use `output` in the ways of `calling`, which must be resolved."""
        self.focused: bool | None = None
        self._output, self._calling = output, calling
        self._understood = isinstance(output, Vt100_Output)
        self._taken = False
        self._title = ""

    def take(self) -> None:
        """Take the window's title, and ask for reports of its focus, unless both is done."""
        if self._taken:
            return
        self._taken, self._title, self.focused = True, "", None
        self._write(_REPORT_FOCUS, _KEEP_TITLE if self._calling.title else "")

    def call_like(self, calling: Calling) -> None:
        """Call in other ways from here on; they must be resolved."""
        if calling != self._calling:
            taken = self._taken
            self.give_back()
            self._calling = calling
            if taken:
                self.take()

    def give_back(self) -> None:
        if self._taken:
            self._taken = False
            self._write(_IGNORE_FOCUS, _GIVE_TITLE_BACK if self._calling.title else "")

    def entitle(self, title: str) -> None:
        if self._taken and self._calling.title and title != self._title:
            self._title = title
            self._write("\x1b]2;", self._clean(title), _END)

    def call(self, title: str, sentence: str) -> None:
        if not self._taken:
            return
        title, sentence = self._clean(title), self._clean(sentence)
        match self._calling.notices:
            case DesktopNotices.OSC9:
                self._write(self._passed_on(f"\x1b]9;{labelled(title, sentence)}{_END}"))
            case DesktopNotices.OSC777:
                fields = (text.replace(";", ",") for text in (title, sentence))
                self._write(self._passed_on(f"\x1b]777;notify;{';'.join(fields)}{_END}"))
            case _:
                pass
        if self._calling.bell:
            self._write(_BELL)

    def _clean(self, text: str) -> str:
        """Return a short text in characters that neither end a control string nor are lost on the way."""
        text = cut("".join(character for character in text if character.isprintable()), _LONGEST)
        return text.encode(self._output.encoding(), errors="replace").decode(self._output.encoding())

    def _passed_on(self, sequence: str) -> str:
        """Return the sequence as tmux passes it on, if it is told to: it drops all others."""
        if not self._calling.wrapped:
            return sequence
        doubled = sequence.replace("\x1b", "\x1b\x1b")
        return f"\x1bPtmux;{doubled}{_END}"

    def _write(self, *sequences: str) -> None:
        if self._understood:
            for sequence in sequences:
                self._output.write_raw(sequence)
            self._output.flush()


_NAMES: Final = NAMED & {*ALL_KEYS, *KEY_ALIASES}
_FOCUS_IN, _FOCUS_OUT = "I", "O"


_ESCAPE_SECONDS: Final = 0.05  # how long Esc may be the start of another key's sequence
_UNSEEN: Final = frozenset({"q", "c-c"})  # the keys that work on a page for which there is no room
_BUTTONS: Final = frozenset({MouseButton.LEFT, MouseButton.MIDDLE, MouseButton.RIGHT})


class Shell:
    """A full screen: shows what `frame_for` draws, and passes keys and clicks on.

    Each key comes with how far the frame in which it was pressed can be scrolled.
    """

    def __init__(
        self,
        frame_for: Callable[[int, int], Frame],
        press: Callable[[str], None],
        act: Callable[[Action], None],
        device: Device | None = None,
    ) -> None:
        """Prepare the terminal, this program's own unless another one is given."""
        device = device or own_device()
        remote, colouring = device.remote, device.colouring
        self._remote = remote
        guarded = self._guarded()
        self._frame_for, self._press, self._act = frame_for, guarded(press), guarded(act)
        self._application: Application[bool] = Application(
            layout=Layout(ConditionalContainer(Window(), filter=False)),
            key_bindings=self._key_bindings(),
            full_screen=True,
            mouse_support=True,
            before_render=self._before_render,
            after_render=self._after_render,
            input=None if remote is None else remote.input,
            output=None if remote is None else remote.output,
        )
        self._application.ttimeoutlen = _ESCAPE_SECONDS
        self._application.timeoutlen = 0  # what begins with Esc and is bound as several keys comes at once
        self._mouse_handlers = MouseHandlers()  # which hear every event, wherever it is on the screen
        self._mouse_handlers.mouse_handlers = defaultdict(lambda: defaultdict(lambda: self._on_mouse))
        self._caller = Caller(self._application.output, device.calling)
        self._painter = Painter(self._application.output, style_for(colouring), DEPTHS[colouring.colours])
        self._frame = Frame(())
        self._hover = Hover(None)
        self._error: Exception | None = None
        self._later: asyncio.TimerHandle | None = None
        if remote is not None:
            remote.attach(self.redraw)

    def _key_bindings(self) -> KeyBindings:
        bindings = KeyBindings()

        def bind(key: str, name: str) -> None:
            bindings.add(key)(lambda _: self._on_key(name))

        # The last binding of a key counts: Backspace, prompt_toolkit's alias of Ctrl-H, has to be that one.
        for name in sorted(_NAMES, key=KEY_ALIASES.__contains__):
            bind(name, name)
        bind(Keys.ScrollUp, "scroll-up")
        bind(Keys.ScrollDown, "scroll-down")
        bind(Keys.ControlJ, "enter")  # as some terminals send it
        bind(Keys.SIGINT, "c-c")

        @bindings.add(Keys.Any)
        def _(event: KeyPressEvent) -> None:
            if not isinstance(event.key_sequence[0].key, Keys):
                self._on_key(event.data)

        @bindings.add(Keys.BracketedPaste)
        def _(event: KeyPressEvent) -> None:
            self._on_paste(event.data)

        @bindings.add("c-l")  # as everywhere: for a screen that something else has written on
        def _(event: KeyPressEvent) -> None:
            event.app.renderer.erase(leave_alternate_screen=False)

        bindings.add("c-z")(lambda _: self._suspend())
        bindings.add(Keys.Escape, "[", _FOCUS_IN)(lambda _: self._on_focus(focused=True))
        bindings.add(Keys.Escape, "[", _FOCUS_OUT)(lambda _: self._on_focus(focused=False))

        (mouse,) = load_mouse_bindings().get_bindings_for_keys((Keys.Vt100MouseEvent,))

        @bindings.add(Keys.Vt100MouseEvent)
        def _(event: KeyPressEvent) -> object:
            with contextlib.suppress(
                KeyError, ValueError
            ):  # modifiers in the oldest encoding; malformed reports
                return mouse.handler(event)
            return NotImplemented

        return bindings

    async def run(self) -> bool:
        """Show the screen until the end; return whether `quit` ended it, not a signal or a closed terminal.

        Raises what drawing a frame or handling a key raised.
        """
        by_player = False
        own = self._remote is None  # signals are about this program, which may have others to serve
        signals = on_stop_signals(self._stop) if own else contextlib.nullcontext()
        with signals, contextlib.suppress(EOFError, OSError):  # the terminal may be gone
            try:
                by_player = await self._application.run_async(set_exception_handler=False, handle_sigint=own)
            finally:
                self._forget_later()
                self._caller.give_back()
        if self._error is not None:
            raise self._error
        return by_player

    def redraw(self) -> None:
        self._application.invalidate()

    def redraw_later(self) -> None:
        """Redraw after the other guests of this process have had their turn."""
        if self._remote is None:
            self.redraw()
        elif self._later is None:
            self._later = asyncio.get_running_loop().call_later(self._remote.patience(), self.redraw)

    @property
    def focused(self) -> bool | None:
        """Return whether the window has the focus; None if the terminal has not reported it."""
        return self._caller.focused

    def call(self, title: str, sentence: str) -> None:
        self._caller.call(title, sentence)

    def call_like(self, calling: Calling) -> None:
        self._caller.call_like(calling)

    def quit(self) -> None:
        self._end(by_player=True)

    def _stop(self) -> None:
        self._end(by_player=False)

    def _end(self, *, by_player: bool) -> None:
        if self._application.is_running and not self._application.is_done:
            self._application.exit(result=by_player)

    def _before_render(self, application: Application[bool]) -> None:
        if application.renderer.last_rendered_screen is None:  # it will erase the terminal's
            self._painter.forget()
            self._caller.take()

    def _after_render(self, application: Application[bool]) -> None:
        if application.is_done:
            return
        if self._remote is None:
            self._paint(application)
        elif self._remote.may_paint():
            began, cpu = time.perf_counter(), time.thread_time()
            self._paint(application)
            taken = time.thread_time() - cpu, time.perf_counter() - began
            application.min_redraw_interval = self._remote.painted(*taken)

    def _paint(self, application: Application[bool]) -> None:
        self._forget_later()
        application.renderer.mouse_handlers = self._mouse_handlers  # its own are those of the layout
        size = application.output.get_size()
        with self._guarded():
            self._frame = self._frame_for(size.columns, size.rows)
        self._painter.paint(self._frame.lines, size)
        self._caller.entitle(self._frame.window)

    def _forget_later(self) -> None:
        if self._later is not None:
            self._later.cancel()
            self._later = None

    def _on_key(self, name: str) -> None:
        if self._frame.seen or name in _UNSEEN:
            self._press(name)

    def _on_focus(self, *, focused: bool) -> None:
        self._caller.focused = focused

    def _suspend(self) -> None:
        """Give the terminal back, and stop until the shell resumes the program; then all is drawn again."""
        if self._remote is not None:
            return
        self._caller.give_back()
        self._application.suspend_to_background()

    def _on_paste(self, text: str) -> None:
        if self._frame.seen:
            self._act(InsertText(text))

    def _on_mouse(self, event: MouseEvent) -> object:
        target = self._frame.action_at(*event.position)
        match event.event_type:
            case MouseEventType.MOUSE_UP if target is not None:
                self._act(target)
            case MouseEventType.MOUSE_MOVE if event.button not in _BUTTONS:
                self._on_hover(target)
            case MouseEventType.SCROLL_UP:
                self._on_key("scroll-up")
            case MouseEventType.SCROLL_DOWN:
                self._on_key("scroll-down")
        return NotImplemented  # anything else redraws the screen, for every cell that the mouse moves through

    def _on_hover(self, target: Action | None) -> None:
        """Pass on which hex the mouse is over when that changes: it moves through many cells of one."""
        hover = Hover(target.cell if isinstance(target, PointAt) else None)
        if hover != self._hover:
            self._hover = hover
            self._act(hover)

    @contextlib.contextmanager
    def _guarded(self) -> Iterator[None]:
        """End the program with the error raised here: the event loop would only log it."""
        try:
            yield
        except Exception as error:  # noqa: BLE001 - `run` raises it again
            self._error = error
            self._stop()


def describe_failure(error: BaseException) -> str:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    text = _("The client crashed: {error}. Please report this with what palatinus doctor prints.")
    return text.format(error=f"{type(error).__name__}: {error}")


@contextlib.contextmanager
def on_stop_signals(stop: Callable[[], None]) -> Iterator[None]:
    """Call `stop` on signals that would end the program without restoring the terminal."""
    loop = asyncio.get_running_loop()
    # Windows lacks SIGHUP, and its event loop takes no handlers.
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    with contextlib.suppress(NotImplementedError):
        for number in numbers:
            loop.add_signal_handler(number, stop)
    try:
        yield
    finally:
        with contextlib.suppress(NotImplementedError):
            for number in numbers:
                loop.remove_signal_handler(number)
