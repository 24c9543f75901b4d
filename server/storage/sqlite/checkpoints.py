"""Checkpoints: what is in the write-ahead log moves to the main file, while commits go on."""

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.monitoring.failures import start_task
from server.monitoring.logs import about
from server.storage.reasons import reason_of
from server.storage.sqlite.journal_file import connect
from server.storage.sqlite.open_files import OpenFiles

log = logging.getLogger(__name__)

_ENTRIES_BETWEEN: Final = 4000  # each leaves about a page, of 4 KiB, in the write-ahead log
_MOST_PAGES: Final = 32_000  # in the log (128 MiB), before commits wait so that it can begin anew


class Checkpoints:
    """Makes a checkpoint after so many entries, in a thread with a connection of its own.

    SQLite begins the log anew with the first commit that finds all of it in the main file, and waits for the
    disk then. `begin_log` is awaited when a commit may find that, or has to because the log is long: in this
    case its argument is True, and what was committed during the checkpoint is still missing.
    """

    def __init__(self, path: Path, files: OpenFiles, begin_log: Callable[[bool], Awaitable[None]]) -> None:
        self._files = files
        self._begin_log = begin_log
        self._database = connect(path)
        self._entries = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._at_work: asyncio.Future[None] | None = None

    def entries_stored(self, number: int) -> None:
        """Count entries in the log; make a checkpoint if it is due."""
        self._entries += number
        if self._entries >= _ENTRIES_BETWEEN and self._at_work is None and self._files.fault is None:
            self.begin()

    def begin(self) -> None:
        if self._at_work is None:
            self._entries = 0
            self._at_work = start_task(self._run(), "making a checkpoint")

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            pages, moved = await loop.run_in_executor(self._thread, checkpoint, self._database, self._files)
            if pages >= _MOST_PAGES or pages == moved:
                await self._begin_log(pages >= _MOST_PAGES)
        except (sqlite3.Error, JournalError) as error:
            log.warning(
                "the journal's log cannot be cleared, and grows", extra=about(reason=reason_of(error))
            )
        finally:
            self._at_work = None

    async def close(self) -> None:
        if self._at_work is not None:
            await self._at_work
        self._thread.shutdown()
        self._database.close()


def checkpoint(database: sqlite3.Connection, files: OpenFiles) -> tuple[int, int]:
    """Move what is in the log to the main file; return how many pages the log has, and how many were moved.

    Raises sqlite3.Error.
    """
    with files.changing():
        _, pages, moved = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return pages, moved
