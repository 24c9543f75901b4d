"""The options of the commands for playing: their help needs no game."""

import argparse
from pathlib import Path

from client.language import _
from client.levels import FOR_BEGINNERS, LEVELS
from commands.arguments import add_access, add_folder, positive, table_code, whole_number
from commands.parsing import add_display_options


def add_play(play: argparse.ArgumentParser) -> None:
    add_opening(play)
    add_display_options(play)


def add_opening(play: argparse.ArgumentParser) -> None:
    begun = play.add_mutually_exclusive_group()
    begun.add_argument("--continue", dest="go_on", action="store_true")
    begun.add_argument("--from", dest="game", metavar="GAME")
    play.add_argument("--at", type=whole_number, metavar="MOVE")
    play.add_argument("--seat")
    play.add_argument("--as-recorded", action="store_true")
    play.add_argument("--players", type=positive, choices=range(2, 6), default=3)
    text = _("how well the bots play: {levels}, or see palatinus bot --help (default: {usual})")
    meaning = text.format(levels=", ".join(level.name for level in LEVELS), usual=FOR_BEGINNERS)
    play.add_argument("--brain", default=FOR_BEGINNERS, metavar="LEVEL[,LEVEL...]", help=meaning)
    play.add_argument("--pace", choices=("quick", "human"), default="quick")
    play.add_argument("--seed", type=whole_number)
    records = play.add_mutually_exclusive_group()
    records.add_argument("--records", type=Path, metavar="FOLDER")
    records.add_argument("--no-history", action="store_true")
    play.add_argument("--random-layout", action="store_true")
    play.add_argument("--starts", default="random", metavar="SEAT")
    play.add_argument("--people")


def add_join(join: argparse.ArgumentParser) -> None:
    join.add_argument("server", nargs="?")
    join.add_argument("table", nargs="?", type=table_code)
    how = join.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true")
    how.add_argument("--new", action="store_true")
    add_access(join)
    add_display_options(join)


def add_learn(learn: argparse.ArgumentParser) -> None:
    add_display_options(learn)


def add_problems(command: argparse.ArgumentParser) -> None:
    add_display_options(command)
    add_folder(command, default=None)
