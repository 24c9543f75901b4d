"""`palatinus play`: server, bots and player in one process."""

import argparse
import contextlib
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from client.address import DEFAULT_PORT
from client.language import _
from commands.looks import add_looks, options_of
from commands.parsing import Commands, need_terminal, told_to_host, wrong_use

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from client.ui.app import Options, SeatBots, Visit
    from server.config import Config


def add_play(commands: Commands) -> None:
    play = commands.add_parser("play", help=_("play against bots on this computer"))
    add_game(play)
    add_looks(play)
    play.set_defaults(run=play_here)


def add_game(play: argparse.ArgumentParser) -> None:
    """Add the options that tell what game is played."""
    play.add_argument(
        "--players",
        type=int,
        choices=range(2, 6),
        default=3,
        help=_("number of players, you included (default: 3)"),
    )
    play.add_argument(
        "--brain", default="greedy", metavar="BRAIN[,BRAIN...]", help=_("see palatinus bot --help")
    )
    play.add_argument("--seed", type=int, help=_("seed of the draws and the bots, to repeat a game"))
    play.add_argument(
        "--records", type=Path, metavar="DIR", help=_("write the record of the finished game to this folder")
    )
    play.add_argument(
        "--random-layout",
        action="store_true",
        help=_("lay the tiles at random instead of letting the players lay them"),
    )


def play_here(arguments: argparse.Namespace) -> int:
    """Play against bots until the player quits; return the exit code."""
    import asyncio

    import msgspec

    from client.bots.brains import NoSuchBrain, brain_named
    from client.preferences import Preferences, preferences_file, remembered
    from client.ui import start
    from client.ui.app import told
    from commands.start_screen import at_home  # which leads here, too
    from server.config import Config
    from server.errors import StartError

    need_terminal()
    brains = tuple(arguments.brain.split(","))
    try:
        for brain in brains:
            brain_named(brain)
    except NoSuchBrain as error:
        return wrong_use(str(error))
    game = against_bots(
        options_of(arguments, ""),
        brains,
        players=arguments.players,
        random_layout=arguments.random_layout,
        config=Config(seed=arguments.seed, records=arguments.records),
    )
    with log_for_later():
        try:
            visited = asyncio.run(game)
        except StartError as error:
            return wrong_use(told_to_host(error))
        if not visited.home:
            return told(visited)
        known = remembered(preferences_file()) or Preferences()
        set_up = msgspec.structs.replace(
            known,
            name=arguments.name or known.name,
            players=arguments.players,
            random_layout=arguments.random_layout,
            brain=brains[0],
        )
        return at_home(set_up, start.PLAY, ascii_wanted=arguments.ascii, confirms=arguments.confirm)


@contextlib.contextmanager
def log_for_later() -> "Iterator[None]":
    """Keep what the server in this process logs until the screen is free again."""
    import io

    from server.logs import log_to

    log = io.StringIO()
    log_to(log, verbose=False)
    try:
        yield
    finally:
        sys.stderr.write(log.getvalue())


async def against_bots(
    options: "Options", brains: tuple[str, ...], *, players: int, random_layout: bool, config: "Config"
) -> "Visit":
    """Play against bots on a server of one's own."""
    from client.ui.app import visit

    limits = replace(config.limits, tables_per_connection=config.limits.tables)  # play again without end
    async with _house(replace(config, limits=limits), brains) as (port, bots):
        url = f"ws://127.0.0.1:{port}"
        there = replace(options, url=url, players=players, random_layout=random_layout)
        return await visit(replace(there, filled=True, bots=bots))


async def hosted(options: "Options", brains: tuple[str, ...]) -> "Visit":
    """Serve for the network, and play there oneself; any port will do, as it is shown."""
    import platformdirs

    from client.seats import Seats, seats_folder
    from client.ui.app import Visit, visit
    from server.config import Config
    from server.errors import JournalError, StartError
    from server.process import reachable

    data = platformdirs.user_data_path("palatinus", appauthor=False)
    for port in (DEFAULT_PORT, 0):
        config = Config(host="0.0.0.0", port=port, data=data)  # noqa: S104 - a LAN host
        try:
            async with _house(config, brains) as (served, bots):
                url = f"ws://127.0.0.1:{served}"
                outside = [each for each in reachable(config.host) if each != "127.0.0.1"]
                addresses = tuple(f"ws://{each}:{served}" for each in outside)
                there = replace(options, url=url, seats=Seats(seats_folder(), url), addresses=addresses)
                return await visit(replace(there, bots=bots, home=True))
        except JournalError as error:
            return Visit(1, f"{told_to_host(error)}.")
        except StartError as error:
            failure = error
    return Visit(1, f"{told_to_host(failure)}.")


@contextlib.asynccontextmanager
async def _house(config: "Config", brains: tuple[str, ...]) -> "AsyncIterator[tuple[int, SeatBots]]":
    """Serve in this process; yield the port, and what seats bots at a table there."""
    import asyncio
    import io

    from client.bots.greedy import greedy
    from client.bots.runner import BotOptions, run_bots
    from server.app import running

    told = io.StringIO()
    async with running(replace(config, stand_in=greedy)) as server, asyncio.TaskGroup() as tasks:
        seated: list[asyncio.Task[int]] = []

        def seat_bots(table: str, seats: int) -> None:
            url = f"ws://127.0.0.1:{server.port}"
            options = BotOptions(url, table, brains, seats=seats, seed=config.seed, rematch=True)
            seated.append(tasks.create_task(run_bots(options, told, told)))

        yield server.port, seat_bots
        for bots in seated:
            bots.cancel()
