"""What is said of the move at which a game turned is true of its scoring."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from client.records import JudgedMove, Recording
from client.ui.texts.names import marked
from client.ui.texts.turning import describe_turn_of_game, what_it_changed
from engine.board import Tile
from engine.components import LAUREL_WORTH
from engine.events import Captured, HillScored, Place, Placed, ScoringEvent
from engine.game import GameOptions
from engine.pieces import Piece
from engine.scoring import Board, scored
from tests.games import played, seeds

NAMES = {0: "Ann", 1: "Bob", 2: "Cosima"}


def hills_won(events: Iterable[ScoringEvent]) -> dict[str, str]:
    """Return who wins which hills alone."""
    hills = [event for event in events if isinstance(event, HillScored) and len(event.leaders) == 1]
    return {event.hill: NAMES[event.leaders[0]] for event in hills}


def captured(events: Iterable[ScoringEvent]) -> Counter[str]:
    taken = Counter[str]()
    for event in events:
        if isinstance(event, Captured):
            taken[NAMES[event.seat]] += len(event.taken)
    return taken


@given(seeds, st.integers(0, 35), st.permutations([0.1, 0.3, 0.6]))
def test_a_piece_changed_what_is_said(seed: int, number: int, after: list[float]) -> None:
    """As the same board is scored without it; those whom it helped are those whose chance rose."""
    game = played(GameOptions(3, random_layout=True), seed)
    recording = Recording.of(game.events, NAMES)
    placed = [event for event in game.events if isinstance(event, Placed)]
    piece = placed[number % len(placed)]
    move = Place(piece.seat, piece.piece, piece.field)
    judged = JudgedMove(number + 1, move, (0.3, 0.3, 0.4), tuple(after), None)
    told = what_it_changed(recording, judged)
    mine = replace(recording, names=marked(recording.names, 0))
    for each in (what_it_changed(mine, judged), describe_turn_of_game(mine, judged)):
        assert "Ann" not in each
    assert what_it_changed(mine, judged).replace("you", "Ann") == told

    view = game.view
    pieces = {field: each for field, each in view.placed.items() if isinstance(each, Piece)}
    del pieces[piece.field]
    without = list(scored(Board(view.layout, pieces, view.owners), view.laurels, 3))
    gainer = NAMES[after.index(0.6)]
    if found := re.search(
        r"Without it, (\w+) would have won hill (\w), worth (\d)(?:, and not (\w+))?", told
    ):
        other, hill, worth, name = found.groups()
        assert (hills_won(view.scoring).get(hill), hills_won(without)[hill]) != (other, other)
        assert hills_won(without)[hill] == other != gainer
        assert name in {None, gainer}
        assert worth == str(LAUREL_WORTH[view.laurels[Tile(hill)]])
    elif found := re.search(r"Without it, (\w+) would not have won hill (\w)", told):
        name, hill = found.groups()
        assert hills_won(view.scoring)[hill] == name == gainer
        assert hills_won(without).get(hill) is None
    elif found := re.search(r"Because of it, (\w+) captured (\d+) more", told):
        assert captured(view.scoring)[found[1]] - captured(without)[found[1]] == int(found[2])
        assert found[1] == gainer
    elif found := re.search(r"Without it, (\w+) would have captured (\d+) more", told):
        assert captured(without)[found[1]] - captured(view.scoring)[found[1]] == int(found[2])
        assert found[1] != gainer
    elif told:
        found = re.fullmatch(
            r"On hill (\w), (\w+) had (\d+) influence against (\d+); without it, (\d+) against (\d+)\.", told
        )
        assert found
        hill, name, own, rival, n, m = found.groups()
        assert name == gainer
        assert int(own) - int(rival) > max(int(n) - int(m), 0)
    else:
        ours = [
            {hill for hill, name in hills_won(events).items() if name == gainer}
            for events in (view.scoring, without)
        ]
        assert ours[0] <= ours[1]
        assert captured(view.scoring)[gainer] <= captured(without)[gainer]
