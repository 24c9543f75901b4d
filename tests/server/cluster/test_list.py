"""Tables, archive and people are listed as they are on all servers, where newcomers find a place."""

import asyncio
import contextlib
import math
import random
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest

from client.network.connection import open_connection as client_at
from client.network.transport import RequestRefused, ServerAccess, Timeouts
from pages.drawing.pages import WebPages
from protocol import messages
from protocol.codes import Code
from protocol.messages import ChangeSetting, EnterLobby, Leave, PersonOnline, Say
from protocol.settings import ChosenSwitches, Private, Spectators, Switches
from server.app import Running, running
from server.cluster.channel import Channel
from server.cluster.messages import PersonElsewhere, PublicTable
from server.config import Config, Limits
from server.net.tokens import token_hash
from server.storage.postgresql.database import Database
from server.storage.postgresql.journal import PostgresJournal
from server.storage.postgresql.telling import Node
from server.tables.online.remarks import Remarks
from server.tables.registry import public_tables, table_registry
from server.tables.registry.public_tables import PublicTables
from tests.pages.serving.viewer import asked
from tests.postgresql import DatabaseRelay
from tests.server.cluster.running_cluster import cluster
from tests.server.cluster.test_channel import table as public_table
from tests.server.manual_clock import FastClock
from tests.server.peer import Peer, connected, eventually
from tests.server.playing import archived_game, finished_game, game, memory_server, rematch
from tests.server.storage.conformance.stores import rows
from tests.server.tables.online.test_lobby_chat import entered, heard, remarks, says, sees

QUICK = Timeouts(first_pause=0.05, longest_pause=0.2)


async def listed(port: int) -> list[messages.TableSummary]:
    async with connected(port) as peer:
        tables = await peer.ask(messages.ListTables(1))
    assert isinstance(tables, messages.Tables)
    return tables.tables


def codes(server: Running) -> list[str]:
    return [table.table for table in server.lobby.public.summaries()]


async def test_the_list_has_the_tables_of_all_servers(database: str) -> None:
    async with (
        cluster(database, "one", "two") as (one, two),
        connected(one.port) as anna,
        connected(two.port) as bruno,
        connected(one.port) as carla,
    ):
        first = (await anna.open(2, "Anna")).table
        await eventually(lambda: codes(two) == [first])
        second = (await bruno.open(3, "Bruno")).table
        third = (await carla.open(4, "Carla", switches=ChosenSwitches(private=True))).table
        await eventually(lambda: codes(one) == codes(two) == [second, first])
        at_one, at_two = await listed(one.port), await listed(two.port)
        assert [table.elsewhere for table in (*at_one, *at_two)] == [True, False, False, True]
        assert (at_two[1].host, at_two[1].players, at_two[1].taken) == ("Anna", 2, 1)
        await carla.done(messages.ChangeSetting(carla.next_id(), Private(on=False)))
        await eventually(lambda: codes(two) == [third, second, first])
        await carla.done(messages.ChangeSetting(carla.next_id(), Private(on=True)))
        await anna.done(messages.Leave(anna.next_id()))
        await eventually(lambda: codes(two) == [second])


@pytest.mark.slow
async def test_the_list_is_in_order_when_tables_have_moved(database: str) -> None:
    async with cluster(database, "one") as (one,):
        async with cluster(database, "two") as (two,), connected(two.port) as bruno:
            old = (await bruno.open(2, "Bruno")).table
            await eventually(lambda: codes(one) == [old])
            async with connected(one.port) as anna:
                new = (await anna.open(2, "Anna")).table
                await eventually(lambda: codes(two) == [new, old])
        await eventually(lambda: old in one.lobby.tables)
        assert codes(one) == [new, old]
        assert not any(table.elsewhere for table in await listed(one.port))


def truth(servers: list[Running]) -> list[tuple[str, int, bool]]:
    every = [table for server in servers for table in server.lobby.tables.values()]
    public = [table for table in every if not table.state.switches.private]
    return sorted((each.code, each.summary().taken, not each.audience.seated) for each in public)


def said(server: Running) -> list[tuple[str, int, bool]]:
    return sorted((table.table, table.taken, table.deserted) for table in server.lobby.public.summaries())


@pytest.mark.slow
async def test_lists_agree_with_the_tables_whatever_has_happened(database: str, socket_folder: Path) -> None:
    """Tables are opened, joined, left, hidden and abandoned while the connections to the database are cut."""
    chooser = random.Random(5)
    async with (
        DatabaseRelay(database, socket_folder).running() as relay,
        contextlib.AsyncExitStack() as stack,
        cluster(relay.url, "one", "two") as servers,
    ):
        hosts: list[tuple[Running, Peer, contextlib.AsyncExitStack]] = []
        for step in range(24):
            match chooser.randrange(6):
                case 0 if hosts:
                    _server, host, _line = chooser.choice(hosts)
                    await host.ask(messages.ChangeSetting(host.next_id(), Private(on=chooser.random() < 0.5)))
                case 1 if hosts:
                    server, host, _line = chooser.choice(hosts)
                    joiner = await stack.enter_async_context(connected(server.port))
                    with contextlib.suppress(AssertionError):  # the database is gone just now
                        await joiner.join(host.code, f"Joiner {step}")
                case 2 if hosts:
                    _server, host, line = hosts.pop(chooser.randrange(len(hosts)))
                    if chooser.random() < 0.5:
                        await host.ask(messages.Leave(host.next_id()))
                    await line.aclose()
                case 3:
                    relay.cut()
                case _:
                    server, line = chooser.choice(servers), contextlib.AsyncExitStack()
                    host = await line.enter_async_context(connected(server.port))
                    stack.push_async_callback(line.aclose)
                    with contextlib.suppress(AssertionError):
                        await host.open(5, f"Host {step}")
                        hosts.append((server, host, line))
        await eventually(lambda: said(servers[0]) == said(servers[1]) == truth(servers))
        assert truth(servers)


@pytest.mark.slow
async def test_who_connects_for_others_keeps_the_token_of_the_gateway(database: str) -> None:
    """A guest's client goes where the table is, and tells that server for whom, but not by which right."""
    told: list[tuple[str, str]] = []
    requests: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        requests.append(await reader.readuntil(b"\r\n\r\n"))
        writer.transport.abort()

    async with (
        await asyncio.start_server(listen, "127.0.0.1") as there,
        cluster(database, "one") as (one,),
        running(Config(database=database, node="two", gateway=lambda *way: told.append(way))) as two,
        connected(one.port) as anna,
    ):
        address = f"ws://127.0.0.1:{there.sockets[0].getsockname()[1]}"
        code = (await anna.open(2, "Anna")).table
        await rows(database, f"UPDATE node SET address = '{address}' WHERE name = 'one' RETURNING term")  # noqa: S608 - our own
        await eventually(lambda: codes(two) == [code])
        ((url, token),) = told
        headers = {"Authorization": f"Bearer {token}", "X-Forwarded-For": "192.0.2.7"}
        async with client_at(url, access=ServerAccess(headers=headers), timeouts=QUICK) as guest:
            with pytest.raises(RequestRefused):
                await guest.ask(messages.JoinTable(messages.NEW, code, "Bruno"))
    assert b"X-Forwarded-For: 192.0.2.7" in requests[0]
    assert b"uthorization" not in b"".join(requests)


async def test_browsers_are_sent_to_where_a_table_can_be_watched(database: str) -> None:
    async with (
        cluster(database, "one", address="wss://one.example/first/") as (one,),
        cluster(database, "two", pages=WebPages()) as (two,),
        connected(one.port) as anna,
    ):
        code = (await anna.open(2, "Anna")).table
        await eventually(lambda: codes(two) == [code])
        assert f'href="watch/{code}"' in (await asked(two.port, "/")).text
        answer = await asked(two.port, f"/watch/{code}?lang=it")
        assert answer.status == 307
        assert answer.headers["location"] == f"https://one.example/first/watch/{code}?lang=it"
        await anna.done(messages.ChangeSetting(anna.next_id(), Spectators(on=False)))
        await eventually(lambda: not two.lobby.public.summaries()[0].switches.spectators)
        assert (await asked(two.port, f"/watch/{code}")).status == 404


async def test_two_servers_that_draw_the_same_code(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def new_code(*_taken: object, private: bool) -> str:
        assert not private
        drawn.append("SAME" if len(drawn) < 2 else f"NEX{'TU'[len(drawn) % 2]}")
        return drawn[-1]

    monkeypatch.setattr(table_registry, "new_code", new_code)
    async with (
        cluster(database, "one", "two") as servers,
        connected(servers[0].port) as anna,
        connected(servers[1].port) as bruno,
    ):
        seated = await asyncio.gather(anna.open(2, "Anna"), bruno.open(2, "Bruno"))
        assert len(drawn) == 3
        assert {each.table for each in seated} == {"SAME", drawn[2]}
        await eventually(lambda: set(codes(servers[0])) == set(codes(servers[1])) == {"SAME", drawn[2]})


def test_times_of_tables_that_are_gone_are_forgotten_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_tables, "_MOST_TIMES", 2)
    told: list[PublicTable] = []
    channel = Mock(holding=lambda _: [(Node(1, "other", "ws://other", True, False), each) for each in told])
    tables = PublicTables({})
    tables.share(channel)
    learn = channel.on_change.call_args.args[1]
    for number in range(10):
        told[:] = [public_table(f"AA{number}{each}") for each in range(5)]
        learn()
    assert list(tables._opened) == ["AA83", "AA84", *(f"AA9{each}" for each in range(5))]


def test_the_list_is_in_order_before_the_others_have_been_told() -> None:
    """As after a start, with tables of which nobody has said when they were opened."""
    found = {code: Mock(code=code, state=Mock(switches=Switches(), held=())) for code in ("OLD", "NEW")}
    for code, table in found.items():
        table.summary.return_value = public_table(code).summary
    tables = PublicTables(found)  # type: ignore[arg-type]
    tables.share(Mock())
    assert [table.table for table in tables.summaries()] == ["NEW", "OLD"]


AT_ONCE = Limits(unattended_seconds=0.0)


def look(server: Running) -> None:
    """Have a server look soon what the others have changed, as it does with each renewal of its lease."""
    journal = server.lobby.journal
    assert isinstance(journal, PostgresJournal)
    journal._lease._renewal_due = -math.inf
    journal._lease._wake.set()


async def test_players_who_come_back_at_two_servers(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one brings it back; the second learns where it is, and has not lost the seat."""
    async with cluster(database, "one", "two", limits=AT_ONCE) as (one, two):
        first, second = await archived_game(one, moves=2)
        look(two)
        await eventually(lambda: first.code in two.lobby.journal.archived)
        monkeypatch.setattr(PostgresJournal, "look_at_others", AsyncMock())
        async with connected(one.port) as at_one, connected(two.port) as at_two:
            await at_one.resume(first.code, first.token)
            refused = await at_two.refused(messages.Resume(1, second.code, second.token, 0))
            assert refused.code == Code.TABLE_ELSEWHERE
            assert (refused.about or {})["address"] == f"ws://127.0.0.1:{one.port}"


async def test_a_game_that_another_has_just_archived(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its player, who comes here, is asked to try again, and has the seat as soon as this server knows."""
    async with cluster(database, "one", "two", limits=AT_ONCE) as (one, two), connected(two.port) as peer:
        with monkeypatch.context() as patch:
            patch.setattr(PostgresJournal, "look_at_others", AsyncMock())
            first, _ = await archived_game(one, moves=2)
            assert await peer.refusal(messages.Resume(1, first.code, first.token, 0)) == Code.NOT_STORED
        look(two)
        await eventually(lambda: first.code in two.lobby.journal.archived)
        await peer.resume(first.code, first.token)


async def test_a_game_that_another_brings_back_while_somebody_waits_for_it(database: str) -> None:
    """Whoever waits here is sent there, and not told that there is no such table."""
    async with (
        cluster(database, "one", "two", limits=AT_ONCE) as (one, two),
        connected(one.port) as waits,
        connected(two.port) as comes,
    ):
        first, second = await archived_game(one, moves=2)
        look(two)
        await eventually(lambda: first.code in two.lobby.journal.archived)
        async with one.lobby.registry._moving_lock(first.code):
            answer = asyncio.create_task(waits.refusal(messages.Resume(1, first.code, first.token, 0)))
            await eventually(lambda: bool(one.lobby.registry._moving_lock(first.code)._waiters))
            await comes.resume(second.code, second.token)
            look(one)
            await eventually(lambda: first.code not in one.lobby.journal.archived)
        assert await answer == Code.TABLE_ELSEWHERE


# Longer than a test: who is sent on need not wait, and who waits does not come.
PATIENT = Timeouts(first_pause=1000.0, longest_pause=1000.0, keep_trying=5000.0)


def stopping(server: Running) -> Mapping[str, object]:
    """Return what is told to those who want a table from a server that takes none any more."""
    return server.lobby.stopping() or {}


@contextlib.asynccontextmanager
async def one_drains(database: str) -> AsyncIterator[tuple[Running, Running]]:
    """Run two servers of which one drains, as long as its game goes on, and knows the other."""
    async with cluster(database, "one", "two") as (one, two), game(one.port, 2):
        one.drain.begin(600)
        await eventually(lambda: str(stopping(one).get("address")).endswith(f":{two.port}"))
        yield one, two


@pytest.mark.slow
async def test_newcomers_open_their_tables_at_a_server_that_does_not_drain(database: str) -> None:
    """They go there by themselves; if all drain, they learn how long they do."""
    async with one_drains(database) as (one, two):
        async with client_at(f"ws://127.0.0.1:{one.port}", timeouts=PATIENT) as anna:
            assert (await anna.ask(messages.OpenTable(messages.NEW, 2, "Anna"))).table in two.lobby.tables
        async with game(two.port, 2), connected(one.port) as peer:
            two.drain.begin(600)
            await eventually(lambda: "address" not in stopping(one))
            refused = await peer.refused(messages.OpenTable(1, 2, "Bruno"))
            assert (refused.code, list(refused.about or ())) == (Code.SERVER_STOPPING, ["seconds"])
            two.drain.cancel()
            await eventually(lambda: "address" in stopping(one))


async def test_players_play_again_at_a_server_that_drains(database: str) -> None:
    async with one_drains(database) as (one, _two):
        one.drain.cancel()
        async with finished_game(one, 2) as peers:
            one.drain.begin(600)
            assert (await rematch(peers[0])).table in one.lobby.tables


ANNA, BRUNO = PersonOnline("Anna"), PersonOnline("Bruno")


@pytest.mark.slow
async def test_people_see_each_other_and_talk_wherever_they_are(database: str) -> None:
    async with (
        cluster(database, "one", "two", timers=FastClock) as (one, two),
        contextlib.AsyncExitStack() as stack,
    ):
        anna = await entered(stack, one.port, "Anna")
        await sees(anna, ANNA)
        bruno = await entered(stack, two.port, "Bruno")
        await sees(bruno, ANNA, BRUNO)
        await sees(anna, ANNA, BRUNO)
        assert await says(anna, "hello") == "said"
        await heard(bruno, 1)
        assert await says(bruno, "salve") == "said"
        at_two, at_one = await heard(bruno, 2), await heard(anna, 2)
        assert at_one == at_two
        assert [each.name for each in at_one] == ["Anna", "Bruno"]
        assert at_one[0].number < at_one[1].number
        code = (await anna.open(2, "Anna")).table
        await sees(bruno, BRUNO, PersonOnline("Anna", "playing", code))
        await anna.done(Say(anna.next_id(), "from my table"))
        assert [(each.text, each.said_at) for each in (await heard(bruno, 3))[2:]] == [
            ("from my table", code)
        ]
        assert await says(bruno, "to your table") == "said"
        assert (await heard(anna, 3))[2].text == "to your table"
        await anna.done(ChangeSetting(anna.next_id(), Private(on=True)))
        await sees(bruno, BRUNO, PersonOnline("Anna", "playing"))
        await anna.done(Leave(anna.next_id()))
        async with cluster(database, "three", timers=FastClock) as (three,):
            carla = await entered(stack, three.port, "Carla")
            assert (await heard(carla, 3))[:2] == at_one
            await sees(carla, ANNA, BRUNO, PersonOnline("Carla"))
            await bruno.socket.close()
            await sees(carla, ANNA, PersonOnline("Carla"))
        await sees(anna, ANNA)


@pytest.mark.slow
async def test_a_name_is_somebodys_at_all_servers(database: str) -> None:
    async with (
        cluster(database, "one", "two", timers=FastClock) as (one, two),
        contextlib.AsyncExitStack() as stack,
        connected(one.port) as player,
    ):
        seated = await player.open(2, "Dario")
        anna = await stack.enter_async_context(connected(one.port))
        await anna.done(EnterLobby(anna.next_id(), "Anna", ["of Anna's client"]))
        bruno = await entered(stack, two.port, "Bruno")
        await sees(bruno, ANNA, BRUNO)
        for name in ("anna", "Dario"):
            assert (await bruno.refused(EnterLobby(bruno.next_id(), name))).code == "name-in-use"
        again = await stack.enter_async_context(connected(two.port))
        await again.done(EnterLobby(again.next_id(), "Anna", ["of Anna's client"]))
        await sees(bruno, BRUNO, ANNA)
        assert await says(anna, "still here?") == "not-in-lobby"
        assert seated.token is not None
        await bruno.done(EnterLobby(bruno.next_id(), "Dario", [seated.token]))
        await sees(again, PersonOnline("Dario"), ANNA)


async def test_who_goes_on_to_a_server_with_a_slow_clock_takes_the_name_along() -> None:
    async with memory_server() as server, connected(server.port) as anna:
        channel = Channel(Database("postgresql:///none"), lambda: 1)
        server.lobby.chat.share(channel)
        before = PersonElsewhere("Anna", time.time() + 3600, proofs=[token_hash("of Anna's client")])
        channel._others.put(2, "person", before)
        channel._others.nodes[2] = Node(2, "before", "", runs=True, leaving=False)
        channel._watched[PersonElsewhere]()
        await anna.done(EnterLobby(anna.next_id(), "Anna", ["of Anna's client"]))
        channel._watched[PersonElsewhere]()
        assert await says(anna, "hello") == "said"


async def test_who_came_first_keeps_a_name_given_twice(database: str, socket_folder: Path) -> None:
    """As they may while they do not hear each other."""
    async with (
        DatabaseRelay(database, socket_folder).running() as relay,
        cluster(database, "one", timers=FastClock) as (one,),
        cluster(relay.url, "two", timers=FastClock) as (two,),
        contextlib.AsyncExitStack() as stack,
    ):
        relay.refuses = True
        relay.cut()
        first = await entered(stack, one.port, "Anna")
        second = await entered(stack, two.port, "Anna")
        bruno = await entered(stack, two.port, "Bruno")
        relay.refuses = False
        await eventually(lambda: len(list(two.lobby.chat._people)) == 1)
        await sees(bruno, ANNA, BRUNO)
        assert await says(second, "I am Anna") == "not-in-lobby"
        assert await says(first, "I am") == "said"
        assert [each.text for each in await heard(bruno, 1)] == ["I am"]


async def test_one_server_cannot_flood_the_lobbies_of_others(database: str) -> None:
    """They take four times as many remarks from it in a minute as from their own people."""
    limits = Limits(chat_in_lobby=1)
    async with (
        cluster(database, "two", timers=FastClock, limits=limits) as (two,),
        contextlib.AsyncExitStack() as stack,
    ):
        bruno = await entered(stack, two.port, "Bruno")
        async with cluster(database, "one", timers=FastClock) as (one,):
            anna = await entered(stack, one.port, "Anna")
            for number in range(12):
                assert await says(anna, str(number)) == "said"
            await heard(bruno, 4)
            await sees(bruno, BRUNO, ANNA)
        await sees(bruno, BRUNO)
        assert len(remarks(bruno)) == 4


async def test_remarks_of_all_servers_have_different_numbers(database: str) -> None:
    numbers: list[int] = []
    for term in (1, 2, 3):
        said = Remarks(lambda: 0.0, 7, 100)
        said.share(Channel(Database(database), lambda term=term: term), lambda: None)  # type: ignore[misc]
        for last in (100, 2**31 - 5):
            said._last_number = last
            for _ in range(5):
                said.say("Anna", "hello")
        numbers += said._numbers
    assert len(numbers) == len(set(numbers)) == 30
    assert all(0 < number < 2**31 for number in numbers)
