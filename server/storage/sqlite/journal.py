"""The journal on disk: one SQLite file for all tables."""

import asyncio
import contextlib
import logging
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

from server.config import Durable
from server.errors import JournalError, NotStored
from server.monitoring.logs import about
from server.storage import operations
from server.storage.commit_queue import Batch, CommitQueue, Health
from server.storage.journal import Journal
from server.storage.operations import Operation, Outcome
from server.storage.reasons import reason_of
from server.storage.sqlite.checkpoints import Checkpoints, checkpoint, lacks_room, restart_log
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.inspection import content_of
from server.storage.sqlite.journal_file import (
    FILE_NAME,
    connect,
    copy_beside,
    damage_error,
    lock_folder,
    open_journal,
    unusable,
)
from server.storage.sqlite.open_files import NotInPlace, OpenFiles
from server.storage.sqlite.ready import make_ready
from server.storage.sqlite.rows import Ledger, carry_out, mark, write_copy
from server.storage.stored_tables import Kept, Stored

T = TypeVar("T")

_SECONDS_BETWEEN_LOOKS: Final = 1.0  # at the files, while nothing is stored

log = logging.getLogger(__name__)


class SqliteJournal(Journal):
    """A journal in one SQLite file (WAL) in the folder `data`; forgotten tables leave it.

    `durable` "full" waits with each commit until the disk has it, so that not even a power cut loses a move.
    Nothing is stored while the file is not in its place.
    Raises JournalError if the folder or file cannot be used, was written by a newer version, or is in use.
    """

    def __init__(
        self, data: Path, durable: Durable = "normal", most_archived: int = 10_000, archive_share: int = 100
    ) -> None:
        super().__init__(most_archived, archive_share)
        self.path = data / FILE_NAME
        self._health = Health(lambda: self._queue.append(()))
        self._loop = asyncio.get_running_loop()
        with contextlib.ExitStack() as opening:
            opening.enter_context(lock_folder(data))
            found = make_ready(data)
            self.is_new = not found.version
            self._unchanged: list[Stored] | None = list(found.in_use.values())  # since they were read
            self._database = open_journal(self.path, durable)
            opening.callback(self._database.close)
            for code, table in found.archived.items():
                self._archive.add(code, table.game)
            self.codes_set_aside = {*found.set_aside}
            try:
                self._files = OpenFiles(self.path)
                opening.callback(self._files.close)
                opening.callback(self._database.close)  # before its files
                self._ledger = Ledger(self._database, data, self._files.check, found.standings)
                opening.callback(self._ledger.close)
                self._checkpoints = Checkpoints(self.path, self._files, self._begin_log)
            except (sqlite3.Error, OSError) as error:
                raise unusable(self.path, error) from error
            self._queue = CommitQueue(
                self._begin_commit,
                self._health,
                settled=self._checkpoints.entries_stored,
                logged=lambda: self._files.fault is not None,
            )
            self._queue.in_use = self._ledger.in_use
            self._durable = durable
            self._log_begins = True  # SQLite waits for the disk once when it begins the write-ahead log anew
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="journal")
            self._open = opening.pop_all()
        self._watch()

    async def storing(self) -> bool:
        return self._files.in_place() and await self._health.works() and self._files.fault is None

    async def kept(self) -> Kept:
        found, self._unchanged = self._unchanged, None
        try:
            return Kept.of(carry_out(self._database, operations.tables_in_use()) if found is None else found)
        except (sqlite3.Error, ValueError) as error:
            raise damage_error(self.path, error) from error

    async def copy(self, path: Path, *, exact: bool) -> bytes:
        database, listed = await self._queue.do(lambda: self._in_thread(self._freeze))
        copying = self._loop.run_in_executor(None, partial(write_copy, database, path, exact=exact))
        try:
            await asyncio.shield(copying)
        except sqlite3.Error as error:
            raise JournalError("the journal could not be used: {reason}", reason=reason_of(error)) from error
        finally:
            await asyncio.wait((copying,))  # whatever happens: then the caller can remove the file
        return listed

    def _freeze(self) -> tuple[sqlite3.Connection, bytes]:
        """Return a connection that sees the journal as it is now, and the commit list.

        It reads the disk, not what the connection of the commits remembers. Checkpoints leave what it sees
        where it is, so the log grows until it is closed.
        """
        self._files.check()
        database = connect(self.path)
        try:
            database.execute("BEGIN")
            database.execute("SELECT id FROM journal").fetchone()
            return database, content_of(self.path.with_name(LIST_NAME))
        except BaseException:
            database.close()
            raise

    async def close(self) -> None:
        self._next_look.cancel()
        await self._queue.finish()
        await self._health.close()
        await self._checkpoints.close()
        if self._files.deleted:
            await self._loop.run_in_executor(self._thread, self._write_copy)
        self._thread.shutdown()
        self._open.close()

    def _write_copy(self) -> None:
        """Save what is in the deleted file, under a name beside it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            copy = copy_beside(self._database, self.path, "rescued", listed=True)
        except (OSError, sqlite3.Error) as error:
            log.error(  # noqa: TRY400 - one line says it
                "the deleted journal is lost", extra=about(path=str(self.path), reason=reason_of(error))
            )
        else:
            log.warning("the deleted journal is saved in a copy", extra=about(path=str(copy)))

    def _watch(self) -> None:
        """Look at the files now and then, also while nothing is stored."""
        if not self._files.in_place() and self._files.log_is_gone:
            self._checkpoints.begin()  # so that the main file has everything
        self._next_look = self._loop.call_later(_SECONDS_BETWEEN_LOOKS, self._watch)

    async def _read(self, make: Callable[[], Operation[T]]) -> T:
        return await self._queue.do(lambda: self._in_thread(partial(carry_out, self._database, make())))

    async def _transact(self, make: Callable[[], Operation[Outcome]]) -> Outcome:
        return await self._queue.do(lambda: self._in_thread(partial(self._change_tables, make())))

    def _change_tables(self, operation: Operation[Outcome]) -> Outcome:
        try:
            return self._ledger.change(operation)
        except sqlite3.Error as error:
            if lacks_room(error):  # it fails, but the next attempt need not
                self._checkpoints.free_room(self._database)
            raise

    def _begin_commit(self, batch: Batch) -> asyncio.Future[None] | None:
        """Commit what the tables have appended, all together.

        Not in a thread: a commit writes to memory that the system puts on disk later, which takes some 20
        microseconds a move, and handing the interpreter to a thread and back took five times as long. What
        waits for the disk or may take long, as removing a table does, and what tries the disk is done in a
        thread; what is asked for meanwhile comes after it.
        """
        self._unchanged = None
        if (
            self._log_begins
            or self._durable == "full"
            or batch.forgotten
            or not batch.changes
            or self._checkpoints.stuck is not None
        ):
            return self._loop.run_in_executor(self._thread, self._commit_in_thread, batch)
        try:
            self._commit(batch)
        except sqlite3.Error as error:
            if not lacks_room(error):
                raise
            return self._loop.run_in_executor(self._thread, self._commit_in_thread, batch)
        return None

    def _commit_in_thread(self, batch: Batch) -> None:
        """Commit a batch; if there is no room for it, free that which the log has, and commit it then.

        A log that could not be freed gets nothing more: the room that it would take is what freeing it needs.
        """
        if self._checkpoints.stuck is not None:
            self._checkpoints.free_room(self._database)
        if (reason := self._checkpoints.stuck) is not None:
            raise NotStored("the journal could not be written: {reason}", reason=reason)
        try:
            self._commit(batch)
        except sqlite3.Error as error:
            if not lacks_room(error) or not self._checkpoints.free_room(self._database):
                raise
            self._commit(batch)

    def _commit(self, batch: Batch) -> None:
        if batch.changes:
            self._ledger.append(batch)
        elif self._health.failing:
            self._ledger.try_moves()
        else:
            mark(self._database)
        self._log_begins = False

    def _in_thread(self, work: Callable[[], T]) -> asyncio.Future[T]:
        self._unchanged = None
        return self._loop.run_in_executor(self._thread, self._work, work)

    def _work(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except (sqlite3.Error, OSError, NotInPlace) as error:
            raise NotStored("the journal could not be used: {reason}", reason=reason_of(error)) from error
        except ValueError as error:
            raise damage_error(self.path, error) from error

    async def _begin_log(self, wait_for_rest: bool) -> None:
        """Begin the log anew if that is possible, in the thread; let commits wait for the rest if need be."""

        def begin() -> None:
            if not self._files.in_place():
                return
            if wait_for_rest:
                checkpoint(self._database, self._files)
            restart_log(self._database, self._checkpoints.most_bytes)
            self._ledger.shorten_list()

        self._log_begins = True
        await self._queue.do(lambda: self._in_thread(begin))
