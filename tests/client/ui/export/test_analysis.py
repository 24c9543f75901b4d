"""An analysis as text and as JSON."""

import json
import re
from collections.abc import Callable

import pytest

from client.ui.export.analysis import analysis_json, analysis_text
from tests.client.ui.analysed import analysis_of, recording_of


@pytest.mark.parametrize("players", [2, 5])
def test_every_move_is_told(players: int) -> None:
    """With the chances before and after it, what was better and why, and what decided the game."""
    recording = recording_of(players)
    analysis = analysis_of(recording)
    lines = analysis_text(recording, analysis, 80).splitlines()
    assert max(map(len, lines)) <= 80
    text = " ".join(map(str.strip, lines))
    for move in analysis.moves:
        who = recording.names[move.seat]
        assert f"Move {move.number}: {who}, {move.move.piece} on {move.move.field}." in text
        assert f"{who} {move.before[move.seat]:.0%} -> {move.after[move.seat]:.0%}" in text
    assert text.count("Better, as ") == text.count("The move played: ") == len(analysis.moves) // 8
    assert "(+12%). " in text
    assert "Stopped" not in text
    end = text[text.index("The moves that decided most:") :]
    assert re.findall(r"Move (\d+): ", end) == [str(move.number) for move in analysis.deciding]


def test_what_is_there_is_told_when_it_was_stopped() -> None:
    """The text says that it is not all."""
    recording = recording_of(3)
    analysis = analysis_of(recording, 4)
    text = analysis_text(recording, analysis, 80)
    assert "Stopped: 4 of 36 moves analysed." in text
    last = analysis.moves[-1].number
    assert text.index("Stopped") > text.index(f"Move {last}: ")
    assert f"Move {last + 1}: " not in text


def test_the_json_has_always_the_same_fields() -> None:
    """A program that reads version 1 can rely on them."""
    recording = recording_of(3)
    told = json.loads(analysis_json(recording, analysis_of(recording)))
    assert list(told) == [
        *("version", "names", "simulations", "seed", "complete", "wanted"),
        *("start", "moves", "result", "deciding"),
    ]
    assert (told["version"], told["complete"], told["wanted"]) == (1, True, len(told["moves"]))
    assert told["names"] == ["Anna", "Bruno", "Carla"]
    for move in told["moves"]:
        assert list(move) == [
            *("move", "seat", "piece", "field", "before", "after", "swing", "reasons", "better")
        ]
        assert len(move["before"]) == len(move["after"]) == 3
    better = told["moves"][7]["better"]
    assert list(better) == ["piece", "field", "chance", "instead_of", "reasons"]
    assert (better["chance"], better["instead_of"]) == (0.625, 0.5)
    assert all(isinstance(sentence, str) for sentence in better["reasons"])
    assert told["moves"][-1]["after"] == told["result"]
    assert set(told["deciding"]) <= {move["move"] for move in told["moves"]}


def test_a_stopped_analysis_is_marked_in_the_json() -> None:
    """Before anything is judged, too."""
    recording = recording_of(2)
    told = json.loads(analysis_json(recording, analysis_of(recording, 0)))
    assert (told["complete"], told["moves"], told["deciding"]) == (False, [], [])


def test_it_is_told_in_the_language_of_the_player(in_language: Callable[[str], None]) -> None:
    """The reasons, too."""
    recording = recording_of(2)
    in_language("it")
    assert "Mossa" in analysis_text(recording, analysis_of(recording), 80)
