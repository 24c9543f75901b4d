"""Scoring, rule by rule, on small positions.

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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from engine.board import TILES, Field, LaidTile, Layout, Tile
from engine.components import LAUREL_WORTH, PEOPLES, Laurel
from engine.events import (
    Captured,
    DecidedBy,
    GameEnded,
    HillScored,
    ScoringEvent,
    SoldierFled,
    Tally,
    Why,
)
from engine.pieces import Kind, Piece, Seat
from engine.scoring import Board, result, scored, tally

UNTURNED = (0,) * 7
LAURELS = dict(zip(TILES, Laurel, strict=True))  # worth 6, 5, 5, 4, 4, 3, 3


@dataclass
class Scoring:
    """The events of a scoring, to be found by hill or field."""

    events: list[ScoringEvent]

    def acts(self, hill: str) -> list[SoldierFled | Captured]:
        return [
            event for event in self.events if isinstance(event, SoldierFled | Captured) and event.hill == hill
        ]

    def captured(self, field: str) -> Captured:
        return next(event for event in self.events if isinstance(event, Captured) and event.field == field)

    def fled(self) -> list[str]:
        return [event.field for event in self.events if isinstance(event, SoldierFled)]

    def hill(self, hill: str) -> HillScored:
        return next(event for event in self.events if isinstance(event, HillScored) and event.hill == hill)

    def terms(self, field: str) -> list[tuple[str, str, int]]:
        """Return what the piece on `field` got as influence, sorted: why, where, how much."""
        pieces = self.hill(field[0]).pieces
        (terms,) = [piece.terms for piece in pieces if piece.field == field]
        return sorted((term.why.value, term.field, term.amount) for term in terms)

    @property
    def tallies(self) -> tuple[Tally, ...]:
        assert isinstance(self.events[-1], GameEnded)
        return self.events[-1].tallies


def scoring(
    pieces: str,
    seats: int = 3,
    turned: Sequence[int] = UNTURNED,
    laurels: Mapping[Tile, Laurel] = LAURELS,
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


def test_a_soldier_counts_merchants_and_farmers_beside_it() -> None:
    """R5.1: of every owner and on every tile, but none farther away."""
    outcome = scoring("A1 0s, A2 0m, B4 1f, B5 2f, G3 1f, A5 1m, B6 2m, A3 2m")
    assert set(outcome.captured("A1").merchants) == {"A2"}
    assert set(outcome.captured("A1").farmers) == {"B4", "B5", "G3"}


@pytest.mark.parametrize("beside", ["A2 1m, B4 2f", "A2 0m, B4 0f, B5 1m, A6 1f"])
def test_a_soldier_flees_from_equal_numbers(beside: str) -> None:
    """R5.2: as many merchants as farmers."""
    outcome = scoring(f"A1 0s, {beside}")
    assert outcome.fled() == ["A1"]
    assert all(each.captives == 0 for each in outcome.tallies)


def test_a_soldier_on_its_own_flees() -> None:
    """R9.8: none equals none, and a soldier beside it is neither merchant nor farmer."""
    assert scoring("A1 0s").fled() == ["A1"]
    assert scoring("A1 0s, A2 1s").fled() == ["A1", "A2"]


def test_a_fled_soldier_is_out_for_the_control_of_the_same_hill() -> None:
    """R5.2: its field counts as empty immediately."""
    outcome = scoring("A1 0s, A2 1f, B4 1m")
    assert outcome.fled() == ["A1"]
    assert ("empty", "A1", 2) in outcome.terms("A2")


def test_a_fled_soldier_is_out_for_later_hills() -> None:
    """R5: a merchant on hill B gets nothing for the soldier that fled from hill A beside it."""
    outcome = scoring("A1 0s, B5 1m, B4 2f")
    assert outcome.fled() == ["A1"]
    assert outcome.terms("B5") == [("farmer", "B4", 2)]


def test_a_soldier_captures_the_larger_group() -> None:
    """R5.3: every piece of it, its own owner's too, and the smaller group stays."""
    outcome = scoring("A1 0s, A2 0m, B4 1m, B5 2f")
    assert set(outcome.captured("A1").taken) == {"A2", "B4"}
    assert outcome.tallies[0].captives == 2
    assert ("empty", "B4", 2) in outcome.terms("B5")


def test_a_soldier_that_captures_stays() -> None:
    """R5.3: it still counts for the merchants beside it, on this hill and on later ones."""
    outcome = scoring("A1 0s, A2 1f, B4 1f, A6 1m, B5 2m, G3 2f")
    assert set(outcome.captured("A1").taken) == {"A2", "B4", "G3"}
    assert outcome.terms("A6") == [("soldier", "A1", 3)]
    assert outcome.terms("B5") == [("soldier", "A1", 3)]


def test_a_captive_is_gone_for_later_hills() -> None:
    """R5: on hill B the soldier finds the field of hill A's captive empty, and flees."""
    outcome = scoring("A1 0s, A2 1f, B4 2s")
    assert outcome.captured("A1").taken == ("A2",)
    assert outcome.fled() == ["B4"]


def test_an_earlier_hill_acts_first() -> None:
    """R5: the soldier on A takes the piece on C, although hill C has a soldier beside it too."""
    outcome = scoring("A3 0s, C5 1m, C4 1s")
    assert outcome.captured("A3").taken == ("C5",)
    assert outcome.fled() == ["C4"]


def test_soldiers_of_a_hill_act_at_the_same_time() -> None:
    """R5.4: each sees the board as it was before: one after the other, the second would flee."""
    outcome = scoring("A1 0s, A3 1s, A2 2m")
    assert outcome.fled() == []
    assert outcome.captured("A3").merchants == ("A2",)


def test_a_flight_does_not_hide_a_piece_from_the_neighbour() -> None:
    """R5.4: A1 flees from one and one; A3 still counts the merchant that both see."""
    outcome = scoring("A1 0s, A2 2m, B5 2f, A3 1s, C5 1m")
    assert outcome.fled() == ["A1"]
    assert set(outcome.captured("A3").taken) == {"A2", "C5"}


def test_soldiers_do_not_count_for_one_another() -> None:
    """R5.4: beside two soldiers one merchant is still the larger group."""
    outcome = scoring("A2 0s, A1 1s, A3 2s, C6 1m")
    assert outcome.captured("A2").taken == ("C6",)
    assert outcome.fled() == ["A1", "A3"]


def test_a_piece_captured_twice_goes_to_one_owner() -> None:
    """R5.5, R9.9: the captor first from the arrow has it, the other takes a disc worth 1."""
    outcome = scoring("A3 0s, A1 1s, A2 2m")
    assert (outcome.captured("A1").taken, outcome.captured("A1").shared) == (("A2",), ())
    assert (outcome.captured("A3").taken, outcome.captured("A3").shared) == ((), ("A2",))
    assert [(each.captives, each.ones, each.points) for each in outcome.tallies] == [
        (0, 1, 1),
        (1, 0, 1),
        (0, 0, 0),
    ]


def test_an_owner_of_both_captors_gets_captive_and_disc() -> None:
    """R5.5: every further soldier gives its disc, whoever has the captive."""
    outcome = scoring("A1 1s, A3 1s, A2 2m")
    assert (outcome.tallies[1].captives, outcome.tallies[1].ones, outcome.tallies[1].items) == (1, 1, 2)


# -- R6: control ----------------------------------------------------------------------------------


def test_only_pieces_on_the_hill_give_influence() -> None:
    """R6.1: each looks across the tile's edge, but counts for its own hill alone."""
    outcome = scoring("A1 0m, B5 1m")
    assert outcome.hill("A").influence == (1, 0, 0)
    assert outcome.hill("B").influence == (0, 1, 0)
    assert {outcome.hill(hill).influence for hill in "CDEFG"} == {(0, 0, 0)}


def test_a_merchant_counts_the_inhabitants_beside_it() -> None:
    """R6.2: 1 for a merchant, 2 for a farmer, 3 for a soldier, whoever owns them."""
    outcome = scoring("A1 0m, A2 0m, B4 1f, B5 2s, B6 1f, G2 1f")
    assert set(outcome.captured("B5").taken) == {"B4", "B6", "G2"}
    assert outcome.terms("A1") == [("farmer", "B4", 2), ("merchant", "A2", 1), ("soldier", "B5", 3)]
    assert outcome.hill("A").influence[0] == 6 + 3  # A2 is beside A1 and B4


def test_a_farmer_counts_empty_fields_and_springs() -> None:
    """R6.3: 2 for an empty field, 2 for a spring, occupied or not, so 4 for an empty one."""
    outcome = scoring("A3 0f, A2 1m, C5 1m, D1 1m")
    assert outcome.terms("A3") == [("empty", "A4", 2), ("empty", "D6", 2), ("spring", "A2", 2)]
    alone = scoring("D4 0f")
    assert alone.terms("D4") == [("empty", "D3", 2), ("empty", "D5", 2), ("spring", "D3", 2)]


def test_a_farmer_counts_the_spring_on_its_own_field() -> None:
    """R6.3: 2 for a spring on its own field."""
    assert scoring("D3 0f, D2 1m, D4 1m").terms("D3") == [
        ("own-spring", "D3", 2),
        ("spring", "D2", 2),
    ]


def test_a_soldier_gives_no_influence() -> None:
    """R6.4: hill A, with nothing but a soldier that stayed, is nobody's."""
    outcome = scoring("A1 0s, B5 1m")
    assert outcome.captured("A1").taken == ("B5",)
    assert outcome.hill("A").pieces == ()
    assert outcome.hill("A").leaders == ()


def test_the_most_influence_takes_the_laurel() -> None:
    """R6.5: and nobody else gets anything for the hill."""
    outcome = scoring("A3 0f, A5 1m, A4 1m")
    assert outcome.hill("A").leaders == (0,)
    assert outcome.tallies[0].laurels == (Laurel.PALATINUS,)
    assert [each.points for each in outcome.tallies] == [6, 0, 0]


def test_a_tie_discards_the_laurel_for_discs() -> None:
    """R6.5: each tied player takes one 2-point disc."""
    outcome = scoring("A1 0m, A2 1m")
    assert outcome.hill("A").influence == (1, 1, 0)
    assert [(each.twos, each.laurels, each.points) for each in outcome.tallies] == [
        (1, (), 2),
        (1, (), 2),
        (0, (), 0),
    ]


def test_nobody_takes_a_laurel_without_influence() -> None:
    """R6.5: no influence is not a tie: the laurel is discarded and there are no discs."""
    outcome = scoring("A1 0m")
    assert outcome.hill("A").leaders == ()
    assert [each.points for each in outcome.tallies] == [0, 0, 0]


def test_influence_starts_from_zero_and_is_not_points() -> None:
    """R6.6: what a player had on hill A helps neither on hill B nor at the end."""
    outcome = scoring("A3 0f, A4 0f, B1 1m, B2 1m, B6 0m")
    assert outcome.hill("A").influence[0] > 10
    assert outcome.hill("B").leaders == (1,)
    assert [each.points for each in outcome.tallies] == [6, 5, 0]


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
    green = outcome.captured("C6")
    assert green.seat == GREEN
    assert set(green.taken) == {"C1", "B4"}  # a blue farmer and a green one
    assert outcome.fled() == ["C5"]
    assert [act.seat for act in outcome.acts("C")] == [YELLOW, GREEN]
    hill = outcome.hill("C")
    amounts = {piece.field: (piece.seat, piece.kind, piece.amount) for piece in hill.pieces}
    assert amounts == {
        "C2": (RED, Kind.FARMER, 4),
        "C4": (RED, Kind.MERCHANT, 3),
        "C3": (YELLOW, Kind.FARMER, 8),
    }
    whys = {piece.field: sorted(term.why for term in piece.terms) for piece in hill.pieces}
    assert whys == {
        "C2": [Why.EMPTY, Why.SPRING],
        "C4": [Why.FARMER, Why.MERCHANT],
        "C3": [Why.EMPTY, Why.SPRING, Why.SPRING, Why.SPRING],
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
