"""Input from the terminal: bindings of the client's keys, and handlers of mouse events."""

import contextlib
from collections import defaultdict
from collections.abc import Callable
from typing import Final

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.bindings.mouse import load_mouse_bindings
from prompt_toolkit.keys import ALL_KEYS, KEY_ALIASES, Keys
from prompt_toolkit.layout.mouse_handlers import MouseHandlers
from prompt_toolkit.mouse_events import MouseEvent

from client.ui.keys import NAMED

_NAMES: Final = NAMED & {*ALL_KEYS, *KEY_ALIASES}
_FOCUS_IN, _FOCUS_OUT = "I", "O"


def key_bindings(
    press: Callable[[str], None],
    paste: Callable[[str], None],
    focus: Callable[[bool], None],
    suspend: Callable[[], None],
) -> KeyBindings:
    """Return bindings that call `press` with a key's name or character, and `paste` with pasted text.

    `focus` is called when the window gains or loses the focus, `suspend` to suspend the program.
    """
    bindings = KeyBindings()

    def bind(key: str, name: str) -> None:
        bindings.add(key)(lambda _: press(name))

    # The last binding of a key counts: Backspace, an alias of Ctrl-H in prompt_toolkit, has to be that one.
    for name in sorted(_NAMES, key=KEY_ALIASES.__contains__):
        bind(name, name)
    bind(Keys.ScrollUp, "scroll-up")
    bind(Keys.ScrollDown, "scroll-down")
    bind(Keys.ControlJ, "enter")  # as some terminals send it
    bind(Keys.SIGINT, "c-c")

    @bindings.add(Keys.Any)
    def _(event: KeyPressEvent) -> None:
        if not isinstance(event.key_sequence[0].key, Keys):
            press(event.data)

    @bindings.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        paste(event.data)

    @bindings.add("c-l")  # as everywhere: for a screen that something else has written on
    def _(event: KeyPressEvent) -> None:
        event.app.renderer.erase(leave_alternate_screen=False)

    bindings.add("c-z")(lambda _: suspend())
    bindings.add(Keys.Escape, "[", _FOCUS_IN)(lambda _: focus(True))
    bindings.add(Keys.Escape, "[", _FOCUS_OUT)(lambda _: focus(False))

    (mouse,) = load_mouse_bindings().get_bindings_for_keys((Keys.Vt100MouseEvent,))

    @bindings.add(Keys.Vt100MouseEvent)
    def _(event: KeyPressEvent) -> object:
        with contextlib.suppress(KeyError, ValueError):  # modifiers in the oldest encoding; malformed reports
            return mouse.handler(event)
        return NotImplemented

    return bindings


def mouse_handlers(hear: Callable[[MouseEvent], None]) -> MouseHandlers:
    """Return handlers that call `hear` with every mouse event, wherever it is on the screen."""

    def handler(event: MouseEvent) -> object:
        hear(event)
        return NotImplemented  # anything else redraws the screen, for every cell that the mouse moves through

    handlers = MouseHandlers()
    handlers.mouse_handlers = defaultdict(lambda: defaultdict(lambda: handler))
    return handlers
