"""Receivers of notices, and players who are away and are to be called."""

import asyncio
import contextlib
import random
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

from commands.serving.notices import wording
from protocol import messages
from protocol.absence import WAIT, Absence
from server.app import Running, running
from server.config import Config, Limits
from server.net.postman import NoticePostman
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer
from tests.server.playing import full_table, game, peer_on_turn
from tests.server.tables.hosted import disconnect


@dataclass
class Receiver:
    """What has arrived, head and text; `answers` are those to the next requests, then all is well.

    They are sent when it `may_answer`.
    """

    port: int = 0
    heads: list[str] = field(default_factory=list)
    arrived: asyncio.Queue[str] = field(default_factory=asyncio.Queue)
    answers: list[bytes] = field(default_factory=list)
    may_answer: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.may_answer.set()

    async def next(self) -> str:
        async with asyncio.timeout(TIMEOUT):
            return await self.arrived.get()

    async def code(self) -> str:
        found = re.search(r"notify (\d{6})", await self.next())
        assert found is not None
        return found[1]

    def take(self, head: str, text: str) -> None:
        self.heads.append(head)
        self.arrived.put_nowait(text)


@contextlib.asynccontextmanager
async def http_receiver(tls: ssl.SSLContext | None = None) -> AsyncIterator[Receiver]:
    receiver = Receiver()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"Content-Length: (\d+)", head)
        assert length is not None
        text = (await reader.readexactly(int(length[1]))).decode()
        answer = receiver.answers.pop(0) if receiver.answers else b"HTTP/1.1 200 OK\r\n\r\n"
        if answer.startswith(b"HTTP/1.1 2"):
            receiver.take(head, text)
        else:
            receiver.take(head, "refused")
        await receiver.may_answer.wait()
        writer.write(answer)
        with contextlib.suppress(ConnectionError):
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", ssl=tls) as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


@contextlib.asynccontextmanager
async def smtp_receiver() -> AsyncIterator[Receiver]:
    """Receive e-mail as RFC 5321 has it, without extensions."""
    receiver = Receiver()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 here\r\n")
        while line := await reader.readline():
            verb = line[:4].upper()
            if verb == b"DATA":
                writer.write(b"354 go on\r\n")
                message = (await reader.readuntil(b"\r\n.\r\n")).decode()
                head, _, text = message.partition("\r\n\r\n")
                receiver.take(head, text)
            writer.write({b"EHLO": b"502 no\r\n", b"QUIT": b"221 bye\r\n"}.get(verb, b"250 fine\r\n"))
            if verb == b"QUIT":
                break
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1") as server:
        receiver.port = server.sockets[0].getsockname()[1]
        yield receiver


GRACE = Limits().notice_seconds
HOUR = 3600


@dataclass
class Called:
    """A configuration that calls players at the receiver, with a clock that only the test advances."""

    config: Config
    receiver: Receiver
    clock: ManualClock

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.receiver.port}/secret-topic"


@contextlib.asynccontextmanager
async def called_by_url(data: Path | None = None) -> AsyncIterator[Called]:
    async with http_receiver() as receiver:
        clock = ManualClock()
        postman = NoticePostman([f"url:127.0.0.1:{receiver.port}"], None, wording=wording)
        yield Called(Config(data=data, postman=postman, timers=lambda: clock, seed=1), receiver, clock)


@contextlib.asynccontextmanager
async def gathered(players: int) -> AsyncIterator[tuple[Called, Running, list[Peer]]]:
    async with (
        called_by_url() as called,
        running(called.config) as server,
        full_table(server.port, players) as peers,
    ):
        yield called, server, peers


async def leave_address(peer: Peer, called: Called, language: str = "en") -> None:
    await peer.done(messages.CallMe, called.url, language)
    await peer.done(messages.ConfirmCall, await called.receiver.code())


@contextlib.asynccontextmanager
async def away_on_turn(
    server: Running,
    called: Called,
    absence: Absence = WAIT,
    language: str = "en",
    *,
    last: Callable[[Peer], Awaitable[None]] | None = None,
) -> AsyncIterator[tuple[Peer, Peer]]:
    """Yield a player who has left an address and is away in their turn, and the one who is here.

    The player does something at `last`, before leaving.
    """
    async with game(server.port, 2, absence=absence) as peers:
        here = peer_on_turn(peers)
        assert here is not None
        away = peers[1 - peers.index(here)]
        await leave_address(away, called, language)
        if last is not None:
            await last(away)
        await disconnect(away, here)
        while here.legal is not None:
            await here.done(here.random_move(random.Random(1)))
        yield away, here


@contextlib.asynccontextmanager
async def called_away(
    absence: Absence = WAIT, language: str = "en"
) -> AsyncIterator[tuple[Called, Running, Peer, Peer]]:
    """Yield what calls a player away in their turn, the server, that player, and the one who is here."""
    async with (
        called_by_url() as called,
        running(called.config) as server,
        away_on_turn(server, called, absence, language) as (away, here),
    ):
        yield called, server, away, here


async def nobody_is_called(called: Called, here: Peer, seconds: float) -> None:
    called.clock.advance(seconds)
    for _ in range(2):  # what fell due is done
        await here.send(messages.Ping(id=here.next_id()))
        await here.until(messages.Pong)
    assert called.receiver.arrived.empty()
