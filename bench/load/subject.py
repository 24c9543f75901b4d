"""What is measured, in a process of its own: the real server, or the floor.

The floor is the least that could carry the same moves: a bare `websockets` server without a game, which
fans a frame of the usual size out to the seats of a group with `broadcast`, without compression.
It prints its port and serves until its standard input ends. PYTHONPATH says of which tree the server is,
perhaps of an old one, which knows fewer options.
"""

import argparse
import asyncio
import atexit
import json
import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import Final, get_args

import msgpack
from websockets.asyncio.server import ServerConnection, broadcast, serve

from server.app import running
from server.config import Config, Durable, Limits

_UNLIMITED: Final = {
    "connections": 20_000,
    "connections_per_address": 20_000,
    "tables": 20_000,
    "tables_per_connection": 20_000,
    "tables_per_address": 20_000,
    "burst": 1_000_000,
    "rate": 1_000_000.0,
    "burst_per_address": 1_000_000,
    "rate_per_address": 1_000_000.0,
    "pages_per_address": 20_000,
    "hello_seconds": 3600.0,
    "ping_seconds": 3600.0,
    "over_seconds": 0.0,  # finished games are forgotten at once, so that one run does not burden the next
}


async def server(**options: object) -> None:
    """Serve Palatinus, without limits on rates and counts."""
    limits = Limits(**{name: _UNLIMITED[name] for name in _UNLIMITED if name in Limits.__dataclass_fields__})  # type: ignore[arg-type]
    config = Config(limits=limits, **{name: value for name, value in options.items() if value is not None})  # type: ignore[arg-type]
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

    async with serve(
        fan_out, "127.0.0.1", 0, compression=None, ping_interval=None, backlog=1024
    ) as listening:
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
    parser.add_argument("--phases", type=Path, help="write what `bench.tail` needs to this file at the end")
    parser.add_argument("--core", type=int, help="run on this one alone")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    if options.phases is not None:
        from bench.tail import note_phases  # noqa: PLC0415 - of this tree alone

        notes = note_phases()
        atexit.register(lambda: options.phases.write_text(json.dumps(notes)))
    loops = pages = None
    if options.fast:
        from server.process import new_loop  # type: ignore[attr-defined]  # noqa: PLC0415 - in older trees too

        loops = new_loop
    if options.web:
        from pages.drawing.pages import WebPages  # noqa: PLC0415

        pages = WebPages()
    with asyncio.Runner(loop_factory=loops) as runner:
        if options.subject == "server":
            runner.run(
                server(data=options.data, database=options.database, durable=options.durable, pages=pages)
            )
        else:
            runner.run(floor(options.frame_bytes))


if __name__ == "__main__":
    main()
