"""What servers tell each other, as the database has it: by server, in the order in which it was told."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Final, NamedTuple

from server.storage.postgresql.database import Connection

READ_AT_ONCE: Final = 1000
_KEPT_FOR_OTHERS: Final = timedelta(seconds=60)  # what holds no longer
_TELL: Final = "SELECT tell($1, $2, $3, $4, $5)"
_NEWS: Final = """
SELECT term, number, key, body
    FROM told LEFT JOIN unnest($2::bigint[], $3::bigint[]) AS seen (term, last) USING (term)
    WHERE term <> $1 AND number > coalesce(last, 0) AND key IS NOT NULL ORDER BY term, number LIMIT $4
"""
_NODES: Final = "SELECT term, name, address, expires > clock_timestamp(), leaving FROM node ORDER BY name"
_FORGET: Final = """
DELETE FROM told WHERE term = $1 AND body IS NULL AND time < clock_timestamp() - $2::interval
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


class News(NamedTuple):
    """A fact that another server has announced under a key; without a `body` it is withdrawn."""

    term: int
    number: int
    key: str
    body: bytes | None


async def tell(connection: Connection, term: int, lines: Sequence[tuple[int, str, bytes | None]]) -> None:
    """Announce these facts to the other servers, by numbers and keys, all or none.

    Raises asyncpg.ForeignKeyViolationError if the lease is gone.
    """
    numbers, keys, bodies = zip(*lines, strict=True)
    await connection.execute(_TELL, term, numbers, keys, [None] * len(lines), bodies)


async def news(connection: Connection, term: int, seen: Mapping[int, int]) -> list[News]:
    """Return news of other servers since what was `seen` of each, up to the limit of one read."""
    rows = await connection.fetch(_NEWS, term, list(seen), list(seen.values()), READ_AT_ONCE)
    return [News(*row) for row in rows]


async def nodes(connection: Connection) -> list[Node]:
    return [Node(*row) for row in await connection.fetch(_NODES)]


async def forget_old(connection: Connection, term: int) -> None:
    """Remove messages of this server that every other server has had time to read."""
    await connection.execute(_FORGET, term, _KEPT_FOR_OTHERS)
