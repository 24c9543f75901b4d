"""Seconds from a node's death to the next move at each of its tables, with clients as people use them.

    python -m bench.cluster.deaths [--tables T] [--deaths D] [--lease SECONDS] [--lines]

Three nodes share a PostgreSQL from the wheel. Two players at each table move once a second; a node is killed
with SIGKILL, and stays dead until the others have its tables. With `--lines`, a node lives on, but loses its
line to the database for as long.
"""

import argparse
import asyncio
import contextlib
import random
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import asyncpg

from bench.cluster.nodes import NodeProcess, front, running
from bench.cluster.postgresql import Cluster
from bench.cluster.relay import DatabaseRelay
from client.bots.brains import at_random
from client.network.connection import Connection, connected
from client.network.transport import ConnectFailed
from client.network.waiting import RequestRefused
from protocol.events import move_message
from protocol.messages import NEW, JoinTable, OpenTable, StartGame

_BETWEEN_MOVES: Final = 1.0
_BEFORE_THE_DEATH: Final = 4.0
_PATIENCE: Final = 90.0
_PLAYERS: Final = 2


@dataclass(slots=True)
class _Table:
    code: str = ""
    moved_at: float = 0.0


async def _played(connection: Connection, table: _Table, rng: random.Random) -> None:
    """Make the moves of one player, until cancelled."""
    while True:
        await asyncio.sleep(_BETWEEN_MOVES / 10)
        model = connection.model
        if model.legal is None or model.view is None:
            continue
        await asyncio.sleep(_BETWEEN_MOVES)
        if model.legal is None or model.view is None:
            continue
        try:
            await connection.ask(move_message(NEW, at_random(model.view, model.legal, rng)))
        except (RequestRefused, ConnectFailed):
            continue
        table.moved_at = time.monotonic()


async def _after_death(
    nodes: Sequence[NodeProcess],
    port: int,
    database: str,
    tables: int,
    rng: random.Random,
    *,
    lines: Sequence[DatabaseRelay],
) -> list[float]:
    """Kill a node under some games, or cut one of `lines`; return how long each of its tables stood still."""
    url = f"ws://127.0.0.1:{port}"
    places = [_Table() for _ in range(tables)]
    stop = asyncio.Event()

    async def play(table: _Table) -> None:
        async with connected(url) as host, connected(url) as other:
            table.code = (await host.ask(OpenTable(NEW, _PLAYERS, "Host", random_layout=True))).table
            await other.ask(JoinTable(NEW, table.code, "Other"))
            await host.ask(StartGame(NEW))
            playing = [
                asyncio.create_task(_played(each, table, random.Random(rng.random())))
                for each in (host, other)
            ]
            await stop.wait()
            for task in playing:
                task.cancel()

    async with asyncio.TaskGroup() as group:
        for table in places:
            group.create_task(play(table))
        async with asyncio.timeout(_PATIENCE):
            while not all(table.moved_at for table in places):  # noqa: ASYNC110 - no event tells it
                await asyncio.sleep(0.1)
        await asyncio.sleep(_BEFORE_THE_DEATH)
        victim = rng.choice(nodes)
        theirs = await _tables_of(victim.name, database)
        mine = [table for table in places if table.code in theirs]
        died = time.monotonic()
        if lines:
            line = lines[nodes.index(victim)]
            line.refuses = True
            line.cut()
        else:
            await victim.end()
        async with asyncio.timeout(_PATIENCE):
            while any(table.moved_at < died for table in mine):  # noqa: ASYNC110 - nor this
                await asyncio.sleep(0.02)
        stop.set()
    if lines:
        line.refuses = False
        async with asyncio.timeout(_PATIENCE):
            while await _leases(database) < len(nodes):  # noqa: ASYNC110 - nor this
                await asyncio.sleep(0.1)
    else:
        await victim.start()
    return [table.moved_at - died for table in mine]


async def _tables_of(node: str, database: str) -> set[str]:
    connection: asyncpg.Connection = await asyncpg.connect(database)
    try:
        rows = await connection.fetch(
            "SELECT code FROM palatinus.game_table JOIN palatinus.node USING (term) WHERE name = $1", node
        )
    finally:
        await connection.close()
    return {code for (code,) in rows}


async def _leases(database: str) -> int:
    """Return how many nodes can store."""
    connection: asyncpg.Connection = await asyncpg.connect(database)
    try:
        query = "SELECT count(*) FROM palatinus.node WHERE expires > clock_timestamp()"
        return int(await connection.fetchval(query))
    finally:
        await connection.close()


async def measure(tables: int, deaths: int, lease: float, *, cut: bool) -> list[float]:
    """Return the seconds of all tables in all deaths."""
    found: list[float] = []
    rng = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        cluster = Cluster(Path(folder) / "postgresql")
        cluster.make()
        cluster.start()
        try:
            async with contextlib.AsyncExitStack() as stack:
                lines = []
                for at in (1, 2, 3) if cut else ():
                    sockets = Path(folder) / f"line{at}"
                    sockets.mkdir()
                    relay = DatabaseRelay(cluster.url, sockets)
                    lines.append(await stack.enter_async_context(relay.running()))
                options = ("--lease", f"{lease:g}", "--tables-per-minute", "1000")
                nodes = [
                    NodeProcess(f"node{at + 1}", lines[at].url if cut else cluster.url, *options)
                    for at in range(3)
                ]
                await stack.enter_async_context(running(nodes))
                port = await stack.enter_async_context(front(nodes, rng))
                for _ in range(deaths):
                    found += await _after_death(nodes, port, cluster.url, tables, rng, lines=lines)
        finally:
            cluster.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.deaths", description=__doc__)
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--deaths", type=int, default=4)
    parser.add_argument("--lease", type=float, default=6.0)
    parser.add_argument("--lines", action="store_true", help="cut lines to the database, and kill no node")
    options = parser.parse_args()
    found = asyncio.run(measure(options.tables, options.deaths, options.lease, cut=options.lines))
    print(
        f"{len(found)} tables: median {statistics.median(found):.1f} s, "
        f"least {min(found):.1f} s, worst {max(found):.1f} s"
    )


if __name__ == "__main__":
    main()
