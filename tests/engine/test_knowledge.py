"""Bounds on hidden hands and influence, and forecasts, compared with every board that a view allows."""

import copy
import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from engine.board import TILES, Field, tile_of
from engine.events import Captured
from engine.forecast import SoldierAct, forecast
from engine.game import Game
from engine.knowledge import Bounds, beside, hill_influence, holdings
from engine.legal import LegalPlaces
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.scoring import Board, influences, soldier_acts
from engine.view import View, eyes_of
from tests.games import all_eyes, examples, game_options, games, played, seeds

MOST_WOLVES = 9  # of unknown kind, so that every assignment of kinds can be tried


@st.composite
def seen_games(draw: st.DrawFn) -> View:
    """Some eyes' view of a game in play; those of all seats see everything."""
    game = played(draw(game_options()), draw(seeds), draw(st.integers(1, 28)))
    return snapshot(game.view, draw(st.sampled_from([*all_eyes(game), game.view.eyes])))


def possible(view: View) -> Iterator[dict[Field, Piece]]:
    """Yield every board that the view allows, wolf by wolf (R3.5, R4.2)."""
    hidden = [field for field, piece in view.placed.items() if isinstance(piece, Wolf)]
    assume(len(hidden) <= MOST_WOLVES)
    open_ = {field: piece for field, piece in view.placed.items() if isinstance(piece, Piece)}
    dealt = Counter[Piece]()
    for hand in view.start.hands:
        dealt.update(hand)
    for kinds in itertools.product((Kind.MERCHANT, Kind.FARMER), repeat=len(hidden)):
        wolves = [
            Piece.of(view.placed[field].people, kind, wolf=True)
            for field, kind in zip(hidden, kinds, strict=True)
        ]
        board = {**open_, **dict(zip(hidden, wolves, strict=True))}
        if Counter(board.values()) <= dealt:
            yield board


@given(seen_games())
def test_hands_are_counted_as_narrowly_as_possible(view: View) -> None:
    """Each bound is reached by some possible board, and none is exceeded."""
    boards = [Counter(board.values()) for board in possible(view)]
    for holding in holdings(view):
        for count in holding.counts:
            left = [count.dealt - board[count.piece] for board in boards]
            assert count.left == Bounds(min(left), max(left)), count


@given(games())
def test_what_is_left_lies_within_the_bounds(game: Game) -> None:
    """R4.2: at any moment, every hand is within the bounds that every pair of eyes has for it."""
    for eyes in all_eyes(game):
        for holding in holdings(snapshot(game.view, eyes)):
            for count in holding.counts:
                left = game.view.hands[holding.seat].get(count.piece, 0)
                assert count.left.least <= left <= count.left.most
                assert count.left.known or (count.piece.wolf and holding.seat not in eyes)


@given(seen_games())
def test_influence_is_bounded_as_narrowly_as_possible(view: View) -> None:
    """R6: the least and the most of every piece and seat are those of all possible boards."""
    assume(len(view.tiles) == 7 and None not in view.tiles)
    found = {hill: hill_influence(view, hill) for hill in TILES}
    sums: dict[tuple[str, int], list[int]] = {}
    for board in possible(view):
        scoring = Board(view.layout, board, view.owners)
        for hill in TILES:
            by_field = {each.field: each for each in influences(scoring, hill)}
            for field in found[hill].fields:
                sums.setdefault((field, 0), []).append(by_field[field].amount)
            for seat in range(view.seats):
                total = sum(each.amount for each in by_field.values() if each.seat == seat)
                sums.setdefault((hill, seat), []).append(total)
    for hill, influence in found.items():
        for field, bounds in influence.fields.items():
            assert bounds == Bounds(min(sums[field, 0]), max(sums[field, 0]))
        for seat, bounds in enumerate(influence.seats):
            assert bounds == Bounds(min(sums[hill, seat]), max(sums[hill, seat]))


@given(games())
def test_a_soldier_counts_the_pieces_beside_it(game: Game) -> None:
    """R5.1: merchants, farmers and wolves are all the pieces beside it except soldiers."""
    for eyes in all_eyes(game):
        view = snapshot(game.view, eyes)
        for field in view.board:
            around = [game.view.board[each] for each in view.layout.adjacent(field) if each in view.board]
            kinds = Counter(piece.kind for piece in around if isinstance(piece, Piece))
            found = beside(view, field)
            assert 0 <= kinds[Kind.MERCHANT] - found.merchants <= found.wolves
            assert 0 <= kinds[Kind.FARMER] - found.farmers <= found.wolves
            assert found.merchants + found.farmers + found.wolves == len(around) - kinds[Kind.SOLDIER]


@st.composite
def placements(draw: st.DrawFn) -> tuple[View, Seat, Piece, Field]:
    """A view while pieces are placed, of the seat to move or of all, and a piece that the seat may place."""
    options = replace(draw(game_options()), random_layout=True)
    game = played(options, draw(seeds), draw(st.integers(0, 34)))
    legal = game.legal()
    assume(isinstance(legal, LegalPlaces))
    assert isinstance(legal, LegalPlaces)
    view = snapshot(game.view, draw(st.sampled_from([eyes_of(legal.seat), game.view.eyes])))
    return view, legal.seat, draw(st.sampled_from(legal.pieces)), draw(st.sampled_from(legal.fields))


def influence_by_seat(board: Board, without: frozenset[Field]) -> dict[tuple[str, int], int]:
    """Return the influence of everything but the pieces on the fields `without`, by hill and seat."""
    found: dict[tuple[str, int], int] = {}
    for hill in TILES:
        for each in influences(board, hill):
            if each.field not in without:
                found[hill, each.seat] = found.get((hill, each.seat), 0) + each.amount
    return found


def unchanged_by(board: Board, field: Field) -> frozenset[Field]:
    """Return the fields that the piece on `field` cannot matter to: its own, and those counted after it acts.

    A soldier that has fled matters to none of those, and one that has captured to all but its captives.
    """
    if board.kinds[field] is not Kind.SOLDIER:
        return frozenset({field})
    act = next(each for each in soldier_acts(board, tile_of(field)) if each.field == field)
    gone = (*act.taken, *act.shared) if isinstance(act, Captured) else board.kinds
    return frozenset({field, *(each for each in gone if tile_of(each) >= tile_of(field))})


def outcome_on(board: Board, soldier: Field) -> SoldierAct:
    act = next(each for each in soldier_acts(board, tile_of(soldier)) if each.field == soldier)
    if not isinstance(act, Captured):
        return SoldierAct.FLIGHT
    return SoldierAct.MERCHANTS if len(act.merchants) > len(act.farmers) else SoldierAct.FARMERS


def captured_by_seat(board: Board, soldier: Field) -> dict[int, int]:
    act = next(each for each in soldier_acts(board, tile_of(soldier)) if each.field == soldier)
    taken = (*act.taken, *act.shared) if isinstance(act, Captured) else ()
    return {seat: sum(board.owners[each] == seat for each in taken) for seat in set(board.owners.values())}


@examples(10)
@given(placements())
def test_a_forecast_is_as_narrow_as_the_view_allows(placement: tuple[View, Seat, Piece, Field]) -> None:
    """R5, R6: each bound is that of the scoring of all boards that the view allows, which is as it was."""
    view, seat, piece, field = placement
    before = copy.deepcopy(view)
    found = forecast(view, seat, piece, field)
    assert view == before
    owners = {**view.owners, field: seat}
    gives, own_acts = [], set()
    changed: list[dict[tuple[str, int], int]] = []
    captives: list[dict[int, int]] = []
    before_acts: dict[Field, set[SoldierAct]] = {each.field: set() for each in found.soldiers}
    after_acts: dict[Field, set[SoldierAct]] = {each.field: set() for each in found.soldiers}
    for pieces in possible(view):
        now = Board(view.layout, pieces, view.owners)
        then = Board(view.layout, {**pieces, field: piece}, owners)
        gives += [each.amount for each in influences(then, tile_of(field)) if each.field == field]
        unchanged = unchanged_by(then, field)
        had, has = influence_by_seat(now, unchanged), influence_by_seat(then, unchanged)
        changed.append({key: has.get(key, 0) - had.get(key, 0) for key in had | has})
        for soldier in found.soldiers:
            before_acts[soldier.field].add(outcome_on(now, soldier.field))
            after_acts[soldier.field].add(outcome_on(then, soldier.field))
        if piece.kind is Kind.SOLDIER:
            own_acts.add(outcome_on(then, field))
            captives.append(captured_by_seat(then, field))
    if piece.kind is Kind.SOLDIER:
        assert found.gives is None
        for other, bounds in found.captives.items():
            numbers = [each[other] for each in captives]
            assert bounds == Bounds(min(numbers), max(numbers))
        assert {other for each in captives for other in each if each[other]} == set(found.captives)
    else:
        assert found.gives == Bounds(min(gives), max(gives))
    assert found.acts == own_acts
    by: dict[tuple[str, int], Bounds] = {(each.hill, each.seat): each.by for each in found.changes}
    for key in {key for each in changed for key in each}:
        amounts = [each.get(key, 0) for each in changed]
        assert by.get(key, Bounds(0, 0)) == Bounds(min(amounts), max(amounts))
    for soldier in found.soldiers:
        assert set(soldier.before) == before_acts[soldier.field]
        assert set(soldier.after) == after_acts[soldier.field]
    expected = {
        name
        for name in view.layout.adjacent(field)
        if isinstance(there := view.board.get(name), Piece) and there.kind is Kind.SOLDIER
    }
    assert {soldier.field for soldier in found.soldiers} == expected
