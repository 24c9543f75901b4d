"""Rows of the archive, the same in every database: a game is one row, packed, with a seal over all of it."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from server.storage.archive_index import ArchivedGame
from server.storage.chain import seal
from server.storage.standing import Place, Standing
from server.storage.stored_tables import ArchivedTable, Stored, packed, rechecked, unpacked
from server.storage.table_summary import Contents, contents

SEALED: Final = "code, archived, entries, origin, played, length, chain, opened, changed, contents"
COLUMNS: Final = f"{SEALED}, seal"


def archive_row(table: Stored, game: ArchivedGame) -> tuple[Any, ...]:
    """Return the values of COLUMNS for an archived table."""
    rows = table.rows
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


def archived_from(row: Sequence[Any]) -> tuple[Stored, ArchivedGame]:
    """Return the table in a row of the archive, whatever is in it."""
    whole = seal(*row[:-1]) == row[-1]
    return _unpacked(*row[:3], whole=whole), ArchivedGame(str(row[3]), bool(row[4]))


def _unpacked(code: str, when: int, content: object, *, whole: bool) -> Stored:
    rows = unpacked(content) if isinstance(content, bytes) else []
    found = rechecked(code, rows, when)
    if found.damage is None and not whole:
        return Stored(code, found.rows, found.entries, when, "its row in the archive is damaged")
    return found


def listed_from(row: Sequence[Any]) -> ArchivedTable:
    """Return what a row of the archive says, without unpacking it; raises ValueError if it makes no sense."""
    code, when, _, origin, played, length, link, opened, changed, text, stored_seal = row
    return ArchivedTable(
        code,
        when,
        Standing(Place.ARCHIVED, length, link),
        ArchivedGame(origin, bool(played)),
        opened,
        changed,
        msgspec.json.decode(text, type=Contents),
        whole=seal(*row[:-1]) == stored_seal,
    )
