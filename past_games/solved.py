"""What the player's own games were found to have, and which problems they have solved, kept in a file.

Here too: the problems that ship, by their keys.
"""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache
from pathlib import Path
from typing import Final

from msgspec import Struct, json
from msgspec.structs import replace

import client.ui.lessons
from client.player.folders import data_folder
from client.player.preferences import kept_in, remember
from client.records import Looked, Problem, Solved, StoredProblem

_SHIPPED: Final = Path(client.ui.lessons.__file__).with_name("problems.txt")
_LARGEST_FILE: Final = 10_000_000  # bytes
_MOST_DAYS: Final = 1000


class OwnGames(Struct, frozen=True):
    """What was found in games, by the names of their files, and the keys of the problems solved.

    `days` are those whose problem was solved on the day itself, in ISO 8601, the latest last.
    """

    looked: dict[str, Looked] = {}
    solved: tuple[str, ...] = ()
    days: tuple[str, ...] = ()

    def until(self, today: date) -> Solved:
        """Return what is solved, and since when the problem of the day has been on every day."""
        solved = today.isoformat() in self.days
        day, in_a_row = today if solved else today - timedelta(1), 0
        while day.isoformat() in self.days:
            day, in_a_row = day - timedelta(1), in_a_row + 1
        keys, ship = frozenset(self.solved), shipped_problems().keys()
        return Solved(keys, len(keys & ship), len(ship), solved, in_a_row)


@cache
def shipped_problems() -> Mapping[str, StoredProblem]:
    """Return the problems that ship, in the order of their grades, by their keys."""
    stored = [json.decode(line, type=StoredProblem) for line in _SHIPPED.read_bytes().splitlines()]
    return {key_of("set", each): each for each in stored}


def key_of(origin: str, stored: StoredProblem) -> str:
    """Return what tells the problem apart from all others: `origin` is the file of its game, or the set."""
    return f"{origin} {stored.move} {stored.best}"


def own_games_file() -> Path:
    return data_folder() / "own-games.json"


def known_games() -> OwnGames:
    """Return what was found so far: nothing, if the file cannot be read."""
    return kept_in(own_games_file(), OwnGames, _LARGEST_FILE) or OwnGames()


def note_solved(today: date, problem: Problem) -> Solved:
    """Keep that the problem is solved; return what is until today."""
    known = known_games()
    days = sorted({*known.days, problem.day} - {""})[-_MOST_DAYS:]
    now = replace(known, solved=tuple(dict.fromkeys((*known.solved, problem.key))), days=tuple(days))
    if now != known:
        remember(own_games_file(), now)
    return now.until(today)
