"""What a data folder holds, for its owner: tables to look at, check, take records of, restore and remove.

Only while no server runs: one process at a time uses a journal. Looking changes nothing.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from engine.events import Event
from server.errors import JournalError
from server.storage.condition import Check, CheckedTable, Salvaged, foldable
from server.storage.house import (
    House,
    StoredTable,
    described,
    described_archived,
    described_aside,
    replayed_game,
)
from server.storage.reasons import reason_of
from server.storage.sqlite.damage.evidence import reading, refuse_if_in_use
from server.storage.sqlite.damage.inspection import Findings, inspected
from server.storage.sqlite.damage.repair import copies
from server.storage.sqlite.journal_file import FILE_NAME, locked, opened, unusable
from server.storage.sqlite.ledger import Ledger
from server.storage.sqlite.tables_in_file import (
    archive_list,
    archived_table,
    archived_tables,
    in_use,
    records_due,
    remove,
    restore,
    set_aside_tables,
    table_in_use,
)
from server.storage.standing import Changes
from server.storage.table_summary import contents


class DataFolder:
    """The tables of the journal in the folder `data`; repairs have kept copies of earlier ones in `kept`.

    Raises JournalError if there is none, it cannot be used, or a server is using it.
    """

    def __init__(self, data: Path, kept: Path | None = None) -> None:
        self._data = data
        self._kept = kept or data
        self._path = data / FILE_NAME
        if not data.is_dir() or not any(data.glob(f"{FILE_NAME}*")):
            raise JournalError("there is no journal in {folder}. Choose another --data", folder=data)
        with contextlib.ExitStack() as opening:
            opening.enter_context(contextlib.closing(locked(data)))
            refuse_if_in_use(self._path)
            self._open = opening.pop_all()

    def _damaged(self, what: str | Exception) -> JournalError:
        return JournalError(
            "the journal {file} is damaged: {reason}. See what is whole with palatinus tables check",
            file=self._path,
            reason=what if isinstance(what, str) else reason_of(what),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def tables(self) -> list[StoredTable]:
        """Return all tables, the latest changed first."""
        with self._reading() as database:
            found = [
                *map(described_archived, archive_list(database)),
                *map(described, in_use(database)),
                *map(described_aside, set_aside_tables(database)),
            ]
        return sorted(found, key=lambda table: (-(table.changed or 0), table.code))

    def table(self, code: str) -> StoredTable | None:
        """Return the table with this code, None if there is none."""
        with self._reading() as database:
            if (found := table_in_use(database, code) or archived_table(database, code)) is not None:
                return described(found)
            return next(map(described_aside, set_aside_tables(database, [code])), None)

    def game(self, code: str) -> tuple[Event, ...]:
        """Return the events of this table's game, hidden kinds included; none if it has not started.

        Raises JournalError if the table is damaged.
        """
        with self._reading() as database:
            found = table_in_use(database, code) or archived_table(database, code)
        try:
            entries = [] if found is None else found.whole_entries
        except ValueError as error:
            raise self._damaged(f"table {code}: {reason_of(error)}") from error
        try:
            return replayed_game(entries)
        except ValueError as error:
            raise self._damaged(f"table {code}: {reason_of(error)}") from error

    def house(self) -> House:
        """Return all tables; raises JournalError if any of them is damaged that was not set aside."""
        self._check_files()
        with self._reading() as database:
            return House(
                in_use(database),
                list(archived_tables(database)),
                set_aside_tables(database),
                records_due(database),
            )

    def remove(self, codes: Iterable[str]) -> None:
        """Remove all these tables for good; if JournalError is raised, none is removed."""
        self._change(lambda database: remove(database, codes))

    def restore(self, code: str) -> int:
        """Put a table that was set aside back into play at its last whole move; return that move's number.

        Raises JournalError.
        """
        self._check_files()
        with self._reading() as database:
            whole = [foldable(table.whole_part.entries) for table in set_aside_tables(database, [code])]
        if not whole or not whole[0]:
            raise JournalError("nothing of table {table} can be restored", table=code)
        self._change(lambda database: restore(database, code, len(whole[0])))
        return contents(whole[0]).moves

    def check(self) -> Check:
        """Look at every table closely; raises JournalError if the file cannot be used at all."""
        findings = inspected(self._data, closely=True)
        return Check(findings.faults, [CheckedTable.of(verdict) for verdict in findings.verdicts])

    def salvaged(self, codes: Iterable[str] = ()) -> list[Salvaged]:
        """Return the games of these tables, or of all, as far as any file in the folder has them.

        The copies that repairs have kept are searched as well.
        """
        wanted = set(codes)
        best: dict[str, Salvaged] = {}
        for findings in self._all_findings():
            for verdict in findings.verdicts:
                if wanted and verdict.code not in wanted:
                    continue
                found = Salvaged.of(verdict)
                known = best.get(verdict.code)
                if known is None or len(found.events) > len(known.events):
                    best[verdict.code] = found
        return list(best.values())

    def _all_findings(self) -> Iterator[Findings]:
        for folder, suffix in ((self._data, ""), *((self._kept, suffix) for suffix in copies(self._kept))):
            with contextlib.suppress(JournalError):  # what cannot be read at all holds no game
                yield inspected(folder, closely=True, suffix=suffix)

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            with reading(self._path) as (database, *_):
                yield database
        except OSError as error:
            raise unusable(self._path, error) from error
        except (sqlite3.Error, ValueError) as error:
            raise self._damaged(error) from error

    def _check_files(self) -> None:
        """Raise JournalError if anything is damaged that no server has set aside yet."""
        if faults := inspected(self._data).faults:
            raise self._damaged("; ".join(map(str, faults)))

    def _change(self, work: Callable[[sqlite3.Connection], Changes]) -> None:
        self._check_files()
        try:
            with contextlib.closing(opened(self._path)) as database:
                ledger = Ledger(database, self._data)
                try:
                    ledger.change(work)
                finally:
                    ledger.close()
        except (OSError, sqlite3.Error) as error:
            raise JournalError(
                "the journal could not be written: {reason}", reason=reason_of(error)
            ) from error
        except ValueError as error:
            raise self._damaged(error) from error
