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
    bot.add_argument("server")
    bot.add_argument("table", nargs="?", type=table_code)
    meaning = _(
        "a level ({levels}), random, greedy (default), search, bluffer, gambler, liar, search:SIMULATIONS, "
        "liar:SIMULATIONS, or your own as module:attribute; with several, the bots take them in turn"
    ).format(levels=", ".join(level.name for level in LEVELS))
    bot.add_argument("--brain", default="greedy", metavar="BRAIN[,BRAIN...]", help=meaning)
    for name, usual in (("--players", 2), ("--seats", 1), ("--games", 1), ("--cores", 1)):
        bot.add_argument(name, type=positive, default=usual, metavar="NUMBER")
    bot.add_argument("--seed", type=whole_number)
    for name in ("--random-layout", "--rematch", "--json"):
        bot.add_argument(name, action="store_true")
    bot.add_argument("--starts", default="random", metavar="SEAT")
    bot.add_argument("--absence", default="wait", metavar="POLICY")
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
    )
    return asyncio.run(run_bots(options, sys.stdout))
