"""Rows as every database has them: one for each entry of a table in use, one for any other table, packed."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from server.storage.archive_index import ArchivedGame
from server.storage.chain import seal
from server.storage.standing import Place, Standing
from server.storage.stored_tables import (
    ArchivedTable,
    SetAside,
    Stored,
    Table,
    checked,
    packed,
    rechecked,
    unpacked,
)
from server.storage.table_summary import Contents, contents

COLUMNS: Final = {
    "entry": "code, number, body, time, chain",
    "archive": "code, archived, entries, origin, played, length, chain, opened, changed, contents, seal",
    "set_aside": "code, since, reason, entries, whole, length",
    "record_due": "code, ended",
}
KEPT_IN: Final = {Place.IN_USE: "entry", Place.ARCHIVED: "archive", Place.SET_ASIDE: "set_aside"}


def rows_of(table: Table) -> tuple[str, list[tuple[Any, ...]]]:
    """Return which table of the database holds a table, and its rows there."""
    if isinstance(table, SetAside):
        content = packed(table.rows)
        return "set_aside", [(table.code, table.since, table.reason, content, table.whole, table.length)]
    if table.archived is not None:
        return "archive", [_archive_row(table)]
    return "entry", [
        (table.code, number, body, when, link) for number, (when, body, link) in enumerate(table.rows)
    ]


def _archive_row(table: Stored) -> tuple[Any, ...]:
    rows = table.rows
    game = table.game or ArchivedGame(table.code, played=True)  # nobody knows who opened it
    row = (
        table.code,
        table.archived,
        packed(rows),
        game.origin,
        int(game.played),
        len(rows),
        rows[-1].link,
        rows[0].time,
        rows[-1].time,
        msgspec.json.encode(contents(table.entries)).decode(),
    )
    return (*row, seal(*row))


def tables_from(rows: Iterable[Sequence[Any]]) -> list[Stored]:
    """Return the tables in rows of entries, whatever is in them, in the order of their first rows."""
    tables: dict[str, list[tuple[Any, Any, Any, Any]]] = {}
    for code, number, body, when, link in rows:
        tables.setdefault(str(code), []).append((number, body, when, link))
    return [checked(code, numbered) for code, numbered in tables.items()]


def archived_from(row: Sequence[Any]) -> Stored:
    """Return the table in a row of the archive, whatever is in it."""
    code, when, content, origin, played, *_ = row
    game = ArchivedGame(str(origin), bool(played))
    found = rechecked(code, unpacked(content) if isinstance(content, bytes) else [], when)
    damage = found.damage
    if damage is None and seal(*row[:-1]) != row[-1]:
        damage = "its row in the archive is damaged"
    return Stored(code, found.rows, found.entries, when, damage, game)


def listed_from(row: Sequence[Any]) -> ArchivedTable:
    """Return what a row of the archive says, without unpacking it; raises ValueError if it makes no sense.

    Of a damaged one nothing but its place is looked at.
    """
    code, when, _, origin, played, length, link, opened, changed, text, stored_seal = row
    whole = seal(*row[:-1]) == stored_seal
    return ArchivedTable(
        code,
        when,
        Standing(Place.ARCHIVED, length, link),
        ArchivedGame(origin, bool(played)),
        opened,
        changed,
        msgspec.json.decode(text, type=Contents) if whole else Contents("playing", (), 0),
        whole=whole,
    )


def set_aside_from(row: Sequence[Any]) -> SetAside:
    """Return the damaged table in a row."""
    code, since, reason, content, whole, length = row
    return SetAside(code, since, reason, unpacked(content), whole, length)
