"""The lessons, played with the engine's own game."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client.ui.lessons.course import Parting
    from engine.game import Game


def taught(name: str, *, ascii_wanted: bool) -> "Parting | None":
    """Give the lessons; return how the pupil left them, or None if they failed, which has been reported."""
    import asyncio

    from client.ui.learn import run

    return asyncio.run(run(name, practice, ascii_wanted=ascii_wanted))


def practice(record: str) -> "Game":
    """Return the game of a record, ready to be continued."""
    import random

    from engine.game import Game, RandomChance
    from engine.record import replayed

    return Game(replayed(record).events, RandomChance(random.Random()))
