"""An open journal with its commit list: a change is a transaction in the file, then a line in the list."""

import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path

from server.storage.commit_queue import Batch
from server.storage.operations import Operation, Outcome
from server.storage.sqlite.commit_list import FILE_NAME, CommitList
from server.storage.sqlite.identity import identity_of
from server.storage.sqlite.tables_in_file import carry_out, commits, insert_rows, standings
from server.storage.stored_tables import Changes, Place, Standing


class Ledger:
    """The tables in `database`, the journal of the folder `data`.

    One thread at a time may use it. Whatever fails raises and changes nothing; `before_commit` is called last
    of all, and may raise to undo a transaction. `known` says how far the tables have come.
    """

    def __init__(
        self,
        database: sqlite3.Connection,
        data: Path,
        before_commit: Callable[[], None] = lambda: None,
        known: Mapping[str, Standing] | None = None,
    ) -> None:
        self._database = database
        self._before_commit = before_commit
        self._commits = commits(database)
        journal = identity_of(database)
        known = standings(database) if known is None else known
        self.in_use = {code: each for code, each in known.items() if each.place == Place.IN_USE}
        self._list = CommitList(data / FILE_NAME, journal, self._commits, known)

    def append(self, batch: Batch) -> None:
        """Store what tables append."""
        commit = self._commits + 1
        with self._database:
            if batch.forgotten:
                self._database.executemany(
                    "DELETE FROM entry WHERE code = ?", [(c,) for c in batch.forgotten]
                )
            if batch.forgotten or not batch.rows:
                self._count()
            insert_rows(self._database, [(*row, commit) for row in batch.rows])
            if batch.ended:
                self._database.executemany(
                    "INSERT OR REPLACE INTO record_due (code, ended) VALUES (?, ?)", batch.ended
                )
            self._before_commit()
        self._take_note(batch.changes)

    def change(self, operation: Operation[Outcome]) -> Outcome:
        """Carry out an operation in a transaction of its own."""
        with self._database:
            outcome = carry_out(self._database, operation)
            changes = {code: None if table is None else table.standing for code, table in outcome.items()}
            if changes:
                self._count()
                self._sign(changes)
            self._before_commit()
        if changes:
            self._take_note(changes)
        return outcome

    def shorten_list(self) -> None:
        """Begin the commit list anew if it has grown long; raises OSError if that fails."""
        if self._list.long:
            self._list.rewrite(self._commits, standings(self._database))

    def close(self) -> None:
        self._list.close()
        self._database.close()

    def _sign(self, changes: Changes) -> None:
        """Have tables in use say that this commit changed them, should the commit list lack that."""
        self._database.executemany(
            "UPDATE entry SET added = ? WHERE code = ? AND number = ?",
            [
                (self._commits + 1, code, standing.length - 1)
                for code, standing in changes.items()
                if standing is not None and standing.place == Place.IN_USE
            ],
        )

    def _count(self) -> None:
        self._database.execute("UPDATE journal SET commits = ?", (self._commits + 1,))

    def _take_note(self, changes: Changes) -> None:
        self._commits += 1
        self._list.add(self._commits, changes)
