"""What servers tell each other, as the database has it: by server, in the order in which it was told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, NamedTuple

from server.storage.postgresql.database import Connection

READ_AT_ONCE: Final = 1000
_MOST_READ: Final = 50_000  # of all that holds: more than any servers have
_KEPT_FOR_OTHERS: Final = timedelta(seconds=60)  # messages, and what holds no longer
_TELL: Final = "SELECT tell($1, $2, $3, $4, $5)"
_NEWS: Final = """
SELECT term, number, key, body, extract(epoch FROM clock_timestamp() - time)::float8
    FROM told LEFT JOIN unnest($2::bigint[], $3::bigint[]) AS seen (term, last) USING (term)
    WHERE term <> $1 AND number > coalesce(last, 0) AND (target IS NULL OR target = $1)
    ORDER BY term, number LIMIT $4
"""
_HOLDING: Final = """
SELECT term, number, key, body, 0.0::float8 FROM told
    WHERE term = ANY ($1) AND key IS NOT NULL AND body IS NOT NULL AND (term, number) > ($2, $3)
    ORDER BY term, number LIMIT $4
"""
_TALLIES: Final = """
SELECT term, max(number), count(*) FILTER (WHERE holds), coalesce(sum(number) FILTER (WHERE holds), 0)
    FROM (SELECT term, number, key IS NOT NULL AND body IS NOT NULL AS holds FROM told) AS line GROUP BY term
"""
_NODES: Final = "SELECT term, name, address, expires > clock_timestamp(), leaving FROM node ORDER BY name"
_FORGET: Final = """
DELETE FROM told
    WHERE term = $1 AND (key IS NULL OR body IS NULL) AND time < clock_timestamp() - $2::interval
"""


class Node(NamedTuple):
    """A server that shares the database; `runs` tells whether its lease does.

    If it is `leaving`, it gives its tables away.
    """

    term: int
    name: str
    address: str
    runs: bool
    leaving: bool


@dataclass(frozen=True, slots=True)
class Outgoing:
    """One thing to tell: a message if it has no `key`, for all servers if it has no `target`."""

    number: int
    key: str | None
    body: bytes | None
    target: int | None = None


class Told(NamedTuple):
    """One thing that another server has told, so many seconds ago if it is a message."""

    term: int
    number: int
    key: str | None
    body: bytes | None
    age: float


@dataclass(frozen=True, slots=True)
class Tally:
    """How much a server has told: the last number, and how much holds, with the sum of its numbers."""

    term: int
    last: int
    count: int
    total: int


async def tell(connection: Connection, term: int, lines: Sequence[Outgoing]) -> None:
    """Send the others all this, or nothing; raises asyncpg.ForeignKeyViolationError if the lease is gone."""
    await connection.execute(
        _TELL,
        term,
        [line.number for line in lines],
        [line.key for line in lines],
        [line.target for line in lines],
        [line.body for line in lines],
    )


async def news(connection: Connection, term: int, seen: Mapping[int, int]) -> list[Told]:
    """Return what others have told after what was `seen` of each, as much as is read at once."""
    rows = await connection.fetch(_NEWS, term, list(seen), list(seen.values()), READ_AT_ONCE)
    return [Told(*row) for row in rows]


async def holding(connection: Connection, terms: Sequence[int]) -> list[Told]:
    """Return all that holds with the servers of these terms."""
    found: list[Told] = []
    while len(found) < _MOST_READ:
        after = found[-1][:2] if found else (0, 0)
        rows = await connection.fetch(_HOLDING, terms, *after, READ_AT_ONCE)
        found += (Told(*row) for row in rows)
        if len(rows) < READ_AT_ONCE:
            break
    return found


async def tallies(connection: Connection) -> list[Tally]:
    """Return how much each server has told."""
    return [Tally(*row) for row in await connection.fetch(_TALLIES)]


async def nodes(connection: Connection) -> list[Node]:
    """Return the servers that share the database, by their names."""
    return [Node(*row) for row in await connection.fetch(_NODES)]


async def forget_old(connection: Connection, term: int) -> None:
    """Remove what this server has told and everybody has had the time to hear."""
    await connection.execute(_FORGET, term, _KEPT_FOR_OTHERS)
