"""An analysis made up for the tests of what shows it: chances that no search has found."""

from pathlib import Path

from client.records import Analysis, Better, Chances, JudgedMove, Recording
from engine.events import Place, Placed
from engine.record import replayed

RECORDS = Path(__file__).parents[2] / "engine" / "records"
NAMES = {0: "Anna", 1: "Bruno", 2: "Carla", 3: "Dario", 4: "Elena"}


def recording_of(players: int, names: dict[int, str] = NAMES) -> Recording:
    """Return the kept record of a game of so many players."""
    text = (RECORDS / f"{players}-players.txt").read_text(encoding="utf-8")
    return Recording.of(replayed(text).events, names)


def analysis_of(recording: Recording, judged: int | None = None) -> Analysis:
    """Return an analysis in which chances go up and down; of so many moves, by default of all.

    The 10th move decides most, and every 8th could have been better.
    """
    view = recording.view(recording.end, recording.all_eyes)
    assert view.result is not None
    winners = view.result.winners
    result = tuple(float(seat in winners) / len(winners) for seat in recording.seats)
    placed = [event for event in recording.events if isinstance(event, Placed)]
    first = recording.moves - len(placed)
    before = start = _chances(recording, 0)
    moves: list[JudgedMove] = []
    for number, event in enumerate(placed[:judged], start=1):
        after = result if number == len(placed) else _chances(recording, number)
        move = Place(event.seat, event.piece, event.field)
        free = next(each.field for each in reversed(placed))
        better = Better(Place(event.seat, event.piece, free), 0.625, 0.5) if number % 8 == 0 else None
        moves.append(JudgedMove(first + number, move, before, after, better))
        before = after
    return Analysis(recording.names, first, start, tuple(moves), len(placed), result, 500, 7)


def _chances(recording: Recording, number: int) -> Chances:
    weights = [1.0 + (number * (seat + 3)) % 7 / 7 for seat in recording.seats]
    if number == 10:
        weights[0] += 9.0
    return tuple(weight / sum(weights) for weight in weights)
