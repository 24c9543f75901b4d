"""What is measured, in a process of its own: the real server, or the floor.

The floor is the least that could carry the same moves: a bare `websockets` server without a game, which
fans a frame of the usual size out to the seats of a group with `broadcast`, without compression.
It prints its port and serves until its standard input ends.
"""

import argparse
import asyncio
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final, get_args

import msgpack
from websockets.asyncio.server import ServerConnection, broadcast, serve

from client.ui.web.pages import WebPages
from server.app import running
from server.config import Config, Durable, Limits
from server.event_loop import new_loop

_UNLIMITED: Final = Limits(
    connections=20_000,
    connections_per_address=20_000,
    tables=20_000,
    tables_per_connection=20_000,
    tables_per_address=20_000,
    burst=1_000_000,
    rate=1_000_000.0,
    burst_per_address=1_000_000,
    rate_per_address=1_000_000.0,
    pages_per_address=20_000,
    over_seconds=0.0,  # finished games are forgotten at once, so that one run does not burden the next
)


async def server(data: Path | None, database: str | None, durable: Durable, *, web: bool) -> None:
    """Serve Palatinus, without limits on rates and counts."""
    pages = WebPages() if web else None
    config = Config(data=data, database=database, durable=durable, limits=_UNLIMITED, pages=pages)
    async with running(config) as serving:
        await _until_input_ends(serving.port)


async def floor(frame_bytes: int) -> None:
    """Broadcast frames, and do nothing else."""
    groups: dict[int, list[ServerConnection]] = defaultdict(list)
    # It looks like an events message, because the load counts those.
    payload = b"\x84\xa1t\xa6events".ljust(frame_bytes, b"\x00")

    async def fan_out(connection: ServerConnection) -> None:
        greeting = msgpack.unpackb(await connection.recv())
        group = groups[greeting["group"]]
        group.append(connection)
        await connection.send(msgpack.packb({"t": "grouped"}))
        async for _ in connection:
            broadcast(group, payload)

    async with serve(fan_out, "127.0.0.1", 0, compression=None, backlog=1024) as listening:
        await _until_input_ends(next(iter(listening.sockets)).getsockname()[1])


async def _until_input_ends(port: int) -> None:
    print(port, flush=True)
    await asyncio.to_thread(sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load.subject", description=__doc__)
    parser.add_argument("subject", choices=("server", "floor"))
    parser.add_argument("--data", type=Path, help="folder for the journal; without it nothing is stored")
    parser.add_argument("--database", help="the URL of a PostgreSQL database for the journal")
    parser.add_argument("--durable", choices=get_args(Durable), default="normal")
    parser.add_argument("--fast", action="store_true", help="use uvloop, if it is installed")
    parser.add_argument("--web", action="store_true", help="show pages to browsers")
    parser.add_argument("--frame-bytes", type=int, default=80)
    options = parser.parse_args()
    with asyncio.Runner(loop_factory=new_loop if options.fast else None) as runner:
        if options.subject == "server":
            runner.run(server(options.data, options.database, options.durable, web=options.web))
        else:
            runner.run(floor(options.frame_bytes))


if __name__ == "__main__":
    main()
