"""What a player does again and again, from the records of their finished games."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from client.records import Habits, PastGame, Recording
from client.ui.texts.bluffs import unmasked
from engine.errors import DamagedRecord
from engine.events import Captured, Placed, SoldierFled
from engine.pieces import Seat
from past_games.records import recording_of

_LATEST: Final = 200  # games; reading one takes some 7 ms


def habits_in(folder: Path, name: str, games: Iterable[PastGame]) -> Habits:
    """Return the habits of the player of that name in the latest of these games."""
    found = Habits()
    for game in itertools.islice((game for game in games if name in game.names), _LATEST):
        try:
            recording = recording_of((folder / game.file).read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, DamagedRecord):
            continue
        found = found.with_game(habits_of(recording, Seat(game.names.index(name))))
    return found


def habits_of(recording: Recording, seat: Seat) -> Habits:
    """Return what the player in this seat did in a finished game."""
    view = recording.view(recording.end, recording.all_eyes)
    placed = [event.field for event in recording.events if isinstance(event, Placed) and event.seat == seat]
    early = set(placed[: len(placed) // 2])
    acts = [each for each in view.scoring if isinstance(each, SoldierFled | Captured) and each.seat == seat]
    fled = {each.field for each in acts if isinstance(each, SoldierFled)}
    soldiers = {each.field for each in acts}
    wolves = [each for field, each in unmasked(view).items() if view.owners[field] == seat]
    return Habits(
        games=1,
        early=len(soldiers & early),
        early_fled=len(fled & early),
        late=len(soldiers - early),
        late_fled=len(fled - early),
        wolves=len(wolves),
        believed=sum(each.guess is not each.piece.kind for each in wolves),
    )
