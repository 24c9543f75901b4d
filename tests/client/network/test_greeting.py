"""Who answers at an address, what a player is told of it, and what servers are asked about kept seats."""

import asyncio
import contextlib
import dataclasses
import socket
from collections.abc import AsyncIterator

import pytest

from client.finding.found import Gone, SeatAnswer
from client.finding.search import follow_seat
from client.network.connection import open_connection
from client.network.transport import FREE_ACCESS, ConnectFailed, Timeouts, why_not
from protocol.codec import encode
from protocol.codes import FULL, Code
from protocol.limits import VERSIONS
from protocol.messages import AskTurn, Hello, Pong, Refused, ServerMessage, Turn, Welcome
from tests.cases import cases
from tests.client.network.seated import SHORT_TIMEOUTS
from tests.client.scripted import FAST_RETRIES, Act, Peer, scripted


async def test_hello_and_welcome() -> None:
    async def act(peer: Peer) -> None:
        hello = await peer.welcome()
        assert (hello.versions, hello.client) == (list(VERSIONS), "a test")

    async with scripted(act) as url, open_connection(url, client="a test") as connection:
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
        async with open_connection(url, timeouts=timeouts):
            pass
    return failed.value


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "somewhere", "ws://h:99999", "ws://", ""])
async def test_an_invalid_address(url: str) -> None:
    assert str(await connection_failure(url)) == f"{url} is not a server address. Write ws://HOST:PORT."


@contextlib.asynccontextmanager
async def tcp_server(answer: bytes | None) -> AsyncIterator[str]:
    """Answer every TCP connection with the same bytes, or not at all."""
    serving = set[asyncio.Task[None] | None]()

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving.add(asyncio.current_task())
        # On a busy machine, a client may have given up before it has asked.
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await reader.readuntil(b"\r\n\r\n")
            if answer is not None:
                writer.write(answer)
                writer.write_eof()
            await reader.read()
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    async with server:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        await asyncio.gather(*filter(None, serving))


@pytest.mark.parametrize(("answer", "sentence", "final"), cases(__file__, "no_servers"))
async def test_other_kinds_of_servers(answer: str, sentence: str, final: str) -> None:
    for name, value in (("LENGTH", str(len(FULL))), ("FULL", FULL), (r"\r\n", "\r\n")):
        answer = answer.replace(name, value)
    silent = answer == "nothing"
    async with tcp_server(None if silent else answer.encode()) as url:
        failed = await connection_failure(url, SHORT_TIMEOUTS if silent else FAST_RETRIES)
    assert sentence in str(failed)
    assert failed.final == (final == "yes")


@pytest.mark.parametrize(
    ("greeting", "sentence"),
    [
        (None, "does not answer"),
        ("welcome", "is not a Palatinus server: a text frame"),
        (b"", "is not a Palatinus server"),
        (b"\xc1", "is not a Palatinus server"),
        (b"\x81\xa1t\x01", "is not a Palatinus server"),
        (
            encode(Refused("no-common-version", "This server speaks 9.\x1b[2J", versions=[9])),
            r"This server speaks 9.\x1b[2J",
        ),
        (encode(Welcome(9, "tomorrow's")), "does not speak this client's protocol"),
        (encode(Pong(1)), "does not speak this client's protocol"),
    ],
)
async def test_what_else_a_server_can_answer_to_hello(greeting: str | bytes | None, sentence: str) -> None:
    """The client says it in one sentence; a server's own words are shown with control characters escaped."""

    async def act(peer: Peer) -> None:
        if greeting is not None:
            await peer.socket.send(greeting)
        await peer.socket.wait_closed()

    # Time enough for a busy machine to open the connection: only the greeting is not to come.
    silent = dataclasses.replace(FAST_RETRIES, opening=1.0)
    async with scripted(act) as url:
        failed = await connection_failure(url, silent if greeting is None else FAST_RETRIES)
    assert sentence in str(failed)
    assert failed.final == (greeting is not None)


PROOF = "0" * 64
WELCOME = Welcome(1, "a script", turns=True)


def answering(*answers: ServerMessage, welcome: Welcome = WELCOME) -> Act:
    """Return what a server does that is asked once for each of these answers, and no more."""

    async def act(peer: Peer) -> None:
        assert (await peer.receive(Hello)).password is None
        await peer.send(welcome)
        for answer in answers:
            question = await peer.receive(AskTurn)
            assert (question.table, question.proof) == ("KXQT", PROOF)
            await peer.send(answer)

    return act


async def shown(url: str) -> list[SeatAnswer]:
    """Return all that is shown of a seat until it is settled."""
    answers: list[SeatAnswer] = []
    await follow_seat(url, "KXQT", PROOF, FREE_ACCESS, answers.append)
    return answers


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (Turn(0, "over", 1), Turn(0, "over", 1)),
        (Turn(0, "playing", archived=True), Turn(0, "playing", archived=True)),
        (Refused(Code.BAD_TOKEN, "", 0), Gone()),
    ],
)
async def test_what_will_not_change_is_asked_once(answer: ServerMessage, seen: SeatAnswer) -> None:
    async with scripted(answering(answer)) as url:
        assert await shown(url) == [seen]
    async with scripted(answering(welcome=Welcome(1, "an older one"))) as url:
        assert await shown(url) == []  # which does not know the question, and is not asked


async def test_a_table_at_another_server_is_asked_for_there() -> None:
    async with scripted(answering(Turn(0, "over", 1))) as there:
        moved = Refused(Code.TABLE_ELSEWHERE, "", 0, about={"table": "KXQT", "address": there})
        async with scripted(answering(moved)) as url:
            assert await shown(url) == [Turn(0, "over", 1)]
