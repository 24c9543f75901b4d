"""What tables need of storage: entries are committed before anyone is sent them."""

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from protocol.admin import StoredReport
from server.errors import JournalError, TableDamaged
from server.monitoring.counts import Durations
from server.monitoring.logs import about
from server.probes import probe
from server.storage import operations
from server.storage.archive_index import ArchivedGame, ArchiveIndex
from server.storage.commit_queue import CommitQueue, Health, Part, Storing
from server.storage.entries import Entry, LiveEntries
from server.storage.operations import Operation, Outcome
from server.storage.stored_tables import Kept, Stored, TablePlace

T = TypeVar("T")

log = logging.getLogger(__name__)


@dataclass(eq=False, repr=False)
class NodeState:
    """The server `name`, whose lease with the number `term` runs for `seconds_left`, 0 if it has none.

    `answers` tells whether the database did, the last time, and `answer_seconds` how long a renewal took. The
    rest counts since the start: leases begun, round trips for commits, and tables taken up, handed over to
    others, and lost with a lease.
    """

    name: str
    term: int = 0
    answers: bool = True
    answer_seconds: float = 0.0
    leases: int = 0
    taken_up: int = 0
    handed_over: int = 0
    lost: int = 0

    @property
    def seconds_left(self) -> float:
        return 0.0

    @property
    def round_trips(self) -> int:
        return 0


class Journal(ABC):
    """What tables and the lobby need of storage; whatever fails raises JournalError and changes nothing.

    A task that waits for a change is cancelled only after it: what is stored is never left unfolded. Which
    tables are archived or set aside is known by heart, as storage may be busy. The archive keeps
    `most_archived` games; `archive_share` is for `ArchiveIndex`.
    """

    keeps_games = True  # whether an archived game can be brought back
    is_new = False  # whether it was made at this start, for all that is known
    _queue: CommitQueue
    _health: Health

    def __init__(self, most_archived: int, archive_share: int) -> None:
        self._most_archived = most_archived
        self._archiving = asyncio.Lock()
        self._archive = ArchiveIndex(archive_share)
        self.codes_set_aside: set[str] = set()  # of damaged tables

    @property
    def archived(self) -> Collection[str]:
        return self._archive.codes

    @property
    def commits(self) -> Durations:
        return self._queue.durations

    @property
    def not_stored(self) -> int:
        return self._health.not_stored

    @property
    def lapsed(self) -> bool:
        """Return whether this server may not speak for its tables: they may be another's by now."""
        return False

    @property
    def node(self) -> NodeState | None:
        """Return how this server is doing among those that share the journal, None if none do."""
        return None

    def holds(self, code: str) -> bool:  # noqa: ARG002 - one server alone has every table
        """Return whether a table in use still belongs to this server."""
        return True

    async def whereabouts(self, code: str) -> str | None:  # noqa: ARG002 - as above
        """Return the address of the other server that has a table, None without one.

        A free table is taken over first. Raises NotStored if some server will have it soon.
        """
        return None

    async def opened_with(self, token_hash: str) -> str | None:  # noqa: ARG002 - one server alone knows it
        """Return the code of a table that was opened with this token, at another server, None if none was.

        Raises NotStored.
        """
        return None

    @abstractmethod
    async def storing(self) -> bool:
        """Return whether entries can be stored, by trying it if nothing was stored within the last second."""

    def append(self, code: str, first: int, entries: Sequence[Entry], ended: int | None = None) -> Storing:
        """Store entries; for a game that `ended`, in seconds since 1970, also that its record is due."""
        return self._queue.append(((code, first, entries),), () if ended is None else ((code, ended),))

    def append_together(self, parts: Sequence[Part]) -> Storing:
        """Store entries of several tables, all or none."""
        return self._queue.append(parts)

    @abstractmethod
    async def kept(self) -> Kept:
        """Return the tables that are neither forgotten, nor archived, nor set aside."""

    async def entries(self, code: str) -> list[Entry]:
        """Return the entries of a table, archived or not; none if there is none or it is damaged."""
        table = await self._read(lambda: operations.find(code))
        return [] if table is None or table.damage is not None else table.entries

    async def reports(self, codes: Sequence[str]) -> list[StoredReport]:
        """Return these tables in a few words, wherever they are."""
        return await self._read(lambda: operations.describe_tables(codes))

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
        """Return when the first and the last entry of these tables were stored, if they are not archived."""
        return await self._read(lambda: operations.times(codes))

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:
        """Return those of these tables that were set aside."""
        return await self._read(lambda: operations.tables_set_aside(codes))

    async def records_due(self) -> list[tuple[str, int]]:
        """Return the codes and ends of the games whose records are not written yet."""
        return await self._read(operations.records_due)

    async def record_written(self, code: str) -> None:
        """Store that a game's record has been written."""
        await self._change(lambda: operations.record_written(code))

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:
        """Keep only the entries of a table that `live_entries` names; return how many there are."""
        table = (await self._change(lambda: operations.shorten(code, live_entries))).get(code)
        return 0 if table is None else table.standing.length

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        """Keep a table, in use or archived, for its host: only its first `whole` entries make sense."""
        probe("a table is set aside")
        await self._change(lambda: operations.set_aside(code, whole, reason, int(time.time())))
        self._archive.discard(code)
        self.codes_set_aside.add(code)
        log.warning("a damaged table is set aside", extra=about(table=code, entries=whole, reason=reason))

    async def archive(self, code: str, game: ArchivedGame) -> None:
        """Archive a table without players; a journal without an archive forgets it."""
        displaced: list[str] = []

        def make() -> Operation[Outcome]:
            displaced[:] = self._archive.displaced_by(code, game, self._most_archived)
            return operations.archive(code, game, displaced, int(time.time()))

        async with self._archiving:  # the next game is archived when it is known what this one has displaced
            await self._change(make)
            self._archive.add(code, game)
            for other in displaced:
                probe("a game gives way in a full archive")
                self._archive.discard(other)

    async def archived_entries(self, code: str) -> list[Entry]:
        """Return the entries of an archived table, none if it is archived no longer.

        A damaged one is set aside, and raises TableDamaged.
        """
        table = await self._read(lambda: operations.find(code))
        if table is None or table.place is not TablePlace.ARCHIVED:  # another server has brought it back
            probe("another server has brought an archived table back")
            self._archive.discard(code)
            return []
        if table.damage is not None:
            await self.set_aside(code, len(table.entries), table.damage)
            probe("an archived table is damaged")
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=table.damage)
        return table.entries

    async def bring_back(self, code: str) -> None:
        """Restore a table from the archive; further entries are appended to those it has."""
        game = self._archive.discard(code)  # so that it is not removed meanwhile
        try:
            await self._change(lambda: operations.bring_back(code))
        except BaseException:
            probe("an archived table cannot be brought back")
            if game is not None:
                self._archive.add(code, game)
            raise

    async def remove(self, code: str) -> None:
        """Remove a table for good that is archived or was set aside; raises TableLost if it is not."""
        await self._change(lambda: operations.remove(code))
        self._archive.discard(code)
        self.codes_set_aside.discard(code)

    async def restore(self, code: str, entries: int) -> None:
        """Put the first `entries` of a table that was set aside back into use."""
        await self._change(lambda: operations.restore(code, entries))
        self.codes_set_aside.discard(code)

    async def copy(self, path: Path, *, exact: bool) -> bytes:  # noqa: ARG002 - only a file can be copied
        """Copy the journal as of one moment to the new file `path`; return the copy's commit list.

        An `exact` copy is valid only with that list; another one needs none, and can be used as a journal.
        Tables keep appending in the meantime. Raises OSError too.
        """
        raise JournalError("with --memory there is no journal to copy")

    @abstractmethod
    async def close(self) -> None:
        """Finish all pending work, then close the files."""

    async def _change(self, make: Callable[[], Operation[Outcome]]) -> Outcome:
        """Carry out an operation in a transaction; raises TableLost if the table is not where it has to be.

        It is made on the event loop when all earlier work is done.
        """
        outcome = await self._transact(make)
        for code, table in outcome.items():
            self._queue.take_note(code, None if table is None else table.standing)
        return outcome

    @abstractmethod
    async def _read(self, make: Callable[[], Operation[T]]) -> T:
        """Carry out an operation that only reads."""

    @abstractmethod
    async def _transact(self, make: Callable[[], Operation[Outcome]]) -> Outcome: ...


class NoJournal(Journal):
    """Keeps nothing: for games that end with the process."""

    keeps_games = False
    commits = Durations()
    not_stored = 0

    def __init__(self) -> None:
        super().__init__(0, 0)

    async def storing(self) -> bool:
        return True

    async def append(self, *_entries: Any) -> None: ...

    async def append_together(self, *_entries: Any) -> None: ...

    async def archive(self, *_game: Any) -> None: ...

    async def set_aside(self, *_table: Any) -> None: ...

    async def close(self) -> None: ...

    async def kept(self) -> Kept:
        return Kept({}, [])

    async def _read(self, make: Callable[[], Operation[T]]) -> T:
        operation = make()
        try:
            next(operation)
            while True:
                operation.send([])  # there are no rows
        except StopIteration as ended:
            found: T = ended.value
            return found

    async def _transact(self, *_operation: Any) -> Outcome:
        return {}
