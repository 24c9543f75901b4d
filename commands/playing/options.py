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
    begun.add_argument(
        "--continue", dest="go_on", action="store_true", help=_("continue the game you left most recently")
    )
    begun.add_argument(
        "--from",
        dest="game",
        metavar="GAME",
        help=_("continue a past game, or a record, from one of its moves, against bots"),
    )
    play.add_argument(
        "--at",
        type=whole_number,
        metavar="MOVE",
        help=_("with --from: continue after this move; 0 is the start of the game"),
    )
    play.add_argument(
        "--seat", help=_("with --from: your seat, by number or name (default: the seat to move)")
    )
    play.add_argument(
        "--as-recorded",
        action="store_true",
        help=_("with --from: keep the others' hidden wolves as recorded instead of redrawing them"),
    )
    play.add_argument(
        "--players",
        type=positive,
        choices=range(2, 6),
        help=_("number of players, you included (default: 3)"),
    )
    text = _("how well the bots play: {levels}, or see palatinus bot --help (default: {usual})")
    meaning = text.format(levels=", ".join(level.name for level in LEVELS), usual=FOR_BEGINNERS)
    play.add_argument("--brain", metavar="LEVEL[,LEVEL...]", help=meaning)
    play.add_argument(
        "--pace",
        choices=("quick", "human"),
        help=_(
            "human: bots take 0.8 to 4 seconds for a move; quick: they move at once (default: as set on "
            "the start screen; initially human)"
        ),
    )
    play.add_argument("--seed", type=whole_number, help=_("seed of the draws and the bots, to repeat a game"))
    records = play.add_mutually_exclusive_group()
    records.add_argument(
        "--records",
        type=Path,
        metavar="FOLDER",
        help=_("write the record of the finished game to this folder (default: see palatinus history)"),
    )
    records.add_argument("--no-history", action="store_true", help=_("do not keep the finished game"))
    play.add_argument(
        "--random-layout",
        action=argparse.BooleanOptionalAction,
        help=_(
            "lay the tiles at random, or have the players lay them (default: as set on the start screen; "
            "initially at random in your first game only)"
        ),
    )
    play.add_argument(
        "--starts",
        metavar="SEAT",
        help=_("who starts: a seat, counted from 1, me (seat 1), or random (default)"),
    )
    play.add_argument("--people", help=_("the people that you play, by its letter or name: S, Sabines"))


def add_join(join: argparse.ArgumentParser) -> None:
    join.add_argument(
        "server",
        nargs="?",
        help=_(
            "the address on the host's screen, ws://HOST:PORT, or the server's name, or "
            "just a table's code; without one, choose from your seats and what is found on "
            "this network"
        ),
    )
    join.add_argument(
        "table",
        nargs="?",
        type=table_code,
        help=_("a table's code; without one, choose a table in the lobby"),
    )
    how = join.add_mutually_exclusive_group()
    how.add_argument("--watch", action="store_true", help=_("watch the table instead of playing"))
    how.add_argument(
        "--new", action="store_true", help=_("join as a new player, even where a seat is kept for you")
    )
    add_access(join)
    add_display_options(join)


def add_learn(learn: argparse.ArgumentParser) -> None:
    add_display_options(learn)


def add_problems(command: argparse.ArgumentParser) -> None:
    add_display_options(command)
    add_folder(command, default=None)
