"""Those who run the server: they use its admin socket while games are played and the server is killed."""

import asyncio
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, BinaryIO, Final

from protocol.messages import Announced
from server.admin.client import ask, copied
from server.admin.endpoint import SOCKET_NAME, NoServer
from server.admin.failures import AdminFailure
from server.admin.messages import (
    Announce,
    Backup,
    Close,
    CopyReport,
    Drain,
    Remove,
    Request,
    SetLogLevel,
    Status,
    Stored,
    Tables,
    Who,
)
from server.storage.entries import Entry
from server.storage.sqlite.journal_file import FILE_NAME
from simulation.verdict import Verdict, journal_in
from simulation.wiretap import Wiretap

# What a server logs when it is asked so, and in no other case.
SAID_ABOUT_REQUESTS: Final = re.compile(
    r"WARNING (announced|player removed by the host|(archived )?table (closed|removed) by the host|draining)"
)
_LOOKS: Final[tuple[Callable[[], Request], ...]] = (Status, Tables, Who, Stored)


class Operator:
    """Asks the server on the data folder `data` for this and that."""

    def __init__(self, data: Path, rng: random.Random, counts: Counter[str]) -> None:
        self.asked = False
        self.closed: set[str] = set()  # tables that the server has said to be closed
        self._socket = data / SOCKET_NAME
        self._copies = data.parent / "copies"
        self._rng = rng
        self._counts = counts
        self._announced: list[str] = []

    async def act(self) -> None:
        """Do one of the things that change nothing at any table."""
        match self._rng.randrange(4):
            case 0:
                self._announced.append(f"Announcement {len(self._announced)}")
                await self._ask("announcements", Announce(self._announced[-1]))
            case 1:
                await self._back_up()
            case 2:
                await self._ask(
                    "changes of the log level", SetLogLevel(self._rng.choice(["info", "warning"]))
                )
            case _:
                await self._ask("looks over the admin socket", self._rng.choice(_LOOKS)())

    async def remove(self, table: str, seat: int) -> None:
        """Take a seat from its player."""
        await self._ask("players removed by operators", Remove(table, seat))

    async def close(self, table: str) -> None:
        """Close a table for good."""
        self._announced.append(f"Closed for reason {len(self._announced)}")
        if await self._ask("tables closed by operators", Close([table], self._announced[-1])):
            self.closed.add(table)

    async def drain(self) -> bool:
        """Have the server stop in a second; return whether it said so."""
        return await self._ask("servers drained", Drain(1))

    async def check_copies(self, journal: dict[str, list[Entry]], long: set[str], verdict: Verdict) -> None:
        """What was copied from a running server is what the journal held at that time.

        The tables in `long` may have been shortened since.
        """
        for folder in sorted(self._copies.glob("*")):
            for table, entries in (await journal_in(folder)).items():
                now = journal.get(table)
                if now is not None and table not in long and now[: len(entries)] != entries:
                    verdict.different.append(f"{table}: copy {folder.name} has another game than the journal")
            self._counts["copies compared"] += 1

    def check_announced(self, taps: Iterable[Wiretap], verdict: Verdict) -> None:
        """Everybody is told what was announced, once, and nothing else."""
        for tap in taps:
            heard = Counter(each.message.text for each in tap.heard if isinstance(each.message, Announced))
            verdict.invented += [
                f"nobody announced {text!r}" for text in heard if text not in self._announced
            ]
            verdict.doubled += [f"{text!r} was announced twice" for text, times in heard.items() if times > 1]

    async def _back_up(self) -> None:
        folder = self._copies / str(self._counts["copies asked for"])
        self._counts["copies asked for"] += 1
        unfinished = self._copies.with_name("unfinished")

        def write(report: CopyReport, source: BinaryIO) -> None:
            with unfinished.open("wb") as target:
                copied(source, target, report.bytes)

        if await self._ask("copies of the journal", Backup(), CopyReport, write):
            folder.mkdir(parents=True)
            unfinished.rename(folder / FILE_NAME)

    async def _ask(
        self,
        what: str,
        request: Request,
        kind: Any = object,
        rest: Callable[[Any, BinaryIO], None] | None = None,
    ) -> bool:
        """Ask in a thread; return whether the server did it, which it cannot while it is down or busy."""
        self.asked = True
        try:
            await asyncio.to_thread(ask, self._socket, request, kind, rest)
        except (NoServer, OSError, AdminFailure):
            self._counts["requests over the admin socket that failed"] += 1
            return False
        self._counts[what] += 1
        return True
