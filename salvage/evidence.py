"""Rows of a journal that were found anywhere in its files, and the tables that their chains make."""

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from salvage.page_scan import Value, rows_in
from server.storage.archive_index import ArchivedGame
from server.storage.operations import archive_rows
from server.storage.sqlite.inspection import View
from server.storage.sqlite.rows import carry_out
from server.storage.stored_tables import (
    Place,
    Row,
    Standing,
    Stored,
    archived_from,
    first_link,
    next_link,
    set_aside_from,
)


@dataclass(slots=True)
class Evidence:
    """Rows that were found anywhere, whole or damaged, of now or of earlier."""

    rows: dict[str, dict[int, set[Row]]] = field(default_factory=dict)  # by table and number
    named: set[str] = field(default_factory=set)  # tables of which an index has a row
    last: dict[str, tuple[int, int]] = field(default_factory=dict)  # by table: a commit, the length after it
    archived: dict[str, list[tuple[Standing, int, ArchivedGame]]] = field(default_factory=dict)  # and when
    set_aside: dict[str, Stored] = field(default_factory=dict)
    records_due: dict[str, int] = field(default_factory=dict)  # when the games ended
    journals: set[str] = field(default_factory=set)

    def add_files(self, file: bytes, log: bytes) -> None:
        """Add the rows in the pages of a file and its write-ahead log."""
        for row in rows_in(file, log):
            self._add(row)

    def add_shown(self, database: sqlite3.Connection, view: View) -> None:
        for table in view.in_use.values():
            self._add_rows(table.code, table.rows)
        for row in carry_out(database, archive_rows()):
            table = archived_from(row)
            self._add_archived(table, view.archived[table.code].standing)
        self.set_aside |= view.set_aside
        self.records_due |= view.records_due
        self.journals.add(view.journal)

    def holds(self, code: str, standing: Standing) -> bool:
        """Return whether the entry at which a table stood is among the rows."""
        rows = self.rows.get(code, {}).get(standing.length - 1, ())
        return any(row.link == standing.link for row in rows)

    @property
    def codes(self) -> set[str]:
        return {*self.rows, *self.archived, *self.records_due, *self.named}

    @property
    def commits(self) -> int:
        """The number of the last commit that added a row."""
        return max((commit for commit, _ in self.last.values()), default=0)

    def length_after(self, code: str, commits: int) -> int:
        """Return how many entries commits after number `commits` left a table with, 0 if they added none."""
        commit, length = self.last.get(code, (0, 0))
        return length if commit > commits else 0

    def best(self, code: str, wanted: Standing | None, *, or_longer: bool = False) -> list[Row]:
        """Return the longest chain of a table, or the one that ends where it is `wanted` to end.

        `or_longer` follows that one as far as it leads.
        """
        known = self.rows.get(code, {})
        chains: dict[bytes, list[Row]] = {first_link(code): []}
        longest: list[Row] = []
        for number in range(len(known)):
            chains = {
                row.link: [*chain, row]
                for row in known.get(number, ())
                for link, chain in chains.items()
                if row.link == next_link(link, number, row.time, row.body)
            }
            if not chains:
                break
            if wanted is not None and number + 1 == wanted.length and wanted.link in chains:
                if not or_longer:
                    return chains[wanted.link]
                chains = {wanted.link: chains[wanted.link]}
            longest = next(iter(chains.values()))
        return longest

    def _add(self, row: list[Value]) -> None:
        match row:
            case [None, str(code), int(number), str(body), int() | None as time, bytes(link), int(commit)]:
                if _is_code(code):
                    self.rows.setdefault(code, {}).setdefault(number, set()).add(Row(time, body, link))
                    self.last[code] = max(self.last.get(code, (0, 0)), (commit, number + 1))
            case [str(code)] if _is_code(code):
                self.named.add(code)
            case [str(code), int(), str(), bytes(), int(), int()]:
                self.set_aside[code] = set_aside_from(row)
            case [str(), int(), bytes(), str(), int(), int(), bytes(), _, _, str(), bytes()]:
                columns: list[Any] = row
                self._add_archived(archived_from(columns), Standing(Place.ARCHIVED, columns[5], columns[6]))
            case [str(code), int(ended)] if _is_code(code):
                self.records_due[code] = ended
            case [str(journal), int()]:
                self.journals.add(journal)

    def _add_archived(self, table: Stored, standing: Standing) -> None:
        """Add a row of the archive, which says how the table stood whatever is left of its entries."""
        self.archived.setdefault(table.code, []).append(
            (standing, table.archived or 0, table.game or ArchivedGame("", played=True))
        )
        self._add_rows(table.code, table.rows)

    def _add_rows(self, code: str, rows: Iterable[Row]) -> None:
        for number, row in enumerate(rows):
            self.rows.setdefault(code, {}).setdefault(number, set()).add(row)


def _is_code(text: str) -> bool:
    return text.isascii() and text.isalpha() and text.isupper()
