"""The screens and pictures in the documents are as they are drawn; with SCREENS=new they are made again."""

import os
import re
from collections.abc import Callable
from xml.etree import ElementTree as ET

import pytest

from client.records import Recording
from client.ui.export.moment import as_svg
from client.ui.screens.screen import drawn
from client.ui.texts.glyphs import UNICODE
from engine.record import replayed
from tests.client.ui.draw.sample_pages import PAGES
from tests.client.ui.pty_terminal import ROOT
from tests.client.ui.seen import SCREENS
from tests.client.ui.terminal_picture import terminal_picture

FOLDER = ROOT / "docs/pictures"
MOST_BYTES = 120_000


def screen() -> str:
    ui, model = PAGES["foreseeing"]()
    return terminal_picture(drawn(ui, model, UNICODE, 80, 24), "Palatinus in a terminal")


def board() -> str:
    text = (ROOT / "tests/engine/records/3-players.txt").read_text(encoding="utf-8")
    recording = Recording.of(replayed(text).events, {0: "Ann", 1: "Bob", 2: "Cosima"})
    return as_svg(recording, 30, recording.all_eyes)


@pytest.mark.parametrize(("name", "draw"), [("screen", screen), ("board", board)])
def test_a_picture_is_up_to_date(name: str, draw: Callable[[], str]) -> None:
    """It is a document of its own, of a moderate size, and the README shows it."""
    path, picture = FOLDER / f"{name}.svg", draw()
    if os.environ.get("SCREENS") == "new":
        path.parent.mkdir(exist_ok=True)
        path.write_text(picture, encoding="utf-8")
    assert picture == path.read_text(encoding="utf-8"), "SCREENS=new draws it again"
    assert len(picture.encode()) < MOST_BYTES
    assert not re.search(r"<script|@import|@font-face|href|url\(", picture)
    assert ET.fromstring(picture).get("viewBox")  # noqa: S314 - it is ours
    assert f"(docs/pictures/{name}.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


DOCUMENT = ROOT / "docs" / "client.md"
SHOWN = {
    "start": "The start screen",
    "lobby-talk": "The lobby",
    "scoring-piece": "The scoring",
    "replay-placing": "A record",
}


def screens() -> str:
    parts = []
    for name, title in SHOWN.items():
        text = (SCREENS / f"{name}-80x24.txt").read_text(encoding="utf-8")
        text = re.sub(r" *\|$", "", text, flags=re.MULTILINE)
        parts.append(f"### {title}\n\n```text\n{text.rstrip()}\n```")
    return "\n\n".join(parts)


def test_the_document_is_up_to_date() -> None:
    """It has these screens; with SCREENS=new in the environment, they are written again."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, begin, rest = text.partition("<!-- screens: ")
    source, end, after = rest.partition(" -->\n")
    made = f"{before}{begin}{source}{end}\n{screens()}\n\n<!-- end -->{after.partition('<!-- end -->')[2]}"
    if os.environ.get("SCREENS") == "new":
        DOCUMENT.write_text(made, encoding="utf-8")
        text = made
    assert text == made
