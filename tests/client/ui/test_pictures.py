"""The pictures in the documents are as they are drawn; with SCREENS=new they are made again."""

import os
import re
import unicodedata
from collections.abc import Callable, Iterator
from xml.etree import ElementTree as ET

import pytest
from prompt_toolkit.styles import Attrs
from prompt_toolkit.utils import get_cwidth

from client.player.terminal import Colouring, Colours, Theme
from client.ui.draw.board import _BOXES, _DOTTED, FAINT, NONE, STRONG
from client.ui.export.animation import as_animation
from client.ui.export.moment import as_svg
from client.ui.frame import Frame
from client.ui.screens.screen import drawn
from client.ui.terminal.painter import style_for
from client.ui.texts.glyphs import UNICODE
from engine.view import SPECTATOR
from tests.client.ui.analysed import recording_of
from tests.client.ui.draw.sample_pages import PAGES
from tests.client.ui.pty_terminal import ROOT

FOLDER = ROOT / "docs/pictures"
MOST_BYTES = {"screen": 120_000, "board": 120_000, "game": 300_000}


def screen() -> str:
    ui, model = PAGES["foreseeing"]()
    return terminal_picture(drawn(ui, model, UNICODE, 80, 24), "Palatinus in a terminal")


def board() -> str:
    recording = recording_of(3, {0: "Ann", 1: "Bob", 2: "Cosima"})
    return as_svg(recording, 30, recording.all_eyes)


def game() -> str:
    recording = recording_of(3, {0: "Ann", 1: "Bob", 2: "Cosima"})
    return as_animation(recording, recording.end, SPECTATOR)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "draw"), [("screen", screen), ("board", board), ("game", game)])
def test_a_picture_is_up_to_date(name: str, draw: Callable[[], str]) -> None:
    """It is a document of its own, of a moderate size, and a guide shows it."""
    path, picture = FOLDER / f"{name}.svg", draw()
    if os.environ.get("SCREENS") == "new":
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture, encoding="utf-8")
    assert picture == path.read_text(encoding="utf-8"), "SCREENS=new draws it again"
    assert len(picture.encode()) < MOST_BYTES[name]
    assert not re.search(r"<script|@import|@font-face|href|url\(", picture)
    assert ET.fromstring(picture).get("viewBox")  # noqa: S314 - it is ours
    guides = (path.read_text(encoding="utf-8") for path in (ROOT / "README.md", ROOT / "docs/client.md"))
    assert any(f"pictures/{name}.svg)" in text for text in guides)


def test_the_lines_of_the_board_are_unicode_s_box_characters() -> None:
    named = {"UP": (0,), "DOWN": (1,), "LEFT": (2,), "RIGHT": (3,), "VERTICAL": (0, 1), "HORIZONTAL": (2, 3)}
    weights = {"LIGHT": FAINT, "HEAVY": STRONG}
    for arms, character in _BOXES.items():
        words = unicodedata.name(character).removeprefix("BOX DRAWINGS ").split()
        drawn = [NONE] * 4
        for part in " ".join(words).split(" AND "):
            heavy = next((word for word in part.split() if word in weights), words[0])
            for arm in (arm for word in part.split() for arm in named.get(word, ())):
                drawn[arm] = weights[heavy]
        assert tuple(drawn) == arms, character


CELL, LINE, FONT, MARGIN = 8.4, 18.0, 14.0, 12.0
SHARP = "rect, path { shape-rendering: crispEdges; }"
GROUND, TEXT = "#16181d", "#d5d8de"
ARMS = {character: arms for arms, character in (*_BOXES.items(), *_DOTTED.items()) if any(arms)}
WIDTHS = {FAINT: "1", STRONG: "2.4"}
HALVES = {"▐": 0.5, "▌": 0.0}  # where the filled half of the cell begins

Strokes = dict[tuple[str, str, str], list[str]]  # paths by colour, width and dashes


def terminal_picture(frame: Frame, title: str) -> str:
    """Return the screen, as a terminal with all colours and a dark background shows it."""
    style = style_for(Colouring(Theme.DARK, Colours.TRUE))
    columns = sum(get_cwidth(text) for _, text, _ in frame.lines[0])
    width, height = columns * CELL + 2 * MARGIN, len(frame.lines) * LINE + 2 * MARGIN
    root = ET.Element(
        "svg",
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        viewBox=f"0 0 {width:g} {height:g}",
        width=f"{width:g}",
        height=f"{height:g}",
    )
    ET.SubElement(root, "title").text = title
    fonts = "'DejaVu Sans Mono', Menlo, Consolas, monospace"
    style_sheet = ET.SubElement(root, "style")
    style_sheet.text = f"text {{ font: {FONT:g}px {fonts}; white-space: pre; }} {SHARP}"
    ET.SubElement(root, "rect", width="100%", height="100%", rx="8", fill=GROUND)
    strokes: Strokes = {}
    for number, line in enumerate(frame.lines):
        x, y = MARGIN, MARGIN + number * LINE
        for classes, text, _ in line:
            _draw(root, strokes, (x, y), text, style.get_attrs_for_style_str(classes))
            x += get_cwidth(text) * CELL
    for (colour, stroke_width, dashes), points in strokes.items():
        ET.SubElement(
            root,
            "path",
            {"stroke-width": stroke_width, "stroke-dasharray": dashes},
            d="".join(points),
            stroke=colour,
        )
    ET.indent(root)
    return ET.tostring(root, encoding="unicode") + "\n"


def _draw(root: ET.Element, strokes: Strokes, at: tuple[float, float], text: str, attributes: Attrs) -> None:
    """Draw text of one style: its background, lines as lines, and the words between them."""
    x, y = at
    colour, ground = _colour(attributes.color, TEXT), _colour(attributes.bgcolor, "")
    if attributes.reverse:
        colour, ground = ground or GROUND, colour
    if ground:
        _rectangle(root, x, y, len(text) * CELL, ground)
    for number, character in enumerate(text):
        left = x + number * CELL
        if character in ARMS:
            dashes = "2 2" if character in _DOTTED.values() else "none"
            for arm_width, stroke in _arms(left, y, ARMS[character]):
                strokes.setdefault((colour, arm_width, dashes), []).append(stroke)
        elif character in HALVES:
            _rectangle(root, left + HALVES[character] * CELL, y, CELL / 2, colour)
    words = "".join(" " if each in ARMS or each in HALVES else each for each in text)
    if not words.strip():
        return
    start = len(words) - len(words.lstrip())
    words = words.strip()
    drawn = ET.SubElement(
        root,
        "text",
        x=f"{x + start * CELL:.1f}",
        y=f"{y + 0.72 * LINE:.1f}",
        fill=colour,
        textLength=f"{len(words) * CELL:.1f}",
    )
    drawn.text = words
    for name, value, wanted in (
        ("font-weight", "bold", attributes.bold),
        ("font-style", "italic", attributes.italic),
        ("text-decoration", "underline", attributes.underline),
    ):
        if wanted:
            drawn.set(name, value)


def _colour(colour: str | None, default: str) -> str:
    return f"#{colour}" if colour else default


def _rectangle(root: ET.Element, x: float, y: float, width: float, fill: str) -> None:
    ET.SubElement(
        root, "rect", x=f"{x:.1f}", y=f"{y:.1f}", width=f"{width:.1f}", height=f"{LINE:g}", fill=fill
    )


def _arms(x: float, y: float, arms: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Yield the width and the path of each arm of a box character: up, down, left, right."""
    middle, centre = x + CELL / 2, y + LINE / 2
    ends = ((middle, y), (middle, y + LINE), (x, centre), (x + CELL, centre))
    for (there, below), strength in zip(ends, arms, strict=True):
        if strength != NONE:
            yield WIDTHS[strength], f"M{middle:.1f} {centre:.1f}L{there:.1f} {below:.1f}"
