"""A relay before PostgreSQL that loses, holds back and delays what it is told to."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

_SOCKET = ".s.PGSQL.5432"


class DatabaseRelay:
    """Passes on what clients and the database say to each other, unless it is told not to."""

    def __init__(self, url: str, folder: Path) -> None:
        (real,) = parse_qs(urlsplit(url).query)["host"]
        self.url = url.replace(f"host={real}", f"host={folder}")
        self._socket = str(folder / _SOCKET)
        self._real = f"{real}/{_SOCKET}"
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._requests_pass, self._answers_pass = asyncio.Event(), asyncio.Event()
        self.let_go()
        self.requests = True  # whether they are passed on
        self.answers = True
        self.refuses = False  # new connections
        self.delay = 0.0  # of each piece, in seconds
        self.passed_on = 0  # requests

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["DatabaseRelay"]:
        server = await asyncio.start_unix_server(self._serve, self._socket)
        async with server:
            try:
                yield self
            finally:
                self.let_go()
                self.cut()
                if self._tasks:
                    await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """End all connections together."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    def hold(self, *, requests: bool = True) -> None:
        """Pass nothing on until `let_go`, as a network that comes back repeats what was not received.

        Without `requests`, only answers are held back.
        """
        if requests:
            self._requests_pass.clear()
        self._answers_pass.clear()

    def let_go(self) -> None:
        """Pass on what was held back, however late that is."""
        self._requests_pass.set()
        self._answers_pass.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            to_real, from_real = await asyncio.open_unix_connection(self._real)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, from_real]
        await asyncio.gather(
            self._pass_on(reader, from_real, requests=True), self._pass_on(to_real, writer, requests=False)
        )

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, requests: bool
    ) -> None:
        passes = self._requests_pass if requests else self._answers_pass
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                await passes.wait()
                if writer.is_closing():
                    break
                if self.requests if requests else self.answers:
                    self.passed_on += requests
                    writer.write(data)
                    await writer.drain()
        writer.transport.abort()
