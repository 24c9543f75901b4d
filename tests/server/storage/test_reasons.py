"""Why storage failed: a library's text may repeat a piece, so none reaches a log or anybody else."""

import asyncio
import contextlib
import re
import socket
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import asyncpg
import pytest

from protocol.messages import StartGame
from server.errors import JournalError, NotStored, NotStoredNow
from server.event_loop import new_loop
from server.logs import HumanFormatter
from server.refusal import not_stored as refusal_of
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, Opened, Played
from server.storage.journal import Journal
from server.storage.postgresql.database import Database, WrongUrl, not_stored, reason_of
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from tests.server.storage.conformance.stores import journal_at

HIDDEN = "Em*"
OPENED = Opened(2, random_layout=True, starting=None)
PLACED = Played(0, StartGame(1), [{"t": "placed", "seat": 0, "piece": HIDDEN, "field": "A1"}])
INSERT = "INSERT INTO entry VALUES ('ONCE', 1, 'Em*', 1, '')"
GAME = ArchivedGame("somebody", played=True)


def refused_with(kind: type[asyncpg.PostgresError]) -> asyncpg.PostgresError:
    """Return an error with which PostgreSQL has undone a transaction."""
    error = kind("no")
    error.severity_en = "ERROR"
    return error


def logged(caplog: pytest.LogCaptureFixture) -> str:
    """Return the lines of the log, as the server writes them."""
    return "\n".join(map(HumanFormatter().format, caplog.records))


async def executed(url: str, statements: str) -> None:
    connection = await Database(url).connect()
    try:
        await connection.execute(statements)
    finally:
        await connection.close()


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
        await executed(database, statements)
        with pytest.raises(NotStored) as refused:
            await journal.append("ONCE", 1, [PLACED])
        with pytest.raises(asyncpg.PostgresError) as error:
            await executed(database, INSERT)
        assert HIDDEN in str(getattr(error.value, quoted))
        assert f"the database refuses it ({kind})" in str(refused.value)
        assert f"({kind})" in logged(caplog)
        assert HIDDEN not in logged(caplog) + str(refused.value)


async def test_what_cannot_be_sent_to_postgresql_is_in_no_line(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The library quotes the value that it cannot encode."""
    value = 2**70
    async with journal_at(database) as journal:
        with pytest.raises(NotStored) as refused:
            await journal.append_last("ONCE", 0, [OPENED], value)
        assert "DataError" in str(refused.value)
        assert str(value)[:9] not in logged(caplog) + str(refused.value)
        await journal.append("NEXT", 0, [OPENED])


async def read_again(journal: Journal) -> object:
    return await journal.entries("ONCE")


async def shortened(journal: Journal) -> object:
    return await journal.shorten("ONCE", lambda entries: list(range(len(entries))))


async def archived(journal: Journal) -> None:
    await journal.archive("ONCE", GAME)


async def all_tables(journal: Journal) -> object:
    return await journal.tables()


@pytest.mark.parametrize("work", [read_again, shortened, archived, all_tables])
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
    "url",
    ["postgresql://me:secret/9@host/games", "me:secret@host/games", "postgresql://me@host:secret/games"],
)
async def test_a_url_that_makes_no_sense_is_not_repeated(url: str) -> None:
    """What is taken for the port may be a part of the password."""
    with pytest.raises(WrongUrl) as error:
        await Database(url).connect()
    assert "secret" not in reason_of(error.value)
    unusable = str(Database(url).unusable(error.value))
    assert "postgresql://" in unusable
    assert "secret" not in unusable


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
def test_a_database_that_cannot_be_reached_is_told_in_our_words(
    error: OSError, said: str, reason: str
) -> None:
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
