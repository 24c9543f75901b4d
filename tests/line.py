"""A line between browsers and a server that can go dead: it stays open, but carries nothing."""

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Line:
    """What is sent while it is `dead` is lost."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self.port = 0
        self.dead = False

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection until either side ends it."""
        try:
            there, back = await asyncio.open_connection("127.0.0.1", self._server_port)
        except ConnectionError:  # the server is down
            writer.close()
            return
        with contextlib.suppress(ConnectionError):
            await asyncio.wait(
                [
                    asyncio.ensure_future(self._pipe(reader, back)),
                    asyncio.ensure_future(self._pipe(there, writer)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        for end in (back, writer):
            end.close()

    async def _pipe(self, source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await source.read(65536):
                if not self.dead:
                    target.write(data)


@contextlib.asynccontextmanager
async def line_to(server_port: int) -> AsyncIterator[Line]:
    line = Line(server_port)
    async with await asyncio.start_server(line.carry, "127.0.0.1", 0) as server:
        line.port = server.sockets[0].getsockname()[1]
        yield line
