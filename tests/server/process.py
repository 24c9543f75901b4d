"""`palatinus serve` as a separate process that tests stop, interrupt and kill."""

import asyncio
import contextlib
import re
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from tests.server.peer import TIMEOUT

PROGRAM = Path(__file__).parents[2] / "palatinus.py"
# A module that is None cannot be imported: the server is as it would be without uvloop.
WITHOUT_UVLOOP = (
    "import runpy, sys; sys.modules['uvloop'] = None; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
)


@dataclass
class Serving:
    """A server process that has announced its address."""

    process: Process
    port: int
    announced: list[str]

    async def ended(self) -> tuple[int, str, str]:
        """Wait for the end; return the exit code, the rest of the output, and stderr."""
        async with asyncio.timeout(TIMEOUT):
            out, err = await self.process.communicate()
        return self.process.returncode or 0, out.decode(), err.decode()


async def started(*options: str, uvloop: bool = True) -> Process:
    """Start a server, on uvloop if that is installed and not forbidden."""
    begin = (str(PROGRAM),) if uvloop else ("-c", WITHOUT_UVLOOP, str(PROGRAM))
    return await asyncio.create_subprocess_exec(
        sys.executable, *begin, "serve", *options, stdout=PIPE, stderr=PIPE
    )


@contextlib.asynccontextmanager
async def serving(*options: str, uvloop: bool = True) -> AsyncIterator[Serving]:
    """Run a server process on a free port, and kill it in the end if it is still running."""
    process = await started("--host", "127.0.0.1", "--port", "0", *options, uvloop=uvloop)
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
    process = await started(*options)
    async with asyncio.timeout(TIMEOUT):
        out, err = await process.communicate()
    assert out == b""
    return process.returncode or 0, err.decode()
