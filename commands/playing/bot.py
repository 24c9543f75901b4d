"""`palatinus bot`: bots that play on a server."""

import argparse
import asyncio
import sys

from client.bots.runner import BotOptions, run_bots
from client.language import _
from client.levels import LEVELS
from client.typed_text import policy_named, seat_to_start, server_url
from commands.arguments import access_of, add_access, positive, table_code, whole_number


def add_bot(bot: argparse.ArgumentParser) -> None:
    bot.add_argument("server", help=_("ws://HOST:PORT"))
    bot.add_argument(
        "table", nargs="?", type=table_code, help=_("a table's code; without one, the bots open a new table")
    )
    meaning = _(
        "a level ({levels}), random, greedy (default), search, bluffer, gambler, liar, search:SIMULATIONS, "
        "liar:SIMULATIONS, or your own as module:attribute; with several, the bots take them in turn"
    ).format(levels=", ".join(level.name for level in LEVELS))
    bot.add_argument("--brain", default="greedy", metavar="BRAIN[,BRAIN...]", help=meaning)
    for name, usual, meaning in (
        ("--players", 2, _("players at a new table (default: 2)")),
        ("--seats", 1, _("seats for the bots to take (default: 1)")),
        ("--games", 1, _("games to play, each at its own table (default: 1)")),
        ("--cores", 1, _("processor cores that a search uses (default: 1)")),
    ):
        bot.add_argument(name, type=positive, default=usual, metavar="NUMBER", help=meaning)
    bot.add_argument(
        "--seed", type=whole_number, help=_("repeat the bots' choices; the server still draws at random")
    )
    for name, meaning in (
        ("--random-layout", _("at a new table, lay the tiles at random")),
        ("--rematch", _("accept rematches")),
        ("--json", _("print results as JSON, one object per line")),
    ):
        bot.add_argument(name, action="store_true", help=meaning)
    bot.add_argument(
        "--starts",
        default="random",
        metavar="SEAT",
        help=_("at a new table, who starts: a seat, counted from 1, or random (default)"),
    )
    bot.add_argument(
        "--absence",
        default="wait",
        metavar="POLICY",
        help=_(
            "at a new table, what happens when a player is away or slow: wait (default), "
            "move-clock:60, game-clock:30m, vote:2m, bot:60s"
        ),
    )
    add_access(bot)


def run_bot(arguments: argparse.Namespace) -> int:
    options = BotOptions(
        server_url(arguments.server),
        arguments.table,
        tuple(arguments.brain.split(",")),
        arguments.players,
        arguments.seats,
        arguments.games,
        arguments.seed,
        arguments.random_layout,
        seat_to_start(arguments.starts, arguments.players),
        arguments.rematch,
        policy_named(arguments.absence),
        access_of(arguments),
        cores=arguments.cores,
        as_json=arguments.json,
        traces=True,
    )
    return asyncio.run(run_bots(options, sys.stdout))
