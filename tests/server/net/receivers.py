"""Receivers of notices: an HTTP server and an SMTP server, on this machine."""

import asyncio
import contextlib
import re
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from tests.server.peer import TIMEOUT


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
