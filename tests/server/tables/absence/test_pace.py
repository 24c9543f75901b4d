"""How long bots take for a move: like people, and telling nothing."""

from hypothesis import assume, given

from engine.game import Game, GameOptions
from engine.redaction import snapshot
from engine.view import SPECTATOR
from server.tables.absence.pace import Pace
from tests.games import games, played, seeds


@given(games(), seeds)
def test_the_pace_is_drawn_and_tells_nothing(game: Game, seed: int) -> None:
    """Who sees no hidden piece would draw the same time from the same chance; it is 1.5 to 4 seconds."""
    assume(not game.over)
    public = snapshot(game.view, SPECTATOR)
    pauses = [Pace(1.0, seed, human=True).pause(view, among_people=True) for view in (game.view, public)]
    assert pauses[0] == pauses[1]
    assert 1.5 <= pauses[0] <= 4.0


def test_a_bot_alone_with_a_person_or_in_a_hurry_takes_no_more_than_it_must() -> None:
    view = played(GameOptions(2), 1, 1).view
    assert Pace(1.0, 1, human=True).pause(view, among_people=False) == 1.0
    assert Pace(1.0, 1, human=False).pause(view, among_people=True) == 1.0
    assert Pace(0.0, 1, human=True).pause(view, among_people=True) == 0.0
    assert Pace(1.0, 1, human=True).pause_when_late(view, among_people=False) == 0.0


def test_moves_differ_in_their_time() -> None:
    view, pace = played(GameOptions(3), 1, 8).view, Pace(1.0, 1, human=True)
    for draw in (pace.pause, pace.pause_when_late):  # at once, a late move would show when it was chosen
        drawn = {draw(view, among_people=True) for _ in range(10)}
        assert len(drawn) == 10
        assert min(drawn) >= 1.5
