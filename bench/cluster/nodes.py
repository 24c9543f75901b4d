"""Nodes in processes of their own, and one address that leads to any that lives."""

import asyncio
import contextlib
import random
import re
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

_PROGRAM: Final = Path(__file__).parents[2] / "palatinus.py"
_START_SECONDS: Final = 60.0
_OPTIONS: Final = ("--no-config", "--no-history", "--no-admin")


class NodeProcess:
    """`palatinus serve` on a database; it keeps its port from start to start."""

    def __init__(self, name: str, database: str, *options: str) -> None:
        self.name = name
        self.port = 0
        self._options = ("--database", database, "--node", name, *_OPTIONS, *options)
        self._process: Process | None = None

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def start(self) -> None:
        """Start it, and wait until it accepts connections; raises RuntimeError if it does not."""
        options = ("--host", "127.0.0.1", "--port", str(self.port), *self._options)
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, str(_PROGRAM), "serve", *options), stdout=PIPE, stderr=DEVNULL
        )
        assert self._process.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            while line := await self._process.stdout.readline():
                if found := re.search(rb":(\d+)$", line):
                    self.port = int(found[1])
                    return
        raise RuntimeError(f"{self.name} did not start")

    async def end(self, how: signal.Signals = signal.SIGKILL) -> float:
        """End it if it runs; return the seconds that takes."""
        began = time.monotonic()
        if self.runs:
            assert self._process is not None
            self._process.send_signal(how)
            await self._process.communicate()
        return time.monotonic() - began


@contextlib.asynccontextmanager
async def front(nodes: Sequence[NodeProcess], rng: random.Random) -> AsyncIterator[int]:
    """Accept connections for nodes that run, each for any of them, as a proxy does; yield the port."""
    tasks: set[asyncio.Task[None]] = set()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(_forwarded(reader, writer))
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    async def _forwarded(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        living = [node for node in nodes if node.runs] or list(nodes)
        try:
            there, to_there = await asyncio.open_connection("127.0.0.1", rng.choice(living).port)
        except OSError:
            writer.transport.abort()
            return
        await asyncio.gather(_carried(reader, to_there), _carried(there, writer))

    server = await asyncio.start_server(accepted, "127.0.0.1", 0)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _carried(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.transport.abort()


@contextlib.asynccontextmanager
async def running(nodes: Sequence[NodeProcess]) -> AsyncIterator[None]:
    """Run all nodes while the context lasts."""
    try:
        async with asyncio.TaskGroup() as starting:
            for node in nodes:
                starting.create_task(node.start())
        yield
    finally:
        for node in nodes:
            await node.end()
