"""What a data folder holds, for its owner: tables to look at, check, take records of, restore and remove.

Only while no server runs: one process at a time uses a journal. Looking changes nothing.
"""

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from engine.pieces import Seat
from server.errors import JournalError
from server.storage import operations
from server.storage.entries import MADE, TookBack
from server.storage.operations import Operation, Outcome
from server.storage.owner import Check, CheckedTable, OwnersTables
from server.storage.reasons import reason_of
from server.storage.sqlite.inspection import inspect_folder, reading, refuse_during_salvage, refuse_if_in_use
from server.storage.sqlite.journal_file import FILE_NAME, lock_folder, open_journal, unusable
from server.storage.sqlite.rows import Ledger, carry_out
from server.storage.stored_tables import Everything, Stored

T = TypeVar("T")


class DataFolder(OwnersTables):
    """The tables of the journal in the folder `data`; starts that found damage kept copies in `kept`.

    Raises JournalError if there is none, it cannot be used, or a server is using it.
    """

    def __init__(self, data: Path, kept: Path | None = None) -> None:
        self.data = data
        self.kept = kept or data
        self._path = self._place = data / FILE_NAME
        if not data.is_dir() or not any(data.glob(f"{FILE_NAME}*")):
            raise JournalError("there is no journal in {folder}. Choose another --data", folder=data)
        with contextlib.ExitStack() as opening:
            opening.enter_context(lock_folder(data))
            refuse_if_in_use(self._path)
            self._open = opening.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._open.close()

    def everything(self) -> Everything:
        """Return all tables; raises JournalError if any of them is damaged that was not set aside."""
        self._check_files()
        return self._read(operations.everything)

    def stored(self, codes: Sequence[str]) -> list[Stored]:
        """Return those of these tables that there are, wherever they are kept."""
        return self._read(lambda: operations.all_tables(codes))

    def check(self) -> Check:
        """Look at every table closely; raises JournalError if the file cannot be used at all."""
        refuse_during_salvage(self._path)
        findings = inspect_folder(self.data, closely=True)
        return Check(findings.faults, list(map(CheckedTable.of, findings.tables)))

    def take_back(self, code: str, seat: Seat) -> bool:
        """Forget the seat's last move, and all that came after it; return False if it has not moved."""
        found = self._read(lambda: operations.find(code))
        entries = [] if found is None else found.entries
        made: list[tuple[int, int]] = []  # the moves that count, and whose they are
        for number, entry in enumerate(entries):
            if isinstance(entry, TookBack):
                del made[-len(entry.events[0]["fields"]) :]
            elif isinstance(entry, MADE):
                made.append((number, entry.seat))
        moves = [number for number, mover in made[1:] if mover == seat]
        if moves:
            self._change([code], lambda: operations.shorten(code, lambda _entries: list(range(moves[-1]))))
        return bool(moves)

    def _read(self, make: Callable[[], Operation[T]]) -> T:
        try:
            with reading(self._path) as (database, *_):
                return carry_out(database, make())
        except OSError as error:
            raise unusable(self._path, error) from error
        except (sqlite3.Error, ValueError) as error:
            raise self._damage_error(reason_of(error)) from error

    def _check_files(self) -> None:
        """Raise JournalError if anything is damaged that no server has set aside yet, or half salvaged."""
        refuse_during_salvage(self._path)
        if faults := inspect_folder(self.data).faults:
            raise self._damage_error("; ".join(map(str, faults)))

    def _change(self, _codes: Sequence[str], make: Callable[[], Operation[Outcome]]) -> Outcome:
        self._check_files()
        try:
            return _change(self.data, make())
        except (OSError, sqlite3.Error) as error:
            raise JournalError(
                "the journal could not be written: {reason}", reason=reason_of(error)
            ) from error
        except ValueError as error:
            raise self._damage_error(reason_of(error)) from error


def make_folder(data: Path, content: Everything) -> None:
    """Store all tables in a folder that has no journal; raises JournalError."""
    with lock_folder(data):
        if any(data.glob(f"{FILE_NAME}*")):
            raise JournalError("there is a journal in {folder} already. Choose another --data", folder=data)
        try:
            _change(data, operations.insert(content))
        except (OSError, sqlite3.Error) as error:
            for made in data.glob(f"{FILE_NAME}*"):
                made.unlink(missing_ok=True)
            raise unusable(data / FILE_NAME, error) from error


def _change(data: Path, operation: Operation[Outcome]) -> Outcome:
    with (
        contextlib.closing(open_journal(data / FILE_NAME)) as database,
        contextlib.closing(Ledger(database, data)) as ledger,
    ):
        return ledger.change(operation)
