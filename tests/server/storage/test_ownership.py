"""Tables belong to one server at a time: one that slept, or was cut off, tells nobody anything."""

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import AsyncMock, Mock

import asyncpg
import pytest
from asyncpg.transaction import Transaction

from client.network.connection import open_connection as client_at
from client.network.transport import RequestRefused, ServerAccess, ServerAddress, Timeouts, elsewhere
from engine.pieces import Seat
from protocol import messages
from protocol.codes import Code
from server.app import running
from server.config import Config
from server.errors import NotStoredNow, TableLost
from server.net.tokens import token_hash
from server.refusal import Refusal
from server.storage.entries import GivenToBot, Hosted, Opened
from server.storage.postgresql import held_lease, lease
from server.storage.postgresql.database import Database
from server.storage.postgresql.journal import PostgresJournal
from server.storage.reasons import Misfit
from tests.server.cluster.running_cluster import cluster
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, connected, eventually
from tests.server.playing import all_caught_up, game, happen, peer_on_turn, play_on, removed, table_of
from tests.server.storage.conformance.stores import BUSY, PostgresStore, found, journal_at, rows
from tests.server.tables.hosted import served

QUICK = Timeouts(first_pause=0.05, longest_pause=0.2)
OPENED = Opened(2, random_layout=True, starting=None)


@contextlib.asynccontextmanager
async def kept(lease: held_lease.HeldLease | PostgresJournal) -> AsyncIterator[asyncio.Task[None]]:
    """Keep a lease for tables that nobody plays at."""
    keeping = asyncio.create_task(lease.keep(Mock()))
    try:
        yield keeping
    finally:
        keeping.cancel()
        await asyncio.wait((keeping,))


# Whoever waits for the end of a commit before it ends a lease.
ENDING = "SELECT pid FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'DELETE FROM node%'"


async def test_a_lease_ends_only_after_what_is_being_stored(database: str) -> None:
    """Whoever ends it waits for a commit under way, and finds what that has stored."""
    async with journal_at(database, "one") as one, journal_at(database, "two"):
        await one.append("ONCE", 0, [OPENED])
        async with PostgresStore(database).locked("entry"):
            appending = asyncio.create_task(one.append("ONCE", 1, [Hosted(0)]))
            await found(database, BUSY)
            successor = asyncio.create_task(PostgresJournal(Database(database), "one").open())
            await found(database, ENDING)
        await appending
        other = await successor
        try:
            assert (await other.kept()).tables == {"ONCE": [OPENED, Hosted(0)]}
        finally:
            await other.close()


async def test_a_database_that_falls_silent_keeps_no_server_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    async def silent(*question: object) -> None:
        asked.append(question)
        await asyncio.Event().wait()

    monkeypatch.setattr(held_lease, "listen", silent)
    monkeypatch.setattr(held_lease, "_SECONDS_BETWEEN_TRIALS", 0)
    monkeypatch.setattr(held_lease, "_SECONDS_TO_LEAVE", 0.01)
    monkeypatch.setattr(lease, "give_up", silent)
    held = held_lease.HeldLease(Mock(connection=contextlib.nullcontext), "silent", "", 0.001, Mock())
    async with kept(held):
        await eventually(lambda: len(asked) > 1)
    held.held = True
    async with asyncio.timeout(TIMEOUT):
        await held.close()


async def test_a_silent_connection_leaves_time_to_renew_the_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    lapsed: list[bool] = []

    async def renew(*_: object) -> bool:
        lapsed.append(held.lapsed)
        if len(lapsed) == 1:
            await asyncio.Event().wait()
        return True

    monkeypatch.setattr(held_lease, "listen", AsyncMock())
    monkeypatch.setattr(lease, "renew", renew)
    held = held_lease.HeldLease(Mock(connection=contextlib.nullcontext), "silent", "", 1.5, Mock())
    held.held = True
    held._extend(time.monotonic())
    async with kept(held):
        await eventually(lambda: len(lapsed) > 1)
    assert lapsed[:2] == [False, False]


async def test_a_lease_that_has_run_out_is_the_servers_no_more(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts from when its renewal was sent; players are sent on, and without it there are no tables.

    The event loop has another clock, which need not agree with that of the lease.
    """
    loop, tables = asyncio.get_running_loop(), Mock()
    loop_time = loop.time
    monkeypatch.setattr(loop, "time", lambda: loop_time() - 1000)
    async with journal_at(database) as journal:
        assert not journal.lapsed
        assert 0 < journal.node.seconds_left <= 6
        held = journal._lease
        held._holder = tables
        held._extend(time.monotonic() - 10**6)
        assert journal.lapsed
        held._send_on()
        assert tables.send_on.called
        held._give_up()
        assert tables.give_up.called


async def test_a_table_that_is_offered_goes_to_nobody_else(database: str) -> None:
    async with (
        Database(database).connection() as connection,
        journal_at(database, "one") as one,
        journal_at(database, "two") as two,
        journal_at(database, "three") as three,
    ):
        await one.append("ONCE", 0, [OPENED])
        offer = "UPDATE game_table SET offered = $1 WHERE code = 'ONCE'"
        await connection.execute(offer, two._lease.term)
        assert not await lease.tables_wait(connection, three._lease.term)
        assert await lease.take_up(connection, three._lease.term) == []
        assert await lease.take_up(connection, two._lease.term) == ["ONCE"]


async def test_a_server_knows_that_another_one_has_its_name(database: str) -> None:
    async with (
        Database(database).connection() as connection,
        journal_at(database, "attic") as one,
        journal_at(database, "attic") as other,
    ):
        terms = (one._lease.term, other._lease.term)
        assert [await lease.is_replaced(connection, "attic", term) for term in terms] == [True, False]


async def test_no_lease_ends_soon_after_the_database_was_started(database: str) -> None:
    """Until then nobody could renew one."""
    async with journal_at(database, "one"):
        await rows(database, "UPDATE node SET expires = clock_timestamp() - interval '1 h' RETURNING term")
        async with Database(database).connection() as connection:
            assert await lease.end_expired(connection, 10**9) == []
            assert await lease.end_expired(connection, 0) == ["one"]


async def test_a_move_that_was_stored_is_never_denied(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that repeats it, because its connection broke, learns so even when the lease has run out."""
    async with running(Config()) as server, game(server.port, 2) as peers:
        mover = peer_on_turn(peers)
        assert mover is not None
        move = mover.random_move(random.Random(1))
        await mover.done(move)
        await all_caught_up(peers, mover.seq)
        monkeypatch.setattr(type(table_of(server, peers)._context.lobby.journal), "lapsed", True)
        await mover.done(move)
        other = peer_on_turn(peers)
        assert other is not None
        assert (await other.refused(other.random_move(random.Random(1)))).code == Code.NOT_STORED


async def test_whoever_comes_back_when_the_lease_has_run_out_is_told_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Though nothing need be stored of it."""
    async with running(Config()) as server, game(server.port, 2) as (_, gone):
        await gone.done(messages.Leave(gone.next_id()))
        monkeypatch.setattr(type(table_of(server, [gone])._context.lobby.journal), "lapsed", True)
        async with connected(server.port) as again:
            resume = messages.Resume(again.next_id(), gone.code, gone.token, after=gone.seq)
            assert (await again.refused(resume)).code == Code.NOT_STORED
            assert not again.told(messages.Seated) + again.told(messages.Events)


async def test_a_seat_and_the_end_of_its_bot_are_stored_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the lease could run out between the two, and the newcomer would see a table that may be lost."""
    time = ManualClock()
    async with served(time=time) as server, game(server.port, 2) as (host, gone):
        await gone.done(messages.Leave(gone.next_id()))
        table = table_of(server, [gone])
        time.advance(60)
        await happen(server, host, GivenToBot(1))
        await removed(server, host, Seat(1))
        journal = table._context.lobby.journal
        append = journal.append

        async def runs_out(*arguments: Any) -> None:
            await append(*arguments)
            monkeypatch.setattr(type(journal), "lapsed", True)
            fails = AsyncMock(side_effect=NotStoredNow("the lease has run out"))
            monkeypatch.setattr(journal, "append", fails)

        monkeypatch.setattr(journal, "append", runs_out)
        async with connected(server.port) as newcomer:
            await newcomer.join(gone.code, "Zoe")
        assert Seat(1) not in table.state.bot_seats


async def test_a_damaged_table_that_another_has_just_restored(monkeypatch: pytest.MonkeyPatch) -> None:
    async with running(Config()) as server:
        monkeypatch.setattr(server.lobby.journal, "codes_set_aside", {"ONCE"})
        with pytest.raises(Refusal) as refused:
            await server.lobby.registry.restore_damaged("ONCE")
        assert refused.value.code == Code.NO_SUCH_TABLE


@pytest.mark.parametrize("stored", [True, False])
async def test_a_table_that_is_lost_in_the_middle_of_its_own_work_just_ends(
    stored: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Whether or not that was stored: nobody asked for it, and the server goes on."""
    async with running(Config()) as server:
        async with game(server.port, 2) as peers:
            table = table_of(server, peers)
        await eventually(lambda: not table.audience.seated)

        async def lose(*_: object) -> None:
            table.give_up()
            if not stored:
                raise TableLost("the lease is lost")

        monkeypatch.setattr(table._context.lobby.journal, "archive", lose)
        assert await table.archive(attended=False)
        assert not server.lobby.tables
    assert "not read" not in caplog.text


async def test_a_start_longer_than_the_lease(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others have ended the first one, as they may: the server starts all the same."""
    begin, ended = lease.begin, list[int]()

    @contextlib.asynccontextmanager
    async def begin_slowly(connection: Any, *args: Any) -> AsyncIterator[int]:
        async with begin(connection, *args) as term:
            yield term
        if not ended:
            ended.append(term)
            await connection.execute("DELETE FROM node WHERE term = $1", term)

    monkeypatch.setattr(lease, "begin", begin_slowly)
    async with journal_at(database) as journal:
        await journal.append("ONCE", 0, [OPENED])
    assert ended


async def test_a_new_lease_whose_answer_is_lost(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for the lease of another server with this one's name, for which this one would stop."""
    commit, lost = Transaction.commit, list[str]()

    async def commit_and_lose_the_answer(self: Transaction) -> None:
        await commit(self)
        if not lost:
            lost.append("the answer")
            raise asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")

    async with journal_at(database, "one", lease_seconds=1.0) as journal:
        monkeypatch.setattr(Transaction, "commit", commit_and_lose_the_answer)
        await PostgresStore(database).execute("DELETE FROM node")
        async with kept(journal) as keeping:
            await eventually(lambda: keeping.done() or journal.node.leases == 2)
            assert (lost, keeping.done()) == (["the answer"], False)


async def test_a_server_tells_where_a_table_of_another_one_is(database: str) -> None:
    async with (
        running(Config(database=database, node="one", address="ws://one.example:7733")) as one,
        running(Config(database=database, node="two")) as two,
        connected(one.port) as anna,
        connected(two.port) as bruno,
    ):
        code = (await anna.open(2, "Anna")).table
        requests = (
            messages.JoinTable(bruno.next_id(), code, "Bruno"),
            messages.Watch(bruno.next_id(), code),
            messages.Resume(bruno.next_id(), code, anna.token),
            messages.AskTurn(bruno.next_id(), code, token_hash(anna.token)),
        )
        for request in requests:
            refused = await bruno.refused(request)
            assert refused.code == Code.TABLE_ELSEWHERE
            assert refused.about == {"table": code, "address": "ws://one.example:7733"}
        assert (await bruno.refused(messages.Watch(bruno.next_id(), "XXXX"))).code == Code.NO_SUCH_TABLE


@pytest.mark.slow
async def test_clients_are_told_where_the_other_servers_are(database: str) -> None:
    async with contextlib.AsyncExitStack() as stack:
        ports = []
        for name in "abc":
            config = Config(database=database, node=name, address=f"wss://{name}.example:443/x")
            ports.append((await stack.enter_async_context(running(config))).port)
        async with asyncio.timeout(TIMEOUT):
            while len(told := await addresses_told(ports[0])) < 2:  # as soon as they have heard of each other
                pass
        assert told == ["wss://b.example:443/x", "wss://c.example:443/x"]
        async with asyncio.timeout(TIMEOUT):
            while len(told := await addresses_told(ports[1])) < 2:
                pass
        assert told == ["wss://c.example:443/x", "wss://a.example:443/x"]
    async with running(Config()) as alone:
        assert await addresses_told(alone.port) == []


async def addresses_told(port: int) -> list[str]:
    """Return what a newcomer learns of other servers."""
    async with connected(port) as peer:
        welcome = peer.received[0]
        assert isinstance(welcome, messages.Welcome)
        return welcome.addresses


async def test_whoever_takes_up_a_game_writes_its_record(database: str, tmp_path: Path) -> None:
    """If its server has stored the last move, and was gone before it had written the record."""
    records = tmp_path / "records"
    async with cluster(database, "two", records=records) as (two,):
        async with cluster(database, "one") as (one,), game(one.port, 2) as peers:
            code = peers[0].code
            await play_on(peers, random.Random(8))
            await rows(database, f"INSERT INTO record_due VALUES ('{code}', 1800000000) RETURNING code")  # noqa: S608 - our own
        await eventually(lambda: code in two.lobby.tables)
        await eventually(lambda: any(records.glob(f"*-{code}.txt")))


@pytest.mark.slow
async def test_a_client_is_not_sent_on_for_ever(database: str) -> None:
    """Two servers that send it to each other do not have it run in circles; and it keeps encryption."""
    async with running(Config(database=database, node="one")) as one, connected(one.port) as anna:
        code = (await anna.open(2, "Anna")).table
        async with running(Config(database=database, node="two")) as two:
            there = f"ws://127.0.0.1:{two.port}"
            await rows(database, f"UPDATE node SET address = '{there}' WHERE name = 'one' RETURNING term")  # noqa: S608 - our own
            async with client_at(there, timeouts=replace(QUICK, sent_on=0.5)) as bruno:
                with pytest.raises(
                    RequestRefused, match=f"Table {code} cannot be reached at {there} now"
                ) as refused:
                    await bruno.ask(messages.JoinTable(messages.NEW, code, "Bruno"))
                assert refused.value.code == Code.TABLE_ELSEWHERE
    told = messages.Refused(Code.TABLE_ELSEWHERE, "", about={"table": code, "address": "ws://a.example"})
    assert elsewhere(told, ServerAddress("wss://b.example", "test")) is None
    assert elsewhere(told, ServerAddress("ws://b.example", "test", ServerAccess(hosts=None))) is not None


@pytest.mark.slow
async def test_nonsense_does_not_end_the_lease(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = AsyncMock(side_effect=[None, Misfit("nonsense"), Misfit("nonsense"), *[None] * 1000])
    monkeypatch.setattr(PostgresJournal, "look_at_others", looks)
    async with journal_at(database, "one", lease_seconds=1.0) as journal, kept(journal) as keeping:
        await eventually(lambda: looks.await_count > 2)
        assert (keeping.done(), journal.node.leases) == (False, 1)
