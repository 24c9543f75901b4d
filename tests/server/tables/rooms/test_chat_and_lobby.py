"""What the lobby hears of tables, and they of it."""

import contextlib

from protocol.messages import EnterLobby, Ping, Said, Say, StartGame
from protocol.settings import Private
from server.storage.entries import OfEvening
from tests.server.peer import Peer, connected, state_where
from tests.server.playing import changed, happen
from tests.server.tables.online.test_lobby_chat import entered, fast_server, heard, in_lobby, remarks, says


def texts(peer: Peer) -> list[str]:
    return [each.text for each in remarks(peer)]


async def test_the_lobby_and_a_table_that_waits_hear_each_other_until_its_game() -> None:
    async with in_lobby("Anna", "Bruno") as (server, stack, (anna, bruno)):
        assert await says(anna, "before") == "said"
        await heard(bruno, 1)
        code = (await bruno.open(2, "Bruno")).table
        carla = await stack.enter_async_context(connected(server.port))
        await carla.join(code, "Carla")
        await carla.done(Say, "not in the lobby myself")
        await carla.done(EnterLobby, "Carla")
        assert await says(anna, "is there room?") == "said"
        assert (await heard(bruno, 2))[-1].text == "is there room?"
        await heard(carla, 1)
        await bruno.done(Say, "come and watch")
        said = (await heard(anna, 3))[-1]
        assert (said.name, said.text, said.said_at) == ("Bruno", "come and watch", code)
        await changed(server, bruno, Private(on=True))
        await carla.done(Say, "among us")
        assert await says(anna, "who is there?") == "said"
        await heard(anna, 4)
        await changed(server, bruno, Private(on=False))
        await carla.done(Say, "and now for all")
        await heard(anna, 5)
        await bruno.done(StartGame)
        await state_where(bruno, lambda state: state.stage == "playing")
        await carla.done(Say, "our secret")
        assert await says(anna, "good luck") == "said"
        await heard(anna, 6)
        dario = await entered(stack, server.port, "Dario")
        said_in_lobby = ["before", "is there room?", "who is there?", "good luck"]
        assert [each.text for each in await heard(dario, 4)] == said_in_lobby
        for peer in (bruno, carla):
            await peer.ask(Ping)
        assert texts(bruno) == ["before", "is there room?"]
        assert texts(carla) == ["is there room?"], "newcomers at a table are told nothing from before"
        assert texts(anna) == [
            *said_in_lobby[:2],
            "come and watch",
            said_in_lobby[2],
            "and now for all",
            "good luck",
        ]


async def test_the_limits_of_the_lobby_silence_nobody_at_a_table() -> None:
    async with fast_server(chat_in_lobby_per_connection=1) as server, contextlib.AsyncExitStack() as stack:
        anna, bruno = [await entered(stack, server.port, name) for name in ("Anna", "Bruno")]
        await bruno.open(2, "Bruno")
        for text in ("one", "two"):
            await bruno.done(Say, text)
        assert await says(anna, "three") == "said"
        assert [each.text for each in await heard(anna, 2)] == ["one", "three"]
        assert [each.text for each in bruno.told(Said)] == ["one", "two"]


async def test_an_evenings_table_and_the_lobby_do_not_hear_each_other() -> None:
    async with in_lobby("Anna", "Bruno") as (server, _, (anna, bruno)):
        await bruno.open(2, "Bruno")
        await happen(server, bruno, OfEvening())
        await bruno.done(Say, "among us")
        assert await says(anna, "hello") == "said"
        assert [each.text for each in await heard(anna, 1)] == ["hello"]
        await bruno.ask(Ping)
        assert remarks(bruno) == []
