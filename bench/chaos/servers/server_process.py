"""`palatinus serve` as a process of its own: killed, stopped, and started again."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from bench.chaos.network.proxy import Destination

_PROGRAM: Final = Path(__file__).parents[3] / "palatinus.py"
_START_SECONDS: Final = 60.0
_STOP_SECONDS: Final = 60.0
_PIECE: Final = re.compile(r"\b([ESLMA][mf]|[ESLM]s)\b")
_LIMITS: Final = (
    *("--max-connections", "5000"),
    *("--connections-per-address", "5000"),
    *("--tables-per-minute", "5000"),
)


class NotStarted(Exception):
    """The server refused to start on what it had left, for the reason in the text."""


async def started(
    words: Sequence[str], log: Path, environment: Mapping[str, str], broken: str | None
) -> Process:
    """Start `palatinus` with these arguments, its output in a pipe and its errors added to the log."""
    program = [str(_PROGRAM)] if broken is None else ["-m", "bench.chaos.broken_server", broken]
    with log.open("ab") as errors:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, *program, *words),
            stdout=PIPE,
            stderr=errors,
            env=os.environ | environment,
            cwd=_PROGRAM.parent,
        )


class ServerProcess:
    """A server with these options; it keeps its port from start to start, and the network leads there.

    It logs into the file `log`; `broken` names one of the mistakes in `simulation.broken`.
    """

    def __init__(
        self,
        name: str,
        log: Path,
        options: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        broken: str | None = None,
    ) -> None:
        self.destination = Destination(name)
        self.options = list(options)
        self._log = log
        self._environment = dict(environment or {})
        self._broken = broken
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the server and wait until it accepts connections; raises NotStarted."""
        options = ["--host", "127.0.0.1", "--port", str(self.destination.port), *_LIMITS, *self.options]
        self.destination.life += 1
        self._process = await started(("serve", *options), self._log, self._environment, self._broken)
        assert self._process.stdout is not None
        line = found = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                while (line := await self._process.stdout.readline()) and not (
                    found := re.search(rb":(\d+)$", line)
                ):
                    pass
        if found is None:
            raise NotStarted(f"the server did not start: {self.logged()[-3:]}")
        self.destination.port = int(found[1])

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.returncode is None

    @property
    def process(self) -> Process:
        """Return the process that was started last."""
        assert self._process is not None
        return self._process

    def kill(self) -> None:
        """Kill it with SIGKILL: it cannot do anything more."""
        self.send(signal.SIGKILL)

    def send(self, number: signal.Signals) -> None:
        """Send it a signal if it runs."""
        if self.runs:
            self.process.send_signal(number)

    async def ended(self) -> bool:
        """Return whether a server that stops by itself does so in time."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await self.process.communicate()
        return not self.runs

    async def gone(self) -> None:
        """Wait for the end of a killed server."""
        if self._process is not None:
            await self._process.communicate()

    async def pause(self, seconds: float) -> None:
        """Stop the process for a while, as a laptop does that is closed."""
        self.send(signal.SIGSTOP)
        await asyncio.sleep(seconds)
        self.send(signal.SIGCONT)

    def logged(self) -> list[str]:
        """Return what it has logged so far, by lines."""
        return self._log.read_text(encoding="utf-8").splitlines(keepends=True) if self._log.exists() else []

    def secrets_logged(self, tokens: set[str]) -> list[str]:
        """Return the lines that name a piece, or contain one of these tokens."""
        return [
            line for line in self.logged() if _PIECE.search(line) or any(token in line for token in tokens)
        ]
