"""`palatinus serve` as a separate process that tests, trials and measurements stop, interrupt and kill."""

import asyncio
import contextlib
import os
import re
import signal
import sys
import tempfile
import time
import weakref
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from tests.program import Program, started
from tests.server.peer import TIMEOUT

TODAY: Final = Path(__file__).parents[2]
_SECONDS: Final = 120.0  # for a start, and for other programs


class ServerProcess:
    """`palatinus serve` from a source, or an executable, which keeps its port from start to start.

    It ends with the context at the latest.
    """

    def __init__(self, *options: str | Path, name: str = "server") -> None:
        self.name = name
        self.port = 0
        self.starts = 0
        self.options = options
        self._log = tempfile.TemporaryFile("a+b")  # noqa: SIM115 - read after the end as well
        weakref.finalize(self, self._log.close)
        self._process: Process | None = None

    async def __aenter__(self) -> "ServerProcess":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.end()

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self.port}"

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    async def start(self, source: Path = TODAY) -> None:
        """Start it, and wait until it accepts connections; raises RuntimeError if it ends before."""
        self.starts += 1
        options = ("--host", "127.0.0.1", "--port", str(self.port), *self.options)
        self._process = await program(source, "serve", *options, log=self._log)
        assert self._process.stdout is not None
        async with asyncio.timeout(_SECONDS):
            async for line in self._process.stdout:
                if found := re.search(rb":(\d+)$", line):
                    self.port = int(found[1])
                    return
            await self._process.wait()
        raise RuntimeError("\n".join(self.logged()))

    async def end(self, how: signal.Signals = signal.SIGKILL) -> float:
        """End it if it runs; return the seconds that takes."""
        began = time.monotonic()
        if self._process is not None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(how)
            await self._process.communicate()
            self._process = None
        return time.monotonic() - began

    def logged(self) -> list[str]:
        """Return the lines that it has logged since its first start."""
        self._log.seek(0)
        return self._log.read().decode().splitlines()


async def program(source: Path, *words: str | Path, log: IO[bytes] | None = None) -> Process:
    """Start the program of this source, or this executable; it finds and keeps nothing of any user."""
    begin = (sys.executable, source / "palatinus.py") if source.is_dir() else (source,)  # noqa: ASYNC240
    return await asyncio.create_subprocess_exec(
        *(*begin, *words), stdin=DEVNULL, stdout=PIPE, stderr=log or PIPE, env=environment(Path(os.devnull))
    )


def environment(home: Path) -> dict[str, str]:
    """Return the environment of a program that finds only this user's files, and announces nothing."""
    folders = {f"XDG_{kind}_HOME": str(home / kind.lower()) for kind in ("CONFIG", "DATA", "STATE", "CACHE")}
    own = {"HOME": str(home), "LANGUAGE": "en", "PALATINUS_MULTICAST": "none"}
    return {**os.environ, **folders, **own}


async def output(process: Process) -> str:
    """Wait until a program has ended well, and return what it printed."""
    try:
        async with asyncio.timeout(_SECONDS):
            out, err = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    assert process.returncode == 0, err.decode()
    return out.decode()


@dataclass
class Serving:
    """A server process that has announced its address."""

    process: Program
    port: int
    announced: list[str]

    async def ended(self) -> tuple[int, str, str]:
        """Wait for the end; return the exit code, the rest of the output, and stderr."""
        async with asyncio.timeout(TIMEOUT):
            out, err = await self.process.communicate()
        return self.process.returncode or 0, out.decode(), err.decode()


@contextlib.asynccontextmanager
async def serving(*options: str, imported: bool = True, uvloop: bool = True) -> AsyncIterator[Serving]:
    """Run a server process on a free port, and kill it in the end if it is still running."""
    words = ("serve", "--host", "127.0.0.1", "--port", "0", *options)
    process = await started(*words, imported=imported, uvloop=uvloop)
    try:
        assert process.stdout is not None
        announced: list[str] = []
        async with asyncio.timeout(TIMEOUT):
            while not (found := re.search(r":(\d+)$", announced[-1] if announced else "")):
                line = await process.stdout.readline()
                assert line, (await process.communicate())[1].decode()
                announced.append(line.decode().rstrip("\n"))
        yield Serving(process, int(found[1]), announced)
    finally:
        if process.returncode is None:
            process.kill()
            await process.communicate()


async def refused_to_start(*options: str) -> tuple[int, str]:
    """Run a server that cannot start; return its exit code and its error message."""
    process = await started("serve", *options)
    async with asyncio.timeout(TIMEOUT):
        out, err = await process.communicate()
    assert out == b""
    return process.returncode or 0, err.decode()
