"""What the player's own games were found to have, and which problems they have solved, kept in a file."""

from datetime import date, timedelta
from pathlib import Path
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from client.player.folders import data_folder
from client.player.preferences import kept_in, remember
from client.records import DaysSolved, Looked, Problem

_LARGEST_FILE: Final = 10_000_000  # bytes
_MOST_DAYS: Final = 1000


class OwnGames(Struct, frozen=True):
    """What was found in games, by the names of their files, and the keys of the problems solved.

    `days` are those whose problem was solved on the day itself, in ISO 8601, the latest last.
    """

    looked: dict[str, Looked] = {}
    solved: tuple[str, ...] = ()
    days: tuple[str, ...] = ()

    def until(self, today: date) -> DaysSolved:
        """Return whether the problem of this day is solved, and since when one has been on every day."""
        solved = today.isoformat() in self.days
        day, in_a_row = today if solved else today - timedelta(1), 0
        while day.isoformat() in self.days:
            day, in_a_row = day - timedelta(1), in_a_row + 1
        return DaysSolved(solved, in_a_row)


def own_games_file() -> Path:
    return data_folder() / "own-games.json"


def known_games() -> OwnGames:
    """Return what was found so far: nothing, if the file cannot be read."""
    return kept_in(own_games_file(), OwnGames, _LARGEST_FILE) or OwnGames()


def note_solved(problem: Problem) -> DaysSolved | None:
    """Keep that the problem is solved; return the days that are, if it is the problem of a day."""
    known = known_games()
    days = sorted({*known.days, problem.day} - {""})[-_MOST_DAYS:]
    now = replace(known, solved=tuple(dict.fromkeys((*known.solved, problem.key))), days=tuple(days))
    if now != known:
        remember(own_games_file(), now)
    return now.until(date.fromisoformat(problem.day)) if problem.day else None
