"""`palatinus learn`: the lessons, and a first game."""

import argparse
from typing import TYPE_CHECKING

from client.language import _
from commands.looks import add_looks, name_of
from commands.parsing import Commands, need_terminal
from commands.play import add_game, play_here

if TYPE_CHECKING:
    from client.ui.learn.course import Parting
    from engine.game import Game


def add_learn(commands: Commands) -> None:
    learn = commands.add_parser("learn", help=_("learn the game in a few minutes, by playing"))
    add_looks(learn)
    learn.set_defaults(run=_learn)


def _learn(arguments: argparse.Namespace) -> int:
    from client.ui.learn.course import Parting

    need_terminal()
    match taught(name_of(arguments), ascii_wanted=arguments.ascii):
        case Parting.PLAY:
            game = argparse.ArgumentParser()
            add_game(game)  # the looks are those of the lessons
            return play_here(game.parse_args([], arguments))
        case Parting.LEFT:
            return 0
        case None:
            return 1


def taught(name: str, *, ascii_wanted: bool) -> "Parting | None":
    """Give the lessons; return how the pupil left them, None if they failed, which has been told."""
    import asyncio

    from client.ui.learn.app import run

    return asyncio.run(run(name, practice, ascii_wanted=ascii_wanted))


def practice(record: str) -> "Game":
    """Return the game that a record tells, to be gone on with."""
    import random

    from engine.game import Game, RandomChance
    from engine.record import replayed

    return Game(replayed(record).events, RandomChance(random.Random()))
