"""`palatinus serve` as a process of its own, killed without warning and started again."""

import asyncio
import re
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path
from typing import Final

_PROGRAM: Final = Path(__file__).parents[2] / "palatinus.py"
_START_SECONDS: Final = 30.0


class ServerProcess:
    """A server on the data folder `data`; it keeps its port from start to start."""

    def __init__(self, data: Path) -> None:
        self.port = 0
        self._data = data
        self._log = data.parent / f"{data.name}.log"
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, str(_PROGRAM), "serve", "--host", "127.0.0.1", "--port", str(self.port)),
                *("--data", str(self._data), "--max-connections", "5000"),
                *("--connections-per-address", "5000", "--tables-per-minute", "5000"),
                stdout=PIPE,
                stderr=log,
            )
        assert self._process.stdout is not None
        async with asyncio.timeout(_START_SECONDS):
            while (line := await self._process.stdout.readline()) and not (
                found := re.search(rb":(\d+)$", line)
            ):
                pass
        if not line:
            raise RuntimeError(f"the server did not start: {self.complaints()}")
        assert found is not None
        self.port = int(found[1])

    def kill(self) -> None:
        """Kill it with SIGKILL: it cannot do anything more."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()

    async def gone(self) -> None:
        if self._process is not None:
            await self._process.communicate()

    def complaints(self) -> str:
        """Return what the server logged; in a good run, nothing."""
        return self._log.read_text(encoding="utf-8") if self._log.exists() else ""
