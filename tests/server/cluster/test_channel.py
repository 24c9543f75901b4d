"""What one server tells, the others know, whatever becomes of their connections."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.limits import NAME_LENGTH
from protocol.messages import TableSummary
from protocol.text import unsafe
from server.cluster import messages
from server.cluster.channel import Channel
from server.cluster.messages import PublicTable, RemarkElsewhere, decode, encode
from server.cluster.others import SameAddress
from server.storage.postgresql import lease
from server.storage.postgresql.database import Connection, Database, Signal
from server.storage.postgresql.schema import prepare
from server.storage.postgresql.telling import Node
from tests.postgresql import DatabaseRelay
from tests.protocol.messages import messages_of
from tests.server.peer import eventually

REMARK = RemarkElsewhere(7, "Anna", "hello", 12.5)


def table(code: str, taken: int = 1) -> PublicTable:
    """Return a table as its server tells of it."""
    return PublicTable(
        TableSummary(code, "Anna", 5, taken, "gathering"), 1.0, [messages.Holder("Anna", "a" * 64)]
    )


class Cluster:
    """A database and servers without tables: what they share is the channel."""

    def __init__(self, url: str, connection: Connection) -> None:
        self.url = url
        self.connection = connection
        self.terms: dict[str, int | None] = {}

    async def begin_lease(self, name: str) -> int:
        async with lease.begin(self.connection, name, "ws://host", 60.0) as term:
            self.terms[name] = term
        return term

    @contextlib.asynccontextmanager
    async def node(self, name: str, url: str = "") -> AsyncIterator[Channel]:
        """Run the channel of a server with a lease while the context lasts."""
        await self.begin_lease(name)
        channel = Channel(Database(url or self.url), lambda: self.terms[name])
        async with asyncio.TaskGroup() as tasks:
            running = tasks.create_task(channel.run())
            await eventually(lambda: channel.hears)
            yield channel
            running.cancel()


@contextlib.asynccontextmanager
async def cluster(url: str) -> AsyncIterator[Cluster]:
    database = Database(url)
    async with database.connection() as connection:
        await prepare(connection, database)
        yield Cluster(url, connection)


def tables(channel: Channel) -> dict[str, int]:
    """Return the tables that a server knows of at others, and how many seats are taken there."""
    return {told.summary.table: told.summary.taken for _node, told in channel.holding(PublicTable)}


async def test_what_holds_is_known_until_it_ceases(database: str) -> None:
    async with cluster(database) as shared, shared.node("one") as one, shared.node("two") as two:
        changes: list[dict[str, int]] = []
        two.on_change(PublicTable, lambda: changes.append(tables(two)))
        one.keep("table:AAAA", table("AAAA"))
        one.keep("table:BBBB", table("BBBB"))
        await eventually(lambda: tables(two) == {"AAAA": 1, "BBBB": 1})
        one.keep("table:AAAA", table("AAAA", taken=2))
        one.keep("table:BBBB", None)
        await eventually(lambda: tables(two) == {"AAAA": 2})
        assert changes == [{"AAAA": 1, "BBBB": 1}, {"AAAA": 2}]
        async with shared.node("three") as three:
            assert tables(three) == {"AAAA": 2}
        assert tables(one) == {}
        assert {node.name for node, _table in two.holding(PublicTable)} == {"one"}


async def test_what_strangers_put_there_does_no_harm(database: str, caplog: pytest.LogCaptureFixture) -> None:
    """Who may only connect can notify; who may write can tell anything, and the log says so."""
    async with cluster(database) as shared, shared.node("one") as one, shared.node("two") as two:
        for payload in ("", "nonsense", "9" * 7000, str(shared.terms["two"]), str(shared.terms["one"])):
            await shared.connection.execute(
                "SELECT pg_notify($1, $2)", Signal.TOLD.channel(Database(database).schema), payload
            )
        term = shared.terms["one"]
        for number, body in enumerate((b"", b"\xc1", b"\x91" * 60_000, b"\x80"), 1000):
            insert = "INSERT INTO told (term, number, key, body) VALUES ($1, $2, $3, $4), ($1, $5, NULL, $4)"
            await shared.connection.execute(insert, term, number, f"table:{number}", body, number + 100)
        one._number = 2000
        one.keep("table:AAAA", table("AAAA"))
        await eventually(lambda: tables(two) == {"AAAA": 1})
    assert "a message from another server cannot be understood" in caplog.messages


async def test_what_was_told_goes_with_the_lease(database: str) -> None:
    """At once, and it is told again under the next one."""
    async with cluster(database) as shared, shared.node("one") as one, shared.node("two") as two:
        one.keep("table:AAAA", table("AAAA"))
        await eventually(lambda: tables(two) == {"AAAA": 1})
        term, shared.terms["one"] = shared.terms["one"], None
        assert term is not None
        await lease.give_up(shared.connection, term)
        await eventually(lambda: tables(two) == {})
        shared.terms["one"] = term  # as it seems to a server that does not know yet
        one.keep("table:BBBB", table("BBBB"))
        await eventually(lambda: one._ended_term == term)
        await shared.begin_lease("one")
        one.keep("table:CCCC", table("CCCC"))
        await eventually(lambda: tables(two) == {"AAAA": 1, "BBBB": 1, "CCCC": 1})


@pytest.mark.slow
async def test_what_is_known_of_servers_that_are_gone_does_not_grow(database: str) -> None:
    """Each server that starts again has a new lease, and may do so for years."""
    async with cluster(database) as cluster_, cluster_.node("stays") as stays:
        for _ in range(3):
            async with cluster_.node("restarts") as other:
                other.keep("table:ONCE", table("ONCE"))
                await eventually(lambda: tables(stays) == {"ONCE": 1})
                term = cluster_.terms["restarts"]
                await eventually(lambda: term in stays._seen)  # noqa: B023 - waited for; not read anew
        await lease.give_up(cluster_.connection, cluster_.terms["restarts"] or 0)
        await eventually(lambda: tables(stays) == {})
        await eventually(lambda: not stays._seen)


def test_servers_that_tell_the_same_address_are_noticed(caplog: pytest.LogCaptureFixture) -> None:
    """Once, and not when one is started again under another name."""
    own, old = Node(1, "own", "ws://a", True, False), Node(2, "old", "ws://a", True, False)
    other, silent = Node(3, "other", "ws://b", True, False), Node(4, "silent", "", True, False)
    same = SameAddress()
    for now in range(9):
        same.look([own, old, other, silent], 1, now)
    same.look([own, old._replace(runs=False), other, silent], 1, 20)
    assert not caplog.records
    for now in range(21, 60):
        same.look([own, old, other, silent], 1, now)
        same.look([own, silent, old], 4, now)
    assert [record.msg for record in caplog.records] == ["another server is using this one's address"]


async def test_what_the_database_has_lost_is_told_anew(database: str, socket_folder: Path) -> None:
    """As when PostgreSQL was killed, and its servers' connections with it."""
    async with (
        cluster(database) as shared,
        DatabaseRelay(database, socket_folder).running() as relay,
        shared.node("one", relay.url) as one,
        shared.node("two", relay.url) as two,
    ):
        one.keep("table:AAAA", table("AAAA"))
        await eventually(lambda: tables(two) == {"AAAA": 1})
        await shared.connection.execute("TRUNCATE told")
        async with shared.node("three") as three:
            assert tables(three) == {}
            relay.cut()
            await eventually(lambda: tables(three) == tables(two) == {"AAAA": 1})


async def test_a_connection_that_lasted_is_made_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that keeps failing is tried less and less often."""
    now, lasting, pauses = 0.0, iter([0.0] * 8 + [60.0]), list[float]()

    class Failing(Database):
        @contextlib.asynccontextmanager
        async def connection(self) -> AsyncIterator[Connection]:
            nonlocal now
            now += next(lasting)
            raise OSError
            yield

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 9:
            raise asyncio.CancelledError

    channel = Channel(Failing("postgresql://host/name"), lambda: None)
    monkeypatch.setattr(channel._loop, "time", lambda: now)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(asyncio.CancelledError):
        await channel.run()
    *failing, last = pauses
    assert failing[0] < 0.1 < failing[-1]
    assert last < 0.1


async def test_newcomers_are_not_sent_to_a_server_that_drains(database: str) -> None:
    async with cluster(database) as shared, shared.node("one") as one, shared.node("two") as two:
        await eventually(lambda: two.address_for_newcomers() == "ws://host")
        one.announce_drain(on=True)
        await eventually(lambda: two.address_for_newcomers() is None)
        one.announce_drain(on=False)
        await eventually(lambda: two.address_for_newcomers() == "ws://host")


async def test_what_was_missed_is_found(database: str) -> None:
    """As by a server that was paused for so long that nobody tells any more what held before."""
    async with cluster(database) as shared, shared.node("one") as one, shared.node("two") as two:
        for code in ("AAAA", "BBBB"):
            one.keep(f"table:{code}", table(code))
        await eventually(lambda: tables(two) == {"AAAA": 1, "BBBB": 1})
        await shared.connection.execute("DELETE FROM told WHERE key = 'table:AAAA'")
        await shared.connection.execute("UPDATE told SET key = 'table:CCCC', number = number + 1")
        two._looked -= 60
        two._ring(None, 0, "", "")
        await eventually(lambda: two._others._known[one.term].keys() == {"table:CCCC"})


async def test_what_no_longer_holds_is_not_told_again(database: str, socket_folder: Path) -> None:
    """As of a table that has become private while nobody knew whether the others had heard of it."""
    async with (
        cluster(database) as shared,
        DatabaseRelay(database, socket_folder).running() as relay,
        shared.node("one", relay.url) as one,
        shared.node("two") as two,
    ):
        heard: list[dict[str, int]] = []
        two.on_change(PublicTable, lambda: heard.append(tables(two)))
        relay.requests = False
        one.keep("table:AAAA", table("AAAA"))
        one.keep("table:BBBB", table("BBBB"))
        await eventually(lambda: bool(one._mine) and not one._changed)
        one.keep("table:AAAA", None)
        relay.cut()
        relay.requests = True
        await eventually(lambda: tables(two) == {"BBBB": 1})
        assert heard == [{"BBBB": 1}]


@given(st.sampled_from(get_args(messages.Message)).flatmap(messages_of))
def test_what_is_told_arrives(message: messages.Message) -> None:
    """Unless it has a text that may not be shown."""
    body = encode(message)
    try:
        assert decode(body) == message
    except messages.NotUnderstood:
        texts = messages._texts(message)
        assert any(text and unsafe(text) is not None for text in texts) or len(texts[0]) > NAME_LENGTH


@given(
    st.binary(max_size=200)
    | st.builds(msgspec.msgpack.encode, st.dictionaries(st.text(), st.integers(-9, 9)))
)
def test_bytes_are_a_message_or_not_understood(body: bytes) -> None:
    try:
        message = decode(body)
    except messages.NotUnderstood:
        return
    assert isinstance(message, PublicTable | messages.PersonElsewhere | RemarkElsewhere)


def test_what_is_not_understood() -> None:
    """Nothing, lists in lists, no msgpack, what is unknown, incomplete, no text to be shown, or too long."""
    longest, long_name = (
        PublicTable(TableSummary("AAAA", "A" * size, 5, 1, "gathering"), 1.0, [])
        for size in (NAME_LENGTH, NAME_LENGTH + 1)
    )
    assert decode(encode(longest)) == longest
    pack = msgspec.msgpack.encode
    escape = pack({**msgspec.to_builtins(REMARK), "t": "remark", "text": "\x1b[2J"})
    later = pack({"t": "of-a-later-version", "text": "hello"})
    more = pack({**msgspec.to_builtins(REMARK), "t": "remark", "of-a-later-version": "longer"})
    assert decode(more) == REMARK
    too_long = more.replace(pack("longer"), pack("l" * messages.MOST_BYTES))
    for body in (
        b"",
        b"\x91" * 60_000,
        b"\xc1",
        later,
        pack({"t": "remark"}),
        escape,
        too_long,
        encode(long_name),
    ):
        with pytest.raises(messages.NotUnderstood):
            decode(body)


def test_fields_of_a_later_version_are_passed_over() -> None:
    later = {**msgspec.to_builtins(REMARK), "t": "remark", "colour": "red"}
    assert decode(msgspec.msgpack.encode(later)) == REMARK
