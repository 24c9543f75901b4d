"""How batches and operations are carried out in the database.

What a server changes, it changes under its term: a lock on the node's row keeps that from ending meanwhile.
A table in use is changed by its owner alone. What is done again because its answer was lost finds what is
stored already: an entry's number is in the primary key, and its link says whether it is the same entry.
"""

import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import asyncpg

from server.errors import TableLost
from server.monitoring.logs import about
from server.probes import probe
from server.storage.archive_index import ArchivedGame
from server.storage.commit_queue import Batch
from server.storage.entries import JOURNAL_VERSION
from server.storage.operations import Claim, Delete, Insert, Operation, Outcome, Select, is_stored
from server.storage.postgresql.database import Connection, transaction
from server.storage.postgresql.schema import FENCING, LOST
from server.storage.stored_tables import COLUMNS, StoredState, TablePlace

T = TypeVar("T")

log = logging.getLogger(__name__)

_CHOSEN: Final = "($1::text[] IS NULL OR code = ANY ($1))"
_SELECTS: Final = {
    "entry": f"SELECT {COLUMNS['entry']} FROM entry JOIN game_table USING (code)"
    f" WHERE place = '=' AND {_CHOSEN} ORDER BY opened, number",
    "archive": f"SELECT {COLUMNS['archive']} FROM archive WHERE {_CHOSEN} ORDER BY rank",
    "set_aside": f"SELECT {COLUMNS['set_aside']} FROM set_aside WHERE {_CHOSEN} ORDER BY since DESC, code",
    "record_due": f"SELECT {COLUMNS['record_due']} FROM record_due WHERE {_CHOSEN} ORDER BY ended, code",
    "archived codes": f"SELECT code FROM archive WHERE {_CHOSEN}",
    "codes set aside": f"SELECT code FROM set_aside WHERE {_CHOSEN}",
    "times": f"SELECT code, min(time), max(time) FROM entry WHERE {_CHOSEN} GROUP BY code",
}
_PROVE: Final = "SELECT term FROM node WHERE term = $1 FOR KEY SHARE"
_APPEND: Final = "SELECT append_entries($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
_STORED: Final = """
SELECT count(*) FROM unnest($1::text[], $2::integer[], $3::bytea[]) AS sent (code, number, chain)
    JOIN entry USING (code, number, chain)
"""
_TRIAL: Final = "INSERT INTO entry (code, number, body, chain) VALUES ($1, $2, $3, $4)"
_TRIAL_BYTES: Final = 64 * 1024  # more than the moves of several tables take
_TRIED: Final = "DELETE FROM entry WHERE code = $1"
_UNIQUE: Final = "23505"
_CLAIM: Final = """
SELECT code, term IS DISTINCT FROM $2 AND (place = '=' OR needs > $3) FROM game_table
    WHERE code = ANY ($1) ORDER BY code FOR UPDATE
"""
_PLACE: Final = """
INSERT INTO game_table (code, place, term, needs) VALUES ($1, $2, $3, $4)
    ON CONFLICT (code) DO UPDATE SET place = EXCLUDED.place, term = EXCLUDED.term, needs = EXCLUDED.needs
"""


class Fenced(TableLost):
    """No more changes of this term are made: another server has its tables, or may have."""

    def __init__(self, text: str = "the lease is lost") -> None:
        super().__init__(text)


async def prove_term(connection: Connection, term: int) -> None:
    """Keep the term from ending until the transaction does; raises Fenced if it has ended."""
    if await connection.fetchval(_PROVE, term) is None:
        raise Fenced


async def append(
    connection: Connection, term: int, batch: Batch, in_use: Mapping[str, StoredState], *, again: bool
) -> None:
    """Store a batch, if that is not done; raises Fenced, or asyncpg.PostgresError.

    `again` says that an earlier attempt has been made, whose answer was lost.
    """
    forgotten = set(batch.forgotten)
    known = [(code, in_use[code]) for code in batch.changes if code in in_use and code not in forgotten]
    new = [
        code
        for code, standing in batch.changes.items()
        if standing is not None and (code not in in_use or code in forgotten)
    ]
    codes, numbers, bodies, _, links = zip(*batch.rows, strict=True) if batch.rows else ((),) * 5
    try:
        await connection.execute(
            _APPEND,
            term,
            new,
            [code for code, _ in known],
            [standing.length for _, standing in known],
            [standing.link for _, standing in known],
            codes,
            numbers,
            bodies,
            links,
            batch.now,
            batch.forgotten,
            [code for code, _ in batch.ended],
            [ended for _, ended in batch.ended],
        )
    except asyncpg.PostgresError as error:
        if error.sqlstate in FENCING:
            if error.sqlstate == LOST:
                probe("the database has lost changes")
                log.error("the database has lost changes", extra=about(term=term))  # noqa: TRY400 - one line says it
            raise Fenced(FENCING[error.sqlstate]) from error
        if error.sqlstate != _UNIQUE:
            raise
        if again:
            stored = await connection.fetchval(_STORED, codes, numbers, links)
            if codes and stored == len(codes):
                probe("a change in doubt was stored already")
                return
        elif error.table_name == "entry":
            probe("the database has entries that the server does not know")
            raise Fenced("the database has what this server does not know") from error
        raise


async def try_moves(connection: Connection, term: int) -> None:
    """Store as much as moves take, and remove it in the same transaction, so that nothing changes.

    Raises Fenced, or asyncpg.PostgresError.
    """
    code = f"trial {term}"  # which no table has
    async with connection.transaction():
        await prove_term(connection, term)
        body = secrets.token_hex(_TRIAL_BYTES // 2)  # what repeats would be compressed
        await connection.execute(_TRIAL, code, 0, body, b"")
        await connection.execute(_TRIED, code)


async def transact(
    connection: Connection, term: int, make: Callable[[], Operation[Outcome]], attempts: list[Outcome]
) -> Outcome:
    """Carry out an operation in a transaction, if that is not done; raises Fenced, or what it raises.

    `attempts` are the outcomes of earlier attempts whose answers were lost: an earlier transaction has ended
    when the table's row can be locked.
    """
    async with transaction(connection):
        await prove_term(connection, term)
        if attempts and attempts[-1]:
            done = await carry_out(connection, is_stored(attempts[-1]), term)
            if done:
                probe("an operation in doubt was carried out already")
                return attempts[-1]
        outcome = await change(connection, make(), term)
        attempts.append(outcome)
    return outcome


async def carry_out(connection: Connection, operation: Operation[T], term: int | None = None) -> T:
    """Run an operation of the server with this term; raises its errors, or FAILED."""
    rows: Any = None
    while True:
        try:
            statement = operation.send(rows)
        except StopIteration as ended:
            result: T = ended.value
            return result
        rows = await _rows(connection, statement, term)


async def change(connection: Connection, operation: Operation[Outcome], term: int | None = None) -> Outcome:
    """Carry out an operation that changes tables; those in use afterwards are the server's."""
    outcome = await carry_out(connection, operation, term)
    kept = [(code, table.standing.place) for code, table in outcome.items() if table is not None]
    if kept:
        owners = {TablePlace.IN_USE: term}
        await connection.executemany(
            _PLACE, [(code, place, owners.get(place), JOURNAL_VERSION) for code, place in kept]
        )
    if gone := [code for code, table in outcome.items() if table is None]:
        await connection.execute("DELETE FROM game_table WHERE code = ANY ($1)", gone)
    return outcome


async def _rows(
    connection: Connection, statement: Select | Insert | Delete | Claim, term: int | None
) -> Sequence[Any]:
    match statement:
        case Select(rows, codes):
            return [tuple(row) for row in await connection.fetch(_SELECTS[rows], codes)]
        case Insert(rows, values):
            columns = COLUMNS[rows]
            marks = ", ".join(f"${number}" for number in range(1, len(columns.split(", ")) + 1))
            await connection.executemany(f"INSERT INTO {rows} ({columns}) VALUES ({marks})", values)
        case Delete(rows, codes):
            await connection.execute(f"DELETE FROM {rows} WHERE code = ANY ($1)", codes)
        case Claim(codes):
            found = await connection.fetch(_CLAIM, codes, term, JOURNAL_VERSION)
            return [(code,) for code, of_others in found if of_others]
    return []


async def archive_index(connection: Connection) -> list[tuple[str, ArchivedGame]]:
    """Return which games are archived, oldest first."""
    rows = await connection.fetch("SELECT code, origin, played FROM archive ORDER BY rank")
    return [(code, ArchivedGame(origin, bool(played))) for code, origin, played in rows]


async def archive_state(connection: Connection) -> tuple[int, int]:
    """Return the archive's size and last rank, a cheap way to notice changes."""
    size, last = await connection.fetchrow("SELECT count(*), coalesce(max(rank), 0) FROM archive")
    return size, last


async def records_due(connection: Connection, term: int) -> list[tuple[str, int]]:
    """Return the games (and their ends) whose records are due, of this server and of no server."""
    rows = await connection.fetch(
        "SELECT code, ended FROM record_due LEFT JOIN game_table USING (code)"
        " WHERE (term IS NULL OR term = $1) AND (needs IS NULL OR needs <= $2) ORDER BY ended, code",
        term,
        JOURNAL_VERSION,
    )
    return [(code, ended) for code, ended in rows]
