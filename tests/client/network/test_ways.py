"""The ways to a cluster: whichever of its servers lives is found, and none is run in circles for."""

import functools
from http import HTTPStatus

import pytest
from websockets.asyncio.server import ServerConnection, serve
from websockets.http11 import Request, Response

from client.network.connection import open_connection
from client.network.transport import (
    AT_ONCE,
    NEXT_ROUND,
    WITHIN_A_ROUND,
    ConnectFailed,
    Elsewhere,
    ServerAccess,
    ServerAddress,
    ServerAddresses,
    may_follow,
)
from client.tables.table import Back, Closed
from protocol.codes import CloseCode, Code
from protocol.limits import ADDRESSES_TOLD
from protocol.messages import NEW, Hello, JoinTable, Moved, Refused, Rematch, Resume
from tests.client.network.seated import TOKEN, seat_joiner, seat_returner
from tests.client.scripted import FAST_RETRIES, Peer, next_update, scripted

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


@pytest.mark.parametrize(
    ("url", "goes"),
    [
        *(
            (url, True)
            for url in ("ws://given.example:9/first", "wss://GIVEN.example", "ws://confirmed.example")
        ),
        *(
            (url, False)
            for url in ("ws://other.example", "ws://127.0.0.1", "ws://user:password@given.example")
        ),
        *(
            (f"ws://{each}", False)
            for each in ("given.example@other.example", "other.example\\@given.example")
        ),
        *((f"ws://{each}", False) for each in ("given.example/?x=y", "[given.example")),
    ],
)
def test_a_server_sends_clients_to_its_own_host_or_to_confirmed_ones(url: str, goes: bool) -> None:
    given = ServerAddress(GIVEN, "a test", ServerAccess(hosts=frozenset({"confirmed.example"})))
    assert may_follow(url, given) is goes
    found = ServerAddresses(given)
    found.learn([url])
    assert (url in found.known) is goes


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
