"""Some screens with their colours, kept as text: the screen, a letter for every style, and a key."""

from collections.abc import Callable
from itertools import chain
from string import ascii_uppercase, digits

import pytest
from prompt_toolkit.styles import Style
from prompt_toolkit.utils import get_cwidth

from client.player.terminal import Colouring, Colours, Theme
from client.tables.table import TableModel
from client.ui.frame import Frame
from client.ui.screens.screen import drawn
from client.ui.state import Ui
from client.ui.terminal.painter import style_for
from client.ui.texts.glyphs import UNICODE
from tests.client.ui.draw.sample_pages import over, placing
from tests.client.ui.seen import assert_screen, text_of

PALETTES = {
    "dark": Colouring(Theme.DARK, Colours.TRUE),
    "light": Colouring(Theme.LIGHT, Colours.TRUE),
    "16 colours": Colouring(Theme.AUTO, Colours.SIXTEEN),
    "NO_COLOR": Colouring(Theme.AUTO, Colours.NONE),
}
SCREENS: dict[str, Callable[[], tuple[Ui, TableModel]]] = {
    "placing": placing,
    "scoring": lambda: over(9),
    "result": lambda: over(-1),
}


@pytest.mark.parametrize("name", SCREENS)
def test_colours(name: str) -> None:
    """All palettes are in one file, since they differ only in how a style looks."""
    ui, model = SCREENS[name]()
    frame = drawn(ui, model, UNICODE, 80, 24)
    parts = {style: _parts(style) for content in frame.lines for style, *_ in content}
    letters = _letters({above for _, above in parts.values()})
    tiles = _grid(frame, {style: ground[-1:] for style, (ground, _) in parts.items()})
    above = _grid(frame, {style: letters[above] for style, (_, above) in parts.items()})
    grounds = {ground: ground[-1] for ground, _ in sorted(parts.values()) if ground}
    key = _key({**letters, **grounds})
    assert_screen(f"{name}-colours", "\n".join((text_of(frame), *([tiles] if grounds else []), above, key)))


def _parts(style: str) -> tuple[str, str]:
    """Return the class of the tile below a style, if any, and its other classes."""
    first, _, others = style.partition(" ")
    return (first, others) if first.startswith("class:tile-") else ("", style)


def _grid(frame: Frame, letters: dict[str, str]) -> str:
    """Return the screen with the letter of its style in every cell."""
    rows = (
        "".join((letters[style] or " ") * get_cwidth(text) for style, text, _ in row) for row in frame.lines
    )
    return "".join(f"{row.rstrip()}\n" for row in rows)


def _letters(styles: set[str]) -> dict[str, str]:
    """Return a letter for every style, one of its own name, so that a new style changes few others."""
    letters = {"": " "}
    for style in sorted(styles - {""}, key=lambda style: (style.count(" "), style)):
        own = _short(style).replace(" ", "").replace("-", "").removeprefix("people").upper()
        wanted = chain(own, ascii_uppercase, digits)
        letters[style] = next(each for each in wanted if each not in letters.values())
    return letters


def _key(letters: dict[str, str]) -> str:
    """Return what each letter stands for and how that looks in each palette."""
    shown = [(palette, style_for(colouring)) for palette, colouring in PALETTES.items()]
    rows = [("", "style", *PALETTES)]
    for style, letter in letters.items():
        if style:
            rows.append((letter, _short(style), *(_appearance(palette, style) for _, palette in shown)))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{row.rstrip()}\n" for row in lines)


def _short(style: str) -> str:
    return style.replace("class:", "")


def _appearance(palette: Style, style: str) -> str:
    """Return how a style looks in words: `white on b81422, bold`."""
    attrs = palette.get_attrs_for_style_str(style)
    ink = (attrs.color or "").removeprefix("ansi")
    ground = (attrs.bgcolor or "").removeprefix("ansi")
    colours = f"{ink} on {ground}" if ground else ink
    marks = [mark for mark in ("bold", "italic", "underline", "reverse") if getattr(attrs, mark)]
    return ", ".join(filter(None, (colours.strip(), *marks))) or "-"
