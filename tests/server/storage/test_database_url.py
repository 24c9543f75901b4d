"""What is wrong with a database, or its URL, is one sentence that says what to do, without a password."""

import contextlib
import uuid
from collections.abc import AsyncIterator

import asyncpg
import pytest

from server.errors import JournalError, NotStored
from server.storage.entries import Hosted, Opened
from server.storage.postgresql.line import Line
from server.storage.postgresql.url import fault_in
from tests.server.peer import eventually
from tests.server.storage.conformance.stores import journal_at, rows

OPENED = Opened(2, random_layout=True, starting=None)
AS = "postgresql://me:sec%2Fret@db"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (f"{AS}/games?sslmode=on", "sslmode in --database has to be one of disable, allow, prefer, require"),
        (
            f"{AS}/games?target_session_attrs=master",
            "target_session_attrs in --database has to be one of any",
        ),
        (f"{AS}/games?sslrootcert=/none/of.pem", "cannot read /none/of.pem, which sslrootcert in --database"),
        (f"{AS}:99999/games", "a port in --database has to be a number up to 65535"),
        (f"{AS},db2:sec/games", "a port in --database has to be a number"),
        ("postgresql://me:sec/ret@db/games", "Write a password into ~/.pgpass"),
        (f"{AS},/games", "the list of hosts in --database has an empty entry"),
        ("postgres:games@db", "has to be a URL such as postgresql://"),
    ],
)
async def test_what_is_wrong_with_a_url_is_told_precisely(url: str, told: str) -> None:
    """And nothing of it is repeated that may be a password."""
    with pytest.raises(JournalError) as error:
        async with journal_at(url):
            pass
    assert told in str(error.value)
    assert "sec" not in str(error.value)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///games",
        "postgres://db1:5433,[::1]:5434,[fe80::1]/games?target_session_attrs=primary&sslmode=verify-full",
        "postgresql://me:%40%2F%3A@db/games?port=5432",
        "postgresql://me@/games?host=/run/a:b",
        "postgresql://%2Frun%2Fpg/games",
    ],
)
def test_there_is_nothing_wrong_with_the_usual_urls(url: str) -> None:
    assert fault_in(url) is None


async def refused(url: str) -> str:
    """Return why no server starts with this database."""
    with pytest.raises(JournalError) as error:
        async with journal_at(url):
            pass
    return str(error.value)


@contextlib.asynccontextmanager
async def user(database: str, most_connections: int = -1, **settings: str) -> AsyncIterator[str]:
    """Add a user, who has few rights; yield the database's URL for them."""
    name = f"user_{uuid.uuid4().hex}"
    connection = await asyncpg.connect(database)
    try:
        await connection.execute(f"CREATE ROLE {name} LOGIN CONNECTION LIMIT {most_connections}")
        for setting, value in settings.items():
            await connection.execute(f"ALTER ROLE {name} SET {setting} = {value}")
        yield database.replace("//palatinus@", f"//{name}@")
        await connection.execute(f"DROP ROLE {name}")
    finally:
        await connection.close()


async def test_a_server_says_what_to_do_about_its_database(database: str) -> None:
    """Not to start it, when it runs: it may be a standby, lack rights, or be full."""
    assert "Make it with createdb" in await refused(database.replace("/postgres?", "/none?"))
    assert "Give its user the rights" in await refused(database.replace("//palatinus@", "//nobody_known@"))
    assert "append ?target_session_attrs=primary" in await refused(f"{database}&target_session_attrs=standby")
    async with user(database) as url:
        told = await refused(url)
        assert "permission denied for database postgres. Give its user the rights" in told
    async with user(database, most_connections=0) as url:
        assert "accepts no more connections: too many connections for role" in await refused(url)
    async with user(database, default_transaction_read_only="on") as url:
        assert "does not accept changes: cannot execute CREATE SCHEMA in a read-only" in await refused(url)


async def test_a_node_finds_the_primary_when_its_own_has_become_a_standby(database: str) -> None:
    """Even if the connection did not break: what takes no changes is asked for nothing more."""
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
        for line in (journal._lease.moves, journal._lease.rest):
            await line._connection.execute("SET default_transaction_read_only = on")
        with pytest.raises(NotStored, match="read-only"):
            await journal.append("ONCE", 1, [Hosted(0)])
        await eventually(lambda: journal._lease.moves._connection is not None)
        await journal.append("ONCE", 1, [Hosted(0)])


async def test_two_servers_of_one_name_are_told_to_have_two(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If both start at once, the earlier one does not: it would end the other."""
    begin = Line.begin

    async def begun(line: Line, term: int) -> None:
        await rows(database, "DELETE FROM node RETURNING term")
        later = "clock_timestamp() + interval '1 h'"
        insert = f"INSERT INTO node (name, address, expires) VALUES ('node', '', {later}) RETURNING term"  # noqa: S608 - ours
        await rows(database, insert)
        await begin(line, term)

    monkeypatch.setattr(Line, "begin", begun)
    assert "has since started under the name node. Give each server its own --node" in await refused(database)
