"""Forecasts, compared with the scoring of every board that a view allows."""

from dataclasses import replace

from hypothesis import assume, given
from hypothesis import strategies as st

from engine.board import TILES, Field, tile_of
from engine.events import Captured
from engine.forecast import GROUPS, Outcome, forecast
from engine.game import Game, GameOptions
from engine.knowledge import Bounds
from engine.legal import LegalPlaces
from engine.pieces import Kind, Piece, Seat
from engine.redaction import snapshot
from engine.scoring import Board, influences, soldier_acts
from engine.view import eyes_of
from tests.engine.test_knowledge import possible
from tests.examples import examples
from tests.games import game_options, played, seeds


@st.composite
def placements(draw: st.DrawFn) -> tuple[Game, Seat, Piece, Field]:
    """A game while pieces are placed, and a piece that the seat on turn may place."""
    options = replace(draw(game_options()), random_layout=True)
    game = played(options, draw(seeds), draw(st.integers(0, 34)))
    legal = game.legal()
    assume(isinstance(legal, LegalPlaces))
    assert isinstance(legal, LegalPlaces)
    return game, legal.seat, draw(st.sampled_from(legal.pieces)), draw(st.sampled_from(legal.fields))


def influence_by_seat(board: Board, without: Field) -> dict[tuple[str, int], int]:
    """Return the influence of everything but the piece on `without`, by hill and seat."""
    found: dict[tuple[str, int], int] = {}
    for hill in TILES:
        for each in influences(board, hill):
            if each.field != without:
                found[hill, each.seat] = found.get((hill, each.seat), 0) + each.amount
    return found


def outcome_on(board: Board, soldier: Field) -> Outcome:
    act = next(each for each in soldier_acts(board, tile_of(soldier)) if each.field == soldier)
    if not isinstance(act, Captured):
        return Outcome.FLIGHT
    return Outcome.MERCHANTS if len(act.merchants) > len(act.farmers) else Outcome.FARMERS


def captured_by_seat(board: Board, soldier: Field) -> dict[int, int]:
    act = next(each for each in soldier_acts(board, tile_of(soldier)) if each.field == soldier)
    taken = (*act.taken, *act.shared) if isinstance(act, Captured) else ()
    return {seat: sum(board.owners[each] == seat for each in taken) for seat in set(board.owners.values())}


@examples(30)
@given(placements())
def test_a_forecast_is_as_narrow_as_the_view_allows(placement: tuple[Game, Seat, Piece, Field]) -> None:
    """R5, R6: each bound is that of the engine's scoring of all boards that the view allows."""
    game, seat, piece, field = placement
    view = snapshot(game.view, eyes_of(seat))
    found = forecast(view, seat, piece, field)
    owners = {**view.owners, field: seat}
    gives, own_acts = [], set()
    changed: list[dict[tuple[str, int], int]] = []
    captives: list[dict[int, int]] = []
    before_acts: dict[Field, set[Outcome]] = {each.field: set() for each in found.soldiers}
    after_acts: dict[Field, set[Outcome]] = {each.field: set() for each in found.soldiers}
    for pieces in possible(view):
        now = Board(view.layout, pieces, view.owners)
        then = Board(view.layout, {**pieces, field: piece}, owners)
        gives += [each.amount for each in influences(then, tile_of(field)) if each.field == field]
        had, has = influence_by_seat(now, field), influence_by_seat(then, field)
        changed.append({key: has.get(key, 0) - had.get(key, 0) for key in had | has})
        for beside in found.soldiers:
            before_acts[beside.field].add(outcome_on(now, beside.field))
            after_acts[beside.field].add(outcome_on(then, beside.field))
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
    for beside in found.soldiers:
        assert set(beside.before) == before_acts[beside.field]
        assert set(beside.after) == after_acts[beside.field]
    expected = {
        name
        for name in view.layout.adjacent(field)
        if isinstance(there := view.board.get(name), Piece) and there.kind is Kind.SOLDIER
    }
    assert {beside.field for beside in found.soldiers} == expected


@given(placements())
def test_where_nothing_is_hidden_nothing_is_open(placement: tuple[Game, Seat, Piece, Field]) -> None:
    """With the eyes of all seats every number is exact, and every soldier does one thing."""
    game, seat, piece, field = placement
    found = forecast(game.view, seat, piece, field)
    assert found.gives is None or found.gives.known
    assert all(each.by.known for each in found.changes)
    assert all(len(each.before) == len(each.after) == 1 for each in found.soldiers)
    assert all(each.known for each in found.captives.values())


def test_a_forecast_changes_nothing() -> None:
    """The view is as it was."""
    game = played(GameOptions(3, random_layout=True), 1, 12)
    view = snapshot(game.view, eyes_of(Seat(0)))
    before = (dict(view.placed), dict(view.owners), list(view.remaining))
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    for field in legal.fields:
        for piece in legal.pieces:
            forecast(view, legal.seat, piece, field)
    assert (view.placed, view.owners, view.remaining) == before
    assert set(GROUPS) == {Kind.MERCHANT, Kind.FARMER}
