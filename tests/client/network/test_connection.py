"""The connection: answers match their requests, gaps are filled, and games go on at a real server."""

import asyncio
import contextlib
import functools
import random

import msgpack
import pytest

from client.network.connection import open_connection
from client.network.transport import ConnectFailed, RequestRefused, RequestUnanswered
from client.tables.table import Back, Closed, ConnectionLost, Happened, HeardRemark, Refreshed, news_of_server
from engine.board import Field
from engine.events import Place
from engine.game import Game
from engine.pieces import Piece, Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol import messages
from protocol.codec import encode
from protocol.codes import Code
from protocol.events import move_message
from protocol.limits import LARGEST_ID
from protocol.messages import NEW
from server.app import running
from server.config import Config
from tests.client.network.seated import (
    SHORT_TIMEOUTS,
    TOKEN,
    answer_ping,
    events_frame,
    joined,
    seat_joiner,
    seat_returner,
)
from tests.client.scripted import (
    FAST_RETRIES,
    TIMEOUT,
    Peer,
    next_update,
    play_randomly,
    queued_updates,
    scripted,
)
from tests.games import rest_slow


async def test_answers_match_their_requests() -> None:
    async def act(peer: Peer) -> None:
        tables, ping = await peer.receive(messages.ListTables), await peer.receive(messages.Ping)
        assert ping.id == tables.id + 1
        await peer.send(messages.Pong(ping.id))
        await peer.send(messages.Tables(tables.id, [messages.TableSummary("ABCD", "ann", 2, 1, "gathering")]))

    async with scripted(act) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        async with asyncio.TaskGroup() as tasks:
            tables = tasks.create_task(connection.ask(messages.ListTables(NEW)))
            tasks.create_task(connection.ask(messages.Ping(NEW)))
        assert [peer.table for peer in tables.result().tables] == ["ABCD"]


async def test_a_refusal_is_raised_by_the_refused_request() -> None:
    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        taken = messages.Refused("field-taken", "C4 is taken.\x07", NEW, "R4.1")
        await peer.answer(messages.PlacePiece, taken)
        await answer_ping(peer)

    async with joined(act) as connection:
        with pytest.raises(RequestRefused) as refusal:
            await connection.ask(move_message(NEW, Place(Seat(0), Piece("Em*"), Field("C4"))))
        assert (refusal.value.code, str(refusal.value), refusal.value.rule) == (
            "field-taken",
            r"C4 is taken.\x07",
            "R4.1",
        )
        await connection.ask(messages.Ping(NEW))


@pytest.mark.parametrize(("seconds", "waits"), [("30", 30), ("0", 1), ("99999", None), ("soon", None)])
async def test_a_refusal_says_when_to_ask_again(seconds: str, waits: int | None) -> None:
    """Never at once, whatever the server says: bots wait so long between two requests."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        too_soon = messages.Refused(Code.TOO_SOON, "Wait.", NEW, about={"seconds": seconds})
        await peer.answer(messages.OpenTable, too_soon)

    async with scripted(act) as url, open_connection(url) as connection:
        with pytest.raises(RequestRefused) as refusal:
            await connection.ask(messages.OpenTable(NEW, 2, "ann"))
        assert refusal.value.retry_in == waits


async def test_a_request_without_an_answer_times_out() -> None:
    async def act(peer: Peer) -> None:
        ping = await peer.receive(messages.Ping)
        again = await peer.receive(messages.Ping)
        await peer.send(messages.Pong(ping.id), messages.Pong(again.id))

    async with scripted(act) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        connection._timeouts = SHORT_TIMEOUTS
        with pytest.raises(RequestUnanswered, match=r"did not answer within 0\.05 s"):
            await connection.ask(messages.Ping(NEW))
        connection._timeouts = FAST_RETRIES
        await connection.ask(messages.Ping(NEW))


async def test_a_request_can_be_cancelled() -> None:
    async def act(peer: Peer) -> None:
        await peer.receive(messages.Ping)
        asking.cancel()

    async with scripted(act) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        asking = asyncio.create_task(connection.ask(messages.Ping(NEW)))
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert connection._waiting == {}


@pytest.mark.parametrize(
    ("nonsense", "told"),
    [
        ("text", "does not understand"),
        (b"\xc1", "does not understand"),
        (b"\x81\xa1t\x01", "does not understand"),
        (encode(messages.Done(LARGEST_ID)), "Done is not an answer to Ping"),
        (bytes(300_000), "sent a message that is too long"),
    ],
)
async def test_nonsense_closes_the_connection(nonsense: str | bytes, told: str) -> None:
    async def act(peer: Peer) -> None:
        await peer.receive(messages.Ping)
        await peer.socket.send(nonsense)
        await peer.socket.wait_closed()

    async with scripted(act) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        connection._last_id = LARGEST_ID - 1
        with pytest.raises(ConnectFailed, match=told):
            await connection.ask(messages.Ping(NEW))
        assert await next_update(connection, Closed) == connection.closed
        with pytest.raises(ConnectFailed, match=told):
            await connection.ask(messages.ListTables(NEW))
        assert [update async for update in connection.updates()] == []


async def test_what_a_newer_server_sends_besides_is_passed_over() -> None:
    """Messages of kinds that nobody knows yet, whenever they come, and new fields of those that are known."""
    unknown = msgpack.packb({"t": "not-invented-yet", "id": 1, "with": [{"what": "ever"}]})

    async def act(peer: Peer) -> None:
        await peer.receive(messages.Hello)
        await peer.socket.send(unknown)
        await peer.socket.send(
            msgpack.packb({"t": "welcome", "version": 1, "server": "", "mood": {"is": [1]}})
        )
        join = await peer.receive(messages.JoinTable)
        await peer.socket.send(unknown)
        await peer.send(messages.Seated(join.id, "ABCD", 0, TOKEN))
        peer.drop()

    async def again(peer: Peer) -> None:
        resume = await peer.receive(messages.Resume)
        await peer.socket.send(unknown)
        await peer.send(messages.Seated(resume.id, "ABCD", 0))
        await peer.socket.send(unknown)
        await answer_ping(peer)

    async with joined(act, again) as connection:
        await next_update(connection, Back)
        await connection.ask(messages.Ping(NEW))


async def test_errors_inside_the_context_are_not_changed() -> None:
    async with scripted(Peer.welcome) as url:
        with pytest.raises(ZeroDivisionError):
            async with open_connection(url, timeouts=FAST_RETRIES):
                raise ZeroDivisionError


async def test_a_gap_is_filled_by_a_sync(game: Game) -> None:
    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.send(events_frame(game, 1, 4), events_frame(game, 6, 7), events_frame(game, 8, 8))
        sync = await peer.receive(messages.Sync)
        assert sync.after == 4
        await peer.send(events_frame(game, 5), messages.Done(sync.id))

    async with joined(act) as connection:
        while connection.model.seq < len(game.events):
            await next_update(connection, Happened)
        assert connection.model.view == snapshot(game.view, eyes_of(Seat(0)))


@pytest.mark.parametrize("answered", [True, False])
async def test_a_gap_that_stays_open_leads_to_a_new_connection(game: Game, answered: bool) -> None:
    seated = asyncio.Event()

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await seated.wait()
        await peer.send(events_frame(game, 1, 4), events_frame(game, 6, 7))
        sync = await peer.receive(messages.Sync)
        if answered:
            await peer.send(messages.Refused("not-started", "No.", sync.id))

    async def again(peer: Peer) -> None:
        resume = await peer.answer(messages.Resume, messages.Seated(NEW, "ABCD", 0), events_frame(game, 5))
        assert resume.after == 4

    async with joined(act, again) as connection:
        connection._timeouts = FAST_RETRIES if answered else SHORT_TIMEOUTS
        seated.set()
        lost = await next_update(connection, ConnectionLost)
        assert lost.reason.startswith("The server did not send the missing moves")
        connection._timeouts = FAST_RETRIES
        await next_update(connection, Back)
        await next_update(connection, Happened)
        assert connection.model.view == snapshot(game.view, eyes_of(Seat(0)))


async def test_a_slow_reader_of_updates_gets_a_refresh() -> None:
    many = 1500

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.send(*(messages.Said(str(number), 1) for number in range(many)))
        await answer_ping(peer)

    async with joined(act) as connection:
        await connection.ask(messages.Ping(NEW))
        updates = queued_updates(connection)
        assert len(updates) <= 1024
        assert updates[0] == Refreshed()
        assert updates[-1] == HeardRemark(Seat(1), str(many - 1))


@pytest.mark.parametrize("breaks", rest_slow(0.5, 0.0))
async def test_a_game_on_a_real_server(breaks: float) -> None:
    async with (
        running(Config(seed=1)) as server,
        contextlib.AsyncExitStack() as stack,
        asyncio.timeout(TIMEOUT),
    ):
        url = f"ws://127.0.0.1:{server.port}"
        clients = [
            await stack.enter_async_context(open_connection(url, timeouts=FAST_RETRIES)) for _ in range(4)
        ]
        host, *others, spectator = clients
        code = (await host.ask(messages.OpenTable(NEW, 3, "ann", starting=0))).table
        for client, name in zip(others, ("bob", "cat"), strict=True):
            await client.ask(messages.JoinTable(NEW, code, name))
        await spectator.ask(messages.Watch(NEW, code))
        assert [each.taken for each in (await spectator.ask(messages.ListTables(NEW))).tables] == [3]
        await host.ask(messages.StartGame(NEW))
        async with asyncio.TaskGroup() as tasks:
            for number, each in enumerate(clients):
                tasks.create_task(play_randomly(each, random.Random(number), breaks))
        game = server.lobby.tables[code].state.game
        assert game is not None
        for each in clients:
            assert each.model.view is not None
            assert each.model.view == snapshot(game.view, each.model.view.eyes)


async def test_an_unanswered_rematch_is_asked_for_again() -> None:
    asked: list[int] = []

    async def first(peer: Peer) -> None:
        await seat_joiner(peer)
        asked.append((await peer.receive(messages.Rematch)).id)
        peer.drop()

    async def second(peer: Peer) -> None:
        await seat_returner(peer)
        asked.append((await peer.receive(messages.Rematch)).id)
        await peer.send(messages.Seated(asked[-1], "KXQT", 0))
        peer.drop()

    third = functools.partial(seat_returner, table="KXQT")  # the token holds the new seat as well
    async with joined(first, second, third) as connection:
        seated = await connection.ask(messages.Rematch(NEW))
        assert (seated.table, connection.model.table) == ("KXQT", "KXQT")
        await next_update(connection, Back)
        await next_update(connection, Back)
    assert asked[0] == asked[1]


def test_what_the_lobby_tells_is_safe_to_show() -> None:
    """Whatever the server lets through: nothing that a terminal interprets gets to the screen."""
    online = messages.Online([messages.PersonOnline("\x1b[2J", "playing", "KXQT")], 3)
    assert news_of_server(online) == messages.Online(
        [messages.PersonOnline("\\x1b[2J", "playing", "KXQT")], 3
    )
    said = messages.SaidInLobby([messages.LobbyRemark(1, "\x1b[2J", "\x07")])
    assert news_of_server(said) == messages.SaidInLobby([messages.LobbyRemark(1, "\\x1b[2J", "\\x07")])


async def test_after_a_lost_connection_nobody_is_listed_and_nothing_said_twice() -> None:
    """What was said without an answer is not sent again: the caller learns that nobody may have heard it."""

    async def first(peer: Peer) -> None:
        entered = await peer.answer(messages.EnterLobby, messages.Done(NEW))
        assert (entered.name, entered.tokens) == ("Ann", ["made up"])
        await peer.receive(messages.SayInLobby)
        peer.drop()

    async with (
        scripted(first, Peer.welcome) as url,
        open_connection(url, timeouts=FAST_RETRIES) as connection,
    ):
        await connection.ask(messages.EnterLobby(NEW, "Ann", ["made up"]))
        assert connection.listed_as == "Ann"
        with pytest.raises(RequestUnanswered, match="may not have heard"):
            await connection.ask(messages.SayInLobby(NEW, "hello"))
        assert connection.listed_as is None
        await next_update(connection, Back)
