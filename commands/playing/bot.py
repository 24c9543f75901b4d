"""`palatinus bot`: bots that play on a server."""

import argparse
import asyncio
import sys

from client.bots.runner import BotOptions, run_bots
from client.language import _
from client.levels import LEVELS
from client.typed_text import BadAddress, BadPolicy, BadStart, policy_named, seat_to_start, server_url
from commands.access import access_of, add_access
from commands.arguments import table_code
from commands.parsing import wrong_use


def add_bot(bot: argparse.ArgumentParser) -> None:
    bot.add_argument("server", help=_("ws://HOST:PORT"))
    bot.add_argument(
        "table", nargs="?", type=table_code, help=_("a table's code; without one, the bots open a new table")
    )
    bot.add_argument(
        "--brain",
        default="greedy",
        metavar="BRAIN[,BRAIN...]",
        help=_(
            "a level ({levels}), random, greedy (default), search, search:SIMULATIONS, or your own as "
            "module:attribute; with several, the bots take them in turn"
        ).format(levels=", ".join(level.name for level in LEVELS)),
    )
    bot.add_argument(
        "--players", type=int, default=2, metavar="NUMBER", help=_("players at a new table (default: 2)")
    )
    bot.add_argument(
        "--seats", type=int, default=1, metavar="NUMBER", help=_("seats for the bots to take (default: 1)")
    )
    bot.add_argument(
        "--games",
        type=int,
        default=1,
        metavar="NUMBER",
        help=_("games to play, each at its own table (default: 1)"),
    )
    bot.add_argument("--seed", type=int, help=_("repeat the bots' choices; the server still draws at random"))
    bot.add_argument(
        "--random-layout", action="store_true", help=_("at a new table, lay the tiles at random")
    )
    bot.add_argument(
        "--starts",
        default="random",
        metavar="SEAT",
        help=_("at a new table, who starts: a seat, counted from 1, or random (default)"),
    )
    bot.add_argument(
        "--rematch", action="store_true", help=_("play again when other players at the table do")
    )
    bot.add_argument(
        "--absence",
        default="wait",
        metavar="POLICY",
        help=_(
            "at a new table, what happens when a player is away or slow: wait (default), move-clock:60, "
            "game-clock:30m, vote:2m, bot:60s"
        ),
    )
    bot.add_argument(
        "--cores",
        type=int,
        default=1,
        metavar="NUMBER",
        help=_("processor cores that a search uses (default: 1)"),
    )
    bot.add_argument("--json", action="store_true", help=_("print results as JSON, one object per line"))
    add_access(bot)
    bot.set_defaults(run=_bot)


def _bot(arguments: argparse.Namespace) -> int:
    try:
        url, absence = server_url(arguments.server), policy_named(arguments.absence)
        starting = seat_to_start(arguments.starts, arguments.players)
    except (BadAddress, BadPolicy, BadStart) as error:
        return wrong_use(str(error))
    options = BotOptions(
        url,
        arguments.table,
        tuple(arguments.brain.split(",")),
        arguments.players,
        arguments.seats,
        arguments.games,
        arguments.seed,
        arguments.random_layout,
        starting,
        arguments.rematch,
        absence,
        access_of(arguments),
        cores=arguments.cores,
        as_json=arguments.json,
    )
    return asyncio.run(run_bots(options, sys.stdout))
