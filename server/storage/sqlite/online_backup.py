"""A copy of an open database, made in small steps between which its owner goes on working."""

import contextlib
import sqlite3
import threading
from pathlib import Path
from typing import Final

from server.storage.sqlite.identity import mark_as_copy

PAGES_PER_STEP: Final = 64


class _GivenUp(Exception):
    """The copy is no longer wanted."""


class OnlineBackup:
    """Copies `database` into the new file `path`.

    SQLite's backup carries on with what its own connection changes between two steps, so it neither begins
    again nor mixes two states: the copy is the database as it is at the last step. Python runs all steps in
    one call, so that call has a thread of its own, which moves only while `step` waits for it.
    Only an `exact` copy belongs to the same commit list as the database.
    """

    def __init__(self, database: sqlite3.Connection, path: Path, *, exact: bool = False) -> None:
        self._database = database
        self._path = path
        self._exact = exact
        self._go = threading.Semaphore(0)
        self._stepped = threading.Semaphore(0)
        self._error: BaseException | None = None
        self._ended = False
        self._given_up = False
        self._thread = threading.Thread(target=self._run, name="backup", daemon=True)
        self._thread.start()

    def step(self) -> bool:
        """Copy some pages; return whether there are more. Only who may use the database may call this.

        Raises sqlite3.Error or OSError if that fails.
        """
        self._go.release()
        self._stepped.acquire()
        if self._error is not None:
            raise self._error
        return not self._ended

    def close(self) -> None:
        """End the thread, and remove an unfinished copy; like `step`, it uses the database."""
        if not self._ended:
            self._given_up = True
            self._go.release()
        self._thread.join()
        if self._given_up or self._error is not None:
            self._path.unlink(missing_ok=True)

    def _run(self) -> None:
        self._go.acquire()
        try:
            if not self._given_up:
                self._path.touch(mode=0o600, exist_ok=False)
                with contextlib.closing(sqlite3.connect(self._path)) as copy:
                    # It is thrown away if anything fails; waiting for the disk would hold up a step.
                    copy.execute("PRAGMA synchronous = OFF")
                    self._database.backup(copy, pages=PAGES_PER_STEP, progress=self._pause)
                    if not self._exact:
                        mark_as_copy(copy)
                    copy.execute("PRAGMA journal_mode = DELETE").fetchall()  # one file, not three
        except _GivenUp:
            pass
        except (sqlite3.Error, OSError) as error:
            self._error = error
        finally:
            self._ended = True
            self._stepped.release()

    def _pause(self, status: int, _remaining: int, _total: int) -> None:
        if status == sqlite3.SQLITE_DONE:
            return
        self._stepped.release()
        self._go.acquire()
        if self._given_up:
            raise _GivenUp
