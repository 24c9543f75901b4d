"""Chances as a picture."""

import re
from dataclasses import replace
from xml.etree import ElementTree as ET

import pytest

from client.ui.export.analysis import analysis_svg
from tests.client.ui.analysed import analysis_of, recording_of

SVG = "{http://www.w3.org/2000/svg}"
HEIGHTS = (430.0, 90.0)  # of 0 and of 100 per cent


def drawn(players: int, judged: int | None = None) -> ET.Element:
    recording = recording_of(players)
    return ET.fromstring(analysis_svg(recording, analysis_of(recording, judged)))  # noqa: S314 - our own


def texts(svg: ET.Element) -> list[str]:
    return [each.text or "" for each in svg.iter(f"{SVG}text")]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_every_seat_has_a_curve_that_ends_with_the_result(players: int) -> None:
    """With its people's letters on it, and its name beside it."""
    recording = recording_of(players)
    analysis, svg = analysis_of(recording), drawn(players)
    curves = [each.get("d", "") for each in svg.iter(f"{SVG}path") if each.get("class") == "curve"]
    assert len(curves) == players
    for seat, shape in enumerate(curves):
        heights = [float(place.split()[1]) for place in shape[1:].split("L")]
        assert len(heights) == len(analysis.curve)
        assert all(HEIGHTS[1] <= height <= HEIGHTS[0] for height in heights)
        assert heights[-1] == HEIGHTS[analysis.result[seat] == 1.0]
    found = texts(svg)
    view = recording.view(recording.end, recording.all_eyes)
    for seat, name in enumerate(analysis.names):
        assert name in found
        assert found.count(view.start.peoples[seat][0].value) >= 4
    for move in analysis.deciding:
        assert str(move.number) in found
        assert any(text.startswith(f"Move {move.number}: ") for text in found)


def test_it_is_readable_on_dark_and_light_pages() -> None:
    """It brings its own background and ink, and nothing from elsewhere."""
    svg = drawn(3)
    ground = svg.find(f"{SVG}rect")
    assert ground is not None
    assert (ground.get("fill"), ground.get("width"), ground.get("height")) == ("#ffffff", "100%", "100%")
    assert svg.get("fill") == "#222222"
    text = ET.tostring(svg, encoding="unicode")
    assert not re.search(r"href|url\(|<script|currentColor", text)


def test_all_of_it_is_inside() -> None:
    """However much there is to tell."""
    svg = drawn(5)
    height = float(svg.get("height", "0"))
    assert svg.get("viewBox") == f"0 0 960 {height:.0f}"
    assert all(0 < float(each.get("y", "0")) < height for each in svg.findall(f"{SVG}text"))


def test_what_was_stopped_is_drawn_as_far_as_it_goes() -> None:
    """From the very start on."""
    assert "Stopped: 4 of 36 moves analysed." in texts(drawn(3, 4))
    assert len(drawn(3, 0).findall(f"{SVG}path")) == 6
    recording = recording_of(3)
    nothing = replace(analysis_of(recording, 0), start=None)
    assert 'class="curve"' not in analysis_svg(recording, nothing)


def test_names_of_strangers_are_only_text() -> None:
    """They cannot leave the element that they are in."""
    recording = recording_of(2)
    named = replace(analysis_of(recording), names=("<b>&", "Bruno"))
    assert "<b>&" in texts(ET.fromstring(analysis_svg(recording, named)))  # noqa: S314 - our own


def test_the_same_analysis_is_the_same_picture() -> None:
    """To the last byte."""
    recording = recording_of(2)
    assert analysis_svg(recording, analysis_of(recording)) == analysis_svg(recording, analysis_of(recording))
