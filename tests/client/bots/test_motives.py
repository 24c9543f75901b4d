"""What a wolf's placement tells of its kind: more than chance, and nothing that is hidden."""

import random

from hypothesis import assume, given

from client.bots.greedy import greedy
from client.bots.search.worlds import MOST_MOTIVE, Worlds, motives
from engine.board import FIELDS
from engine.components import DEALS
from engine.game import Game, GameOptions
from engine.pieces import Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.terrain import FARMER, NUMBERS, occupant
from engine.view import SPECTATOR, Phase, eyes_of
from tests.client.bots.test_brains import with_swapped_wolves
from tests.games import begun, games, played


@given(game=games())
def test_every_hidden_wolf_has_a_motive_and_nothing_else(game: Game) -> None:
    """At any moment of any game, and none is certain; the view stays as it is."""
    assume(game.view.phase is Phase.PLACING)
    view = snapshot(game.view, SPECTATOR)
    before = snapshot(game.view, SPECTATOR)
    found = motives(view)
    assert view == before
    assert set(found) == {NUMBERS[field] for field, piece in view.placed.items() if isinstance(piece, Wolf)}
    assert all(-MOST_MOTIVE <= exponent <= MOST_MOTIVE for exponent in found.values())
    assert not motives(game.view)  # of all eyes: nothing is hidden


@given(game=games())
def test_motives_do_not_depend_on_what_is_hidden(game: Game) -> None:
    """R4.2: neither on what the seat cannot see, nor on what the wolf's owner could not."""
    assume(game.view.phase is Phase.PLACING and game.view.turn is not None)
    assert game.view.turn is not None
    eyes = eyes_of(game.view.turn)
    twin = with_swapped_wolves(game, game.view.turn)
    found = motives(snapshot(game.view, eyes))
    assert motives(snapshot(twin.view, eyes)) == found
    public = motives(snapshot(game.view, SPECTATOR))
    assert all(public[field] == exponent for field, exponent in found.items())


def test_motives_tell_the_wolves_of_players_who_look_ahead() -> None:
    """Of greedy players' wolves most are drawn as what they are; by chance it would be half of them."""
    right = wolves = 0.0
    for players in DEALS:
        game, rng = begun(GameOptions(players, random_layout=True), players), random.Random(players)
        while (legal := game.legal()) is not None:
            view = snapshot(game.view, eyes_of(Seat(0)))
            game.apply(greedy(snapshot(game.view, eyes_of(legal.seat)), legal, rng))
        worlds = Worlds(view, motives(view))
        boards = [worlds.draw(rng).board for _ in range(100)]
        for number in worlds.hidden:
            piece = game.view.placed[FIELDS[number]]
            assert isinstance(piece, Piece)
            right += sum(
                board[number] == occupant(game.view.owners[FIELDS[number]], piece.kind) for board in boards
            )
            wolves += len(boards)
    assert right > 0.8 * wolves > 0


def test_worlds_follow_motives() -> None:
    """A wolf with a motive to be a farmer is one in nearly all worlds, and with the opposite in few."""
    game = played(GameOptions(2, random_layout=True), 1, 3)
    view = snapshot(game.view, SPECTATOR)
    hidden, rng = Worlds(view).hidden, random.Random(1)
    assert hidden

    def farmers(exponent: float) -> float:
        worlds = Worlds(view, dict.fromkeys(hidden, exponent))
        drawn = [worlds.draw(rng).board[field] // FARMER for _ in range(300) for field in hidden]
        return sum(drawn) / len(drawn)

    assert farmers(-MOST_MOTIVE) < 0.1
    assert 0.3 < farmers(0.0) < 0.7
    assert farmers(MOST_MOTIVE) > 0.9
