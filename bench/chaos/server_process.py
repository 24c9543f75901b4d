"""`palatinus serve` as a process of its own: killed, stopped, out of disk, and started again."""

import asyncio
import contextlib
import os
import re
import signal
import sys
from asyncio.subprocess import PIPE, Process
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.chaos.operator import SAID_ABOUT_REQUESTS
from bench.chaos.power_cut import PowerCuts
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.journal_file import FILE_NAME
from server.tables.context import ENTRIES_BETWEEN_SHORTENINGS

_PROGRAM: Final = Path(__file__).parents[2] / "palatinus.py"
_START_SECONDS: Final = 60.0
_LEFT_ON_A_FULL_DISK: Final = 3000  # bytes: less than a page, so that a write may be cut
# What a server says when its disk is full, and in no other case.
_SAID_ABOUT_THE_DISK: Final = re.compile(
    r"not stored|stored again|not archived|not removed|cannot be cleared|cannot be written"
    r"|(WARNING|ERROR) [^:]*record"
)
_STOP_SECONDS: Final = 60.0
_LENGTH: Final = re.compile(r"\b([A-Z]{4})[=~](\d+):")
_PIECE: Final = re.compile(r"\b([ESLMA][mf]|[ESLM]s)\b")


@dataclass(frozen=True, slots=True)
class Hosting:
    """How the server is run; `broken` names one of the mistakes in `bench.chaos.broken`."""

    durable: bool = False
    certificate: Path | None = None
    most_tables: int = 500
    broken: str | None = None


class NotStarted(Exception):
    """The server refused to start on what it had left, for the reason in the text."""


class ServerProcess:
    """A server on the data folder `data`; it keeps its port from start to start."""

    def __init__(self, data: Path, hosting: Hosting, power_cuts: PowerCuts | None) -> None:
        self.port = 0
        self._records = data.parent / "records"
        self.was_out_of_disk = False
        self.will_log_requests = False  # of those who run it
        self.long_tables: set[str] = (
            set()
        )  # whose entries were so many that the journal may have dropped some
        self._data = data
        self._hosting = hosting
        self._power_cuts = power_cuts
        self._log = data.parent / f"{data.name}.log"
        self._process: Process | None = None

    async def start(self) -> None:
        """Start the server and wait until it accepts connections."""
        hosting = self._hosting
        program = [str(_PROGRAM)]
        if hosting.broken is not None:
            program = ["-m", "bench.chaos.broken", hosting.broken]
        options = ["--host", "127.0.0.1", "--port", str(self.port), "--data", str(self._data)]
        options += ["--records", str(self._records), "--max-tables", str(hosting.most_tables)]
        options += ["--max-connections", "5000", "--connections-per-address", "5000"]
        options += ["--tables-per-minute", "5000", "--durable", "full" if hosting.durable else "normal"]
        if hosting.certificate is not None:
            options += ["--tls-cert", str(hosting.certificate)]
        environment = dict(os.environ)
        if self._power_cuts is not None:
            environment |= self._power_cuts.environment
        with self._log.open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, *program, "serve", *options),
                stdout=PIPE,
                stderr=log,
                env=environment,
                cwd=_PROGRAM.parent,
            )
        assert self._process.stdout is not None
        line = found = None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_START_SECONDS):
                while (line := await self._process.stdout.readline()) and not (
                    found := re.search(rb":(\d+)$", line)
                ):
                    pass
        if found is None:
            raise NotStarted(f"the server did not start: {self.complaints()}")
        self.port = int(found[1])

    def kill(self) -> None:
        """Kill it with SIGKILL: it cannot do anything more."""
        if self._running:
            assert self._process is not None
            self._process.kill()

    async def ended(self) -> bool:
        """Tell whether a server that stops by itself does so in time."""
        assert self._process is not None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_STOP_SECONDS):
                await self._process.communicate()
        return not self._running

    async def gone(self) -> None:
        """Wait for the end of a killed server; if power cuts are in the plan, this was one."""
        if self._process is not None:
            await self._process.communicate()
        self._take_note_of_lengths()
        if self._power_cuts is not None:
            self._power_cuts.cut()

    def records_of(self, table: str) -> list[Path]:
        """Return the records of a table's game that the server has written."""
        return list(self._records.glob(f"*-{table}.txt"))

    async def pause(self, seconds: float) -> None:
        """Stop the process for a while, as a laptop does that is closed."""
        if self._running:
            assert self._process is not None
            self._process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(seconds)
            if self._running:
                self._process.send_signal(signal.SIGCONT)

    async def fill_disk(self, seconds: float) -> None:
        """Let the journal grow no more for a while: the system refuses to make files larger."""
        import resource  # noqa: PLC0415 - Windows has none

        if not self._running:
            return
        assert self._process is not None
        self.was_out_of_disk = True
        files = [path for path in self._data.glob(f"{FILE_NAME}*") if path.is_file()]
        most = max((path.stat().st_size for path in files), default=0) + _LEFT_ON_A_FULL_DISK
        process = self._process
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
        await asyncio.sleep(seconds)
        if self._running and process is self._process:
            resource.prlimit(
                process.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            )

    def _take_note_of_lengths(self) -> None:
        """Read in the commit list how many entries each table has had."""
        with contextlib.suppress(FileNotFoundError):
            for code, length in _LENGTH.findall((self._data / LIST_NAME).read_text(encoding="ascii")):
                if int(length) >= ENTRIES_BETWEEN_SHORTENINGS:
                    self.long_tables.add(code)

    @property
    def _running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def complaints(self) -> str:
        """Return what the server logged that is not to be expected.

        In a good run that is nothing: only what it was asked to log, and that its disk was full if it was.
        """
        lines = self._lines()
        if self.was_out_of_disk:
            lines = [line for line in lines if not _SAID_ABOUT_THE_DISK.search(line)]
        if self.will_log_requests:
            lines = [line for line in lines if not (SAID_ABOUT_REQUESTS.search(line) or " INFO " in line)]
        return "".join(lines)

    def secrets_logged(self, tokens: set[str]) -> list[str]:
        """Return the lines that name a piece, or contain one of these tokens."""
        return [
            line for line in self._lines() if _PIECE.search(line) or any(token in line for token in tokens)
        ]

    def _lines(self) -> list[str]:
        return self._log.read_text(encoding="utf-8").splitlines(keepends=True) if self._log.exists() else []
