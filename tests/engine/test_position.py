"""The lean position compared with the game: the same moves, the same result, and legal playouts."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.board import FIELDS, TILES, LaidTile, layout_of
from engine.components import DEALS, PEOPLES, Laurel
from engine.events import GameEnded, Place
from engine.game import Game, GameOptions
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Kind, Piece, Seat
from engine.position import Hand, Position, fill_board, hand_of, playout
from engine.redaction import snapshot
from engine.scoring import Board, scored
from engine.terrain import FARMER, NUMBERS, Scores, occupant, occupants_of, terrain_of, unpacked
from engine.view import eyes_of
from tests.examples import examples
from tests.games import begun, game_options, layouts, played, seeds, some_command

PLAYERS = tuple(DEALS)


def laid(options: GameOptions, seed: int) -> Game:
    """Return a game whose tiles are laid and where no piece is placed."""
    game = begun(options, seed)
    chooser = random.Random(seed)
    while isinstance(game.legal(), LegalLays):
        game.apply(some_command(game, chooser))
    return game


def state(position: Position) -> tuple[object, ...]:
    """Return all that distinguishes a position; hands are compared by identity."""
    lists = [tuple(each) for each in (position.board, position.hands, position.free)]
    return (position.terrain, position.turn, position.left, *lists)


def scores_of(result: object) -> Scores:
    assert isinstance(result, GameEnded)
    points = tuple(tally.points for tally in result.tallies)
    return Scores(points, tuple(tally.items for tally in result.tallies), result.winners)


def place(game: Game, kind: Kind, field: int) -> None:
    """Place any piece of that kind from the hand on turn."""
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    piece = next(piece for piece in legal.pieces if piece.kind is kind)
    game.apply(Place(legal.seat, piece, FIELDS[field]))


@examples(6)
@given(game_options(), seeds)
def test_a_position_keeps_step_with_the_game(options: GameOptions, seed: int) -> None:
    """R4.1, R4.3, R5 to R7: the same moves at every step, wolf and people merged, and the same result."""
    game = laid(options, seed)
    chooser = random.Random(seed)
    position = Position.of(game.view)
    while isinstance(legal := game.legal(), LegalPlaces):
        assert not position.over
        assert position.turn == legal.seat
        assert set(position.kinds) == {piece.kind for piece in legal.pieces}
        assert position.free == [NUMBERS[field] for field in legal.fields]
        assert state(position) == state(Position.of(game.view))
        piece, field = chooser.choice(legal.pieces), chooser.choice(legal.fields)
        game.apply(Place(legal.seat, piece, field))
        position.play(piece.kind, NUMBERS[field])
    assert position.over
    assert position.kinds == ()
    assert position.scores() == scores_of(game.view.result)


@examples(6)
@given(layouts(), st.permutations(list(Laurel)), st.sampled_from(PLAYERS), seeds)
def test_any_board_scores_as_it_does_in_the_game(
    tiles: tuple[LaidTile, ...], tokens: list[Laurel], players: int, seed: int
) -> None:
    """R5 to R7, on boards no game ends with: nearly empty, full, all soldiers, a seat without a piece."""
    chooser = random.Random(seed)
    laurels = dict(zip(TILES, tokens, strict=True))
    terrain = terrain_of(tiles, laurels)
    for _ in range(5):
        density, weights = chooser.random(), [chooser.random() for _ in Kind]
        owners = {field: Seat(chooser.randrange(players)) for field in FIELDS if chooser.random() < density}
        pieces = {
            field: Piece.of(PEOPLES[seat], chooser.choices(tuple(Kind), weights)[0])
            for field, seat in owners.items()
        }
        *_, result = scored(Board(layout_of(tiles), pieces, owners), laurels, players)
        packed = terrain.packed_scores(occupants_of(pieces, owners), players)
        assert unpacked(packed) == scores_of(result)


def test_a_position_needs_all_hands_and_the_placing_phase() -> None:
    """R3.3, R4.2, R4.4: what one seat sees is not enough, and nothing is placed before or after."""
    for game in (begun(GameOptions(2), 1), played(GameOptions(2), 1)):
        with pytest.raises(ValueError, match="moment at which pieces are placed"):
            Position.of(game.view)
    with pytest.raises(ValueError, match="all hands"):
        Position.of(snapshot(laid(GameOptions(2), 1).view, eyes_of(Seat(0))))


def test_what_leaves_a_position_as_it_was() -> None:
    """R4.1, R4.3, R5 to R7: illegal moves, scoring before the end, and whatever is done with a copy."""
    position = Position.of(laid(GameOptions(4, random_layout=True), 1).view)
    position.play(Kind.SOLDIER, 0)
    for _ in range(3):
        position.play(Kind.MERCHANT, position.free[0])
    before = state(position)
    with pytest.raises(KeyError):
        position.play(Kind.SOLDIER, position.free[0])
    with pytest.raises(ValueError, match="not in list"):
        position.play(Kind.MERCHANT, 0)
    assert position.scores() == position.scores()
    twin = position.copy()
    assert state(twin) == before
    twin.play(Kind.FARMER, twin.free[0])
    assert state(position) == before


def reachable(hand: Hand) -> set[Hand]:
    """Return the hand and all that can become of it."""
    found = {hand}
    for after in hand.after.values():
        found |= reachable(after)
    return found


@pytest.mark.parametrize("players", [3, pytest.param(2, marks=pytest.mark.slow), 4, 5])
def test_every_legal_kind_is_drawn_equally_often(players: int) -> None:
    """R4.3: a playout draws from a hand what may be placed, and goes on with the hand that is left."""
    deal = DEALS[players]
    second = PEOPLES[1] if deal.second else None
    hands = reachable(hand_of(1, deal.hand(PEOPLES[0], second), deal.soldierless_at))
    for hand in hands:
        expected = {occupant(1, kind): after.draws for kind, after in hand.after.items()}
        times = Counter(drawn for drawn, _ in hand.draws)
        assert set(times) == set(expected)
        assert len(set(times.values())) <= 1
        assert all(expected[drawn] is draws for drawn, draws in hand.draws)
        left = sum(hand.counts)
        assert hand.counts[2] == 0 or left > deal.soldierless_at  # R4.3


class RememberingRandom(random.Random):
    """A generator that remembers what it returned."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.given: list[int] = []

    def getrandbits(self, k: int, /) -> int:
        self.given.append(super().getrandbits(k))
        return self.given[-1]


@examples(8)
@given(game_options(), seeds, st.integers(0, 35))
def test_the_game_accepts_every_move_of_a_playout(options: GameOptions, seed: int, moves: int) -> None:
    """R4.1, R4.3, R5 to R7: a playout, made again move by move in the game, is legal and ends the same."""
    game = laid(options, seed)
    chooser = random.Random(seed)
    for _ in range(min(moves, game.view.to_place - 1)):
        game.apply(some_command(game, chooser))
    position = Position.of(game.view)
    before = state(position)
    chance = RememberingRandom(seed)
    board = fill_board(position, chance)
    free = position.free.copy()
    for number in chance.given:
        index = number % len(free)
        free[index], free[-1] = free[-1], free[index]
        field = free.pop()
        assert game.view.turn == board[field] % FARMER
        place(game, tuple(Kind)[board[field] // FARMER], field)
    assert unpacked(playout(position, random.Random(seed))) == scores_of(game.view.result)
    assert state(position) == before


def test_the_positions_of_a_game_share_its_terrain() -> None:
    """Its tables take longer to build than many playouts."""
    game = laid(GameOptions(4), 1)
    assert Position.of(game.view).terrain is Position.of(snapshot(game.view, game.view.eyes)).terrain
