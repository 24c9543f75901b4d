"""An observation is the seat's view, number by number."""

import random
from collections import Counter

import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given

from engine.board import Field, has_spring, tile_of
from engine.components import LAUREL_WORTH
from engine.game import Game, GameOptions, RandomChance
from engine.knowledge import holdings
from engine.pieces import Piece, Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, Phase, View, eyes_of
from environment.agents import PalatinusEnvironment
from environment.observation import Board, Observer, observed
from environment.planes import planes_of
from tests.environment.test_games import legal_actions
from tests.games import begun, games

NAMES = {"m": "merchant", "f": "farmer", "s": "soldier"}


def shown(numbers: Board, names: list[str]) -> dict[str, int]:
    """Return what is not 0 in one place, by the planes' names."""
    return {name: int(number) for name, number in zip(names, numbers, strict=True) if number}


def expected_planes(view: View, seat: int) -> dict[str, int]:
    """Return what is the same everywhere, and not 0."""
    players = view.seats
    expected = Counter[str]()
    expected["laying"] = view.phase is Phase.LAYING
    expected[f"drawn {view.drawn}"] = view.drawn is not None
    if view.turn is not None:
        expected[f"turn of {(view.turn - seat) % players}"] = 1
    for holding in holdings(view):
        away = (holding.seat - seat) % players
        prefix = "second " if holding.people != view.start.peoples[holding.seat][0] else ""
        for count in holding.counts:
            face = count.piece[1:]
            if away == 0 and view.phase is not Phase.OVER:
                expected[f"hand {prefix}{face}"] = count.left.least
            name = f"left {prefix}{'*' if count.piece.wolf else face} of {away}"
            expected[name] += count.dealt - count.placed
        expected[f"left {prefix}* of {away}"] -= holding.wolves
    return {name: number for name, number in expected.items() if number}


def expected_field(view: View, seat: int, field: Field) -> dict[str, int]:
    """Return what is on a field, and not 0."""
    tile = tile_of(field)
    expected = {f"tile {tile}": 1}
    if has_spring(field):
        expected["spring"] = 1
    if tile in view.laurels:
        expected["laurel"] = LAUREL_WORTH[view.laurels[tile]]
    piece = view.placed.get(field)
    if piece is not None:
        owner = view.owners[field]
        away = (owner - seat) % view.seats
        expected["placed"] = list(view.placed).index(field) + 1
        if isinstance(piece, Piece):
            expected[f"{NAMES[piece.kind]} of {away}"] = 1
        if piece.endswith("*"):
            expected[f"wolf of {away}"] = 1
        if piece.people != view.start.peoples[owner][0]:
            expected["second people"] = 1
    return expected


@given(games())
def test_an_observation_is_what_the_seats_view_holds(game: Game) -> None:
    """Each field, each hill, and what is the same everywhere; all within the bounds of the space."""
    players = game.view.seats
    planes = planes_of(players)
    names, even = list(planes.most), planes.first_even
    space = PalatinusEnvironment(players).observation_space("player_0")
    for seat in range(players):
        view = snapshot(game.view, eyes_of(Seat(seat)))
        seen = observed(view, game.legal())
        assert space.contains(seen)
        board = seen["observation"]
        assert (board[:, :, even:] == board[0, 0, even:]).all()
        assert shown(board[0, 0, even:], names[even:]) == expected_planes(view, seat)
        found = {
            (column - 4, row - 4): shown(board[row, column, :even], names[:even])
            for row, column in np.ndindex(9, 9)
        }
        expected = {cell: expected_field(view, seat, field) for field, cell in view.layout.hexes.items()}
        for tile, cell in view.layout.hills.items():
            expected[cell] = {f"tile {tile}": 1}
            if tile in view.laurels:
                expected[cell]["laurel"] = LAUREL_WORTH[view.laurels[tile]]
        assert {cell: planes for cell, planes in found.items() if planes} == expected


@given(games())
def test_event_by_event_it_is_the_same_as_from_the_view(game: Game) -> None:
    """An observer that has followed the game sees what one sees that looks now."""
    for seat in range(game.view.seats):
        eyes = eyes_of(Seat(seat))
        observer = Observer(snapshot(Game(game.events[:1], RandomChance(random.Random(0))).view, eyes))
        for number, event in enumerate(game.events[1:]):
            observer.fold(redacted(event, eyes))
            if number % 5 == seat:
                observer.observation(None)  # looking in between changes nothing
        now, fresh = observer.observation(game.legal()), observed(snapshot(game.view, eyes), game.legal())
        assert (now["observation"] == fresh["observation"]).all()
        assert (now["action_mask"] == fresh["action_mask"]).all()


def test_an_observation_stays_as_it_was() -> None:
    """Agents keep observations while the game goes on."""
    env = PalatinusEnvironment(3)
    env.reset(seed=1)
    first = env.observe("player_0")
    kept = first["observation"].copy()
    env.step(legal_actions(env)[0])
    assert (first["observation"] == kept).all()


def test_only_one_seat_observes() -> None:
    """The game's own view, and a spectator's, are refused."""
    game = begun(GameOptions(3), 1)
    for view, eyes in ((game.view, 3), (snapshot(game.view, SPECTATOR), 0)):
        with pytest.raises(ValueError, match=f"this is the view of {eyes}"):
            observed(view, None)


@pytest.mark.parametrize(("players", "planes"), [(2, 52), (3, 50), (4, 59), (5, 68)])
def test_the_shape_depends_on_the_number_of_players_alone(players: int, planes: int) -> None:
    """As docs/reinforcement-learning.md has it."""
    for random_layout in (True, False):
        space = PalatinusEnvironment(players, random_layout=random_layout).observation_space("player_0")
        assert isinstance(space, spaces.Dict)
        assert space["observation"].shape == (9, 9, planes)
