"""A server's lease: a row in the database, by whose clock it runs out.

Its term is a number that is never given twice. All that a server changes is changed under its term, and
ending a term waits for what is being changed under it; so nothing is stored for a server after another one
was told that it is gone, however late it wakes (docs/architecture.md).
"""

import contextlib
from collections.abc import AsyncIterator, Collection, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from server.storage.entries import JOURNAL_VERSION, OfEvening, entry_text
from server.storage.names import EVENING
from server.storage.postgresql.database import Connection, Signal, notify, transaction

_SECONDS_TO_COME_BACK: Final = 10.0  # for a server that was cut off
# Whether the server with this term may take a table up: one that it can read. The tables of an evening follow
# the evening, which knows when their games begin and what came of them.
_MAY_TAKE: Final = f"""
place = '=' AND needs <= $2 AND (offered = $1 OR term IS NULL AND NOT (
    EXISTS (SELECT FROM entry WHERE entry.code = game_table.code AND number = 1
        AND body = '{entry_text(OfEvening())}')
    AND EXISTS (SELECT FROM game_table AS held WHERE held.code = '{EVENING}' AND held.place = '='
        AND held.term IS DISTINCT FROM $1)
))
"""  # noqa: S608 - constants
_TABLES_WAIT: Final = f"SELECT EXISTS (SELECT FROM game_table WHERE {_MAY_TAKE})"  # noqa: S608 - a constant
_TAKE_UP: Final = f"""
UPDATE game_table SET term = $1, offered = NULL, needs = $2 WHERE code IN (
    SELECT code FROM game_table WHERE {_MAY_TAKE}
        ORDER BY code = ANY ($4) DESC, offered IS NULL, code <> '{EVENING}', opened
        LIMIT $3 FOR UPDATE SKIP LOCKED
) RETURNING code
"""  # noqa: S608 - constants


@contextlib.asynccontextmanager
async def begin(connection: Connection, name: str, address: str, seconds: float) -> AsyncIterator[int]:
    """Begin a lease for the server `name`, end an earlier one of its own, and yield the term.

    It begins with the end of the context: if the answer to that is lost, the server knows its term even so.
    """
    async with transaction(connection):
        # A server that is started again need not wait for the end of the lease that it had.
        for (term,) in await connection.fetch("SELECT term FROM node WHERE name = $1", name):
            await _end(connection, term)
        term = await connection.fetchval(
            "INSERT INTO node (name, address, expires, version)"
            " VALUES ($1, $2, clock_timestamp() + $3, $4) RETURNING term",
            name,
            address,
            timedelta(seconds=seconds),
            JOURNAL_VERSION,
        )
        yield int(term)


async def renew(connection: Connection, term: int, seconds: float) -> bool:
    """Extend the lease to so many seconds from now; return False if it was ended."""
    renewed = await connection.fetchval(
        "UPDATE node SET expires = clock_timestamp() + $2 WHERE term = $1 RETURNING term",
        term,
        timedelta(seconds=seconds),
    )
    return renewed is not None


async def give_up(connection: Connection, term: int) -> None:
    """End the server's own lease, and notify the others, which may take over its tables immediately."""
    async with transaction(connection):
        await _end(connection, term)
        await notify(connection, Signal.TABLES_WAIT)


async def end_expired(connection: Connection, seconds: float) -> list[str]:
    """End the leases that have run out, and return whose they were.

    Not right after PostgreSQL was started: until then nobody could renew anything.
    """
    expired = await connection.fetch(
        "SELECT term, name FROM node WHERE expires < clock_timestamp()"
        " AND pg_postmaster_start_time() < clock_timestamp() - $1::interval",
        timedelta(seconds=seconds),
    )
    return [name for term, name in expired if await _end_expired(connection, term)]


async def end_abandoned(connection: Connection, codes: Sequence[str]) -> None:
    """End the leases of tables whose servers have been gone for long enough to be dead."""
    abandoned = await connection.fetch(
        "SELECT DISTINCT term FROM node JOIN game_table USING (term) WHERE code = ANY ($1)"
        " AND greatest(expires, pg_postmaster_start_time()) < clock_timestamp() - $2::interval",
        codes,
        timedelta(seconds=_SECONDS_TO_COME_BACK),
    )
    for (term,) in abandoned:
        await _end_expired(connection, term)


async def _end_expired(connection: Connection, term: int) -> bool:
    """End a lease that has run out, and return True, unless it was renewed just now."""
    async with transaction(connection):
        gone = await connection.fetchval(
            "DELETE FROM node WHERE term = $1 AND expires < clock_timestamp() RETURNING term", term
        )
        await notify(connection, Signal.TOLD)  # what that server told the others is gone with its lease
    return gone is not None


class Owner(NamedTuple):
    """The owner of a table, if it has one, the rest of the owner's lease, and whether the table is in use."""

    term: int | None
    address: str
    in_use: bool
    seconds_left: float


async def owner(connection: Connection, code: str) -> Owner | None:
    row = await connection.fetchrow(
        "SELECT game_table.term, coalesce(address, ''), place = '=',"
        " coalesce(greatest(extract(epoch FROM expires - clock_timestamp()), 0), 0)::float8"
        " FROM game_table LEFT JOIN node ON node.term = game_table.term WHERE code = $1",
        code,
    )
    return None if row is None else Owner(*row)


async def opened_with(connection: Connection, token_hash: str) -> str | None:
    """Return the code of the table in use that was opened with the token with this hash, None if none was."""
    query = (
        "SELECT code FROM game_table WHERE place = '=' AND strpos("
        "(SELECT body FROM entry WHERE entry.code = game_table.code AND number = 1), $1) > 0"
        " ORDER BY code LIMIT 1"
    )
    code: str | None = await connection.fetchval(query, token_hash)
    return code


async def tables_wait(connection: Connection, term: int) -> bool:
    """Return whether there is anything to `take_up`."""
    return bool(await connection.fetchval(_TABLES_WAIT, term, JOURNAL_VERSION))


async def take_up(
    connection: Connection, term: int, most: int | None = None, wanted: Collection[str] = ()
) -> list[str]:
    """Give the server tables in use that are nobody's, or offered to it, and return which.

    So many at `most`: first those that are `wanted`, then those that are offered, then an evening. From then
    on, they need a server of this version: those of older ones may not be able to read what it writes.
    """
    rows = await connection.fetch(_TAKE_UP, term, JOURNAL_VERSION, most, list(wanted))
    return [code for (code,) in rows]


async def is_replaced(connection: Connection, name: str, term: int) -> bool:
    """Return whether another server has begun a lease under the name of the one with this term."""
    found = await connection.fetchval("SELECT term FROM node WHERE name = $1 AND term > $2", name, term)
    return found is not None


async def _end(connection: Connection, term: int) -> None:
    """End a lease, after whatever is being changed under its term, which has a lock on the row."""
    await connection.execute("DELETE FROM node WHERE term = $1", term)
    await notify(connection, Signal.TOLD)
