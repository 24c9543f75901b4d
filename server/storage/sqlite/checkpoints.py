"""Checkpoints: what is in the write-ahead log moves to the main file, while commits go on.

The log takes half of the room on the disk at most: before it can be begun anew, the main file may have to
grow.
"""

import asyncio
import contextlib
import logging
import math
import shutil
import sqlite3
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.monitoring.failures import RepeatedFailure, start_task
from server.probes import probe
from server.storage.reasons import reason_of
from server.storage.sqlite.journal_file import connect
from server.storage.sqlite.open_files import OpenFiles
from server.storage.sqlite.rows import mark

log = logging.getLogger(__name__)

_ENTRIES_BETWEEN: Final = 4000  # fewer if there is little room
_ENTRY_BYTES: Final = 8192  # two pages in the log; fewer if a commit has several entries
_PAGE_BYTES: Final = 4096
_MOST_BYTES: Final = 64 * 2**20  # of the log
_LEAST_BYTES: Final = 2**20  # that it may have, however little room there is
_SECONDS_BETWEEN_ATTEMPTS: Final = 1.0  # to free the log's room
_SECONDS_TO_COMMIT: Final = 0.001
_MOST_ATTEMPTS: Final = 1000  # at one checkpoint: a commit takes long only where its thread is not run
# By SQLite's extended codes. A user's quota counts as a failed write.
_LACK_OF_ROOM: Final = frozenset({sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE})


class Checkpoints:
    """Makes a checkpoint after so many entries, in a thread with a connection of its own.

    SQLite begins the log anew with the first commit that finds all of it in the main file, and waits for the
    disk then. `begin_log` is awaited when a commit may find that, or has to because the log is long: in this
    case its argument is True, and what was committed during the checkpoint is still missing.
    """

    def __init__(self, path: Path, files: OpenFiles, begin_log: Callable[[bool], Awaitable[None]]) -> None:
        self._path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        self._files = files
        self._begin_log = begin_log
        self._database = connect(path)
        self._entries = 0
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._one_at_a_time = threading.Lock()
        self._at_work: asyncio.Future[None] | None = None
        self._failures = RepeatedFailure()
        self._next_attempt = -math.inf
        self.stuck: str | None = None  # why the log could not be freed when there was no room
        self.most_bytes = _MOST_BYTES  # that the log should have
        self._look_at_room()

    def entries_stored(self, number: int) -> None:
        """Count entries in the log; make a checkpoint if it is due."""
        self._entries += number
        if self._entries >= self._entries_between and self._at_work is None and self._files.fault is None:
            self.begin()

    def begin(self) -> None:
        if self._at_work is None:
            self._at_work = start_task(self._run(), "making a checkpoint")

    async def _run(self) -> None:
        try:
            pages, moved = await self._move()
            long = pages * _PAGE_BYTES >= self.most_bytes // 2
            if long and self._entries:
                probe("the log grows during a checkpoint")
                pages, moved = await self._move()  # so that commits need not wait for all these entries
            if long or pages == moved:
                await self._begin_log(long)
            self._failures.log_end(log.warning, "the journal's log can be cleared again")
        except (sqlite3.Error, JournalError) as error:
            probe("a checkpoint fails")
            self._failures.log(
                log.warning, "the journal's log cannot be cleared, and grows", reason=reason_of(error)
            )
        finally:
            self._at_work = None

    async def _move(self) -> tuple[int, int]:
        self._entries = 0
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._move_in_thread)

    def _move_in_thread(self) -> tuple[int, int]:
        with self._one_at_a_time:
            try:
                return checkpoint(self._database, self._files)
            finally:
                self._look_at_room()

    def _look_at_room(self) -> None:
        """Decide how long the log may become: half of the room that it has, as the main file grows too."""
        with contextlib.suppress(OSError):
            room = free_bytes(self._path.parent) + self._log_path.stat().st_size
            self.most_bytes = min(_MOST_BYTES, max(_LEAST_BYTES, room // 2))
        self._entries_between = min(_ENTRIES_BETWEEN, self.most_bytes // 2 // _ENTRY_BYTES)

    def free_room(self, database: sqlite3.Connection) -> bool:
        """Move all of the log to the main file and cut it off, while nobody else uses the `database`.

        Return whether that has freed anything: readers may still need the log. What does not help is tried
        again only after a while. Raises NotInPlace, OSError, or sqlite3.Error if even that cannot be written.
        """
        self._files.check()
        if time.monotonic() < self._next_attempt:
            return False
        self._next_attempt = time.monotonic() + _SECONDS_BETWEEN_ATTEMPTS
        before = self._log_path.stat().st_size
        try:
            with self._one_at_a_time:
                pages, moved = checkpoint(database, self._files)
            if pages == moved:
                restart_log(database, 0)
        except sqlite3.Error as error:
            self.stuck = reason_of(error)
            probe("the log's room cannot be freed")
            raise
        self.stuck = None
        self._look_at_room()
        if freed := self._log_path.stat().st_size < before:
            probe("room is freed on a full disk")
            self._next_attempt = -math.inf
        return freed

    async def close(self) -> None:
        if self._at_work is not None:
            await self._at_work
        self._thread.shutdown()
        self._database.close()


def checkpoint(database: sqlite3.Connection, files: OpenFiles) -> tuple[int, int]:
    """Move what is in the log to the main file; return how many pages the log has, and how many were moved.

    SQLite does nothing if another connection is just writing the index of the log. Raises sqlite3.Error.
    """
    for _attempt in range(_MOST_ATTEMPTS):
        with files.changing():
            busy, pages, moved = database.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if not busy:
            return pages, moved
        time.sleep(_SECONDS_TO_COMMIT)
    raise sqlite3.OperationalError("the index of the log is being written")


def restart_log(database: sqlite3.Connection, most_bytes: int) -> None:
    """Restart the write-ahead log if the main file has all of it and nobody reads it, and shorten the file.

    Raises sqlite3.Error.
    """
    database.execute(f"PRAGMA journal_size_limit = {most_bytes}")
    mark(database)


def lacks_room(error: sqlite3.Error) -> bool:
    """Return whether a write has probably failed for lack of space."""
    return getattr(error, "sqlite_errorcode", None) in _LACK_OF_ROOM


def free_bytes(folder: Path) -> int:
    """Return how much room the disk of a folder has; raises OSError."""
    return shutil.disk_usage(folder).free
