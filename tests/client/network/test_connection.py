"""The connection: answers match their requests, gaps are filled, and a lost connection is restored."""

import asyncio
import contextlib
import dataclasses
import itertools
import random
import socket
from collections.abc import AsyncIterator

import msgpack
import pytest

from client.network.connection import (
    ConnectFailed,
    Connection,
    NoAnswer,
    RequestRefused,
    Timeouts,
    connected,
)
from client.network.refusals import describe_refusal
from client.network.transport import why_not
from client.tables.news import Back, Closed, HeardInLobby, Lost, OnlineChanged
from client.tables.table import Happened, Heard, Refreshed, TableClosed, TableModel
from engine.board import Field
from engine.events import Command, LayTile, Place
from engine.game import Game, GameOptions
from engine.legal import Legal
from engine.pieces import Piece, Seat
from engine.redaction import redacted, snapshot
from engine.view import eyes_of
from protocol.codes import Code
from protocol.events import event_map
from protocol.http import FULL
from protocol.limits import VERSIONS
from protocol.messages import (
    Done,
    EnterLobby,
    Events,
    Hello,
    JoinTable,
    Leave,
    ListTables,
    LobbyRemark,
    Online,
    OpenTable,
    PersonOnline,
    Ping,
    PlacePiece,
    Pong,
    Refused,
    Rematch,
    Resume,
    Said,
    SaidInLobby,
    Say,
    SayInLobby,
    Seated,
    StartGame,
    Sync,
    Tables,
    TableSummary,
    Watch,
    Watching,
    Welcome,
)
from server.app import Running, running
from server.config import Config
from tests.client.scripted import FAST_RETRIES, TIMEOUT, Act, Peer, next_update, queued_updates, scripted
from tests.games import played

SHORT_TIMEOUTS = dataclasses.replace(FAST_RETRIES, opening=0.05, answer=0.05)
TOKEN = "a-token"


@pytest.fixture
def game() -> Game:
    """Return a game about halfway through."""
    return played(GameOptions(2, Seat(0)), 1, 12)


def events_frame(game: Game, first: int, last: int | None = None) -> Events:
    """Return the frame with events `first` to `last`, as seat 0 receives them."""
    seen = [redacted(event, eyes_of(Seat(0))) for event in game.events[first - 1 : last]]
    return Events(first, [event_map(event) for event in seen])


async def seat_joiner(peer: Peer) -> None:
    """Greet the client and give it seat 0 at table ABCD."""
    await peer.welcome()
    join = await peer.receive(JoinTable)
    await peer.send(Seated(join.id, "ABCD", 0, TOKEN))


async def seat_returner(peer: Peer, seat: int = 0) -> None:
    """Greet the client, which shows its token, and give it its seat at table ABCD back."""
    await peer.welcome()
    resume = await peer.receive(Resume)
    assert (resume.table, resume.token) == ("ABCD", TOKEN)
    await peer.send(Seated(resume.id, "ABCD", seat))


# -- greeting -------------------------------------------------------------------------------------


async def test_hello_and_welcome() -> None:
    """Hello offers every version and names the program; the server's name is kept."""

    async def act(peer: Peer) -> None:
        hello = await peer.welcome()
        assert (hello.versions, hello.client) == (list(VERSIONS), "a test")
        await peer.until_closed()

    async with scripted(act) as url, connected(url, client="a test") as connection:
        assert connection.online
        assert connection.server == "a script"


@pytest.mark.parametrize(
    ("number", "said"),
    [(socket.EAI_NONAME, "no computer has this name"), (socket.EAI_AGAIN, "no name server answers")],
)
def test_a_name_that_is_not_found(number: int, said: str) -> None:
    """The system's words are in English whatever the language, so they are left out."""
    failed = why_not("ws://nosuch:7733", socket.gaierror(number, "Name or service not known"))
    assert str(failed).startswith("ws://nosuch:7733 cannot be found: ")
    assert said in str(failed)
    assert "service" not in str(failed)


async def connection_failure(url: str, timeouts: Timeouts = FAST_RETRIES) -> ConnectFailed:
    with pytest.raises(ConnectFailed) as failed:
        async with connected(url, timeouts=timeouts):
            pass
    return failed.value


async def test_a_port_without_a_server() -> None:
    """The error is one sentence, and the client may try again."""
    async with running(Config()) as server:
        url = f"ws://127.0.0.1:{server.port}"
    failed = await connection_failure(url)
    assert str(failed) == f"Nothing answers at {url}. Is the server running?"
    assert not failed.final


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "somewhere", "ws://h:99999", "ws://", ""])
async def test_an_invalid_address(url: str) -> None:
    """The error says how to write a server address."""
    assert str(await connection_failure(url)) == f"{url} is not a server address. Write ws://HOST:PORT."


@contextlib.asynccontextmanager
async def tcp_server(answer: bytes | None) -> AsyncIterator[str]:
    """Answer every TCP connection with the same bytes, or not at all."""

    done = asyncio.Event()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        if answer is not None:
            writer.write(answer)
            writer.write_eof()
        await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
        done.set()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await done.wait()


@pytest.mark.parametrize(
    ("answer", "sentence", "final"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", "is not a Palatinus server", True),
        (b"220 mail.example ESMTP\r\n\r\n", "is not a Palatinus server", True),
        (
            b"HTTP/1.1 503 Full\r\nContent-Length: %d\r\n\r\n%s" % (len(FULL), FULL.encode()),
            "is too busy",
            False,
        ),
        (b"HTTP/1.1 429 Wait\r\nContent-Length: 0\r\n\r\n", "is too busy", False),
        (
            b"HTTP/1.1 502 Bad\r\nContent-Length: 0\r\n\r\n",
            "a proxy that cannot reach the game server (HTTP 502)",
            False,
        ),
        (b"HTTP/1.1 503 None\r\nContent-Length: 4\r\n\r\nbusy", "a proxy that cannot reach", False),
        (b"HTTP/1.1 504 Slow\r\nContent-Length: 0\r\n\r\n", "a proxy that cannot reach", False),
        (b"", "was lost before it was established", False),
        (b"HTTP/1.1 101 Switching", "was lost before it was established", False),
        (None, "does not answer", False),
    ],
)
async def test_other_kinds_of_servers(answer: bytes | None, sentence: str, final: bool) -> None:
    """Other servers and silent ones are told apart from busy ones."""
    async with tcp_server(answer) as url:
        failed = await connection_failure(url, SHORT_TIMEOUTS if answer is None else FAST_RETRIES)
    assert sentence in str(failed)
    assert failed.final == final


async def test_a_server_that_never_answers_hello() -> None:
    """The client gives up after the time-out."""

    async def act(peer: Peer) -> None:
        await peer.socket.wait_closed()

    async with scripted(act) as url:
        assert "does not answer" in str(await connection_failure(url, SHORT_TIMEOUTS))


@pytest.mark.parametrize(
    ("greeting", "sentence"),
    [
        ("welcome", "is not a Palatinus server: a text frame"),
        (b"", "is not a Palatinus server"),
        (b"\xc1", "is not a Palatinus server"),
        (b"\x81\xa1t\x01", "is not a Palatinus server"),
    ],
)
async def test_a_server_that_answers_hello_with_nonsense(greeting: str | bytes, sentence: str) -> None:
    """The client says in one sentence that this is not a Palatinus server."""

    async def act(peer: Peer) -> None:
        await peer.socket.send(greeting)
        await peer.socket.wait_closed()

    async with scripted(act) as url:
        failed = await connection_failure(url)
    assert sentence in str(failed)
    assert failed.final


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (
            Refused("no-common-version", "This server speaks 9.\x1b[2J", versions=[9]),
            r"This server speaks 9.\x1b[2J",
        ),
        (Welcome(9, "tomorrow's"), "does not speak this client's protocol"),
        (Pong(1), "does not speak this client's protocol"),
    ],
)
async def test_no_common_version(answer: Refused | Welcome | Pong, sentence: str) -> None:
    """The server's own words are shown, with control characters escaped."""

    async def act(peer: Peer) -> None:
        await peer.send(answer)
        await peer.socket.wait_closed()

    async with scripted(act) as url:
        failed = await connection_failure(url)
    assert sentence in str(failed)
    assert failed.final


# -- asking ---------------------------------------------------------------------------------------


async def test_answers_match_their_requests() -> None:
    """Ids count up, and answers may arrive in any order."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        tables, ping = await peer.receive(ListTables), await peer.receive(Ping)
        assert ping.id == tables.id + 1
        await peer.send(Pong(ping.id))
        await peer.send(Tables(tables.id, [TableSummary("ABCD", "ann", 2, 1, "gathering")]))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        async with asyncio.TaskGroup() as tasks:
            tables = tasks.create_task(connection.list_tables())
            tasks.create_task(connection.ping())
        assert [peer.table for peer in tables.result()] == ["ABCD"]


async def test_a_refusal_is_raised_by_the_refused_request() -> None:
    """It has code, sentence and rule, and the connection goes on."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        place = await peer.receive(PlacePiece)
        await peer.send(Refused("field-taken", "C4 is taken.\x07", place.id, "R4.1"))
        await peer.send(Pong((await peer.receive(Ping)).id))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        with pytest.raises(RequestRefused) as refusal:
            await connection.play(Place(Seat(0), Piece("Em*"), Field("C4")))
        assert (refusal.value.code, str(refusal.value), refusal.value.rule) == (
            "field-taken",
            r"C4 is taken.\x07",
            "R4.1",
        )
        await connection.ping()


@pytest.mark.parametrize(("seconds", "waits"), [("30", 30), ("0", 1), ("99999", None), ("soon", None)])
async def test_a_refusal_says_when_to_ask_again(seconds: str, waits: int | None) -> None:
    """Never at once, whatever the server says: bots wait so long between two requests."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        message = await peer.receive(OpenTable)
        await peer.send(Refused(Code.TOO_SOON, "Wait.", message.id, about={"seconds": seconds}))
        await peer.until_closed()

    async with scripted(act) as url, connected(url) as connection:
        with pytest.raises(RequestRefused) as refusal:
            await connection.open_table(2, "ann")
        assert refusal.value.retry_in == waits


async def test_a_request_without_an_answer_times_out() -> None:
    """An answer that arrives later is ignored."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        ping = await peer.receive(Ping)
        again = await peer.receive(Ping)
        await peer.send(Pong(ping.id), Pong(again.id))
        await peer.until_closed()

    async with (
        scripted(act) as url,
        connected(url, timeouts=FAST_RETRIES) as connection,
    ):
        connection._timeouts = SHORT_TIMEOUTS
        with pytest.raises(NoAnswer, match=r"did not answer within 0\.05 seconds"):
            await connection.ping()
        connection._timeouts = FAST_RETRIES
        await connection.ping()


async def test_a_request_can_be_cancelled() -> None:
    """A cancelled request leaves nothing behind."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive(Ping)
        asking.cancel()
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        asking = asyncio.create_task(connection.ping())
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert connection._waiting == {}


@pytest.mark.parametrize("nonsense", ["text", b"\xc1", b"\x81\xa1t\x01"])
async def test_nonsense_closes_the_connection(nonsense: str | bytes) -> None:
    """An unreadable message ends the connection for good, and waiting requests fail with a sentence."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive(Ping)
        await peer.socket.send(nonsense)
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        with pytest.raises(ConnectFailed, match="does not understand"):
            await connection.ping()
        closed = await next_update(connection, Closed)
        assert closed == connection.closed
        with pytest.raises(ConnectFailed, match="does not understand"):
            await connection.list_tables()
        assert [update async for update in connection.updates()] == []


async def test_what_a_newer_server_sends_besides_is_passed_over() -> None:
    """Messages of kinds that nobody knows yet, whenever they come, and new fields of those that are known."""
    unknown = msgpack.packb({"t": "not-invented-yet", "id": 1, "with": [{"what": "ever"}]})

    async def act(peer: Peer) -> None:
        await peer.receive(Hello)
        await peer.socket.send(unknown)
        await peer.socket.send(
            msgpack.packb({"t": "welcome", "version": 1, "server": "", "mood": {"is": [1]}})
        )
        join = await peer.receive(JoinTable)
        await peer.socket.send(unknown)
        await peer.send(Seated(join.id, "ABCD", 0, TOKEN))
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        await peer.socket.send(unknown)
        await peer.send(Seated(resume.id, "ABCD", 0))
        await peer.socket.send(unknown)
        await peer.send(Pong((await peer.receive(Ping)).id))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await next_update(connection, Back)
        await connection.ping()


async def test_an_answer_of_the_wrong_type_closes_the_connection() -> None:
    """A Pong does not answer a JoinTable."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(Pong((await peer.receive(JoinTable)).id))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        with pytest.raises(ConnectFailed, match="Pong is not an answer to JoinTable"):
            await connection.join("ABCD", "ann")


async def test_a_message_that_is_too_long_closes_the_connection() -> None:
    """A message beyond the limit for servers is not read."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.socket.send(bytes(300_000))
        await peer.socket.wait_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        closed = await next_update(connection, Closed)
        assert (closed.code, closed.reason) == (1009, "The server sent a message that is too long.")


async def test_errors_inside_the_context_are_not_changed() -> None:
    """The context manager closes the connection and adds nothing to the error."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.until_closed()

    async with scripted(act) as url:
        with pytest.raises(ZeroDivisionError):
            async with connected(url, timeouts=FAST_RETRIES):
                raise ZeroDivisionError


# -- receiving ------------------------------------------------------------------------------------


async def test_a_gap_is_filled_by_a_sync(game: Game) -> None:
    """Missing events are asked for once, and then the view is complete."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.send(events_frame(game, 1, 4), events_frame(game, 6, 7), events_frame(game, 8, 8))
        sync = await peer.receive(Sync)
        assert sync.after == 4
        await peer.send(events_frame(game, 5), Done(sync.id))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        while connection.model.seq < len(game.events):
            await next_update(connection, Happened)
        assert connection.model.view == snapshot(game.view, eyes_of(Seat(0)))


@pytest.mark.parametrize("answered", [True, False])
async def test_a_gap_that_stays_open_leads_to_a_new_connection(game: Game, answered: bool) -> None:
    """If a sync does not fill the gap, the client reconnects and resumes."""
    seated = asyncio.Event()

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await seated.wait()
        await peer.send(events_frame(game, 1, 4), events_frame(game, 6, 7))
        sync = await peer.receive(Sync)
        if answered:
            await peer.send(Refused("not-started", "No.", sync.id))
        await peer.until_closed()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        assert resume.after == 4
        await peer.send(Seated(resume.id, "ABCD", 0), events_frame(game, 5))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        connection._timeouts = FAST_RETRIES if answered else SHORT_TIMEOUTS
        seated.set()
        lost = await next_update(connection, Lost)
        assert lost.reason.startswith("The server did not send the missing moves")
        connection._timeouts = FAST_RETRIES
        await next_update(connection, Back)
        await next_update(connection, Happened)
        assert connection.model.view == snapshot(game.view, eyes_of(Seat(0)))


async def test_a_slow_reader_of_updates_gets_a_refresh() -> None:
    """The number of queued updates is limited, and the latest are kept."""
    many = 1500

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.send(*(Said(str(number), 1) for number in range(many)))
        await peer.send(Pong((await peer.receive(Ping)).id))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await connection.ping()
        updates = queued_updates(connection)
        assert len(updates) <= 1024
        assert updates[0] == Refreshed()
        assert updates[-1] == Heard(Seat(1), str(many - 1))


# -- coming back ----------------------------------------------------------------------------------


async def test_a_move_survives_a_lost_connection(game: Game) -> None:
    """The seat is resumed with its token, and the unanswered move is sent again under its id."""
    sent: list[PlacePiece] = []

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.send(events_frame(game, 1, 5))
        sent.append(await peer.receive(PlacePiece))
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        assert (resume.table, resume.token, resume.after) == ("ABCD", TOKEN, 5)
        await peer.send(Seated(resume.id, "ABCD", 0), events_frame(game, 6))
        sent.append(await peer.receive(PlacePiece))
        await peer.send(Done(sent[1].id))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await next_update(connection, Happened)
        await connection.play(Place(Seat(0), Piece("Em*"), Field("C4")))
        assert sent[0] == sent[1]
        lost, back, *_ = queued_updates(connection)
        assert isinstance(lost, Lost)
        assert 0 < lost.retry_in <= FAST_RETRIES.longest_pause
        assert lost.reason == "The connection to the server was lost."
        assert back == Back()
        assert connection.model.view == snapshot(game.view, eyes_of(Seat(0)))


async def test_events_with_the_id_of_a_request_answer_it(game: Game) -> None:
    """Events that carry the id of a request answer it."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        start = await peer.receive(StartGame)
        frame = events_frame(game, 1)
        await peer.send(Events(1, frame.events, id=start.id))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await connection.start()
        assert connection.model.seq == len(game.events)


async def test_a_spectator_watches_again(game: Game) -> None:
    """Spectators have no token: they ask to watch from the last event they have."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        watch = await peer.receive(Watch)
        await peer.send(Watching(watch.id, "ABCD"), events_frame(game, 1, 1))
        await peer.send(Pong((await peer.receive(Ping)).id))
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        watch = await peer.receive(Watch)
        assert watch.after == 1
        await peer.send(Watching(watch.id, "ABCD"))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.watch("ABCD")
        await connection.ping()
        await next_update(connection, Back)
        assert connection.model.seq == 1


def test_pauses_grow_and_differ_between_clients() -> None:
    """Pauses grow from a tenth of a second to five, each within its bounds."""
    pauses = [list(itertools.islice(Timeouts().pauses(), 9)) for _ in range(2)]
    assert pauses[0] != pauses[1]
    for one in pauses:
        for number, pause in enumerate(one):
            assert min(0.1 * 2**number, 2.5) <= pause <= min(0.2 * 2**number, 5.0)


def test_a_minute_has_few_attempts() -> None:
    """A server that is gone, or sends everybody away, is tried some twenty times a minute by each client."""
    assert sum(itertools.islice(Timeouts().pauses(), 28)) > 60


async def reset_at_once(peer: Peer) -> None:
    peer.drop()


async def close_at_once(peer: Peer) -> None:
    await peer.socket.close(1001)


async def close_after_the_welcome(peer: Peer) -> None:
    await peer.welcome()
    await peer.socket.close(1013)


async def close_after_the_return(peer: Peer) -> None:
    await seat_returner(peer)
    await peer.socket.close(1001)


@pytest.mark.parametrize(
    "hostile", [reset_at_once, close_at_once, close_after_the_welcome, close_after_the_return]
)
async def test_a_server_that_sends_everybody_away_is_left_in_peace(hostile: Act) -> None:
    """However far a client gets before the connection ends again, each pause is longer than the last."""
    timeouts = dataclasses.replace(FAST_RETRIES, first_pause=0.001, longest_pause=TIMEOUT)
    attempts = 7

    async def let_in(peer: Peer) -> None:
        await seat_joiner(peer)
        peer.drop()

    async def end(peer: Peer) -> None:
        await peer.socket.close(1008, "the end")

    async with (
        scripted(let_in, *[hostile] * attempts, end) as url,
        connected(url, timeouts=timeouts) as connection,
    ):
        await connection.join("ABCD", "ann")
        async with asyncio.timeout(TIMEOUT):
            pauses = [update.retry_in async for update in connection.updates() if isinstance(update, Lost)]
    assert len(pauses) == attempts + 1
    assert all(0.001 * 2**number <= pause <= 0.002 * 2**number for number, pause in enumerate(pauses))


async def test_in_the_lobby_nothing_is_resumed() -> None:
    """Without a table, the client greets the server and repeats its requests."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive(ListTables)
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(Tables((await peer.receive(ListTables)).id, []))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        assert await connection.list_tables() == []


async def test_a_seat_is_not_asked_for_twice() -> None:
    """A lost OpenTable or JoinTable may have succeeded, so the player is told to check the list."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive(OpenTable)
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        with pytest.raises(NoAnswer, match="Check the list of tables"):
            await connection.open_table(2, "ann")
        await next_update(connection, Back)


async def test_a_seat_is_not_asked_for_twice_at_another_server() -> None:
    """Where the client was sent, it may have been given a seat before the connection broke."""

    async def there(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive(OpenTable)
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        await peer.until_closed()

    async with scripted(there, again) as address:

        async def here(peer: Peer) -> None:
            await peer.welcome()
            about = {"address": address}
            await peer.send(
                Refused(Code.SERVER_STOPPING, "", (await peer.receive(OpenTable)).id, about=about)
            )
            await peer.until_closed()

        async with scripted(here) as url, connected(url, timeouts=FAST_RETRIES) as connection:
            with pytest.raises(NoAnswer, match="Check the list of tables"):
                await connection.open_table(2, "ann")
            await next_update(connection, Back)  # there
            await next_update(connection, Back)  # and there again


async def test_a_player_who_was_leaving_does_not_resume() -> None:
    """A Leave counts as done if the connection is lost before its answer."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.receive(Leave)
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await connection.leave()
        assert connection.model.table is None
        await next_update(connection, Back)


async def test_leaving_clears_the_table() -> None:
    """After Done the model is empty, and further messages from the table are ignored."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.send(Done((await peer.receive(Leave)).id), Said("bye", 1))
        await peer.send(Pong((await peer.receive(Ping)).id))
        await peer.until_closed()

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await connection.leave()
        assert connection.model.table is None
        await connection.ping()
        assert queued_updates(connection) == []


async def test_resuming_by_hand_keeps_the_token() -> None:
    """A client that was restarted resumes with its token, and keeps it for the next time."""

    async def act(peer: Peer) -> None:
        await seat_returner(peer, 1)
        await peer.receive(Say)
        peer.drop()

    async def again(peer: Peer) -> None:
        await seat_returner(peer, 1)
        await peer.send(Done((await peer.receive(Say)).id))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        seated = await connection.resume("ABCD", TOKEN)
        assert seated.seat == 1
        await connection.say("hello")


async def test_a_seat_that_comes_too_late_is_still_the_clients() -> None:
    """A client that gave up waiting for it returns to it as a player, not as a spectator."""
    seat_given = asyncio.Event()

    async def act(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        await seat_given.wait()
        await peer.send(Seated(resume.id, "ABCD", 1))
        await peer.receive(Ping)
        peer.drop()

    async def again(peer: Peer) -> None:
        await seat_returner(peer, 1)
        await peer.send(Pong((await peer.receive(Ping)).id))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        connection._timeouts = SHORT_TIMEOUTS
        with pytest.raises(NoAnswer):
            await connection.resume("ABCD", TOKEN)
        connection._timeouts = FAST_RETRIES
        seat_given.set()
        await connection.ping()


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
    """The client does not reconnect after these close codes."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.socket.close(code, reason)

    async with scripted(act) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        assert await next_update(connection, Closed) == Closed(code, sentence)
        assert not connection.online


@pytest.mark.parametrize("code", [1000, 1001, 1011, 1012, 1013])
async def test_the_client_reconnects_after_other_closes(code: int) -> None:
    """It also goes on when new connections are lost at once."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.socket.close(code)

    async def dropped(peer: Peer) -> None:
        peer.drop()

    async def busy(peer: Peer) -> None:
        await peer.welcome()
        await peer.receive(Resume)
        await peer.socket.close(1013, "later")

    async def again(peer: Peer) -> None:
        await seat_returner(peer)
        await peer.until_closed()

    async with (
        scripted(act, dropped, busy, again) as url,
        connected(url, timeouts=FAST_RETRIES) as connection,
    ):
        await connection.join("ABCD", "ann")
        await next_update(connection, Back)
        assert connection.online


@pytest.mark.parametrize(
    "code",
    [Code.TOO_SOON, Code.TOO_MANY_GUESSES, Code.TOO_MANY_TABLES, Code.SERVER_STOPPING, Code.NOT_STORED],
)
async def test_a_seat_that_cannot_be_resumed_yet_is_asked_for_again(code: Code) -> None:
    """If everybody left, the game is in the archive, and there may be no room for it at once."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        peer.drop()

    async def not_yet(peer: Peer) -> None:
        await peer.welcome()
        about = {"seconds": "1"} if code in {Code.TOO_SOON, Code.SERVER_STOPPING} else None
        await peer.send(Refused(code, "Not yet.", (await peer.receive(Resume)).id, about=about))
        await peer.until_closed()

    async def again(peer: Peer) -> None:
        await seat_returner(peer, 1)
        await peer.until_closed()

    async with scripted(act, not_yet, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        await next_update(connection, Back)
        assert connection.online


@pytest.mark.parametrize("code", ["bad-token", "no-such-table", "table-damaged"])
async def test_a_lost_seat_leads_to_the_lobby(code: str) -> None:
    """The reader of the news is told why, and so is who waits for the table; the lobby answers."""

    async def act(peer: Peer) -> None:
        await seat_joiner(peer)
        await peer.receive(Say)
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(Refused(code, "No.", (await peer.receive(Resume)).id, about={"table": "ABCD"}))
        await peer.send(Tables((await peer.receive(ListTables)).id, []))
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("ABCD", "ann")
        with pytest.raises(NoAnswer) as unanswered:
            await connection.say("hello")
        assert str(unanswered.value) == describe_refusal(Refused(code, "No.", about={"table": "ABCD"}))
        assert (await next_update(connection, TableClosed)).refused.code == code
        await next_update(connection, Back)
        assert connection.model == TableModel()
        assert await connection.list_tables() == []


async def test_a_table_that_may_no_longer_be_watched_leads_to_the_lobby() -> None:
    """A spectator who returns is told why, too."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(Watching((await peer.receive(Watch)).id, "ABCD"))
        peer.drop()

    async def again(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(
            Refused("no-spectators", "No.", (await peer.receive(Watch)).id, about={"table": "ABCD"})
        )
        await peer.until_closed()

    async with scripted(act, again) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.watch("ABCD")
        assert (await next_update(connection, TableClosed)).refused.code == "no-spectators"
        await next_update(connection, Back)
        assert connection.online


async def test_a_server_that_is_gone_for_good() -> None:
    """After the time-out, waiting and later requests fail with the same sentence."""
    timeouts = dataclasses.replace(FAST_RETRIES, keep_trying=0.05)
    async with contextlib.AsyncExitStack() as staying:
        async with running(Config()) as server:
            peer = connected(f"ws://127.0.0.1:{server.port}", timeouts=timeouts)
            connection = await staying.enter_async_context(peer)
            await connection.open_table(2, "ann")
        assert (await next_update(connection, Lost)).reason == "The server stopped."
        with pytest.raises(ConnectFailed, match="Gave up after"):
            await connection.say("hello")
        assert "Gave up after 0.05 seconds." in (await next_update(connection, Closed)).reason


# -- the real server ------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def at_one_table(server: Running, *names: str) -> AsyncIterator[list[Connection]]:
    """Seat players at a new table of the server."""
    async with contextlib.AsyncExitStack() as stack:
        url = f"ws://127.0.0.1:{server.port}"
        players = [await stack.enter_async_context(connected(url, timeouts=FAST_RETRIES)) for _ in names]
        seated = await players[0].open_table(len(names), names[0], starting=0)
        for player, name in zip(players[1:], names[1:], strict=True):
            await player.join(seated.table, name)
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
            playing = asyncio.create_task(connection.play(random_command(model.legal, rng)))
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
            await spectator.watch(code)
            assert [peer.taken for peer in await spectator.list_tables()] == [3]
            await players[0].start()
            async with asyncio.TaskGroup() as tasks:
                for number, each in enumerate([*players, spectator]):
                    tasks.create_task(play_to_the_end(each, random.Random(number), breaks))
            views = [each.model.view for each in (*players, spectator)]
            game = server.lobby.tables[code].state.game
            assert game is not None
            for view in views:
                assert view is not None
                assert view == snapshot(game.view, view.eyes)


async def test_a_seat_taken_over_on_a_real_server() -> None:
    """The newest connection has the seat; the older one closes and does not come back."""
    async with running(Config()) as server, at_one_table(server, "ann", "bob") as (ann, bob):
        model = bob.model
        assert model.table is not None
        assert model.token is not None
        async with connected(f"ws://127.0.0.1:{server.port}", timeouts=FAST_RETRIES) as elsewhere:
            assert (await elsewhere.resume(model.table, model.token)).seat == 1
            assert (await next_update(bob, Closed)).code == 4000
            await elsewhere.say("here")
            assert await next_update(ann, Heard) == Heard(Seat(1), "here")
            await elsewhere.leave()
            assert elsewhere.model.table is None
            await elsewhere.join(ann.model.table or "", "bob again")


async def test_refusals_of_a_real_server() -> None:
    """The server's refusals arrive with their codes."""
    async with running(Config()) as server, at_one_table(server, "ann", "bob") as (ann, bob):
        with pytest.raises(RequestRefused) as refusal:
            await bob.start()
        assert refusal.value.code == "not-the-host"
        with pytest.raises(RequestRefused) as refusal:
            await ann.play(LayTile(Seat(0), 1, 0))
        assert refusal.value.code == "not-started"
        await ann.start()
        with pytest.raises(RequestRefused) as refusal:
            await bob.play(LayTile(Seat(1), 1, 0))
        assert (refusal.value.code, refusal.value.rule) == ("not-your-turn", "R3.3")


async def test_an_unanswered_rematch_is_asked_for_again() -> None:
    """After a lost connection, the client resumes at the old table and asks once more."""
    asked: list[int] = []

    async def first(peer: Peer) -> None:
        await peer.welcome()
        join = await peer.receive(JoinTable)
        await peer.send(Seated(join.id, "KXQT", 1, "secret"))
        asked.append((await peer.receive(Rematch)).id)
        peer.drop()

    async def second(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        assert (resume.table, resume.token) == ("KXQT", "secret")
        await peer.send(Seated(resume.id, "KXQT", 1))
        asked.append((await peer.receive(Rematch)).id)
        await peer.send(Seated(asked[-1], "ABCD", 1))
        peer.drop()

    async def third(peer: Peer) -> None:
        await peer.welcome()
        resume = await peer.receive(Resume)
        assert (resume.table, resume.token) == ("ABCD", "secret")  # it holds the new seat as well
        await peer.send(Seated(resume.id, "ABCD", 1))
        await peer.until_closed()

    async with scripted(first, second, third) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.join("KXQT", "Ann")
        seated = await connection.rematch()
        assert (seated.table, connection.model.table) == ("ABCD", "ABCD")
        await next_update(connection, Back)
        await next_update(connection, Back)
    assert asked[0] == asked[1]


async def test_what_the_lobby_tells_is_safe_to_show() -> None:
    """Whatever the server lets through: nothing that a terminal interprets gets to the screen."""

    async def act(peer: Peer) -> None:
        await peer.welcome()
        await peer.send(Online([PersonOnline("\x1b[2J", "playing", "KXQT")], 3))
        await peer.send(SaidInLobby([LobbyRemark(1, "\x1b[2J", "\x07")]))
        await peer.until_closed()

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

    async def second(peer: Peer) -> None:
        await peer.welcome()
        await peer.until_closed()

    async with scripted(first, second) as url, connected(url, timeouts=FAST_RETRIES) as connection:
        await connection.enter_lobby("Ann", ["made up"])
        assert connection.listed_as == "Ann"
        with pytest.raises(NoAnswer, match="may not have heard"):
            await connection.say_in_lobby("hello")
        assert connection.listed_as is None
        await next_update(connection, Back)
