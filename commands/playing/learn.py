"""`palatinus learn`: the lessons, and a first game."""

import argparse
import asyncio

from client.player.preferences import name_of_player, prefer_as_remembered
from client.ui.lessons.course import Course
from client.ui.program import show
from client.ui.requests import Errand
from client.ui.terminal.device import own_device
from commands.parsing import need_terminal
from commands.playing.options import add_opening
from commands.playing.start_screen import practice


def run_learn(arguments: argparse.Namespace) -> int:
    need_terminal()
    prefer_as_remembered()
    lessons = Course(name_of_player(arguments.name), practice, own_device().glyphs())
    match asyncio.run(show(lessons)):
        case Errand.PLAY:
            from commands.playing.play import run_play  # the lessons begin without a server

            game = argparse.ArgumentParser()
            add_opening(game)  # the display options are those of the lessons
            return run_play(game.parse_args([], arguments))
        case None:
            return 1
        case _:
            return 0
