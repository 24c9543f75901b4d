"""`palatinus learn`: the lessons, and a first game."""

import argparse

from client.language import _
from commands.display_options import add_display_options, name_of, prefer_as_remembered
from commands.parsing import Commands, need_terminal
from commands.playing.lessons import taught
from commands.playing.play import add_game, play_here


def add_learn(commands: Commands) -> None:
    learn = commands.add_parser("learn", help=_("learn the game in a few minutes, by playing"))
    add_display_options(learn)
    learn.set_defaults(run=_learn)


def _learn(arguments: argparse.Namespace) -> int:
    from client.ui.lessons.course import Parting

    need_terminal()
    prefer_as_remembered()
    match taught(name_of(arguments), ascii_wanted=arguments.ascii):
        case Parting.PLAY:
            game = argparse.ArgumentParser()
            add_game(game)  # the display options are those of the lessons
            return play_here(game.parse_args([], arguments))
        case Parting.LEFT:
            return 0
        case None:
            return 1
