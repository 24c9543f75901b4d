"""What the owner of a database changes beside running servers: their tables stay theirs."""

from collections.abc import Sequence

from server.errors import JournalError
from server.storage.condition import Verdict, foldable
from server.storage.postgresql import lease
from server.storage.postgresql import tables_in_database as stored
from server.storage.postgresql.database import Connection
from server.storage.postgresql.inspection import inspected
from server.storage.postgresql.signals import Signal, notify
from server.storage.table_summary import contents


async def remove(connection: Connection, codes: Sequence[str]) -> None:
    """Remove tables for good, all or none; raises JournalError."""
    await lease.end_abandoned(connection, codes)
    async with connection.transaction():
        await _claim(connection, codes)
        await _delete(connection, codes)
        await connection.execute("DELETE FROM game_table WHERE code = ANY ($1)", codes)


async def restore(connection: Connection, code: str) -> int:
    """Put a damaged table back into play at its last whole move, and return that move's number.

    It is nobody's then: the next server that looks takes it up. Raises JournalError.
    """
    await lease.end_abandoned(connection, [code])
    async with connection.transaction():
        await _claim(connection, [code])
        (verdict,) = await inspected(connection, [code], _itself)
        whole = foldable(verdict.table.entries)
        if not whole:
            raise JournalError("nothing of table {table} can be restored", table=code)
        await _delete(connection, [code])
        await stored.insert(connection, code, verdict.table.rows[: len(whole)])
        await connection.execute("UPDATE game_table SET place = '=', term = NULL WHERE code = $1", code)
        await notify(connection, Signal.TABLES_WAIT)
    return contents(whole).moves


def _itself(verdict: Verdict) -> Verdict:
    return verdict


async def _claim(connection: Connection, codes: Sequence[str]) -> None:
    """Keep servers from taking the tables up until the transaction ends; raises JournalError if one has."""
    there = await connection.fetch(
        "SELECT code FROM game_table WHERE code = ANY ($1) ORDER BY code FOR UPDATE", codes
    )
    if missing := sorted(set(codes) - {code for (code,) in there}):
        raise JournalError("there is no table {code}", code=missing[0])
    owned = await connection.fetchrow(
        "SELECT code, name FROM game_table JOIN node USING (term) WHERE code = ANY ($1) ORDER BY code", codes
    )
    if owned is not None:
        raise JournalError(
            "table {code} is at the node {node}. Close it with palatinus admin close at any node, "
            "or stop that one first",
            code=owned["code"],
            node=owned["name"],
        )


async def _delete(connection: Connection, codes: Sequence[str]) -> None:
    """Delete what is stored of tables, wherever it is."""
    for place in ("entry", "archive", "set_aside"):
        await connection.execute(f"DELETE FROM {place} WHERE code = ANY ($1)", codes)  # noqa: S608 - names from above
