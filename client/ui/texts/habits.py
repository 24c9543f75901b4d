"""A player's habits and most frequent opponents, in sentences."""

from collections.abc import Iterator, Sequence
from typing import Final

from client.language import _, counted
from client.records import Habits, Ladder, Rival, Solved

_LEAST_SOLDIERS: Final = 4  # of each kind, before one is advised against
_MUCH_WORSE: Final = 0.25  # part of them that flees
_MOST_PEOPLE: Final = 3


def describe_habits(habits: Habits, people: Sequence[Rival]) -> list[str]:
    """Return a heading, the habits, and how often the player has won with the people met most often.

    Nothing if there are no games.
    """
    if not habits.games:
        return []
    heading = counted("Your habits, in your last game", "Your habits, in your last {n} games", habits.games)
    return [
        heading.format(n=habits.games),
        *_soldiers(habits),
        *_wolves(habits),
        *map(_with_somebody, people[:_MOST_PEOPLE]),
    ]


def rank_of(ladder: Ladder, at: int) -> str:
    """Return whether the player has beaten this rival among the bots, or should try next."""
    if ladder.bots[at].won:
        return _("beaten")
    return _("to beat") if at == ladder.beaten else ""


def _soldiers(habits: Habits) -> Iterator[str]:
    if not (soldiers := habits.early + habits.late):
        return
    fled = habits.early_fled + habits.late_fled
    yield counted("{fled} of your {n} soldier fled.", "{fled} of your {n} soldiers fled.", soldiers).format(
        fled=fled, n=soldiers
    )
    if min(habits.early, habits.late) < _LEAST_SOLDIERS:
        return
    early, late = habits.early_fled / habits.early, habits.late_fled / habits.late
    if early - late >= _MUCH_WORSE:
        form = _(
            "Place them later: {early_fled} of {early} fled that were among the first half of your pieces, "
            "and {late_fled} of {late} among the second."
        )
    elif late - early >= _MUCH_WORSE:
        form = _(
            "Place them earlier: {late_fled} of {late} fled that were among the second half of your pieces, "
            "and {early_fled} of {early} among the first."
        )
    else:
        return
    yield form.format(
        early_fled=habits.early_fled, early=habits.early, late_fled=habits.late_fled, late=habits.late
    )


def _wolves(habits: Habits) -> Iterator[str]:
    if habits.wolves:
        form = counted(
            "{believed} of your {n} wolf was believed: it looked like the other kind.",
            "{believed} of your {n} wolves were believed: they looked like the other kind.",
            habits.wolves,
        )
        yield form.format(believed=habits.believed, n=habits.wolves)


def _with_somebody(person: Rival) -> str:
    form = counted(
        "With {name} at the table you have won {won} of {n} game.",
        "With {name} at the table you have won {won} of {n} games.",
        person.played,
    )
    return form.format(name=person.name, won=person.won, n=person.played)


def describe_solved(solved: Solved) -> str:
    """Return how many of the problems that ship are solved."""
    text = counted("{n} of {count} solved", "{n} of {count} solved", solved.count)
    return text.format(n=solved.count, count=solved.of)
