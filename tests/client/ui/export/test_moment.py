"""Exports of a record: sound documents that tell no more than the eyes may know."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from client.recording import Recording
from client.ui.export.moment import as_json, as_svg, as_text
from engine.events import Event, Placed
from engine.final import scored_line
from engine.game import Game, GameOptions
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.record import replayed
from engine.view import eyes_of
from tests.games import all_eyes, games, played

ROOT = Path(__file__).parents[4]
RECORDS = sorted((ROOT / "tests" / "engine" / "records").glob("*.txt"))
SVG = "{http://www.w3.org/2000/svg}"
FORMS = (as_svg, as_text, as_json)


def recording_of(path: Path) -> Recording:
    return Recording.of(replayed(path.read_text(encoding="utf-8")).events, {0: "Ann & <Bob>"})


def hidden_otherwise(event: Event) -> Event:
    """Return the placing of another's wolf as that of the other kind of wolf, and anything else as it was."""
    if not isinstance(event, Placed) or event.seat == 0 or not event.piece.wolf:
        return event
    kind = Kind.FARMER if event.piece.kind is Kind.MERCHANT else Kind.MERCHANT
    return replace(event, piece=Piece.of(event.piece.people, kind, wolf=True))


@given(games())
def test_every_moment_can_be_exported(game: Game) -> None:
    """Whatever the moment and the eyes: valid XML, every hex drawn, JSON that says whose eyes it has."""
    recording = Recording.of(game.events, {})
    for eyes in all_eyes(game):
        svg = ET.fromstring(as_svg(recording, recording.end, eyes))  # noqa: S314 - our own
        hexes = [
            each for each in svg if each.tag == f"{SVG}polygon" and each.get("class") in {"field", "open"}
        ]
        assert len(hexes) == 49
        assert json.loads(as_json(recording, recording.end, eyes))["eyes"] == sorted(eyes)
        assert len(as_text(recording, recording.end, eyes).splitlines()) == 19


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_no_hidden_kind_is_in_an_export(path: Path) -> None:
    """R4.2: before the scoring no export of a seat says what another's wolf is, in word, sign or hand."""
    recording = recording_of(path)
    stop = recording.moves
    for seat in map(Seat, recording.seats):
        view = recording.view(stop, eyes_of(seat))
        hidden = {str(piece.people) for piece in view.placed.values() if isinstance(piece, Wolf)}
        assert hidden
        for form in FORMS:
            text, _, _ = form(recording, stop, eyes_of(seat)).partition(">Signs<")  # there are examples
            assert not re.search(rf"[{''.join(hidden)}][mf]\*", text)
        told = json.loads(as_json(recording, stop, eyes_of(seat)))
        assert list(told["hands"]) == [str(seat)]
        assert told["scoring"] is None


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_exports_are_the_same_if_only_hidden_kinds_differ(path: Path) -> None:
    """R4.2, to the last byte: what others' wolves are changes nothing."""
    recording = recording_of(path)
    stop, eyes = recording.moves, eyes_of(Seat(0))
    swapped = [hidden_otherwise(event) for event in recording.events[: recording.counts[stop]]]
    assert swapped != list(recording.events[: recording.counts[stop]])
    other = Recording.of(swapped, {0: "Ann & <Bob>"})
    for form in FORMS:
        assert form(recording, stop, eyes) == form(other, stop, eyes)


def test_a_picture_stands_on_its_own() -> None:
    """No font, picture or script from elsewhere; names are escaped; no sign is told by colour alone."""
    recording = recording_of(RECORDS[1])
    text = as_svg(recording, 30, recording.all_eyes)
    assert not re.search(r"href|url\(|@import|<script|<image|font-face", text)
    svg = ET.fromstring(text)  # noqa: S314 - our own
    told = [each.text for each in svg.iter(f"{SVG}text")]
    assert "Ann & <Bob> ◄" in told
    view = recording.view(30, recording.all_eyes)
    for piece in view.placed.values():
        assert str(piece) in told
    titles = [each.text or "" for each in svg.iter(f"{SVG}title")]
    assert sum(bool(re.match(r"[A-G][1-6]", title)) for title in titles) == 42


def test_a_picture_of_the_end_tells_points_and_who_took_what() -> None:
    recording = recording_of(RECORDS[1])
    result = recording.view(recording.end, recording.all_eyes).result
    assert result is not None
    svg = ET.fromstring(as_svg(recording, recording.end, recording.all_eyes))  # noqa: S314 - our own
    told = [each.text for each in svg.iter(f"{SVG}text")]
    assert "points" in told
    assert all(str(tally.points) in told for tally in result.tallies)
    assert "Ann & <Bob> ★" in told


def test_text_is_the_board_of_the_screen() -> None:
    recording = recording_of(RECORDS[1])
    text = as_text(recording, 30, recording.all_eyes)
    assert text.count("•") == 1
    assert "(A 5)" in text
    assert "(A:L)" in as_text(recording, recording.end, recording.all_eyes)
    assert as_text(recording, 30, recording.all_eyes, ascii_only=True).isascii()


def test_json_has_the_documented_keys_and_the_scoring_that_score_prints() -> None:
    """docs/record.md names every key, in order; the same position scored by itself comes to the same."""
    recording = recording_of(RECORDS[1])
    told = json.loads(as_json(recording, recording.end, recording.all_eyes))
    section = (ROOT / "docs" / "record.md").read_text(encoding="utf-8").partition("## As JSON")[2]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(told)
    worths = {"Palatinus": 6, "Capitolinus": 5, "Quirinalis": 5, "Esquilinus": 4, "Aventinus": 4}
    line = {
        "tiles": told["tiles"],
        "laurels": {tile: worths.get(name, 3) for tile, name in told["laurels"].items()},
        "players": told["players"],
        "board": {field: [seat, piece[1].upper()] for seat, piece, field in told["placements"]},
    }
    assert json.loads(scored_line(json.dumps(line))) == told["scoring"]


def test_the_move_before_the_scoring_keeps_its_secrets() -> None:
    """All pieces stand and none is turned up: the last move is not the end yet."""
    recording = Recording.of(played(GameOptions(3, random_layout=True), 4).events, {})
    view = recording.view(recording.moves, eyes_of(Seat(0)))
    assert len(view.placed) == 36
    assert not view.gone
    assert any(isinstance(piece, Wolf) for piece in view.placed.values())
