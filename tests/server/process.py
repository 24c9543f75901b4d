"""`palatinus serve` as a separate process that tests stop, interrupt and kill."""

import asyncio
import contextlib
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from tests.program import Program, started
from tests.server.peer import TIMEOUT


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
