"""A lost connection is restored, with the seat and what was not answered, at whichever server lives."""

import asyncio
import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import pytest
from msgspec import structs
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from client.network.connection import Waiting, open_connection
from client.network.refusals import describe_refusal
from client.network.transport import (
    AT_ONCE,
    NEXT_ROUND,
    WITHIN_A_ROUND,
    ConnectFailed,
    Elsewhere,
    RequestUnanswered,
    ServerAccess,
    ServerAddress,
    ServerAddresses,
    Timeouts,
    may_follow,
)
from client.tables.table import Back, Closed, ConnectionLost, Happened, TableClosed, TableModel
from engine.board import Field
from engine.events import Place
from engine.game import Game
from engine.pieces import Piece, Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from protocol import messages
from protocol.codes import CloseCode, Code
from protocol.events import move_message
from protocol.limits import ADDRESSES_TOLD
from protocol.messages import NEW, Hello, JoinTable, Moved, Refused, Rematch, Resume, Seated
from server.app import running
from server.config import Config
from tests.cases import cases
from tests.client.network import seated
from tests.client.network.seated import TOKEN, seat_joiner, seat_returner
from tests.client.scripted import FAST_RETRIES, TIMEOUT, Peer, next_update, queued_updates, scripted


async def test_a_move_survives_a_lost_connection(game: Game) -> None:
    sent: list[messages.PlacePiece] = []

    async def act(peer: Peer) -> None:
        await seated.seat_joiner(peer)
        await peer.send(seated.events_frame(game, 1, 5))
        sent.append(await peer.receive(messages.PlacePiece))
        peer.drop()

    async def again(peer: Peer) -> None:
        resume = await peer.answer(
            messages.Resume, messages.Seated(NEW, "ABCD", 0), seated.events_frame(game, 6)
        )
        assert (resume.table, resume.token, resume.after) == ("ABCD", seated.TOKEN, 5)
        sent.append(await peer.receive(messages.PlacePiece))
        await peer.send(messages.Done(sent[1].id))

    async with seated.joined(act, again) as connection:
        await next_update(connection, Happened)
        await connection.ask(move_message(NEW, Place(Seat(0), Piece("Em*"), Field("C4"))))
        assert sent[0] == sent[1]
        lost, back, *_ = queued_updates(connection)
        assert isinstance(lost, ConnectionLost)
        assert 0 < lost.retry_in <= FAST_RETRIES.longest_pause
        assert lost.reason == "The connection to the server was lost."
        assert back == Back()
        assert connection.model.view == snapshot(game.view, eyes_of(Seat(0)))


async def test_a_spectator_watches_again(game: Game) -> None:
    """Spectators have no token: they ask to watch from the last event they have."""

    async def act(peer: Peer) -> None:
        await peer.answer(messages.Watch, messages.Watching(NEW, "ABCD"), seated.events_frame(game, 1, 1))
        await peer.answer(messages.Ping, messages.Pong(NEW))
        peer.drop()

    async def again(peer: Peer) -> None:
        watch = await peer.answer(messages.Watch, messages.Watching(NEW, "ABCD"))
        assert watch.after == 1

    async with scripted(act, again) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(messages.Watch(NEW, "ABCD"))
        await connection.ask(messages.Ping(NEW))
        await next_update(connection, Back)
        assert connection.model.seq == 1


def test_pauses_grow_and_differ_between_clients() -> None:
    pauses = [list(itertools.islice(Timeouts().pauses(), 9)) for _ in range(2)]
    assert pauses[0] != pauses[1]
    for one in pauses:
        for number, pause in enumerate(one):
            assert min(0.1 * 2**number, 2.5) <= pause <= min(0.2 * 2**number, 5.0)
    # A server that is gone, or sends everybody away, is tried some twenty times a minute by each client.
    assert sum(itertools.islice(Timeouts().pauses(), 28)) > 60


@pytest.mark.parametrize(
    ("until", "code"),
    [
        (None, None),
        (None, 1001),
        (Peer.welcome, 1013),
        *((seated.seat_returner, code) for code in (1000, 1001, 1011, 1012, 1013)),
    ],
)
async def test_a_server_that_sends_everybody_away_is_left_in_peace(
    until: Callable[[Peer], Awaitable[object]] | None, code: int | None
) -> None:
    """However far a client gets before the connection ends again, each pause is longer than the last."""
    timeouts = dataclasses.replace(FAST_RETRIES, first_pause=0.001, longest_pause=TIMEOUT)
    attempts = 4

    async def hostile(peer: Peer) -> None:
        if until is not None:
            await until(peer)
        if code is None:
            peer.drop()
        else:
            await peer.socket.close(code)

    async def end(peer: Peer) -> None:
        await peer.socket.close(1008, "the end")

    async with (
        scripted(seated.seat_and_drop, *[hostile] * attempts, end) as url,
        open_connection(url, timeouts=timeouts) as connection,
    ):
        await connection.ask(messages.JoinTable(NEW, "ABCD", "ann"))
        async with asyncio.timeout(TIMEOUT):
            pauses = [
                update.retry_in async for update in connection.updates() if isinstance(update, ConnectionLost)
            ]
    assert len(pauses) == attempts + 1
    assert all(0.001 * 2**number <= pause <= 0.002 * 2**number for number, pause in enumerate(pauses))


NEW_SEATS = [messages.JoinTable(NEW, "ABCD", "ann"), messages.OpenTable(NEW, 2, "ann")]


@pytest.mark.parametrize("request_for_seat", NEW_SEATS)
async def test_a_seat_is_asked_for_again_under_its_token(request_for_seat: Any) -> None:
    """The server knows by that whether it has given it; it is a new token for each seat."""
    asked: list[Any] = []

    async def lost(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        asked.append(await peer.receive(type(request_for_seat)))
        peer.drop()

    async def found(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        asked.append(await peer.answer(type(request_for_seat), Seated(NEW, "ABCD", 0)))
        await peer.answer(messages.Leave, messages.Done(NEW))
        asked.append(await peer.answer(type(request_for_seat), Seated(NEW, "ABCD", 0)))

    async with scripted(lost, found) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(request_for_seat)
        assert asked[0] == asked[1]
        assert connection.model.token == asked[0].token
        await connection.ask(messages.Leave(NEW))
        await connection.ask(request_for_seat)
        assert connection.model.token == asked[2].token != asked[0].token
        assert {len(each.token) for each in asked} == {43}


async def test_a_token_that_the_caller_has_stored_is_sent() -> None:
    async def act(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        assert (await peer.answer(JoinTable, Seated(NEW, "ABCD", 0))).token == "t" * 43

    async with scripted(act) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(JoinTable(NEW, "ABCD", "ann", token="t" * 43))
        assert connection.model.token == "t" * 43


async def test_a_server_that_takes_no_tokens_is_sent_none() -> None:
    """It makes them; and what may have been carried out at another one is asked for no more."""

    async def older(peer: Peer) -> None:
        await peer.welcome()
        request = await peer.answer(JoinTable, Seated(NEW, "ABCD", 0, TOKEN))
        assert request.token is None
        await peer.answer(messages.Leave, messages.Done(NEW))

    async def newer(peer: Peer) -> None:
        await peer.welcome(own_tokens=True)
        await peer.receive(JoinTable)
        peer.drop()

    async with scripted(newer, older) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        with pytest.raises(RequestUnanswered, match="Check the list of tables"):
            await connection.ask(JoinTable(NEW, "ABCD", "ann"))
        await connection.ask(JoinTable(NEW, "ABCD", "ann", token="t" * 43))
        assert connection.model.token == TOKEN
        await connection.ask(messages.Leave(NEW))


async def test_a_client_that_is_sent_on_to_an_older_server_gets_its_token_there() -> None:
    async def older(peer: Peer) -> None:
        await peer.welcome()
        assert (await peer.answer(JoinTable, Seated(NEW, "ABCD", 0, TOKEN))).token is None

    async with scripted(older) as address:

        async def newer(peer: Peer) -> None:
            await peer.welcome(own_tokens=True)
            about = {"table": "ABCD", "address": address}
            request = await peer.receive(JoinTable)
            await peer.send(Refused(Code.TABLE_ELSEWHERE, "", request.id, about=about))

        async with scripted(newer) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
            await connection.ask(JoinTable(NEW, "ABCD", "ann"))
            assert connection.model.token == TOKEN


async def test_a_seat_is_not_asked_for_twice() -> None:
    """Not without a token: a lost request may have succeeded, so the player checks the list."""

    async def there(peer: Peer) -> None:
        await peer.receive(messages.OpenTable)
        peer.drop()

    async with scripted(there, Peer.welcome) as address:

        async def here(peer: Peer) -> None:
            await peer.welcome()
            about = {"address": address}
            await peer.send(
                messages.Refused(
                    Code.SERVER_STOPPING, "", (await peer.receive(messages.OpenTable)).id, about=about
                )
            )

        async with scripted(here) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
            with pytest.raises(RequestUnanswered, match="Check the list of tables"):
                await connection.ask(messages.OpenTable(NEW, 2, "ann"))
            await next_update(connection, Back)  # there
            await next_update(connection, Back)  # and there


async def test_a_player_who_was_leaving_does_not_resume() -> None:
    """A Leave counts as done if the connection is lost before its answer."""

    async def act(peer: Peer) -> None:
        await seated.seat_joiner(peer)
        await peer.receive(messages.Leave)
        peer.drop()

    async with seated.joined(act, Peer.welcome) as connection:
        await connection.ask(messages.Leave(NEW))
        assert connection.model.table is None
        await next_update(connection, Back)


async def test_a_seat_that_comes_too_late_is_still_the_clients() -> None:
    """A client that gave up waiting for it returns to it as a player, not as a spectator."""
    seat_given = asyncio.Event()

    async def act(peer: Peer) -> None:
        resume = await peer.receive(messages.Resume)
        await seat_given.wait()
        await peer.send(messages.Seated(resume.id, "ABCD", 1))
        await peer.receive(messages.Ping)
        peer.drop()

    async def again(peer: Peer) -> None:
        await seated.seat_returner(peer, seat=1)
        await seated.answer_ping(peer)

    async with scripted(act, again) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        connection._timeouts = seated.SHORT_TIMEOUTS
        with pytest.raises(RequestUnanswered):
            await connection.ask(messages.Resume(NEW, "ABCD", seated.TOKEN))
        connection._timeouts = FAST_RETRIES
        seat_given.set()
        await connection.ask(messages.Ping(NEW))


@pytest.mark.parametrize(
    ("code", "reason", "sentence"),
    [
        (4000, "your seat was taken over", "Your seat was taken over by another connection."),
        (
            1008,
            "too many \x1b wrong tokens",
            r"The server closed the connection: too many \x1b wrong tokens.",
        ),
    ],
)
async def test_final_closes(code: int, reason: str, sentence: str) -> None:
    async def act(peer: Peer) -> None:
        await seated.seat_joiner(peer)
        await peer.socket.close(code, reason)

    async with seated.joined(act) as connection:
        assert await next_update(connection, Closed) == Closed(code, sentence)
        assert not connection.online


@pytest.mark.parametrize(
    "code",
    [Code.TOO_SOON, Code.TOO_MANY_GUESSES, Code.TOO_MANY_TABLES, Code.SERVER_STOPPING, Code.NOT_STORED],
)
async def test_a_seat_that_cannot_be_resumed_yet_is_asked_for_again(code: Code) -> None:
    """If everybody left, the game is in the archive, and there may be no room for it immediately."""

    async def not_yet(peer: Peer) -> None:
        await peer.welcome()
        about = {"seconds": "1"} if code in {Code.TOO_SOON, Code.SERVER_STOPPING} else None
        await peer.send(
            messages.Refused(code, "Not yet.", (await peer.receive(messages.Resume)).id, about=about)
        )

    async with seated.joined(seated.seat_and_drop, not_yet, seated.seat_returner) as connection:
        await next_update(connection, Back)
        assert connection.online


@pytest.mark.parametrize(
    ("first", "code"),
    [
        *(
            (messages.JoinTable(NEW, "ABCD", "ann"), code)
            for code in ("bad-token", "no-such-table", "table-damaged")
        ),
        (messages.Watch(NEW, "ABCD"), "no-spectators"),
    ],
)
async def test_a_lost_place_leads_to_the_lobby(first: messages.JoinTable | messages.Watch, code: str) -> None:
    """The reader of the news learns why, and so is who waits for the table; the lobby answers."""
    refused = messages.Refused(code, "No.", about={"table": "ABCD"})

    async def act(peer: Peer) -> None:
        if isinstance(first, messages.JoinTable):
            await seated.seat_joiner(peer)
        else:
            await peer.answer(messages.Watch, messages.Watching(NEW, "ABCD"))
        await peer.receive(messages.Say)
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        back = (
            await peer.receive(messages.Resume)
            if isinstance(first, messages.JoinTable)
            else await peer.receive(messages.Watch)
        )
        await peer.send(structs.replace(refused, id=back.id))
        await peer.answer(messages.ListTables, messages.Tables(NEW, []))

    async with scripted(act, again) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(first)
        with pytest.raises(RequestUnanswered) as unanswered:
            await connection.ask(messages.Say(NEW, "hello"))
        assert str(unanswered.value) == describe_refusal(refused)
        assert (await next_update(connection, TableClosed)).refused.code == code
        await next_update(connection, Back)
        assert connection.model == TableModel()
        assert (await connection.ask(messages.ListTables(NEW))).tables == []


async def test_a_server_that_is_gone_for_good() -> None:
    """After the time-out, waiting and later requests fail with the same sentence."""
    timeouts = dataclasses.replace(FAST_RETRIES, keep_trying=0.05)
    async with contextlib.AsyncExitStack() as staying:
        async with running(Config()) as server:
            peer = open_connection(f"ws://127.0.0.1:{server.port}", timeouts=timeouts)
            connection = await staying.enter_async_context(peer)
            await connection.ask(messages.OpenTable(NEW, 2, "ann"))
        assert (await next_update(connection, ConnectionLost)).reason == "The server stopped."
        with pytest.raises(ConnectFailed, match="Gave up after"):
            await connection.ask(messages.Say(NEW, "hello"))
        assert "Gave up after 0.05 s." in (await next_update(connection, Closed)).reason


async def test_only_the_first_end_of_a_request_counts() -> None:
    """A caller that has given up, or was answered in the same moment, is told nothing more."""
    loop = asyncio.get_running_loop()
    ends: list[Callable[[Waiting], None]] = [
        lambda waiting: waiting.settle(messages.Done(1)),
        lambda waiting: waiting.fail(ConnectFailed("lost")),
        lambda waiting: waiting.refuse(messages.Refused("not-at-table", "You are at no table.", 1)),
    ]
    for end in ends:
        settled, given_up = (Waiting(messages.Leave(1), loop.create_future()) for _ in range(2))
        settled.alarm = loop.call_later(3600, settled.fail, ConnectFailed("late"))
        settled.settle(messages.Done(1))
        given_up.answer.cancel()
        for waiting in (settled, given_up):
            end(waiting)
            assert waiting.alarm is None
        assert await settled.answer == messages.Done(1)
        assert given_up.answer.cancelled()


NOWHERE = "ws://127.0.0.1:1"  # where no server is
GIVEN, SECOND, THIRD = "ws://given.example", "ws://second.example", "ws://third.example"
LOST = ConnectFailed("lost")


def ways(*others: str, given: str = GIVEN) -> ServerAddresses:
    headers = {"Authorization": "x", "X-Forwarded-For": "y"}
    found = ServerAddresses(ServerAddress(given, "a test", ServerAccess(headers=headers, hosts=None)))
    found.learn(others)
    return found


async def send_on(peer: Peer, address: str) -> None:
    """Tell the client, which asks for its table or the next one, that this is elsewhere."""
    request = await peer.receive_any()
    assert isinstance(request, Resume | Rematch)
    about = {"table": "ABCD" if isinstance(request, Resume) else "KXQT", "address": address}
    await peer.send(Refused(Code.TABLE_ELSEWHERE, "", request.id, about=about))


def test_all_addresses_are_tried_in_turn() -> None:
    """First where the client was, with the whole pause once a round."""
    found = ways(SECOND, THIRD)
    tried = [(found.turn(LOST), found.at.url) for _ in range(6)]
    first = [(NEXT_ROUND, GIVEN), (WITHIN_A_ROUND, SECOND), (WITHIN_A_ROUND, THIRD)]
    assert tried == [*first, *first]
    assert found.turn(Elsewhere("", "ws://fourth.example")) == AT_ONCE
    found.note_arrival()
    assert found.turn(LOST) == NEXT_ROUND
    assert found.at.url == "ws://fourth.example"


def test_no_server_is_forgotten_because_of_what_another_says() -> None:
    """One that lives still sends clients to one that has died, until that one's lease is over."""
    found = ways(SECOND)
    assert [(found.turn(LOST), found.at.url)[1] for _ in range(2)] == [GIVEN, SECOND]
    found.learn([GIVEN])
    assert found.turn(Elsewhere("", GIVEN)) == AT_ONCE
    assert [(found.turn(LOST), found.at.url)[1] for _ in range(2)] == [GIVEN, SECOND]
    for number in range(100):
        found.learn([f"ws://{number}.example"])
    tried = [(found.turn(LOST), found.at.url)[1] for _ in range(30)]
    assert SECOND in tried
    assert len({*tried}) <= ADDRESSES_TOLD + 2


def test_what_is_secret_stays_with_the_server_that_gave_it() -> None:
    """And what was encrypted stays encrypted; nor is anybody sent to what is not an address."""
    found = ways(SECOND, THIRD)
    found.turn(LOST)
    assert "Authorization" in found.at.access.headers
    found.turn(LOST)
    assert found.at.access.headers == {"X-Forwarded-For": "y"}
    found = ways(
        "ws://plain.example", "wss://safe.example", "wss://\x1b.example", "http://x", given="wss://a"
    )
    found.turn(LOST)
    for address in ("wss://safe.example", "wss://a"):
        assert found.turn(LOST)
        assert found.at.url == address


@pytest.mark.parametrize(("url", "goes"), cases(__file__, "addresses"))
def test_a_server_sends_clients_to_its_own_host_or_to_confirmed_ones(url: str, goes: str) -> None:
    given = ServerAddress(GIVEN, "a test", ServerAccess(hosts=frozenset({"confirmed.example"})))
    assert may_follow(url, given) is (goes == "yes")
    found = ServerAddresses(given)
    found.learn([url])
    assert (url in found.known) is (goes == "yes")


async def test_no_http_answer_leads_a_client_anywhere() -> None:
    asked: list[str] = []

    def redirect(connection: ServerConnection, request: Request) -> Response:
        asked.append(request.path)
        response = connection.respond(HTTPStatus.FOUND, "")
        response.headers["Location"] = "/elsewhere"
        return response

    async def nobody_comes(_: ServerConnection) -> None: ...

    async with serve(nobody_comes, "127.0.0.1", 0, process_request=redirect) as server:
        (listener,) = server.sockets
        with pytest.raises(ConnectFailed, match="302"):
            async with open_connection(f"ws://127.0.0.1:{listener.getsockname()[1]}/here"):
                pass
    assert asked == ["/here"]


def test_servers_that_send_clients_in_circles_are_asked_with_pauses() -> None:
    """A table that moved twice is found immediately; then there are pauses, which grow as for all failures.

    The fourth time in a row is not followed.
    """
    found = ways()
    turns = [(found.turn(Elsewhere("", url)), found.at.url) for url in (SECOND, THIRD) * 2]
    assert turns == [(AT_ONCE, SECOND), (AT_ONCE, THIRD), (NEXT_ROUND, SECOND), (NEXT_ROUND, SECOND)]
    found.note_lasting()
    assert found.turn(Elsewhere("", SECOND)) == AT_ONCE


def test_a_server_that_is_of_no_use_is_left_out() -> None:
    """Until there is a connection again; without any other, its failure is the end."""
    useless = ConnectFailed("a password is wanted", final=True, only_here=True)
    found = ways(SECOND)
    found.turn(LOST)
    assert [(found.turn(useless), found.at.url), (found.turn(LOST), found.at.url)] == [
        (WITHIN_A_ROUND, SECOND),
        (NEXT_ROUND, SECOND),
    ]
    assert found.turn(Elsewhere("", GIVEN)) == NEXT_ROUND
    assert found.at.url == SECOND
    with pytest.raises(ConnectFailed, match="password"):
        found.turn(useless)
    with pytest.raises(ConnectFailed, match="taken over"):
        ways(SECOND, THIRD).turn(ConnectFailed("taken over", final=True))


async def test_a_player_who_is_sent_on_stays_a_player() -> None:
    """To a table, when it has moved, and to the next one: without its token it would be a spectator."""

    async def first(peer: Peer) -> None:
        await peer.welcome()
        await send_on(peer, second_url)

    async def second(peer: Peer) -> None:
        await seat_returner(peer)
        peer.drop()

    async def second_again(peer: Peer) -> None:
        await peer.welcome()
        await send_on(peer, third_url)

    async def third(peer: Peer) -> None:
        await seat_returner(peer)
        await send_on(peer, fourth_url)

    async with (
        scripted(functools.partial(seat_returner, table="KXQT")) as fourth_url,
        scripted(third) as third_url,
        scripted(second, second_again) as second_url,
        scripted(first) as url,
        open_connection(url, timeouts=FAST_RETRIES) as connection,
    ):
        await connection.ask(Resume(NEW, "ABCD", TOKEN))
        await next_update(connection, Back)
        assert (await connection.ask(Rematch(NEW))).table == "KXQT"
        assert connection.model.token == TOKEN


async def test_one_server_that_lets_nobody_in_does_not_end_the_game() -> None:
    """As it may have another password, or be another version; the others still serve."""

    async def lock(peer: Peer) -> None:
        await peer.receive(Hello)
        await peer.send(Refused(Code.PASSWORD_NEEDED, "No."))
        await peer.socket.close(1008)

    async def first(peer: Peer) -> None:
        await seat_joiner(peer, locked_url)
        peer.drop()

    async def drop(peer: Peer) -> None:
        peer.drop()

    async with (
        scripted(lock) as locked_url,
        scripted(first, drop, drop, seat_returner) as url,
        open_connection(url, timeouts=FAST_RETRIES) as connection,
    ):
        await connection.ask(JoinTable(NEW, "ABCD", "ann"))
        await next_update(connection, Back)


@pytest.mark.parametrize("stopping", [False, True])
async def test_a_client_that_has_moved_knows_whether_its_server_stops(stopping: bool) -> None:
    async def second(peer: Peer) -> None:
        await peer.welcome()
        if stopping:
            await peer.send(messages.Stopping(60))
        await peer.answer(Resume, Seated(NEW, "ABCD", 0))

    async with scripted(second) as second_url:

        async def first(peer: Peer) -> None:
            await seat_joiner(peer)
            await peer.send(messages.Stopping(1))
            await peer.send(Moved(second_url))

        async with scripted(first) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
            await connection.ask(JoinTable(NEW, "ABCD", "ann"))
            assert await next_update(connection, Back) == Back(stopping)


async def test_a_seat_that_was_taken_over_is_asked_for_nowhere_else() -> None:
    """Two clients that take it from one another at several servers would never end."""

    async def take_over(peer: Peer) -> None:
        await peer.receive(Resume)
        await peer.socket.close(CloseCode.TAKEN_OVER)

    async with scripted(take_over) as second_url:

        async def first(peer: Peer) -> None:
            await seat_joiner(peer)
            await peer.send(Moved(second_url))

        async with scripted(first) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
            await connection.ask(JoinTable(NEW, "ABCD", "ann"))
            assert (await next_update(connection, Closed)).code == CloseCode.TAKEN_OVER
