"""A server in this process: for a game against bots, or for others on the network."""

import contextlib
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from client.address import DEFAULT_PORT
from commands.parsing import describe_host_error

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from client.ui.game import Options, SeatBots, Visit
    from server.config import Config


@contextlib.contextmanager
def log_for_later() -> "Iterator[None]":
    """Keep the log of the server in this process until the screen is free again."""
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
    """Play against bots on a server in this process."""
    from client.bots.hints import suggested
    from client.ui.game import visit

    limits = replace(config.limits, tables_per_connection=config.limits.tables)  # no limit on playing again
    async with _server_here(replace(config, limits=limits), brains) as (port, bots):
        url = f"ws://127.0.0.1:{port}"
        there = replace(options, url=url, players=players, random_layout=random_layout)
        return await visit(replace(there, filled=True, bots=bots, suggest=suggested))


async def hosted(options: "Options", brains: tuple[str, ...]) -> "Visit":
    """Serve for the network and play there too; any port will do, because the screen shows it."""
    import platformdirs

    from client.seats import Seats, seats_folder
    from client.ui.game import Visit, visit
    from server.config import Config
    from server.errors import JournalError, StartError
    from server.net.addresses import reachable

    data = platformdirs.user_data_path("palatinus", appauthor=False)
    for port in (DEFAULT_PORT, 0):
        config = Config(host="0.0.0.0", port=port, data=data)  # noqa: S104 - a LAN host
        try:
            async with _server_here(config, brains) as (served, bots):
                url = f"ws://127.0.0.1:{served}"
                outside = [each for each in reachable(config.host) if each != "127.0.0.1"]
                addresses = tuple(f"ws://{each}:{served}" for each in outside)
                there = replace(options, url=url, seats=Seats(seats_folder(), url), addresses=addresses)
                return await visit(replace(there, bots=bots, home=True))
        except JournalError as error:
            return Visit(1, f"{describe_host_error(error)}.")
        except StartError as error:
            failure = error
    return Visit(1, f"{describe_host_error(failure)}.")


@contextlib.asynccontextmanager
async def _server_here(config: "Config", brains: tuple[str, ...]) -> "AsyncIterator[tuple[int, SeatBots]]":
    """Serve in this process; yield the port, and a function that seats bots at a table there."""
    import asyncio
    import io

    from client.bots.greedy import greedy
    from client.bots.runner import BotOptions, run_bots
    from server.app import running

    output = io.StringIO()
    async with running(replace(config, stand_in=greedy)) as server, asyncio.TaskGroup() as tasks:
        seated: list[asyncio.Task[int]] = []

        def seat_bots(table: str, seats: int) -> None:
            url = f"ws://127.0.0.1:{server.port}"
            options = BotOptions(url, table, brains, seats=seats, seed=config.seed, rematch=True)
            seated.append(tasks.create_task(run_bots(options, output, output)))

        yield server.port, seat_bots
        for bots in seated:
            bots.cancel()
