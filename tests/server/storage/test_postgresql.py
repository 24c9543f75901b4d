"""The journal in PostgreSQL: what happens when the database, a connection or a server is gone for a while."""

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest

from server.app import running
from server.config import Config
from server.errors import CodeTaken, JournalError, NotStored, TableLost
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, Hosted, Opened
from server.storage.postgresql import line
from server.storage.postgresql.database import Database
from server.storage.postgresql.schema import _STEPS, SCHEMA_VERSION
from tests.postgresql import CARELESS, Cluster, DatabaseRelay
from tests.server.peer import TIMEOUT, check_views, eventually, game, http_get, play_on, table_of
from tests.server.storage.conformance.stores import BUSY, PostgresStore, found, journal_at, rows
from tests.server.storage.test_journal import resumed, table_facts

OPENED = Opened(2, random_layout=True, starting=None)
ENTRIES: list[Entry] = [OPENED, Hosted(0)]


async def make_schema(database: str, version: int, *others: str) -> None:
    """Make the schema as a version left it, and execute other statements there."""
    schema = f'CREATE SCHEMA "{Database(database).schema}"'
    now = f"UPDATE journal SET version = {version}"  # noqa: S608 - a number
    for statement in (schema, *_STEPS[:version], now, *others):
        await PostgresStore(database).execute(statement)


@pytest.mark.parametrize("version", range(1, SCHEMA_VERSION))
async def test_an_older_schema_is_brought_to_the_newest_version(database: str, version: int) -> None:
    """With what is in it."""
    await make_schema(database, version, "INSERT INTO game_table (code, place) VALUES ('ABCD', '!')")
    async with journal_at(database) as journal:
        await journal.append("EFGH", 0, [OPENED])
    assert await rows(database, "SELECT version FROM journal") == [(SCHEMA_VERSION,)]
    assert await rows(database, "SELECT code FROM game_table ORDER BY code") == [("ABCD",), ("EFGH",)]
    assert await rows(database, "SELECT count(*) FROM told") == [(0,)]


@pytest.mark.parametrize("version", [SCHEMA_VERSION - 2, SCHEMA_VERSION - 1])
async def test_only_nodes_of_the_version_before_go_on_beside_this_one(database: str, version: int) -> None:
    """Where older ones still have a lease, nothing is changed."""
    node = "INSERT INTO node (name, address, expires) VALUES ('old', '', now() + interval '1 hour')"
    await make_schema(database, version, node)
    too_old = version < SCHEMA_VERSION - 1
    with pytest.raises(JournalError, match="Stop all of them") if too_old else contextlib.nullcontext():
        async with journal_at(database):
            pass
    newest = version if too_old else SCHEMA_VERSION
    assert await rows(database, "SELECT version FROM journal") == [(newest,)]


@pytest.mark.slow
async def test_servers_that_start_at_once_agree_on_the_schema(database: str) -> None:
    """One of them makes it; each has a term of its own, and nobody has another's tables."""
    async with contextlib.AsyncExitStack() as stack:
        journals = await asyncio.gather(
            *(stack.enter_async_context(journal_at(database, f"node {number}")) for number in range(5))
        )
        assert len({journal._lease.term for journal in journals}) == 5
        for number, journal in enumerate(journals):
            await journal.append(f"TAB{number}", 0, ENTRIES)
        for number, journal in enumerate(journals):
            assert await journal.tables() == {f"TAB{number}": ENTRIES}
        assert len(await rows(database, "SELECT version FROM journal")) == 1


async def test_a_code_is_taken_on_all_servers(database: str) -> None:
    """Nothing of the other table changes, and what others append in the same turn is stored."""
    async with journal_at(database, "one") as one, journal_at(database, "two") as two:
        await one.append("ONCE", 0, ENTRIES)
        outcomes = await asyncio.gather(
            two.append("ONCE", 0, [OPENED]), two.append("ELSE", 0, [OPENED]), return_exceptions=True
        )
        assert [type(each) for each in outcomes] == [CodeTaken, type(None)]
        assert await one.tables() == {"ONCE": ENTRIES}
        await one.archive("ONCE", ArchivedGame("", played=True))
        with pytest.raises(CodeTaken):
            await two.append("ONCE", 0, [OPENED])
        assert await two.storing()


async def test_a_server_whose_lease_was_ended_stores_nothing(database: str) -> None:
    """Another one has its tables; whatever it still tries is refused, and it learns that they are lost."""
    async with journal_at(database) as late:
        await late.append("ONCE", 0, ENTRIES)
        async with journal_at(database) as other:
            assert await other.tables() == {"ONCE": ENTRIES}
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
            assert await other.tables() == {"ONCE": [*ENTRIES, Hosted(1)]}


async def test_a_table_that_another_server_brings_back_at_once_is_archived_no_more(database: str) -> None:
    """Though size and last rank of the archive are what they were when it was last looked at."""
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


async def test_games_that_others_archived_are_known_from_the_oldest_on(database: str) -> None:
    """A full archive removes the oldest first, whichever server has archived them."""
    codes = ["ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX"]
    async with (
        Database(database).connection() as connection,
        journal_at(database, "one") as one,
        journal_at(database, "two") as two,
    ):
        for code in codes:
            await one.append(code, 0, ENTRIES)
            await one.archive(code, ArchivedGame("", played=True))
        await two.look_at_others(connection)
        assert list(two.archived) == codes


async def test_a_table_just_taken_is_neither_restored_nor_removed(
    database: str,
) -> None:
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
        assert await two.tables() == {"ONCE": ENTRIES[:1]}


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
        assert await journal.tables() == {"ONCE": ENTRIES}


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
        assert await journal.tables() == {"ONCE": [*ENTRIES, Hosted(1)]}
        assert journal.not_stored <= 1


@pytest.mark.usefixtures("short_interruption")
async def test_a_refusal_does_not_settle_a_commit_in_doubt(database: str, socket_folder: Path) -> None:
    """The attempt whose answer is lost may still be stored, so nobody is told that the move is not."""
    async with DatabaseRelay(database, socket_folder).running() as relay, journal_at(relay.url) as journal:
        await journal.append("ONCE", 0, [OPENED])
        line = journal._lease.moves
        store = PostgresStore(database)
        await store.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF pg_backend_pid() <> {line._connection.get_server_pid()} THEN"
            " RAISE EXCEPTION 'the disk is full' USING ERRCODE = '53100'; END IF; RETURN NEW; END $$;"
            "CREATE TRIGGER refuse BEFORE INSERT ON entry FOR EACH ROW EXECUTE FUNCTION refuse()"
        )
        async with store.locked("entry"):
            appending = asyncio.create_task(journal.append("ONCE", 1, [Hosted(0)]))
            await found(database, BUSY)
            attempts = line.round_trips
            relay.cut()
        await eventually(lambda: line.round_trips > attempts + 1)  # the second attempt was refused
        assert not appending.done()
        await store.execute("DROP TRIGGER refuse ON entry")
        await appending
        assert await journal.tables() == {"ONCE": ENTRIES}
        assert journal.not_stored == 0


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
        assert await journal.tables() == {"ONCE": ENTRIES}


@pytest.mark.usefixtures("short_interruption")
async def test_a_database_that_has_lost_commits_is_noticed(database: str) -> None:
    """As after a failover to a standby that had not everything: nothing is built upon what is gone."""
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
        await journal.append("ONCE", 1, [Hosted(0)])
        await rows(database, "DELETE FROM entry WHERE number = 1 RETURNING code")
        with pytest.raises(TableLost, match="the database has lost changes"):
            await journal.append("ONCE", 2, [Hosted(1)])


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@db.example.org:5432/games?sslmode=require", "db.example.org:5432/games"),
        ("postgresql://me:12/secret@db/games", "db/games"),
        ("postgresql://me@db1,db2/games", "db1,db2/games"),
        ("postgresql://me@/games?host=/run", "localhost/games"),
        ("postgresql:///games", "localhost/games"),
    ],
)
def test_of_a_url_only_the_place_is_shown(url: str, shown: str) -> None:
    assert str(Database(url)) == shown


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("UPDATE journal SET version = 99", "newer Palatinus"),
        ("DROP TABLE journal", "not a Palatinus journal"),
    ],
)
async def test_a_database_of_others_is_refused(database: str, statement: str, told: str) -> None:
    """It is not changed."""
    async with journal_at(database):
        pass
    await PostgresStore(database).execute(statement)
    with pytest.raises(JournalError, match=told):
        async with journal_at(database):
            pass


# -- postgreSQL's primary is lost, and a standby takes its place -----------------------------------------


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
