"""The journal in PostgreSQL: what is gone for a while, and why storage failed, in words without secrets."""

import asyncio
import contextlib
import os
import random
import re
import signal
import socket
import sqlite3
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import pytest

from protocol.admin import EveningPlan
from protocol.messages import StartGame
from server.app import running
from server.config import Config
from server.errors import CodeTaken, JournalError, NotStored, NotStoredNow, TableLost
from server.monitoring.logs import HumanFormatter
from server.net.event_loop import new_loop
from server.refusal import not_stored as refusal_of
from server.storage import commit_queue, reasons
from server.storage.archive_index import ArchivedGame
from server.storage.entries import (
    JOURNAL_VERSION,
    Entry,
    EveningBegun,
    EveningClosed,
    Hosted,
    Opened,
    Played,
)
from server.storage.journal import Journal
from server.storage.names import EVENING
from server.storage.postgresql import hand_over, lease, line, schema
from server.storage.postgresql import rows as stored
from server.storage.postgresql.database import Database, fault_in, not_stored, reason_of
from server.storage.postgresql.database_tables import DatabaseTables
from server.storage.postgresql.line import DatabaseLine
from server.storage.postgresql.schema import _STEPS
from server.storage.sqlite.journal_file import FILE_NAME
from tests.cases import cases
from tests.games import rest_slow
from tests.postgresql import CARELESS, Cluster, DatabaseRelay
from tests.server.peer import TIMEOUT, eventually, http_get
from tests.server.playing import check_views, game, play_on, table_of
from tests.server.storage.conformance.stores import (
    BUSY,
    PostgresStore,
    found,
    journal_at,
    rows,
    sqlite_journal,
)
from tests.server.storage.test_journal import resumed, table_facts

OPENED = Opened(2, random_layout=True, starting=None)
ENTRIES: list[Entry] = [OPENED, Hosted(0)]


async def make_schema(database: str, version: int, *others: str) -> None:
    """Make the schema as a version left it, and execute other statements there."""
    schema = f'CREATE SCHEMA "{Database(database).schema}"'
    now = f"UPDATE journal SET version = {version}"  # noqa: S608 - a number
    for statement in (schema, *_STEPS[:version], now, *others):
        await PostgresStore(database).execute(statement)


@pytest.mark.parametrize("version", rest_slow(*range(1, JOURNAL_VERSION)))
async def test_an_older_schema_is_brought_to_the_newest_version(database: str, version: int) -> None:
    await make_schema(database, version, "INSERT INTO game_table (code, place) VALUES ('ABCD', '!')")
    async with journal_at(database) as journal:
        await journal.append("EFGH", 0, [OPENED])
    assert await rows(database, "SELECT version FROM journal") == [(JOURNAL_VERSION,)]
    assert await rows(database, "SELECT code FROM game_table ORDER BY code") == [("ABCD",), ("EFGH",)]
    assert await rows(database, "SELECT count(*) FROM told") == [(0,)]


@pytest.mark.parametrize("version", [3, 4])
async def test_no_server_runs_beside_those_that_take_up_what_they_cannot_read(
    database: str, version: int
) -> None:
    """Where such ones have a lease, nothing is changed; and one that was asleep can begin no other."""
    node = "INSERT INTO node (name, address, expires) VALUES ('old', '', now() + interval '1 hour')"
    await make_schema(database, version, node)
    with pytest.raises(JournalError, match="Stop all of them"):
        async with journal_at(database):
            pass
    assert await rows(database, "SELECT version FROM journal") == [(version,)]
    await PostgresStore(database).execute("UPDATE node SET expires = now() - interval '1 hour'")
    async with journal_at(database):
        with pytest.raises(asyncpg.CheckViolationError):
            await PostgresStore(database).execute(node)


async def test_an_evening_that_was_a_table_is_none_any_more(database: str) -> None:
    """No server that knows it as a table runs beside this one; one that was asleep finds nothing for it."""
    entries: list[Entry] = [EveningBegun(EveningPlan("Friday")), EveningClosed()]
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, ENTRIES)
        await journal.append(EVENING, 0, entries)
    node = "INSERT INTO node (name, address, expires, version) VALUES ('old', '', now() + interval '1 h', 5)"
    for statement in (
        "UPDATE entry SET code = 'EVENING' WHERE code = 'evening'",
        "UPDATE game_table SET code = 'EVENING' WHERE code = 'evening'",
        "UPDATE game_table SET needs = 5",
        "UPDATE journal SET version = 5",
        node,
        "UPDATE game_table SET term = (SELECT term FROM node)",
    ):
        await PostgresStore(database).execute(statement)
    with pytest.raises(JournalError, match="Stop all of them"):
        async with journal_at(database):
            pass
    assert await rows(database, "SELECT version FROM journal") == [(5,)]
    await PostgresStore(database).execute("UPDATE node SET expires = now() - interval '1 hour'")
    async with journal_at(database) as journal:
        assert await journal.kept() == ({"ONCE": ENTRIES}, entries)
        await journal.append(EVENING, 2, [EveningClosed()])
    found = await rows(database, "SELECT code, needs, term FROM game_table ORDER BY code")
    assert sorted(found) == [("ONCE", JOURNAL_VERSION, None), (EVENING, JOURNAL_VERSION, None)]


@contextlib.contextmanager
def newer_version(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Have what begins in this context be of the next version of the journal."""
    with monkeypatch.context() as patch:
        for module in (schema, lease, stored, hand_over):
            patch.setattr(module, "JOURNAL_VERSION", JOURNAL_VERSION + 1)
        patch.setattr(schema, "_NEEDS", schema._NEEDS.replace(str(JOURNAL_VERSION), str(JOURNAL_VERSION + 1)))
        yield


async def test_a_server_leaves_tables_alone_that_a_newer_one_has_had(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It goes on with its own, takes up those of servers of its version, and does not start again."""
    nothing = Opened(2, random_layout=True, starting=None)
    async with journal_at(database, "old") as old, Database(database).connection() as connection:
        await old.append("MINE", 0, ENTRIES)
        async with journal_at(database, "other") as other:
            await other.append("OURS", 0, ENTRIES)
            with newer_version(monkeypatch):
                async with journal_at(database, "new") as new:
                    for code in ("NEWS", "PUTA"):
                        await new.append(code, 0, [nothing])
                    await new.archive("PUTA", ArchivedGame("", played=True))
        await PostgresStore(database).execute("""
            UPDATE entry SET body = replace(body, 'opened', 'invented') WHERE code = 'NEWS';
            UPDATE archive SET seal = '' WHERE code = 'PUTA';
        """)
        assert await lease.take_up(connection, old._lease.term) == ["OURS"]
        assert not await lease.tables_wait(connection, old._lease.term)
        await old.look_at_others(connection)
        for work in (old.archived_entries, old.bring_back, old.remove):
            with pytest.raises(TableLost):
                await work("PUTA")
        with pytest.raises(TableLost):
            await old.set_aside("NEWS", 0, "it makes no sense")
        await old.append("LATE", 0, ENTRIES)
        for code in ("MINE", "LATE"):
            await old.archive(code, ArchivedGame("", played=True))
            await old.bring_back(code)
        with pytest.raises(JournalError, match="was written by a newer Palatinus"):
            async with journal_at(database, "late"):
                pass
        with pytest.raises(JournalError, match="no journal of this version"):
            await asyncio.to_thread(DatabaseTables(database).tables)
    places = set(await rows(database, "SELECT code, place FROM game_table"))
    assert places == {("MINE", "="), ("OURS", "="), ("LATE", "="), ("NEWS", "="), ("PUTA", "~")}
    with newer_version(monkeypatch):
        async with journal_at(database, "new") as new:
            assert {"MINE", "OURS", "LATE"} <= (await new.kept()).tables.keys()


async def test_a_server_that_stops_gives_nothing_to_an_older_one(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with journal_at(database, "old", "ws://old"):
        with newer_version(monkeypatch):
            async with journal_at(database, "new", "ws://new") as new:
                departure = await new.leave()
                assert departure.address() is None
                departure.close()


@pytest.mark.slow
async def test_servers_that_start_at_once_agree_on_the_schema(database: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        journals = await asyncio.gather(
            *(stack.enter_async_context(journal_at(database, f"node {number}")) for number in range(5))
        )
        assert len({journal._lease.term for journal in journals}) == 5
        for number, journal in enumerate(journals):
            await journal.append(f"TAB{number}", 0, ENTRIES)
        for number, journal in enumerate(journals):
            assert (await journal.kept()).tables == {f"TAB{number}": ENTRIES}
        assert len(await rows(database, "SELECT version FROM journal")) == 1


async def test_a_code_is_taken_on_all_servers(database: str) -> None:
    async with journal_at(database, "one") as one, journal_at(database, "two") as two:
        await one.append("ONCE", 0, ENTRIES)
        outcomes = await asyncio.gather(
            two.append("ONCE", 0, [OPENED]), two.append("ELSE", 0, [OPENED]), return_exceptions=True
        )
        assert [type(each) for each in outcomes] == [CodeTaken, type(None)]
        assert (await one.kept()).tables == {"ONCE": ENTRIES}
        await one.archive("ONCE", ArchivedGame("", played=True))
        with pytest.raises(CodeTaken):
            await two.append("ONCE", 0, [OPENED])
        assert await two.storing()


async def test_a_server_whose_lease_was_ended_stores_nothing(database: str) -> None:
    async with journal_at(database) as late:
        await late.append("ONCE", 0, ENTRIES)
        async with journal_at(database) as other:
            assert (await other.kept()).tables == {"ONCE": ENTRIES}
            for work in (
                late.append("ONCE", 2, [Hosted(1)]),
                late.append("NEW", 0, ENTRIES),
                late.shorten("ONCE", lambda _: [0]),
                late.archive("ONCE", ArchivedGame("", played=True)),
                late.set_aside("ONCE", 1, "because"),
            ):
                with pytest.raises(TableLost):
                    await work
            await other.append("ONCE", 2, [Hosted(1)])
            assert (await other.kept()).tables == {"ONCE": [*ENTRIES, Hosted(1)]}


async def test_the_archive_is_known_as_others_have_left_it(database: str) -> None:
    """A table brought back at once is archived no more, though the archive looks as it was looked at last.

    A full archive removes the oldest first, whichever server has archived them.
    """
    codes = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"]
    async with (
        Database(database).connection() as connection,
        journal_at(database, "one") as one,
        journal_at(database, "two") as two,
    ):
        await one.append("ONCE", 0, ENTRIES)
        await one.look_at_others(connection)
        await one.archive("ONCE", ArchivedGame("", played=True))
        await two.look_at_others(connection)
        await two.bring_back("ONCE")
        await one.look_at_others(connection)
        assert not one.archived
        for code in codes:
            await one.append(code, 0, ENTRIES)
            await one.archive(code, ArchivedGame("", played=True))
        await two.look_at_others(connection)
        assert list(two.archived) == codes


async def test_a_table_just_taken_is_neither_restored_nor_removed(database: str) -> None:
    """Whoever asked learns so, and not that the journal is damaged, or that it was done."""
    async with journal_at(database, "one") as one, journal_at(database, "two") as two:
        await one.append("ONCE", 0, ENTRIES)
        await one.archive("ONCE", ArchivedGame("", played=True))
        await two.bring_back("ONCE")
        with pytest.raises(TableLost, match="another server has taken table ONCE up"):
            await one.remove("ONCE")
        await two.set_aside("ONCE", 1, "because")
        await two.restore("ONCE", 1)
        with pytest.raises(TableLost, match="another server has taken table ONCE up"):
            await one.restore("ONCE", 1)
        assert (await two.kept()).tables == {"ONCE": ENTRIES[:1]}


@pytest.fixture
def short_interruption(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let an interruption count as short however long a busy machine takes for it."""
    monkeypatch.setattr(line, "_BLIP_SECONDS", TIMEOUT)


@pytest.mark.usefixtures("short_interruption")
async def test_an_interruption_refuses_only_what_comes_long_after_it_began(
    database: str, socket_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As when PostgreSQL is started again; its end brings the game back as it was."""
    async with DatabaseRelay(database, socket_folder).running() as relay, journal_at(relay.url) as journal:
        await journal.append("ONCE", 0, [OPENED])
        relay.refuses = True
        relay.cut()
        await eventually(lambda: not journal._lease.moves._up.is_set())
        with monkeypatch.context() as later:
            later.setattr(line, "_BLIP_SECONDS", 0)
            with pytest.raises(NotStored):
                await journal.append("ONCE", 1, [Hosted(1)])
        relay.refuses = False
        await journal.append("ONCE", 1, [Hosted(0)])
        assert (await journal.kept()).tables == {"ONCE": ENTRIES}


@pytest.mark.usefixtures("short_interruption")
async def test_a_connection_is_made_again_each_time_that_it_is_lost(
    database: str, socket_folder: Path
) -> None:
    async with DatabaseRelay(database, socket_folder).running() as relay, journal_at(relay.url) as journal:
        await journal.append("ONCE", 0, [OPENED])
        for number in (1, 2):
            relay.refuses = True
            relay.cut()
            await eventually(lambda: not journal._lease.moves._up.is_set())
            relay.refuses = False
            await journal.append("ONCE", number, [Hosted(number % 2)])


@pytest.mark.usefixtures("short_interruption")
async def test_a_commit_whose_answer_is_lost_is_told_as_stored(database: str, socket_folder: Path) -> None:
    """The server looks whether it is there before it tells anybody anything."""
    async with DatabaseRelay(database, socket_folder).running() as relay, journal_at(relay.url) as journal:
        await journal.append("ONCE", 0, [OPENED])
        relay.answers, relay.refuses = False, True
        appending = asyncio.create_task(journal.append("ONCE", 1, [Hosted(0)]))
        changing = asyncio.create_task(journal.record_written("NONE"))
        await found(database, "SELECT FROM entry", 2)
        relay.cut()
        await asyncio.sleep(0.1)
        assert not appending.done()
        relay.answers, relay.refuses = True, False
        await appending
        with contextlib.suppress(NotStored):
            await changing
        await journal.append("ONCE", 2, [Hosted(1)])
        assert (await journal.kept()).tables == {"ONCE": [*ENTRIES, Hosted(1)]}
        assert journal.not_stored <= 1


@pytest.mark.usefixtures("short_interruption")
async def test_a_refusal_does_not_settle_a_commit_in_doubt(database: str, socket_folder: Path) -> None:
    """The attempt whose answer is lost may still be stored, so nobody is told that the move is not."""
    async with DatabaseRelay(database, socket_folder).running() as relay, journal_at(relay.url) as journal:
        await journal.append("ONCE", 0, [OPENED])
        line = journal._lease.moves
        store = PostgresStore(database)
        own, full = line._connection.get_server_pid(), "RAISE EXCEPTION 'full' USING ERRCODE = '53100'"
        await store.execute(refusing(f"IF pg_backend_pid() <> {own} THEN {full}; END IF"))
        async with store.locked("entry"):
            appending = asyncio.create_task(journal.append("ONCE", 1, [Hosted(0)]))
            await found(database, BUSY)
            attempts = line.round_trips
            relay.cut()
        await eventually(lambda: line.round_trips > attempts + 1)  # the second attempt was refused
        assert not appending.done()
        await store.execute("DROP TRIGGER refused ON entry")
        await appending
        assert (await journal.kept()).tables == {"ONCE": ENTRIES}
        assert journal.not_stored == 0


async def test_storing_means_that_moves_can_be_stored(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the database has no room for entries, what is smaller than a move proves nothing."""
    monkeypatch.setattr(commit_queue, "_SECONDS_BETWEEN_PROBES", 0.0)
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
        store = PostgresStore(database)
        await store.execute(refusing("RAISE EXCEPTION 'full' USING ERRCODE = '53100'"))
        with pytest.raises(NotStored):
            await journal.append("ONCE", 1, [Hosted(0)])
        for _ in range(3):
            assert not await journal.storing()
        await store.execute("DROP TRIGGER refused ON entry")
        assert await journal.storing()
        assert await rows(database, "SELECT count(*) FROM entry") == [(1,)]


@pytest.mark.usefixtures("short_interruption")
async def test_what_the_old_connection_still_brings_is_not_accepted(database: str) -> None:
    """A commit that was on its way for long comes after it was stored on another connection."""
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
        end = journal._queue.in_use["ONCE"].link.hex()
        late = (
            f"SELECT append_entries({journal._lease.term}, '{{}}', '{{ONCE}}', '{{1}}',"
            f" ARRAY['\\x{end}'::bytea], '{{ONCE}}',"
            " '{1}', '{x}', ARRAY['\\x00'::bytea], 1, '{}', '{}', '{}')"
        )
        await journal.append("ONCE", 1, [Hosted(0)])
        with pytest.raises(asyncpg.UniqueViolationError):
            await rows(database, late)
        assert (await journal.kept()).tables == {"ONCE": ENTRIES}


@pytest.mark.usefixtures("short_interruption")
async def test_a_database_that_has_lost_commits_is_noticed(database: str) -> None:
    """As after a failover to a standby that had not everything: nothing is built upon what is gone."""
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
        await journal.append("ONCE", 1, [Hosted(0)])
        await rows(database, "DELETE FROM entry WHERE number = 1 RETURNING code")
        with pytest.raises(TableLost, match="the database has lost changes"):
            await journal.append("ONCE", 2, [Hosted(1)])


@pytest.mark.parametrize(("url", "shown"), cases(__file__, "urls"))
def test_there_is_nothing_wrong_with_the_usual_urls(url: str, shown: str) -> None:
    """Of which only the place is shown."""
    assert str(Database(url)) == shown
    assert (fault_in(url) is None) == ("12/secret" not in url)


async def test_a_database_of_others_is_refused(database: str) -> None:
    async with journal_at(database):
        pass
    newer = "UPDATE journal SET version = 99", "newer Palatinus"
    for statement, told in (newer, ("DROP TABLE journal", "not a Palatinus journal")):
        await PostgresStore(database).execute(statement)
        assert told in await refused(database)


@pytest.fixture
def pair(socket_folder: Path) -> Iterator[tuple[Cluster, Cluster]]:
    """Return a primary that commits nothing before its standby has it, and this standby."""
    primary, standby = Cluster(socket_folder / "one"), Cluster(socket_folder / "two")
    primary.make()
    primary.start(*CARELESS, "-c", "synchronous_standby_names=*")
    standby.make_standby(primary)
    standby.start(*CARELESS)
    yield primary, standby
    for server in (primary, standby):
        with contextlib.suppress(Exception):  # the test has killed it
            server.stop()


@pytest.mark.slow
async def test_games_go_on_after_a_failover_to_a_synchronous_standby(pair: tuple[Cluster, Cluster]) -> None:
    """Nothing that anybody was told is lost with the primary, and a node finds the new one automatically."""
    primary, standby = pair
    chooser = random.Random(1)
    config = Config(database=primary.url_with(standby), node="attic", durable="full", watched=True)
    async with running(config) as server, game(server.port, 2, watched=True) as peers:
        await play_on(peers, chooser, moves=3)
        before = table_facts(table_of(server, peers).state)
        os.kill(primary.pid, signal.SIGKILL)
        await asyncio.to_thread(standby.promote)
        async with asyncio.timeout(TIMEOUT):
            while (await http_get(server.port, "/healthz"))[0] != 200:  # noqa: ASYNC110 - it announces nothing
                await asyncio.sleep(0.05)
        assert table_facts(table_of(server, peers).state) == before
        await play_on(peers, chooser, moves=2)
        check_views(table_of(server, peers), peers)
        before = table_facts(table_of(server, peers).state)
    async with running(config) as server, resumed(server.port, *peers) as again:
        assert table_facts(table_of(server, again).state) == before


async def refused(url: str) -> str:
    """Return why no server starts with this database."""
    with pytest.raises(JournalError) as error:
        async with journal_at(url):
            pass
    return str(error.value)


HIDDEN = "Em*"
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
        lambda journal: journal.kept(),
    ],
    ids=["read", "shorten", "archive", "read all"],
)
async def test_what_sqlite_cannot_decode_is_in_no_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, work: Callable[[Journal], Awaitable[object]]
) -> None:
    """The file is damaged while the server runs, and Python's module quotes the text that is not UTF-8."""
    async with sqlite_journal(tmp_path) as journal:
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


NOBODY_THERE = ConnectionRefusedError(111, "Connect call failed ('::1', 5432, 0, 0)")


@pytest.mark.parametrize(
    ("error", "said", "reason"),
    [
        (NOBODY_THERE, "nothing answers at", "there"),
        (OSError("Multiple exceptions: [Errno 111] Connect call failed"), "nothing answers at", "there"),
        (FileNotFoundError(2, "No such file"), "nothing answers at", "there"),
        (TimeoutError(), "does not answer in time", "does not answer in time"),
        (socket.gaierror(-2, "Name or service not known"), "cannot find the database", "has this name"),
        (PermissionError(13, "Permission denied"), "cannot use the database", "Permission denied"),
    ],
)
def test_a_database_that_cannot_be_reached(error: OSError, said: str, reason: str) -> None:
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
    failed = not_stored("{reason}", error)
    assert isinstance(failed, NotStoredNow) == passes
    assert ("Try again in a moment." in str(refusal_of(failed))) == passes


def test_an_error_in_the_event_loop_is_logged_without_its_text(caplog: pytest.LogCaptureFixture) -> None:
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


@pytest.mark.parametrize(("url", "told"), cases(__file__, "bad_urls"))
async def test_what_is_wrong_with_a_url_is_told_precisely(url: str, told: str) -> None:
    error = await refused(url.replace("AS", "postgresql://me:sec%2Fret@db"))
    assert told in error
    assert "sec" not in error


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
        node = f"('node', '', {later}, {JOURNAL_VERSION})"
        insert = f"INSERT INTO node (name, address, expires, version) VALUES {node} RETURNING term"  # noqa: S608 - ours
        await rows(database, insert)
        await begin(line, term)

    monkeypatch.setattr(DatabaseLine, "begin", begun)
    assert "has since started under the name node. Give each server its own --node" in await refused(database)


def test_a_code_of_a_newer_sqlite_is_told_by_what_is_known_of_it() -> None:
    """Python calls such codes unknown."""
    error = sqlite3.OperationalError(HIDDEN)
    error.sqlite_errorcode, error.sqlite_errorname = 0x7F << 8 | sqlite3.SQLITE_IOERR, "unknown"
    assert reasons.reason_of(error) == "the disk reports an error"
