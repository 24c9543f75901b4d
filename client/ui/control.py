"""The whole screen as one prompt_toolkit control: draws frames, hands keys and clicks on."""

from collections.abc import Callable

from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.layout.controls import UIContent, UIControl
from prompt_toolkit.mouse_events import MouseEvent, MouseEventType

from client.ui.frame import Frame
from client.ui.keys import KEYS, Action, Insert

# Some terminals tell that they gained or lost the focus, as a program before asked them to: no keys of ours.
ANSI_SEQUENCES.update({"\x1b[I": Keys.Ignore, "\x1b[O": Keys.Ignore})

_WHEEL = {MouseEventType.SCROLL_UP: "scroll-up", MouseEventType.SCROLL_DOWN: "scroll-down"}


class Screen(UIControl):
    """Draws `frame_for` the window's size; tells `press` of the wheel and `act` of clicks."""

    def __init__(
        self,
        frame_for: Callable[[int, int], Frame],
        press: Callable[[str], None],
        act: Callable[[Action], None],
    ) -> None:
        self._frame_for, self._press, self._act = frame_for, press, act
        self._frame = Frame(())

    def create_content(self, width: int, height: int | None) -> UIContent:
        self._frame = self._frame_for(width, height or 0)
        lines = self._frame.lines
        return UIContent(get_line=lambda at: [*lines[at]], line_count=len(lines), show_cursor=False)

    def is_focusable(self) -> bool:
        return True

    def mouse_handler(self, mouse_event: MouseEvent) -> None:
        if mouse_event.event_type in _WHEEL:
            self._press(_WHEEL[mouse_event.event_type])
        elif mouse_event.event_type is MouseEventType.MOUSE_UP:
            action = self._frame.action_at(mouse_event.position.x, mouse_event.position.y)
            if action is not None:
                self._act(action)


def bindings(press: Callable[[str], None], act: Callable[[Action], None]) -> KeyBindings:
    """Return the bindings for every key in the table, for typing and for pasting."""
    bound = KeyBindings()
    for name in sorted({name for key in KEYS for name in key.names} - {*_WHEEL.values()}):
        bound.add(name)(_presser(press, name))
    bound.add(Keys.SIGINT)(_presser(press, "c-c"))

    @bound.add(Keys.Any)
    def _(event: KeyPressEvent) -> None:
        press(event.data)

    @bound.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        act(Insert(event.data))

    return bound


def _presser(press: Callable[[str], None], name: str) -> Callable[[KeyPressEvent], None]:
    def pressed(_: KeyPressEvent) -> None:
        press(name)

    return pressed
