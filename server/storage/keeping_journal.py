"""What every journal that keeps games does in the same way, whatever stores them."""

import logging
import time
from abc import abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TypeVar

from server.counts import Durations
from server.errors import JournalError, TableDamaged, TableLost
from server.logs import about
from server.storage import operations
from server.storage.archive_index import Archived, ArchivedGame, ArchiveIndex
from server.storage.commit_queue import CommitQueue
from server.storage.entries import Entry, LiveEntries
from server.storage.health import Health
from server.storage.journal import Journal, Part
from server.storage.operations import NotOwned, Operation, Outcome
from server.storage.stored_tables import ArchivedTable, Stored

T = TypeVar("T")

log = logging.getLogger(__name__)


class KeepingJournal(Journal):
    """A journal that knows by heart which tables are archived or set aside: storage may be busy.

    The archive keeps `most_archived` games; `archive_share` is for `ArchiveIndex`.
    """

    keeps_games = True
    _queue: CommitQueue
    _health: Health

    def __init__(self, most_archived: int, archive_share: int) -> None:
        self._most_archived = most_archived
        self._archive = ArchiveIndex(archive_share)
        self._set_aside: set[str] = set()

    @property
    def commits(self) -> Durations:
        return self._queue.durations

    @property
    def not_stored(self) -> int:
        return self._health.not_stored

    @property
    def archived(self) -> Collection[str]:
        return self._archive.codes

    @property
    def codes_set_aside(self) -> Collection[str]:
        return self._set_aside

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        await self._queue.append(((code, first, entries),))

    async def append_last(self, code: str, first: int, entries: Sequence[Entry], ended: int) -> None:
        await self._queue.append(((code, first, entries),), ((code, ended),))

    async def append_together(self, parts: Sequence[Part]) -> None:
        await self._queue.append(parts)

    async def entries(self, code: str) -> list[Entry]:
        table = await self._read(lambda: operations.find(code))
        return [] if not isinstance(table, Stored) or table.damage is not None else table.entries

    async def archived_tables(self, codes: Sequence[str]) -> list[ArchivedTable]:
        return await self._read(lambda: operations.archive_list(codes))

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
        return await self._read(lambda: operations.times(codes))

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:
        return [table.whole_part for table in await self._read(lambda: operations.tables_set_aside(codes))]

    async def record_written(self, code: str) -> None:
        await self._change(lambda: operations.record_written(code))

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:
        changed = await self._change(lambda: operations.shorten(code, live_entries))
        table = changed[code]
        return 0 if table is None else table.standing.length

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        await self._change(lambda: operations.set_aside(code, whole, reason, int(time.time())))
        self._archive.discard(code)
        self._set_aside.add(code)
        log.warning("a damaged table is set aside", extra=about(table=code, entries=whole, reason=reason))

    async def archive(self, code: str, game: ArchivedGame) -> None:
        removed: dict[str, Archived] = {}
        before: dict[str, Archived] = {}

        def begins() -> None:
            if (archived := self._archive.discard(code)) is not None:
                before[code] = archived
            removed.update(self._archive.make_room(code, game, self._most_archived))

        try:
            await self._change(
                lambda: operations.archive(code, game, list(removed), int(time.time())), begins
            )
        except BaseException:
            self._archive.discard(code)
            self._archive.put_back(removed | before)
            raise

    async def archived_entries(self, code: str) -> list[Entry]:
        table = await self._read(lambda: operations.find(code))
        if not isinstance(table, Stored) or table.archived is None:  # another server has brought it back
            self._archive.discard(code)
            return []
        if table.damage is not None:
            await self.set_aside(code, len(table.entries), table.damage)
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=table.damage)
        return table.entries

    async def bring_back(self, code: str) -> None:
        game = self._archive.discard(code)  # so that it is not removed meanwhile
        try:
            await self._change(lambda: operations.bring_back(code))
        except BaseException:
            if game is not None:
                self._archive.put_back({code: game})
            raise

    async def remove(self, code: str) -> None:
        await self._change(lambda: operations.remove(code))
        self._archive.discard(code)
        self._set_aside.discard(code)

    async def restore(self, code: str, entries: int) -> None:
        await self._change(lambda: operations.restore(code, entries))
        self._set_aside.discard(code)

    async def _change(
        self, make: Callable[[], Operation[Outcome]], begins: Callable[[], None] | None = None
    ) -> Outcome:
        """Carry out an operation in a transaction; raises TableLost if the table is not where it has to be.

        `begins` is called on the event loop when all earlier work is done, before the operation is made.
        """
        outcome = await self._transact(make, begins)
        for code, table in outcome.items():
            self._queue.take_note(code, None if table is None else table.standing)
        return outcome

    def _job_failed(self, error: Exception) -> Exception:
        """Return what is raised for a piece of work that has failed, whatever the database is."""
        if isinstance(error, NotOwned):
            return TableLost("{reason}", reason=str(error))
        return self._damaged(error) if isinstance(error, ValueError) else error

    @abstractmethod
    async def _read(self, make: Callable[[], Operation[T]]) -> T:
        """Carry out an operation that only reads."""

    @abstractmethod
    async def _transact(
        self, make: Callable[[], Operation[Outcome]], begins: Callable[[], None] | None
    ) -> Outcome: ...

    @abstractmethod
    def _damaged(self, error: Exception) -> JournalError: ...
