"""`palatinus league`: programs in any language and brains play each other on a server."""

import argparse
import asyncio
import contextlib
import re
import shlex
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Final

from client.bots.arena.games import GameOutcome, Pairing, PlaySeries, Schedule
from client.bots.arena.over_the_wire import OverTheWire
from client.bots.brains import brain_named
from client.language import WrongUse, _
from client.network.transport import ServerAccess, ServerAddress
from client.typed_text import server_url
from commands.arguments import access_of, add_access, seconds
from commands.playing.arena import add_schedule, make_schedule, play_schedule, playing_brains
from engine.game import RandomChance
from server.app import running
from server.config import Config, Limits

_MOVE_SECONDS: Final = 10.0
_MANY: Final = 1_000_000
# All players come from this computer, and one after the other: what limits strangers would limit the league.
_NO_LIMITS: Final = Limits(
    connections=_MANY,
    connections_per_address=_MANY,
    tables_per_connection=_MANY,
    tables_per_address=_MANY,
    rate=_MANY,
    burst_per_address=_MANY,
    rate_per_address=_MANY,
)


def add_league(league: argparse.ArgumentParser) -> None:
    league.description = _(
        "Play programs (in any language) and brains against each other on a server, with the same draws and "
        "each "
        "equally often in every seat, and show how strong each is. A player that crashes, moves illegally or "
        "takes too long loses the game."
    )
    league.add_argument(
        "players",
        nargs="+",
        metavar="PLAYER",
        help=_(
            "two or more: a brain (see palatinus bot --help), or the command that starts a program, such as "
            "'node bot.js' or NAME='./bot {server} {table} {seed}'; without "
            "{table}, the server's address and the table's code come last"
        ),
    )
    add_schedule(league)
    meaning = _("a move that takes longer loses the game (default: {usual})").format(
        usual=f"{_MOVE_SECONDS:g}"
    )
    league.add_argument("--move-time", type=seconds, default=_MOVE_SECONDS, metavar="SECONDS", help=meaning)
    league.add_argument(
        "--server",
        metavar="ws://HOST:PORT",
        help=_("play on this server, which makes its own draws (default: start one)"),
    )
    add_access(league)
    league.set_defaults(alone=False, series=1)


def run_league(arguments: argparse.Namespace) -> int:
    players = [_program(player) for player in arguments.players]
    programs = {name: words for name, words in players if words}
    names = tuple(name for name, _words in players)
    for name in names:
        if names.count(name) > 1:
            text = _("two players are called {name}: give one of them another name, as in {example}")
            raise WrongUse(text.format(name=name, example=f"old='{arguments.players[names.index(name)]}'"))
        if name not in programs:
            brain_named(name)  # raises NoSuchBrain
    schedule = make_schedule(arguments, names)
    url = None if arguments.server is None else server_url(arguments.server)
    playing = _playing(arguments, schedule, programs, url, access_of(arguments))
    return play_schedule(arguments, schedule, playing, (programs, url))


def _program(player: str) -> tuple[str, list[str]]:
    """Return a player's name, and what starts it if it is a program; raises WrongUse."""
    name, named, command = player.partition("=")
    if not (named and re.fullmatch(r"[\w.:-]+", name)):
        name, command = "", player
    if not name and not set(" /\\") & set(command):
        return player, []  # a brain
    try:
        words = shlex.split(command, posix=sys.platform != "win32")
    except ValueError as error:
        raise WrongUse(
            _("{command} cannot be read: {reason}").format(command=command, reason=error)
        ) from error
    if not words or shutil.which(words[0]) is None:
        raise WrongUse(_("there is no program {name}").format(name=repr(words[0] if words else "")))
    file = next((word for word in words[1:] if Path(word).is_file()), words[0])
    return name or Path(file).name, words


@contextlib.asynccontextmanager
async def _playing(
    arguments: argparse.Namespace,
    schedule: Schedule,
    programs: Mapping[str, list[str]],
    url: str | None,
    access: ServerAccess,
) -> AsyncIterator[PlaySeries]:
    """Start what the games need, a server among it, and yield what plays them; raises StartError."""
    play_brains = playing_brains(arguments, schedule)

    def chances() -> Iterator[RandomChance]:
        while True:
            yield RandomChance(schedule.chance(wire.opening))

    if sys.platform != "win32":  # otherwise the programs would outlive the league
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, signal.raise_signal, signal.SIGINT)
    async with contextlib.AsyncExitStack() as stack:
        if url is None:
            config = Config(
                seed=schedule.seed, chances=chances(), human_pace=False, lobby_chat=False, limits=_NO_LIMITS
            )
            server = await stack.enter_async_context(running(config))
        address = ServerAddress(url or f"ws://127.0.0.1:{server.port}", "palatinus league", access)
        wire = OverTheWire(schedule, programs, address, records=arguments.records is not None)

        async def play(pairing: Pairing) -> list[GameOutcome]:
            if url is None and not any(schedule.names[each] in programs for each in pairing.seating):
                return await play_brains(pairing)  # brains alone, which need no server
            return await wire.play(pairing)

        yield play
