"""Scoring, rule by rule, on small positions, and the function behind `score`.

Tiles A to G are at positions 0 to 6, not turned, so that every test can be checked on this map
(* is a spring, ^ a hill; letters of a tile at its fields 1 to 6):

                    F5* F6
                  F4  F^  F1  G5  G6*
            E5* E6  F3* F2  G4* G^  G1
          E4  E^  E1  A5  A6  G3  G2
            E3  E2* A4  A^  A1* B5  B6
              D5  D6  A3  A2* B4  B^  B1*
            D4  D^  D1  C5  C6  B3* B2
              D3* D2* C4* C^  C1*
                        C3  C2
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import TILES, Field, LaidTile, Layout, Tile
from engine.components import LAUREL_WORTH, PEOPLES, Laurel
from engine.events import Captured, DecidedBy, GameEnded, HillScored, ScoringEvent, SoldierFled, Tally
from engine.final import BadPosition, scored_line
from engine.pieces import Kind, Piece, Seat
from engine.scoring import Board, result, scored, tally
from tests.cases import cases

UNTURNED = (0,) * 7
LAURELS = dict(zip(TILES, Laurel, strict=True))  # worth 6, 5, 5, 4, 4, 3, 3


@dataclass
class Scoring:
    """The events of a scoring, to be found by hill or field."""

    events: list[ScoringEvent]

    def acts(self) -> str:
        """Return what the soldiers do, such as `A1 takes A2 B4, not B5; C5 flees`."""
        found = []
        for event in self.events:
            if isinstance(event, SoldierFled):
                found.append(f"{event.field} flees")
            elif isinstance(event, Captured):
                smaller = min(event.merchants, event.farmers, key=len)
                words = (("takes", event.taken), ("shares", event.shared), ("not", smaller))
                parts = [" ".join([word, *sorted(fields)]) for word, fields in words if fields]
                found.append(f"{event.field} {', '.join(parts)}")
        return "; ".join(found)

    def hill(self, hill: str) -> HillScored:
        return next(event for event in self.events if isinstance(event, HillScored) and event.hill == hill)

    def terms(self, field: str) -> str:
        """Return what the piece on `field` gets influence for: why, where and how much."""
        (terms,) = [piece.terms for piece in self.hill(field[0]).pieces if piece.field == field]
        return ", ".join(sorted(f"{term.why.value} {term.field} {term.amount}" for term in terms))

    @property
    def tallies(self) -> tuple[Tally, ...]:
        assert isinstance(self.events[-1], GameEnded)
        return self.events[-1].tallies


def scoring(
    pieces: str, seats: int = 3, turned: Sequence[int] = UNTURNED, laurels: Mapping[Tile, Laurel] = LAURELS
) -> Scoring:
    """Score a position: `A1 0m` is a merchant of seat 0 on A1."""
    layout = Layout([LaidTile(tile, turns) for tile, turns in zip(TILES, turned, strict=True)])
    occupied: dict[Field, Piece] = {}
    owners: dict[Field, Seat] = {}
    for each in pieces.split(", "):
        field, seat, kind = Field(each[:2]), Seat(int(each[3])), Kind(each[4])
        occupied[field] = Piece.of(PEOPLES[seat], kind)
        owners[field] = seat
    return Scoring(list(scored(Board(layout, occupied, owners), laurels, seats)))


# -- R5: soldiers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("pieces", "acts", "_why"), cases(__file__, "soldiers"))
def test_what_soldiers_do(pieces: str, acts: str, _why: str) -> None:
    assert scoring(pieces).acts() == acts


def numbers(text: str) -> list[int]:
    return [int(each) for each in text.split()]


@pytest.mark.parametrize(("pieces", "captives", "ones", "_why"), cases(__file__, "captives"))
def test_who_gets_captives_and_discs(pieces: str, captives: str, ones: str, _why: str) -> None:
    tallies = scoring(pieces).tallies
    assert [each.captives for each in tallies] == numbers(captives)
    assert [each.ones for each in tallies] == numbers(ones)


# -- R6: control ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("pieces", "field", "terms", "_why"), cases(__file__, "influence"))
def test_what_gives_influence(pieces: str, field: str, terms: str, _why: str) -> None:
    assert scoring(pieces).terms(field) == terms


@pytest.mark.parametrize(
    ("pieces", "hill", "influence", "leaders", "points", "_why"), cases(__file__, "control")
)
def test_who_controls(pieces: str, hill: str, influence: str, leaders: str, points: str, _why: str) -> None:
    outcome = scoring(pieces)
    found = outcome.hill(hill)
    assert [[*found.influence], [*found.leaders]] == [numbers(influence), numbers(leaders)]
    assert [each.points for each in outcome.tallies] == numbers(points)


def test_hills_are_scored_in_order() -> None:
    """R5: A to G, the soldiers of each before its control."""
    outcome = scoring("A1 0s, D3 1s, G1 2s")
    order = [
        event.hill for event in outcome.events if not isinstance(event, GameEnded) and hasattr(event, "hill")
    ]
    assert order == ["A", "A", "B", "C", "D", "D", "E", "F", "G", "G"]
    assert [type(event) for event in outcome.events[:2]] == [SoldierFled, HillScored]


# -- R7: victory ----------------------------------------------------------------------------------


def took(seat: int, captives: int) -> Captured:
    """Return a capture of so many pieces; only their number matters to the result."""
    fields = tuple(Field(f"B{number}") for number in range(1, captives + 1))
    return Captured(Tile("B"), Field("A1"), Seat(seat), fields, (), fields, ())


def won(laurel: Laurel, *leaders: int) -> HillScored:
    return HillScored(Tile("A"), laurel, (), (), tuple(Seat(leader) for leader in leaders))


def test_points_come_from_captives_laurels_and_discs() -> None:
    """R7.1: one each for captives, and what laurels and discs are worth."""
    ended = result([took(0, 2), won(Laurel.CAELIUS, 0), won(Laurel.PALATINUS, 0, 1)], 2)
    assert [each.points for each in ended.tallies] == [2 + 3 + 2, 2]
    assert (ended.winners, ended.decided_by) == ((0,), DecidedBy.POINTS)


def test_more_points_beat_more_items() -> None:
    """R7.2: items matter between those with the most points alone."""
    ended = result([took(0, 4), won(Laurel.CAPITOLINUS, 1)], 2)
    assert [each.items for each in ended.tallies] == [4, 1]
    assert ended.winners == (1,)


def test_items_break_a_tie() -> None:
    """R7.2: laurels, discs and captives together; a third with more of them but fewer points is out."""
    ended = result([won(Laurel.CAPITOLINUS, 0), took(1, 5), won(Laurel.CAELIUS, 2), took(2, 1)], 3)
    assert [each.points for each in ended.tallies] == [5, 5, 4]
    assert (ended.winners, ended.decided_by) == ((1,), DecidedBy.ITEMS)
    out = result([won(Laurel.PALATINUS, 0), won(Laurel.PALATINUS, 1), took(2, 5)], 3)
    assert [each.items for each in out.tallies] == [1, 1, 5]
    assert out.winners == (0, 1)


def test_still_tied_players_share_the_victory() -> None:
    """R7.3: as many points from as many items."""
    ended = result([won(Laurel.CAELIUS, 0), won(Laurel.VIMINALIS, 2), took(1, 2)], 3)
    assert (ended.winners, ended.decided_by) == ((0, 2), DecidedBy.NOTHING)


# -- R8: the rulebooks' example -------------------------------------------------------------------

RED, YELLOW, BLUE, GREEN = range(4)


def test_the_worked_example() -> None:
    """R8: a position that fits all the numbers given for hill C."""
    outcome = scoring(
        "C6 3s, C5 1s, C1 2f, B4 3f, C2 0f, C4 0m, C3 1f, D2 2m",
        seats=4,
        turned=(0, 5, 1, 5, 2, 1, 3),
        laurels=LAURELS | {Tile("C"): Laurel.CAELIUS},
    )
    assert outcome.acts() == "C5 flees; C6 takes B4 C1"  # a blue farmer and a green one
    hill = outcome.hill("C")
    amounts = {piece.field: (piece.seat, piece.kind, piece.amount) for piece in hill.pieces}
    assert amounts == {
        "C2": (RED, Kind.FARMER, 4),
        "C4": (RED, Kind.MERCHANT, 3),
        "C3": (YELLOW, Kind.FARMER, 8),
    }
    assert hill.influence == (7, 8, 0, 0)
    assert hill.leaders == (YELLOW,)
    assert outcome.tallies[YELLOW].laurels[0] is Laurel.CAELIUS
    assert LAUREL_WORTH[Laurel.CAELIUS] == 3


def test_the_worked_example_sums_up() -> None:
    """R8: two captives, discs of 2 and 1, laurels of 5 and 4: 14 points; the laurel of C adds its 3."""
    laurels = [Laurel.CAPITOLINUS, Laurel.AVENTINUS]
    assert tally(captives=2, ones=1, twos=1, laurels=laurels).points == 14
    assert tally(captives=2, ones=1, twos=1, laurels=[*laurels, Laurel.CAELIUS]).points == 17


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
    (json.dumps(position(board={"A1": [0, "\ud800" * 500]})), "board.A1[1]"),
    *(
        (json.dumps(position(**json.loads(changes))), reason)
        for changes, reason in cases(__file__, "bad_positions")
    ),
]


@pytest.mark.parametrize(("line", "reason"), BAD, ids=[reason[:40] for _, reason in BAD])
def test_bad_input_is_refused_precisely(line: str, reason: str) -> None:
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
    try:
        scored = scored_line(json.dumps(position(**{key: value})))
    except BadPosition:
        return
    assert len(json.loads(scored)["points"]) in range(2, 6)


@given(st.text())
def test_no_text_breaks_the_scoring(text: str) -> None:
    with pytest.raises(BadPosition):
        scored_line(text)
