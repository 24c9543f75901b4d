"""The terminal: what is written to it, what it sends, what is known of it, and its colours."""

import io
import itertools
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from prompt_toolkit.application import create_app_session
from prompt_toolkit.data_structures import Size
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import ColorDepth, DummyOutput
from prompt_toolkit.output.vt100 import Vt100_Output
from prompt_toolkit.styles import Style

from client.player.preferences import Preferences, name_of_player, preferences_file, remember
from client.player.terminal import (
    Calling,
    Colouring,
    Colours,
    DesktopNotices,
    DisplayOptions,
    Theme,
    choose_display,
    chosen_calling,
    colours_of,
    prefer_calling,
    theme_of,
)
from client.tables.table import TableModel
from client.ui import program
from client.ui.frame import EMPTY, Frame, Line, clickable, fitted, line
from client.ui.interaction import Service
from client.ui.keys import Act, Action, Hover, InsertText, PointAt
from client.ui.program import Program
from client.ui.screens.lobby import LobbyPage
from client.ui.screens.reading import Reading
from client.ui.screens.screen import drawn
from client.ui.screens.start import Start
from client.ui.state import Notice, Outage, Ui
from client.ui.terminal import painter
from client.ui.terminal.painter import Painter
from client.ui.terminal.shell import Caller, Shell
from client.ui.texts.glyphs import UNICODE
from engine.pieces import People
from tests.cases import cases

SIZE = Size(rows=4, columns=12)
STYLE = Style.from_dict({"red": "bg:#ff0000 #ffffff bold", "reversed": "reverse"})

styles = st.sampled_from(["", "class:red", "class:reversed"])
fragments = st.tuples(styles, st.text("ab é日", max_size=5), st.none())
lines = st.lists(fragments, max_size=4).map(lambda found: fitted(tuple(found), SIZE.columns))
screens = st.tuples(*[lines] * SIZE.rows)


def painted(*frames: tuple[Line, ...]) -> pyte.Screen:
    """Return the screen after these frames."""
    screen = pyte.Screen(SIZE.columns, SIZE.rows)
    written = io.StringIO()
    painter = Painter(Vt100_Output(written, lambda: SIZE), STYLE, ColorDepth.DEPTH_24_BIT)
    for frame in frames:
        painter.paint(frame, SIZE)
    pyte.Stream(screen).feed(written.getvalue())
    return screen


def cells(screen: pyte.Screen) -> list[list[object]]:
    return [[screen.buffer[y][x] for x in range(SIZE.columns)] for y in range(SIZE.rows)]


@given(st.lists(screens, max_size=3), screens)
def test_a_frame_looks_the_same_whatever_was_there_before(
    before: list[tuple[Line, ...]], frame: tuple[Line, ...]
) -> None:
    screen = painted(*before, frame)
    assert cells(screen) == cells(painted(frame))
    assert screen.display == ["".join(text for _, text, _ in line) for line in frame]


def test_control_characters_are_not_sent_to_the_terminal() -> None:
    line = fitted((("", "a\x1b[2Jb\x07\x9b1m", None),), SIZE.columns)
    screen = painted((line,) * SIZE.rows)
    assert all(row.startswith("a") and "[2Jb1m" in row for row in screen.display)


TAKEN, GIVEN_BACK = "\x1b[?1004h\x1b[22;0t", "\x1b[?1004l\x1b[23;0t"


class Written(io.TextIOWrapper):
    """An output of a terminal with this encoding."""

    def __init__(self, encoding: str = "utf-8") -> None:
        self._bytes = io.BytesIO()
        super().__init__(self._bytes, encoding, newline="")

    def sent(self) -> str:
        self.flush()
        return self._bytes.getvalue().decode(self.encoding)


def calling(written: Written, calling: Calling) -> Caller:
    return Caller(Vt100_Output(written, lambda: Size(24, 80), term="xterm"), calling)


def test_other_ways_to_call_count_from_then_on() -> None:
    """As they are chosen on the start screen, below the games: the title is given back, or taken."""
    written = Written()
    caller = calling(written, Calling(notices=DesktopNotices.NONE))
    caller.take()
    caller.call_like(Calling(bell=False, title=False, notices=DesktopNotices.OSC9))
    caller.call("Palatinus", "Your turn.")
    assert written.sent() == f"{TAKEN}{GIVEN_BACK}\x1b[?1004h\x1b]9;Palatinus: Your turn.\x1b\\"


@pytest.mark.parametrize(
    ("wanted", "sent"),
    [
        (Calling(notices=DesktopNotices.NONE), "\a"),
        (Calling(notices=DesktopNotices.OSC9), "\x1b]9;Palatinus: Your turn.\x1b\\\a"),
        (Calling(notices=DesktopNotices.OSC777), "\x1b]777;notify;Palatinus;Your turn.\x1b\\\a"),
        (Calling(bell=False, notices=DesktopNotices.OSC9), "\x1b]9;Palatinus: Your turn.\x1b\\"),
        (Calling(bell=False, notices=DesktopNotices.NONE), ""),
        (
            Calling(notices=DesktopNotices.OSC9, wrapped=True),
            "\x1bPtmux;\x1b\x1b]9;Palatinus: Your turn.\x1b\x1b\\\x1b\\\a",
        ),
    ],
)
def test_a_call(wanted: Calling, sent: str) -> None:
    written = Written()
    caller = calling(written, wanted)
    caller.take()
    caller.call("Palatinus", "Your turn.")
    caller.give_back()
    assert written.sent() == TAKEN + sent + GIVEN_BACK


def test_names_cannot_end_a_sequence() -> None:
    """Nothing in a title or notice is a control, a second field, or longer than a line."""
    written = Written()
    caller = calling(written, Calling(notices=DesktopNotices.OSC777))
    caller.take()
    caller.entitle("a\x1b\\b\x07c\x9cd\x1b]2;e\n")
    caller.call("one;two", "x\a\x1b\\" + "y" * 10_000)
    sent = written.sent().removeprefix(TAKEN)
    assert sent.startswith("\x1b]2;a\\bcd]2;e\x1b\\\x1b]777;notify;one,two;x\\yyy")
    assert len(sent) < 300
    assert sent.count("\x1b\\") == 2
    assert sent.endswith("\a")


def test_a_title_is_in_the_terminals_encoding_and_written_once() -> None:
    written = Written("ascii")
    caller = calling(written, Calling())
    caller.take()
    caller.entitle("Zoë")
    caller.entitle("Zoë")
    assert written.sent() == TAKEN + "\x1b]2;Zo?\x1b\\"


def test_a_terminal_without_titles_keeps_what_it_shows() -> None:
    written = Written()
    caller = calling(written, Calling(title=False))
    caller.take()
    caller.entitle("Palatinus")
    caller.give_back()
    caller.give_back()
    caller.entitle("Palatinus")
    caller.call("Palatinus", "Your turn.")  # suspended: the terminal is another program's
    assert written.sent() == "\x1b[?1004h\x1b[?1004l"


HERE, THERE = (0, 0), (1, 0)
BOARD = Frame((clickable(EMPTY, PointAt(HERE), 3) + clickable(EMPTY, PointAt(THERE), 3),))


async def passed_on(frame: Frame, sent: str) -> list[str | Action]:
    """Return what the shell passes on of a terminal's input while it shows `frame`; q ends it."""
    found: list[str | Action] = []

    def press(name: str) -> None:
        found.append(name)
        if name == "q":
            shell.quit()

    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: frame, press, found.append)
        pipe.send_text(f"{sent}q")
        await shell.run()
    return found


def mouse_moves(*columns: int) -> str:
    """Return what a terminal sends while the mouse moves along the first line."""
    return "".join(f"\x1b[<35;{column + 1};1M" for column in columns)


async def test_mouse_moves_are_passed_on_hex_by_hex() -> None:
    actions = await passed_on(BOARD, mouse_moves(0, 1, 2, 3, 5, 6, 7, 1))
    assert actions == [Hover(HERE), Hover(THERE), Hover(None), Hover(HERE), "q"]


async def test_a_page_that_is_not_shown_gets_no_keys() -> None:
    """In a small window only the keys it names are passed on: the player cannot see what others do."""
    frame = Frame((EMPTY,), seen=False)
    assert await passed_on(frame, "\r \x1b[6~s\x1b[200~Ann\x1b[201~") == ["q"]
    assert await passed_on(Frame((EMPTY,)), "s\x1b[200~Ann\x1b[201~") == ["s", InsertText("Ann"), "q"]


async def test_an_interrupt_signal_is_passed_on_as_its_key() -> None:
    """Ctrl-C arrives as a key, since the terminal is in raw mode; other programs may send the signal."""
    found: list[str] = []

    def press(name: str) -> None:
        found.append(name)
        shell.quit()

    def frame(_width: int, _height: int) -> Frame:
        if not found:
            signal.raise_signal(signal.SIGINT)
        return BOARD

    before = signal.getsignal(signal.SIGINT)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(frame, press, lambda _: None)
        assert await shell.run()
    assert found == ["c-c"]
    assert signal.getsignal(signal.SIGINT) is before


async def test_an_error_while_handling_a_key_ends_the_program() -> None:
    """An OSError of a disk is not mistaken for a closed terminal."""

    def press(_name: str) -> None:
        raise OSError("no room")

    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: BOARD, press, lambda _: None)
        pipe.send_text("x")
        with pytest.raises(OSError, match="no room"):
            await shell.run()


async def test_a_click_turns_the_page() -> None:
    """As the key does: to the next page of as many as there are in this window."""
    rules = Ui("Ann", screens=(Start(Preferences()), Reading(Act.RULES)))
    frame = drawn(rules, TableModel(), UNICODE, 60, 20)
    column, row = next(
        (column, row)
        for row in range(20)
        for column in range(60)
        if frame.action_at(column, row) is Act.PAGE_DOWN
    )

    class Output(DummyOutput):
        def get_size(self) -> Size:
            return Size(rows=20, columns=60)

    reader = Service(rules)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=Output()):
        pipe.send_text(f"\x1b[<0;{column + 1};{row + 1}m")
        pipe.send_text("\x03")
        await Program(reader).run()
    assert reader.ui.overlay == Reading(Act.RULES, 1)


async def test_what_counts_down_is_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The screen has no list of what does; the clock is the real one."""
    monkeypatch.setattr(program, "TICK_SECONDS", 0.01)
    seen: set[str] = set()

    class Output(DummyOutput):
        def write(self, data: str) -> None:
            seen.update(re.findall(r"Trying again in (\d+) s", data))
            if len(seen) > 1:
                pipe.send_text("\x03")

    began = time.monotonic()
    ui = Ui("Ann", screens=(LobbyPage(),), lost=Outage("Broken.", began + 600.0), now=began)
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=Output()):
        await Program(Service(ui)).run()
    assert len(seen) == 2


async def test_a_player_who_looks_back_reads_why_they_are_called() -> None:
    """The page above the table would not show that it is their turn."""
    table, looking_back = (Service(Ui("Ann", screens=(Start(Preferences()),))) for _each in range(2))
    table.call("Palatinus", "Your turn")
    assert table.ui.notice is None
    table.open(looking_back)
    table.call("Palatinus", "Your turn")
    assert (table.ui.notice, looking_back.ui.notice) == (None, Notice("Your turn"))


async def test_a_closed_terminal_ends_the_program() -> None:
    with create_pipe_input() as pipe, create_app_session(input=pipe, output=DummyOutput()):
        shell = Shell(lambda _width, _height: BOARD, lambda _name: None, lambda _: None)
        pipe.close()
        assert not await shell.run()


_LEFT, _RIGHT = clickable(EMPTY, PointAt(HERE), 1), clickable(EMPTY, PointAt(THERE), 1)
FRAME = Frame((EMPTY,) * 6 + (line(" " * 4) + _LEFT + line(" " * 114) + _RIGHT,))


# What a terminal sends, in each of its forms, and what the shell passes on.
INPUT: tuple[tuple[str, list[str | Action]], ...] = (
    ("h", ["h"]),
    ("é", ["é"]),
    (r"\x20", [" "]),
    (r"\r \n", ["enter"]),
    (r"\t", ["tab"]),
    (r"\x1b[Z", ["s-tab"]),
    (r"\x7f \x08", ["backspace"]),
    (r"\x1b", ["escape"]),
    (r"\x1bh", ["escape", "h"]),  # Alt-H, as terminals put it
    (r"\x1b[A \x1bOA", ["up"]),
    (r"\x1b[6~", ["pagedown"]),
    (r"\x1b[62~ \x1b[<64;5;7M \x1b[96;120;7M", ["scroll-up"]),
    (r"\x1b[<65;5;7M \x1b[Ma%'", ["scroll-down"]),
    (r"\x03", ["c-c"]),
    (r"\x1b[200~Ann\x1b[201~", [InsertText("Ann")]),
    (r"\x1b[<0;5;7m \x1b[<16;5;7m \x1b[M#%'", [PointAt(HERE)]),  # with Ctrl; one character a number
    (r"\x1b[35;120;7M", [PointAt(THERE)]),  # without SGR
    (r"\x1b[<35;5;7M", [Hover(HERE)]),
    (r"\x1b[67;120;7M", [Hover(THERE)]),
    (r"\x1b[24~ \x1b[I \x1b[O \x1b[;M", []),  # F12, and what is no key
    # A click acts on release; beside it, drags, sideways, with Ctrl.
    (r"\x1b[<0;5;7M \x1b[<0;6;7m \x1b[<32;5;7M \x1b[<66;5;7M \x1b[M3%'", []),
)


@pytest.mark.parametrize(("sent", "means"), INPUT)
async def test_terminal_input(sent: str, means: list[str | Action]) -> None:
    forms = [form.encode("latin-1").decode("unicode_escape") for form in sent.split()]
    assert await passed_on(FRAME, "".join(forms)) == [*means * len(forms), "q"]


# Linear light as seen without one kind of cone (Machado, Oliveira and Fernandes, 2009).
EYES = {
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
# The 16 colours of xterm and of the VGA.
NAMED = ("black", "red", "blue", "cyan", "brightyellow", "brightmagenta", "white")
TERMINALS = {
    "xterm": ("#000000", "#cd0000", "#0000ee", "#00cdcd", "#ffff00", "#ff00ff", "#ffffff"),
    "vga": ("#000000", "#aa0000", "#0000aa", "#00aaaa", "#ffff55", "#ff55ff", "#ffffff"),
}
Light = tuple[float, float, float]


def linear_light(colour: str) -> Light:
    """Return the linear light of an sRGB colour."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        each / 12.92 if each <= 0.04045 else ((each + 0.055) / 1.055) ** 2.4 for each in parts
    )
    return red, green, blue


def seen_light(colour: str, eyes: Sequence[Sequence[float]]) -> Light:
    """Return the light as these eyes see it."""
    here = linear_light(colour)
    red, green, blue = (
        min(1.0, max(0.0, sum(a * b for a, b in zip(row, here, strict=True)))) for row in eyes
    )
    return red, green, blue


def lab(red: float, green: float, blue: float) -> Light:
    """Return light in CIE L*a*b*, where distances match perceived differences."""
    x, y, z = (
        value ** (1 / 3) if value > 216 / 24389 else (24389 / 27 * value + 16) / 116
        for value in (
            (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.9505,
            0.2126 * red + 0.7152 * green + 0.0722 * blue,
            (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.089,
        )
    )
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def distance(one: str, other: str, eyes: str) -> float:
    """Return how different two colours look to these eyes; 2.3 is just noticeable."""
    return math.dist(lab(*seen_light(one, EYES[eyes])), lab(*seen_light(other, EYES[eyes])))


def contrast(one: str, other: str) -> float:
    """Return the contrast by WCAG 2; 4.5 is enough for text."""
    dark, bright = sorted(
        0.2126 * red + 0.7152 * green + 0.0722 * blue for red, green, blue in map(linear_light, (one, other))
    )
    return (bright + 0.05) / (dark + 0.05)


def people_palettes() -> list[Mapping[People, painter.ColourPair]]:
    """Return every palette of the peoples' colours, as numbers."""
    palettes = [painter.PEOPLE_COLOURS[Colours.TRUE], painter.PEOPLE_COLOURS[Colours.MANY]]
    for numbers in TERMINALS.values():
        number = dict(zip((f"ansi{name}" for name in NAMED), numbers, strict=True))
        named = painter.PEOPLE_COLOURS[Colours.SIXTEEN].items()
        pairs = {people: (number[pair.background], number[pair.foreground]) for people, pair in named}
        palettes.append({people: painter.ColourPair(*pair) for people, pair in pairs.items()})
    return palettes


@pytest.mark.parametrize("colours", people_palettes())
def test_peoples_are_told_apart_by_all_eyes(colours: Mapping[People, painter.ColourPair]) -> None:
    """By more than ten times a just noticeable difference; and the letters on them are readable."""
    for eyes, (one, other) in itertools.product(EYES, itertools.combinations(People, 2)):
        assert distance(colours[one].background, colours[other].background, eyes) > 25, (eyes, one, other)
    for pair in colours.values():
        assert contrast(pair.background, pair.foreground) >= 4.5, pair


@pytest.mark.parametrize("land", painter.LAND_COLOURS.values())
def test_text_on_tiles_is_readable_and_tiles_differ_slightly(land: painter.LandColours) -> None:
    """All tiles are dark or all are light, so that the pieces stand out."""
    for ground in land.tiles.values():
        for text in (land.text, land.quiet, land.hill, land.spring, land.cursor.background):
            assert contrast(ground, text) >= 4.5, (ground, text)
    for one, other in itertools.combinations(land.tiles.values(), 2):
        assert distance(one, other, "all cones") > 10
        assert contrast(one, other) < 3


def test_quiet_text_is_readable_on_the_terminals_background() -> None:
    grounds = {Theme.DARK: ["#000000"], Theme.LIGHT: ["#ffffff"], Theme.AUTO: ["#000000", "#ffffff"]}
    for theme, quiet in painter.QUIET_COLOURS.items():
        for ground in grounds[theme]:
            assert contrast(quiet, ground) >= 4.5


@pytest.mark.parametrize(("environment", "wanted", "colours"), cases(__file__, "colours"))
def test_colours_follow_the_environment(environment: str, wanted: str, colours: str) -> None:
    """The option comes before NO_COLOR, and NO_COLOR before the terminal's abilities."""
    variables = dict(each.split("=") for each in environment.split())
    assert colours_of(variables, Colours[wanted]) is Colours[colours]


@pytest.mark.parametrize(("colorfgbg", "theme"), cases(__file__, "themes"))
def test_the_theme_follows_colorfgbg(colorfgbg: str, theme: str) -> None:
    assert theme_of({"COLORFGBG": colorfgbg}, Theme.AUTO) is Theme[theme]
    assert theme_of({"COLORFGBG": colorfgbg}, Theme.LIGHT) is Theme.LIGHT


@pytest.mark.parametrize("colours", [each for each in Colours if each is not Colours.AUTO])
@pytest.mark.parametrize("theme", Theme)
def test_every_sign_of_the_board_has_its_style(colours: Colours, theme: Theme) -> None:
    style = painter.style_for(Colouring(theme, colours))
    attributes = {
        name: style.get_attrs_for_style_str(f"class:tile-a class:open class:{name}")
        for name in ("cursor", "cursor-edge", "last-piece", "note")
    }
    plain = style.get_attrs_for_style_str("class:tile-a class:open")
    assert all(each != plain for each in attributes.values())
    if colours is Colours.NONE:
        assert not any(each.color or each.bgcolor for each in attributes.values())


_SHOWS_ASCII = "from client.ui.terminal.device import own_device; print(own_device().glyphs().ascii)"


@pytest.mark.parametrize(
    ("locale", "ascii_only"),
    [
        pytest.param({"LANG": "C"}, True, marks=pytest.mark.slow),  # in whose place Python puts C.UTF-8
        pytest.param({"LANG": "en_GB.UTF-8", "LC_ALL": "POSIX"}, True, marks=pytest.mark.slow),
        ({"LANG": "C", "LC_CTYPE": "C.UTF-8"}, False),
        pytest.param({}, False, marks=pytest.mark.slow),
    ],
)
def test_a_terminal_in_a_plain_locale_is_drawn_in_ascii(locale: dict[str, str], *, ascii_only: bool) -> None:
    """In another interpreter, because Python looks at the locale when it starts."""
    chosen = {name: value for name, value in os.environ.items() if not name.startswith(("LANG", "LC_"))}
    command = [sys.executable, "-c", _SHOWS_ASCII]
    run = subprocess.run(command, env={**chosen, **locale}, capture_output=True, text=True, check=True)
    assert run.stdout == f"{ascii_only}\n"


@pytest.fixture
def _as_before() -> Iterator[None]:
    yield
    choose_display(DisplayOptions())
    prefer_calling(Calling())


@pytest.mark.usefixtures("_as_before")
def test_the_command_line_counts_more_than_preferences() -> None:
    """Each way automatically; what it does not name is as the player prefers."""
    assert chosen_calling() == Calling()
    prefer_calling(Calling(bell=False, notices=DesktopNotices.OSC9))
    assert chosen_calling() == Calling(bell=False, notices=DesktopNotices.OSC9)
    choose_display(DisplayOptions(bell=True, title=False))
    assert chosen_calling() == Calling(title=False, notices=DesktopNotices.OSC9)
    choose_display(DisplayOptions(notices=DesktopNotices.NONE))
    assert chosen_calling() == Calling(bell=False, notices=DesktopNotices.NONE)


@pytest.mark.parametrize(("environment", "notices"), cases(__file__, "notices"))
def test_notices_only_where_they_are_understood(environment: str, notices: str) -> None:
    """By its name alone, xterm-256color could be any terminal; LC_TERMINAL comes over ssh."""
    variables = dict(each.split("=") for each in environment.split())
    assert Calling().resolved(variables).notices is DesktopNotices[notices]
    for chosen in (DesktopNotices.NONE, DesktopNotices.OSC9):
        assert Calling(notices=chosen).resolved(variables).notices is chosen


@pytest.mark.parametrize(
    ("term", "titled"),
    [("xterm-256color", True), ("tmux-256color", True), ("screen", True), ("linux", False), ("dumb", False)],
)
def test_titles_only_where_windows_have_one(term: str, titled: bool) -> None:
    assert Calling().resolved({"TERM": term}).title is titled
    assert not Calling(title=False).resolved({"TERM": term}).title


def test_asking_for_the_name_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the bell nor anything else that is remembered beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = chosen_calling()
    remember(preferences_file(), Preferences(name="Ann", bell=not before.bell))
    assert name_of_player(None) == "Ann"
    assert chosen_calling() == before
