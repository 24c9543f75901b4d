"""Exports of a record, which show no more than the given eyes may see, and of its analysis."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given

from client.records import Awaited, Captives, Contest, HiddenWolf, Recording
from client.ui.export.analysis import analysis_json, analysis_svg, analysis_text
from client.ui.export.animation import as_animation
from client.ui.export.moment import as_json, as_svg, as_text
from client.ui.texts.advice import explain, judge
from client.ui.texts.pieces import piece_sign
from engine.board import Field, Tile
from engine.components import DEALS
from engine.events import Placed, SeenEvent
from engine.final import scored_line
from engine.game import Game
from engine.pieces import Kind, Piece, Seat
from engine.view import eyes_of
from tests.client.ui.analysed import analysis_of, recording_of
from tests.games import all_eyes, games, rest_slow

ROOT = Path(__file__).parents[4]
BOB = {0: "Ann & <Bob>"}
SVG = "{http://www.w3.org/2000/svg}"
FORMS = (as_svg, as_text, as_json, as_animation)


def with_other_wolf_kind(event: SeenEvent) -> SeenEvent:
    """Return the event with the other kind of wolf, if it places another seat's wolf."""
    if not isinstance(event, Placed) or event.seat == 0 or not event.piece.wolf:
        return event
    kind = Kind.FARMER if event.piece.kind is Kind.MERCHANT else Kind.MERCHANT
    return replace(event, piece=Piece.of(event.piece.people, kind, wolf=True))


@pytest.mark.slow
@given(games())
def test_every_moment_can_be_exported(game: Game) -> None:
    recording = Recording.of(game.events, {})
    for eyes in all_eyes(game):
        hexes = parsed(as_svg(recording, recording.end, eyes)).iter(f"{SVG}polygon")
        assert [each.get("class") in {"field", "open"} for each in hexes].count(True) == 49
        assert json.loads(as_json(recording, recording.end, eyes))["eyes"] == sorted(eyes)
        assert len(as_text(recording, recording.end, eyes).splitlines()) == 19


@pytest.mark.parametrize("players", rest_slow(*DEALS))
def test_exports_are_the_same_if_only_hidden_kinds_differ(players: int) -> None:
    """R4.2: before the scoring, the kinds of others' wolves change no byte, nor is another's hand there."""
    recording = recording_of(players, BOB)
    stop, eyes = recording.moves, eyes_of(Seat(0))
    swapped = [with_other_wolf_kind(event) for event in recording.events[: recording.counts[stop]]]
    assert swapped != list(recording.events[: recording.counts[stop]])
    other = Recording.of(swapped, BOB)
    for form in FORMS:
        assert form(recording, stop, eyes) == form(other, stop, eyes)
    exported = json.loads(as_json(recording, stop, eyes))
    assert (list(exported["hands"]), exported["scoring"]) == (["0"], None)


def parsed(svg: str) -> ET.Element:
    """Return a picture that needs nothing from elsewhere."""
    assert not re.search(r"href|url\(|@import|<script|<image|font-face|currentColor", svg)
    return ET.fromstring(svg)  # noqa: S314 - our own


def texts(svg: ET.Element, tag: str = "text") -> list[str]:
    return [each.text or "" for each in svg.iter(f"{SVG}{tag}")]


def test_a_picture_says_with_signs_what_its_colours_say() -> None:
    recording = recording_of(3, BOB)
    svg = parsed(as_svg(recording, 30, recording.all_eyes))
    placed = recording.view(30, recording.all_eyes).placed
    assert {"Ann & <Bob> ◄", *map(piece_sign, placed.values())} <= set(texts(svg))
    assert sum(bool(re.match(r"[A-G][1-6]", title)) for title in texts(svg, "title")) == 42
    result = recording.view(recording.end, recording.all_eyes).result
    assert result is not None
    end = texts(parsed(as_svg(recording, recording.end, recording.all_eyes)))
    assert {"points", "Ann & <Bob> ★", *(str(tally.points) for tally in result.tallies)} <= set(end)


def test_the_text_export_is_the_board_of_the_screen() -> None:
    recording = recording_of(3, BOB)
    text = as_text(recording, 30, recording.all_eyes)
    assert text.count("•") == 1
    assert "(A=5)" in text
    assert "(A:L)" in as_text(recording, recording.end, recording.all_eyes)
    assert as_text(recording, 30, recording.all_eyes, ascii_only=True).isascii()


def test_json_has_the_documented_keys_and_the_scoring() -> None:
    """docs/record.md names every key in order, and `score` prints the same scoring."""
    recording = recording_of(3, BOB)
    exported = json.loads(as_json(recording, recording.end, recording.all_eyes))
    document = (ROOT / "docs" / "record.md").read_text(encoding="utf-8")
    section = document.partition("## As JSON")[2].partition("\n## ")[0]
    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == list(exported)
    worths = {"Palatinus": 6, "Capitolinus": 5, "Quirinalis": 5, "Esquilinus": 4, "Aventinus": 4}
    line = {
        "tiles": exported["tiles"],
        "laurels": {tile: worths.get(name, 3) for tile, name in exported["laurels"].items()},
        "players": exported["players"],
        "board": {field: [seat, piece[1].upper()] for seat, piece, field in exported["placements"]},
    }
    assert json.loads(scored_line(json.dumps(line))) == exported["scoring"]


HEIGHTS = (430.0, 90.0)  # of 0 and of 100 per cent


def drawn(players: int, judged: int | None = None) -> ET.Element:
    recording = recording_of(players)
    return parsed(analysis_svg(recording, analysis_of(recording, judged)))


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_every_seat_has_a_curve_that_ends_with_the_result(players: int) -> None:
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


def test_a_picture_of_chances_is_readable_everywhere() -> None:
    """It brings its own background and ink, and has room for all that it tells; names are only text."""
    recording = recording_of(2)
    named = replace(analysis_of(recording), names=("<b>&", "Bruno"))
    assert "<b>&" in texts(parsed(analysis_svg(recording, named)))
    svg = drawn(5)
    ground = svg.find(f"{SVG}rect")
    assert ground is not None
    assert (ground.get("fill"), ground.get("width"), ground.get("height")) == ("#ffffff", "100%", "100%")
    assert svg.get("fill") == "#222222"
    height = float(svg.get("height", "0"))
    assert svg.get("viewBox") == f"0 0 960 {height:.0f}"
    assert all(0 < float(each.get("y", "0")) < height for each in svg.findall(f"{SVG}text"))


def test_an_analysis_that_was_stopped_is_shown_as_far_as_it_goes() -> None:
    """From the very start on; every form says that it is not all."""
    recording = recording_of(3)
    analysis = analysis_of(recording, 4)
    text = analysis_text(recording, analysis, 80)
    assert "Stopped: 4 of 36 moves analysed." in text
    last = analysis.moves[-1].number
    assert text.index("Stopped") > text.index(f"Move {last}: ")
    assert f"Move {last + 1}: " not in text
    assert "Stopped: 4 of 36 moves analysed." in texts(drawn(3, 4))
    assert len(drawn(3, 0).findall(f"{SVG}path")) == 6
    nothing = replace(analysis_of(recording, 0), start=None)
    assert 'class="curve"' not in analysis_svg(recording, nothing)
    assert "No single move decided" not in analysis_text(recording, nothing, 80) + analysis_svg(
        recording, nothing
    )
    told = json.loads(analysis_json(recording, nothing))
    assert (told["complete"], told["start"], told["moves"], told["deciding"]) == (False, None, [], [])


@pytest.mark.parametrize("players", [2, 5])
def test_every_move_is_told(players: int) -> None:
    recording = recording_of(players)
    analysis = analysis_of(recording)
    lines = analysis_text(recording, analysis, 80).splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(map(str.strip, lines))
    for move in analysis.moves:
        who = recording.names[move.seat]
        assert f"Move {move.number}: {who}, {piece_sign(move.move.piece)} on {move.move.field}." in text
        assert f"{who} {move.before[move.seat]:.0%} -> {move.after[move.seat]:.0%}" in text
    every, _heading, end = text.partition("The moves that decided most:")
    assert every.count("Better, as ") == every.count("from 50 to 62 of 100 games") == len(analysis.moves) // 8
    assert "Stopped" not in text
    assert re.findall(r"Move (\d+): ", end) == [str(move.number) for move in analysis.deciding]


def test_a_better_move_is_compared_in_terms_of_the_rules() -> None:
    """Whose hill it takes, whose pieces; what is against it speaks for the move that was played (R5, R6)."""
    recording = recording_of(2)
    move = next(move for move in analysis_of(recording).moves if move.better is not None)
    assert move.better is not None
    anna, bruno, hill = move.seat, Seat(1 - move.seat), Tile("D")
    name, rival = recording.names[anna], recording.names[bruno]
    reasons = (
        Contest(hill, 5, anna, bruno, 0.6, 0.3),
        Contest(hill, 5, anna, None, 0.5, 0.4),
        Contest(hill, 5, bruno, None, 0.2, 0.4),
        Captives(anna, bruno, 2.0, 1.25),
        Captives(bruno, anna, 0.5, 1.0),
        Contest(hill, 5, anna, bruno, 0.1, 0.7),
        Contest(hill, 5, bruno, None, 0.8, 0.4),
        Captives(anna, bruno, 0.0, 1.0),
        Awaited(bruno, Field("D4"), 0.62),
    )
    better = replace(move.better, reasons=reasons)
    this = f"{better.move.piece} on {better.move.field}"
    played = f"{move.move.piece} on {move.move.field}"
    one, two = f"in 60 of 100 games, after {played} in 30", f"in 70 of 100 games, after {this} in 10"
    three, four = f"in 20 of 100 games, after {played} in 40", f"in 40 of 100 games, after {this} in 80"
    told = explain(recording, replace(move, better=better))
    assert told[0] == f"Better, as {name} saw it: {this}, from 50 to 62 of 100 games won."
    sentences = [
        f"{this} takes hill D, worth 5, from {rival}: {name} wins it {one}.",
        f"{this} is better for hill D, worth 5: {name} wins it in 50 of 100 games, after {played} in 40.",
        f"{this} keeps {rival} from hill D, worth 5: {rival} wins it {three}.",
        f"{this} captures more from {rival}: 2.0 on average, 1.2 after {played}.",
        f"{this} loses less to {rival}: 0.5 on average, 1.0 after {played}.",
        f"{played} takes hill D, worth 5, from {rival}: {name} wins it {two}.",
        f"{played} keeps {rival} from hill D, worth 5: {rival} wins it {four}.",
        f"{played} captures more from {rival}: 1.0 on average, 0.0 after {this}.",
        f"If D4 stays free, {rival} takes it in 62 of 100 games.",
    ]
    assert [sentence for sentence in told[1:] if not sentence.startswith("As the board stands")] == sentences


def test_each_move_that_decided_the_game_gets_a_sentence() -> None:
    """A better move, what could not be known, or that the move was right; never the chances alone."""
    recording = recording_of(3)
    analysis = analysis_of(recording)
    move, name = analysis.deciding[0], recording.names[analysis.deciding[0].seat]
    wolf = HiddenWolf(Seat((move.seat + 1) % 3), Field("G4"), Kind.MERCHANT, seems=True)
    knew = f"{name} saw no better move, and could not know that the wolf on G4 was a merchant."
    high = tuple(0.8 if seat == move.seat else 0.1 for seat in recording.seats)
    lost = replace(move, before=high, after=(1 / 3,) * 3, better=None)
    for judged, sentence in (
        (replace(lost, before=lost.after, after=high), "The move itself was right."),
        (lost, "No clearly better move was found."),
        (replace(lost, unknown=wolf), knew),
    ):
        told = replace(analysis, moves=(judged,))
        assert told.deciding == (judged,)
        text = analysis_text(recording, told, 120)
        assert sentence in text[text.index("The moves that decided most:") :]
        assert sentence in " ".join(
            "".join(each.itertext()) for each in parsed(analysis_svg(recording, told)).iter()
        )
    (judged_json,) = json.loads(analysis_json(recording, told))["moves"]
    assert judged_json["unknown"] == {"seat": wolf.seat, "field": "G4", "kind": "m", "seems": True}
    better = replace(analysis_of(recording).moves[7], number=move.number)
    assert judge(recording, better) == explain(recording, better)


def test_a_better_move_is_named_with_its_condition() -> None:
    """Whose wolf matters, on which field, and whether it looks like what it has to be."""
    recording = recording_of(2)
    move = next(move for move in analysis_of(recording).moves if move.better is not None)
    assert move.better is not None
    rival = Seat(1 - move.seat)
    for seems, sentence in (
        (
            True,
            f"It is better unless {recording.names[rival]} bluffs on B5, where the wolf looks like a farmer.",
        ),
        (False, "It is better only if the wolf on B5 is a farmer."),
    ):
        wolf = HiddenWolf(rival, Field("B5"), Kind.FARMER, seems)
        judged = replace(move, better=replace(move.better, condition=wolf))
        assert explain(recording, judged)[1] == sentence
        analysis = replace(analysis_of(recording), moves=(judged,))
        (told,) = json.loads(analysis_json(recording, analysis))["moves"]
        assert told["better"]["condition"] == {"seat": rival, "field": "B5", "kind": "f", "seems": seems}


def test_the_json_has_always_the_same_fields() -> None:
    """A program that reads version 1 can rely on them."""
    recording = recording_of(3)
    told = json.loads(analysis_json(recording, analysis_of(recording)))
    keys = "version names simulations seed complete wanted start moves result deciding"
    assert " ".join(told) == keys
    assert (told["version"], told["complete"], told["wanted"]) == (1, True, len(told["moves"]))
    assert told["names"] == ["Anna", "Bruno", "Carla"]
    for move in told["moves"]:
        assert " ".join(move) == "move seat piece field before after swing reasons better unknown"
        assert len(move["before"]) == len(move["after"]) == 3
    better = told["moves"][7]["better"]
    assert list(better) == ["piece", "field", "chance", "instead_of", "reasons", "condition"]
    assert (better["chance"], better["instead_of"]) == (0.625, 0.5)
    assert all(isinstance(sentence, str) for sentence in better["reasons"])
    assert told["moves"][-1]["after"] == told["result"]
    assert set(told["deciding"]) <= {move["move"] for move in told["moves"]}


def test_sentences_in_the_json_name_bots_without_their_levels() -> None:
    """As all sentences do: those about the move that was played, and those about a better one."""
    recording = recording_of(2, {0: "Anna", 1: "Fabia (consul)"})
    told = json.loads(analysis_json(recording, analysis_of(recording)))
    said = [
        sentence
        for move in told["moves"]
        for sentence in (*move["reasons"], *(move["better"]["reasons"] if move["better"] else ()))
    ]
    assert any("Fabia" in sentence for sentence in said)
    assert not any("(consul)" in sentence for sentence in said)
    assert told["names"][1] == "Fabia (consul)"


def test_no_terminal_acts_on_json() -> None:
    """Whoever has written the names, and however they came there."""
    names = tuple(f"\x9b2J\u202e\u200b\x1b[31m{number}" for number in range(2))
    recording = replace(recording_of(2), names=names)
    exported = as_json(recording, recording.end, recording.all_eyes)
    for told in (exported, analysis_json(recording, analysis_of(recording))):
        assert json.loads(told)["names"] == [*names]
        assert all(line.isprintable() for line in told.splitlines())


def test_it_is_told_in_the_language_of_the_player(in_language: Callable[[str], None]) -> None:
    recording = recording_of(2)
    in_language("it")
    assert "Mossa" in analysis_text(recording, analysis_of(recording), 80)
