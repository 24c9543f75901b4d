"""Why storage failed: a library's text may repeat a piece, so none reaches a log or anybody else."""

import asyncio
import contextlib
import re
import socket
import sqlite3
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from protocol.messages import StartGame
from server.errors import JournalError, NotStored, NotStoredNow
from server.monitoring.logs import HumanFormatter
from server.net.event_loop import new_loop
from server.refusal import not_stored as refusal_of
from server.storage import reasons
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, Hosted, Opened, Played
from server.storage.journal import Journal
from server.storage.postgresql.database import Database, fault_in, not_stored, reason_of
from server.storage.postgresql.line import DatabaseLine
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from tests.server.peer import eventually
from tests.server.storage.conformance.stores import PostgresStore, journal_at, rows


async def refused(url: str) -> str:
    """Return why no server starts with this database."""
    with pytest.raises(JournalError) as error:
        async with journal_at(url):
            pass
    return str(error.value)


HIDDEN = "Em*"
OPENED = Opened(2, random_layout=True, starting=None)
PLACED = Played(0, StartGame(1), [{"t": "placed", "seat": 0, "piece": HIDDEN, "field": "A1"}])
INSERT = "INSERT INTO entry VALUES ('ONCE', 1, 'Em*', 1, '')"


def refused_with(kind: type[asyncpg.PostgresError]) -> asyncpg.PostgresError:
    """Return an error with which PostgreSQL has undone a transaction."""
    error = kind("no")
    error.severity_en = "ERROR"
    return error


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return the lines of the log, as the server writes them."""
    return "\n".join(map(HumanFormatter().format, caplog.records))


def refusing(what: str) -> str:
    """Return statements after which each new entry runs into `what`."""
    return (
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN {what}; RETURN NEW; END $$;"
        "CREATE TRIGGER refused BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION refuse()"
    )


@pytest.mark.parametrize(
    ("statements", "kind", "quoted"),
    [
        ("ALTER TABLE entry ADD CHECK (number < 1)", "CheckViolationError, 23514", "detail"),
        (refusing("PERFORM NEW.body::integer"), "InvalidTextRepresentationError, 22P02", "message"),
        (refusing("RAISE EXCEPTION 'wrong: %', NEW.body"), "RaiseError, P0001", "message"),
    ],
    ids=["in a detail", "in the message", "by a trigger"],
)
async def test_what_postgresql_quotes_is_in_no_line(
    database: str, caplog: pytest.LogCaptureFixture, statements: str, kind: str, quoted: str
) -> None:
    """Its own text has the piece; ours has the kind of error and its number."""
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
        await PostgresStore(database).execute(statements)
        with pytest.raises(NotStored) as refused:
            await journal.append("ONCE", 1, [PLACED])
        with pytest.raises(asyncpg.PostgresError) as error:
            await PostgresStore(database).execute(INSERT)
        assert HIDDEN in str(getattr(error.value, quoted))
        assert f"the database refuses it ({kind})" in str(refused.value)
        assert f"({kind})" in logged(caplog)
        assert HIDDEN not in logged(caplog) + str(refused.value)


async def test_what_cannot_be_sent_is_in_no_line(database: str, caplog: pytest.LogCaptureFixture) -> None:
    """The library quotes the value that it cannot encode."""
    value = 2**70
    async with journal_at(database) as journal:
        with pytest.raises(NotStored) as refused:
            await journal.append("ONCE", 0, [OPENED], value)
        assert "DataError" in str(refused.value)
        assert str(value)[:9] not in logged(caplog) + str(refused.value)
        await journal.append("NEXT", 0, [OPENED])


@pytest.mark.parametrize(
    "work",
    [
        lambda journal: journal.entries("ONCE"),
        lambda journal: journal.shorten("ONCE", lambda entries: list(range(len(entries)))),
        lambda journal: journal.archive("ONCE", ArchivedGame("somebody", played=True)),
        lambda journal: journal.tables(),
    ],
    ids=["read", "shorten", "archive", "read all"],
)
async def test_what_sqlite_cannot_decode_is_in_no_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, work: Callable[[Journal], Awaitable[object]]
) -> None:
    """The file is damaged while the server runs, and Python's module quotes the text that is not UTF-8."""
    journal = SqliteJournal(tmp_path)
    try:
        await journal.append("ONCE", 0, [OPENED, PLACED])
        with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as database, database:
            database.execute(
                "UPDATE entry SET body = CAST(CAST(body AS BLOB) || x'ff' AS TEXT) WHERE number = 1"
            )
            with pytest.raises(sqlite3.OperationalError, match=r"Em\*"):
                database.execute("SELECT body FROM entry").fetchall()
        with pytest.raises(JournalError) as refused:
            await work(journal)
        assert "OperationalError" in str(refused.value)
        assert HIDDEN not in logged(caplog) + str(refused.value)
    finally:
        await journal.close()


@pytest.mark.parametrize(
    ("error", "said", "reason"),
    [
        (
            ConnectionRefusedError(111, "Connect call failed ('::1', 5432, 0, 0)"),
            "nothing answers at",
            "there",
        ),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), "nothing answers at", "there"),
        (FileNotFoundError(2, "No such file"), "nothing answers at", "there"),
        (TimeoutError(), "does not answer in time", "does not answer in time"),
        (socket.gaierror(-2, "Name or service not known"), "cannot find the database", "has this name"),
        (PermissionError(13, "Permission denied"), "cannot use the database", "Permission denied"),
    ],
)
def test_a_database_that_cannot_be_reached(error: OSError, said: str, reason: str) -> None:
    """Not in those of Python's library, which are about its calls."""
    sentence = str(Database("postgresql://me:secret@host/games").unusable(error))
    assert said in sentence
    assert "host/games" in sentence
    assert reason_of(error).endswith(reason)
    assert not re.search("secret|Errno|exceptions|call failed|service", sentence + reason_of(error))


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionResetError(104, "Connection reset by peer"), True),
        (asyncpg.InterfaceError("connection is closed"), True),
        (refused_with(asyncpg.ReadOnlySQLTransactionError), True),
        (refused_with(asyncpg.AdminShutdownError), True),
        (refused_with(asyncpg.DiskFullError), False),
        (refused_with(asyncpg.InsufficientPrivilegeError), False),
    ],
)
def test_a_database_that_is_expected_back(error: Exception, passes: bool) -> None:
    """After a restart or a failover all goes on; for a full disk, somebody has to do something."""
    failed = not_stored("{reason}", error)
    assert isinstance(failed, NotStoredNow) == passes
    assert ("Try again in a moment." in str(refusal_of(failed))) == passes


def test_an_error_in_the_event_loop_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the text of the error nor the arguments of the callback are in the log."""

    def fails(entry: Entry) -> None:
        raise KeyError(str(entry))

    async def main() -> None:
        asyncio.get_running_loop().call_soon(fails, PLACED)
        lost = asyncio.get_running_loop().create_future()
        lost.set_exception(KeyError(HIDDEN))
        del lost
        await asyncio.sleep(0)

    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(main())
    assert "KeyError at fails" in logged(caplog)
    assert "never retrieved" in logged(caplog)
    assert HIDDEN not in logged(caplog)


# -- what is wrong with a database, or its URL, is one sentence that says what to do, without a password ---


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
        *(
            (url, "has to be a URL such as postgresql://")
            for url in ("postgres:games@db", "games", "mysql://me:sec/ret@db/games", "postgresql://[")
        ),
    ],
)
async def test_what_is_wrong_with_a_url_is_told_precisely(url: str, told: str) -> None:
    """And nothing of it is repeated that may be a password."""
    error = await refused(url)
    assert told in error
    assert "sec" not in error


@pytest.mark.parametrize(
    "url",
    [
        "postgresql:///games",
        "postgres://[::1]:5434,[fe80::1],db1:5433/games?target_session_attrs=primary&sslmode=verify-full",
        "postgresql://me:%40%2F%3A@db/games?port=5432",
        "postgresql://me@/games?host=/run/a:b",
        "postgresql://%2Frun%2Fpg/games",
    ],
)
def test_there_is_nothing_wrong_with_the_usual_urls(url: str) -> None:
    assert fault_in(url) is None


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


async def test_two_servers_of_one_name(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If both start at once, the earlier one does not: it would end the other."""
    begin = DatabaseLine.begin

    async def begun(line: DatabaseLine, term: int) -> None:
        await rows(database, "DELETE FROM node RETURNING term")
        later = "clock_timestamp() + interval '1 h'"
        insert = f"INSERT INTO node (name, address, expires) VALUES ('node', '', {later}) RETURNING term"  # noqa: S608 - ours
        await rows(database, insert)
        await begin(line, term)

    monkeypatch.setattr(DatabaseLine, "begin", begun)
    assert "has since started under the name node. Give each server its own --node" in await refused(database)


def test_a_code_of_a_newer_sqlite_is_told_by_what_is_known_of_it() -> None:
    """Python calls such codes unknown."""
    error = sqlite3.OperationalError(HIDDEN)
    error.sqlite_errorcode, error.sqlite_errorname = 0x7F << 8 | sqlite3.SQLITE_IOERR, "unknown"
    assert reasons.reason_of(error) == "the disk reports an error"
