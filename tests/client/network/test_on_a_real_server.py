"""The connection at a real server: games, breaks, seats taken over, the lobby."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator

import pytest

from client.network.connection import Connection, connected
from client.network.waiting import NoAnswer
from client.tables.table import Back, Closed, HeardInLobby, OnlineChanged
from engine.events import Command
from engine.legal import Legal
from engine.redaction import snapshot
from protocol.messages import (
    NEW,
    Done,
    EnterLobby,
    JoinTable,
    ListTables,
    LobbyRemark,
    Online,
    OpenTable,
    PersonOnline,
    Rematch,
    Resume,
    SaidInLobby,
    SayInLobby,
    Seated,
    StartGame,
    Watch,
)
from protocol.moves import move_message
from server.app import Running, running
from server.config import Config
from tests.client.network.seated import TOKEN, greet_and_wait, joined, seat_joiner, seat_returner
from tests.client.scripted import FAST_RETRIES, TIMEOUT, Peer, next_update, scripted


@contextlib.asynccontextmanager
async def at_one_table(server: Running, *names: str) -> AsyncIterator[list[Connection]]:
    """Seat players at a new table of the server."""
    async with contextlib.AsyncExitStack() as stack:
        url = f"ws://127.0.0.1:{server.port}"
        players = [await stack.enter_async_context(connected(url, timeouts=FAST_RETRIES)) for _ in names]
        seated = await players[0].ask(OpenTable(NEW, len(names), names[0], starting=0))
        for player, name in zip(players[1:], names[1:], strict=True):
            await player.ask(JoinTable(NEW, seated.table, name))
        yield players


def break_connection(connection: Connection) -> None:
    """Break the client's connection, if it has one."""
    if connection._websocket is not None:
        connection._websocket.transport.abort()


def random_command(legal: Legal, rng: random.Random) -> Command:
    commands: list[Command] = list(legal.commands())
    return rng.choice(commands)


async def play_to_the_end(connection: Connection, rng: random.Random, breaks: float = 0.0) -> None:
    """Make random moves until the game is over, breaking the connection now and then."""
    moved_at: int | None = None
    async for update in connection.updates():
        model = connection.model
        assert not isinstance(update, Closed), update
        if model.view is not None and model.view.result is not None:
            return
        if model.legal is not None and model.seq != moved_at:
            moved_at = model.seq
            playing = asyncio.create_task(connection.ask(move_message(NEW, random_command(model.legal, rng))))
            if rng.random() < breaks:
                await asyncio.sleep(0)
                break_connection(connection)
            await playing


@pytest.mark.parametrize("breaks", [0.0, 0.5])
async def test_a_game_on_a_real_server(breaks: float) -> None:
    """Players and a spectator end with the same board, however often they lose their connections."""
    async with running(Config(seed=1)) as server, at_one_table(server, "ann", "bob", "cat") as players:
        url = f"ws://127.0.0.1:{server.port}"
        async with connected(url, timeouts=FAST_RETRIES) as spectator, asyncio.timeout(TIMEOUT):
            code = players[0].model.table
            assert code is not None
            await spectator.ask(Watch(NEW, code))
            assert [peer.taken for peer in (await spectator.ask(ListTables(NEW))).tables] == [3]
            await players[0].ask(StartGame(NEW))
            async with asyncio.TaskGroup() as tasks:
                for number, each in enumerate([*players, spectator]):
                    tasks.create_task(play_to_the_end(each, random.Random(number), breaks))
            views = [each.model.view for each in (*players, spectator)]
            game = server.lobby.tables[code].state.game
            assert game is not None
            for view in views:
                assert view is not None
                assert view == snapshot(game.view, view.eyes)


async def test_an_unanswered_rematch_is_asked_for_again() -> None:
    """After a lost connection, the client resumes at the old table and asks once more."""
    asked: list[int] = []

    async def first(peer: Peer) -> None:
        await seat_joiner(peer)
        asked.append((await peer.receive(Rematch)).id)
        peer.drop()

    async def second(peer: Peer) -> None:
        await seat_returner(peer)
        asked.append((await peer.receive(Rematch)).id)
        await peer.send(Seated(asked[-1], "KXQT", 0))
        peer.drop()

    async def third(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        assert (resume.table, resume.token) == ("KXQT", TOKEN)  # it holds the new seat as well
        await peer.send(Seated(resume.id, "KXQT", 0))

    async with joined(first, second, third) as connection:
        seated = await connection.ask(Rematch(NEW))
        assert (seated.table, connection.model.table) == ("KXQT", "KXQT")
        await next_update(connection, Back)
        await next_update(connection, Back)
    assert asked[0] == asked[1]


async def test_what_the_lobby_tells_is_safe_to_show() -> None:
    """Whatever the server lets through: nothing that a terminal interprets gets to the screen."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(Online([PersonOnline("\x1b[2J", "playing", "KXQT")], 3))
        await peer.send(SaidInLobby([LobbyRemark(1, "\x1b[2J", "\x07")]))

    async with scripted(act) as url, connected(url) as connection:
        online = await next_update(connection, OnlineChanged)
        assert online == OnlineChanged((PersonOnline("\\x1b[2J", "playing", "KXQT"),), 3)
        heard = await next_update(connection, HeardInLobby)
        assert heard == HeardInLobby((LobbyRemark(1, "\\x1b[2J", "\\x07"),))


async def test_after_a_lost_connection_nobody_is_listed_and_nothing_said_twice() -> None:
    """What was said without an answer is not sent again: the caller learns that nobody may have heard it."""

    async def first(peer: Peer) -> None:
        await peer.welcome()
        entered = await peer.receive(EnterLobby)
        assert (entered.name, entered.tokens) == ("Ann", ["made up"])
        await peer.send(Done(entered.id))
        await peer.receive(SayInLobby)
        peer.drop()

    async with scripted(first, greet_and_wait) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(EnterLobby(NEW, "Ann", ["made up"]))
        assert connection.listed_as == "Ann"
        with pytest.raises(NoAnswer, match="may not have heard"):
            await connection.ask(SayInLobby(NEW, "hello"))
        assert connection.listed_as is None
        await next_update(connection, Back)
