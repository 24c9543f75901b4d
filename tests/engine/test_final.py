"""The function behind `score`: a position in JSON is scored; anything else is refused precisely."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import TILES
from engine.final import BadPosition, scored_line

CASES = (Path(__file__).parent / "positions.jsonl").read_text(encoding="utf-8").splitlines()


def position(**changes: Any) -> dict[str, Any]:
    """Return a sound position, changed in part."""
    sound = {
        "tiles": [[tile, 0] for tile in TILES],
        "laurels": dict.fromkeys(TILES, 3),
        "players": 3,
        "board": {"A1": [0, "M"], "A2": [2, "F"]},
    }
    return sound | changes


@pytest.mark.parametrize("case", CASES)
def test_known_positions_score_as_expected(case: str) -> None:
    """Positions of 2 to 5 players whose results were found independently of this code."""
    known = json.loads(case)
    assert json.loads(scored_line(json.dumps(known["position"]))) == known["result"]


def test_a_partial_board_is_scored() -> None:
    """People check single hills by hand: an empty board and laurels all alike are fine."""
    scored = json.loads(scored_line(json.dumps(position(board={"A1": [2, "F"]}))))
    assert scored["points"] == [0, 0, 3]
    assert scored["winners"] == [2]
    assert list(scored["hills"]) == list(TILES)


BAD: list[tuple[str, str]] = [
    ("", "not JSON from column 1"),
    ("{", "not JSON from column 2"),
    ("{} {}", "not JSON from column 4"),
    ("[" * 100_000, "nested too deeply"),
    ("[" + "9" * 10_000 + "]", "too many digits"),
    ("[]", "position: found [...], allowed: {...}"),
    ("{}", 'missing: "tiles", "laurels", "players", "board"'),
    ('{"players": 2, "players": 3}', '"players" appears twice'),
    ('{"players": NaN}', "NaN"),
    ('{"players": -Infinity}', "-Infinity"),
    *(
        (json.dumps(position(**changes)), reason)
        for changes, reason in (
            *(({"turn": 1}, 'no key "turn"'), ({"players": 1}, "players: found 1, allowed: 2, 3, 4, 5")),
            *(({"players": 6}, "players: found 6"), ({"players": 3.0}, "players: found 3.0")),
            *(({"players": "3"}, 'players: found "3"'), ({"players": None}, "players: found null")),
            ({"tiles": {}}, "tiles: not a list of 7 pairs"),
            ({"tiles": [["A", 0]]}, "tiles: not a list of 7 pairs"),
            ({"tiles": [["A", 0]] * 7}, "tiles[1]: the tile A appears twice"),
            ({"tiles": [["A", 6]] * 7}, "tiles[0][1]: found 6, allowed: 0-5"),
            *(({"tiles": [["A", -1]] * 7}, "found -1"), ({"tiles": [["A", True]] * 7}, "found true")),
            *(({"tiles": [["H", 0]] * 7}, "allowed: A-G"), ({"tiles": [[["A"], 0]] * 7}, "found [...]")),
            ({"tiles": ["A0"] * 7}, "allowed: [tile, orientation]"),
            ({"laurels": [3] * 7}, "laurels: found [...]"),
            ({"laurels": {"A": 3}}, 'missing: "B", "C", "D", "E", "F", "G"'),
            ({"laurels": dict.fromkeys("ABCDEFGH", 3)}, 'no key "H"'),
            ({"laurels": dict.fromkeys(TILES, 2)}, "laurels.A: found 2, allowed: 3, 4, 5, 6"),
            *(({"laurels": dict.fromkeys(TILES, True)}, "found true"), ({"board": []}, "board: found [...]")),
            ({"board": {"A7": [0, "M"]}}, 'board: there is no key "A7", allowed: A1-G6'),
            ({"board": {"A1": "M"}}, "board.A1"),
            ({"board": {"A1": [0]}}, "board.A1: found [...], allowed: [owner, kind]"),
            ({"board": {"A1": [3, "M"]}}, "board.A1[0]: found 3, allowed: 0, 1, 2"),
            ({"board": {"A1": [False, "M"]}}, "board.A1[0]: found false"),
            ({"board": {"A1": [0, "m"]}}, 'board.A1[1]: found "m", allowed: M, F, S'),
            ({"board": {"A1": [0, "\ud800" * 500]}}, "board.A1[1]"),
        )
    ),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=[reason[:40] for _, reason in BAD])
def test_bad_input_is_refused_precisely(line: str, reason: str) -> None:
    """The refusal says where, what is wrong and what is allowed, in a line of readable length."""
    with pytest.raises(BadPosition) as refused:
        scored_line(line)
    assert reason in str(refused.value)
    assert len(str(refused.value)) < 200
    assert str(refused.value).isprintable()


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 8) | st.floats() | st.sampled_from(["A", "M", "A1", "é"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["A", "A1", "x"]), inner),
    max_leaves=6,
)


@given(st.sampled_from(["tiles", "laurels", "players", "board"]), json_values)
def test_no_value_breaks_the_scoring(key: str, value: Any) -> None:
    """Whatever JSON is under a key: a result, or BadPosition."""
    try:
        scored = scored_line(json.dumps(position(**{key: value})))
    except BadPosition:
        return
    assert len(json.loads(scored)["points"]) in range(2, 6)


@given(st.text())
def test_no_text_breaks_the_scoring(text: str) -> None:
    """Text that is not a position is refused, with no other exception."""
    with pytest.raises(BadPosition):
        scored_line(text)
