"""Who is online, and what is said in the lobby, is the same at all servers."""

import contextlib
import time
from pathlib import Path

import pytest

from protocol.messages import ChangeSetting, EnterLobby, Leave, PersonOnline
from protocol.settings import Private
from server.app import running
from server.cluster.channel import Channel
from server.cluster.messages import PersonElsewhere
from server.config import Config, Limits
from server.net.tokens import token_hash
from server.storage.postgresql.database import Database
from server.storage.postgresql.telling import Node
from server.tables.online.remarks import Remarks
from tests.postgresql import DatabaseRelay
from tests.server.cluster.running_cluster import cluster
from tests.server.manual_clock import FastClock
from tests.server.peer import connected, eventually, memory_server
from tests.server.tables.online.test_lobby_chat import entered, heard, remarks, says, sees

ANNA, BRUNO = PersonOnline("Anna"), PersonOnline("Bruno")


async def test_people_see_each_other_and_talk_wherever_they_are(database: str) -> None:
    """A private table hides where somebody is, at other servers too; who comes later hears what was said."""
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
        await anna.done(ChangeSetting(anna.next_id(), Private(on=True)))
        await sees(bruno, BRUNO, PersonOnline("Anna", "playing"))
        await anna.done(Leave(anna.next_id()))
        async with cluster(database, "three", timers=FastClock) as (three,):
            carla = await entered(stack, three.port, "Carla")
            assert await heard(carla, 2) == at_one
            await sees(carla, ANNA, BRUNO, PersonOnline("Carla"))
            await bruno.socket.close()
            await sees(carla, ANNA, PersonOnline("Carla"))
        await sees(anna, ANNA)


@pytest.mark.slow
async def test_a_name_is_somebodys_at_all_servers(database: str) -> None:
    """Of people, and of players at tables; who shows the token takes it along."""
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
    async with (
        running(
            Config(database=database, node="two", timers=FastClock, limits=Limits(chat_in_lobby=1))
        ) as two,
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
    """Even when they do not hear each other, and when the numbers come to their end."""
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
