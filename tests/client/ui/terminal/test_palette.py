"""What is known of the terminal, and its colours: told apart by every kind of eye, and readable."""

import itertools
import math
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

import pytest

from client.player.terminal import Colouring, Colours, Theme, colours_of, theme_of
from client.ui.terminal import painter
from engine.pieces import People

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


@pytest.mark.parametrize(
    ("environment", "wanted", "colours"),
    [
        ({"NO_COLOR": "1", "COLORTERM": "truecolor"}, Colours.AUTO, Colours.NONE),
        ({"NO_COLOR": "1"}, Colours.MANY, Colours.MANY),
        ({"NO_COLOR": "", "TERM": "xterm"}, Colours.AUTO, Colours.SIXTEEN),
        ({"COLORTERM": "24bit"}, Colours.AUTO, Colours.TRUE),
        ({"TERM": "screen-256color"}, Colours.AUTO, Colours.MANY),
        ({"TERM": "dumb"}, Colours.AUTO, Colours.NONE),
        ({}, Colours.AUTO, Colours.NONE),
        ({"TERM": "linux"}, Colours.AUTO, Colours.SIXTEEN),
    ],
)
def test_colours_follow_the_environment(
    environment: dict[str, str], wanted: Colours, colours: Colours
) -> None:
    """The option comes before NO_COLOR, and NO_COLOR before the terminal's abilities."""
    assert colours_of(environment, wanted) is colours


@pytest.mark.parametrize(
    ("colorfgbg", "theme"),
    [
        ("15;0", Theme.DARK),
        ("0;15", Theme.LIGHT),
        ("0;default;15", Theme.LIGHT),
        ("0;7", Theme.LIGHT),
        ("7;8", Theme.DARK),
        ("default;default", Theme.AUTO),
        ("", Theme.AUTO),
    ],
)
def test_the_theme_follows_colorfgbg(colorfgbg: str, theme: Theme) -> None:
    assert theme_of({"COLORFGBG": colorfgbg}, Theme.AUTO) is theme
    assert theme_of({"COLORFGBG": colorfgbg}, Theme.LIGHT) is Theme.LIGHT


@pytest.mark.parametrize("colours", [each for each in Colours if each is not Colours.AUTO])
@pytest.mark.parametrize("theme", Theme)
def test_every_sign_of_the_board_has_its_style(colours: Colours, theme: Theme) -> None:
    """The cursor and the last piece stand out with and without colours."""
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
        ({"LANG": "C"}, True),  # in whose place Python puts C.UTF-8
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
