"""Who else is there: bots in processes of their own, a browser, and somebody who breaks every rule."""

import asyncio
import contextlib
import io
import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException
from websockets.typing import Origin

from client.bots.runner import BotOptions, run_bots
from client.network.connection import Connection
from client.network.transport import ConnectFailed
from protocol.codec import encode
from protocol.limits import VERSIONS
from protocol.messages import Hello, JoinTable, OpenTable, Resume
from simulation.machine.loop import Process
from simulation.people.random_messages import KINDS, RandomMessages
from simulation.people.visitors import TIMEOUTS, Route
from simulation.server import begin

# The kind of a piece that a page may show only in the scoring; another's wolf is `?*` until then.
_WOLF: Final = re.compile(r"\b[ESLMA][mf]\*")
OTHER_TABLES: Final = ("YYYY", "QQQQQQQQ")  # no server draws the first, and hardly ever the second
_SECONDS_TO_COME: Final = 15.0
_LOOK: Final = 0.05


class StrangersBot:
    """`palatinus bot` that joins a table, in a process that is paused now and then."""

    def __init__(self, process: Process, way: Route, table: str, number: int) -> None:
        self._process, self._said = process, io.StringIO()
        options = BotOptions(way.url, table, ("random",), seed=number, timeouts=TIMEOUTS, access=way.access)
        self._playing = begin(process, run_bots(options, self._said, self._said))

    async def seated(self, host: Connection) -> str:
        """Return the bot's name once it has the table's last seat; raises ConnectFailed if it gives up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_COME):
                while not self._playing.done():
                    names = [] if host.model.state is None else [seat.name for seat in host.model.state.seats]
                    if names and None not in names:
                        return str(names[-1])
                    await asyncio.sleep(_LOOK)
        raise ConnectFailed(f"the bot did not come: {self._said.getvalue()}")

    async def pause_now_and_then(self, longest: float) -> None:
        """Stop the process twice for a while, as a laptop does that is closed."""
        for share in (0.1, 0.5):
            await asyncio.sleep(2.0)
            self._process.paused = True
            await asyncio.sleep(longest * share)
            self._process.paused = False

    def end(self) -> None:
        """End the process."""
        self._process.end()


async def browse(
    address: str, hidden: Callable[[], Mapping[str, bool]], rng: random.Random, counts: Counter[str]
) -> AsyncIterator[tuple[str, str]]:
    """Watch tables on web pages, their list, and television; yield what nobody should see, and at which.

    `hidden` has the tables, and whether the kinds of their wolves are secrets just now.
    """
    while True:
        await asyncio.sleep(rng.uniform(0.0, 24.0))
        table = rng.choice(["", "", *sorted(hidden())])
        path = f"/watch/{table}" if table else rng.choice(["/watch", "/tv"])
        try:
            async with connect(
                f"ws://{address}{path}",
                origin=Origin(f"http://{address}"),
                compression=None,
                proxy=None,
            ) as page:
                async with asyncio.timeout(rng.uniform(0.0, 40.0 if path == "/tv" else 4.0)):
                    async for parts in page:
                        counts["pages drawn"] += 1
                        if hidden().get(table) and _WOLF.search(str(parts)):
                            yield table, f"a page shows the kind of a wolf: {parts!r}"
        except (OSError, TimeoutError, WebSocketException):
            counts["pages that ended"] += 1


class Stranger:
    """Sends whatever comes to mind, to tables of its own and to none; its connections end in all ways."""

    def __init__(
        self, host: str, port: int, rng: random.Random, counts: Counter[str], password: str | None
    ) -> None:
        self._passwords = [None] if password is None else [password, password, None, "wrong"]
        self._host = host
        self._port = port
        self._rng = rng
        self._counts = counts
        self._messages = RandomMessages(rng, OTHER_TABLES)

    async def break_rules(self) -> None:
        """Go on until cancelled."""
        while True:
            await asyncio.sleep(self._rng.expovariate(0.5))
            with contextlib.suppress(OSError, TimeoutError, WebSocketException):
                if self._rng.random() < 0.3:
                    await self._send_bytes()
                else:
                    await self._send_messages()

    async def _send_bytes(self) -> None:
        """Send what is no websocket, or begins like one."""
        rng = self._rng
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, self._host, self._port
        )
        request = f"GET / HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\n".encode()
        for _ in range(rng.randint(1, 5)):
            transport.write(rng.choice([request, b"\r\n", rng.randbytes(rng.randint(1, 3000)), b"\0" * 9000]))
            await asyncio.sleep(rng.uniform(0, 0.5))
        self._counts["connections of strangers"] += 1
        if (end := rng.choice([transport.close, transport.abort, None])) is not None:
            end()

    async def _send_messages(self) -> None:
        rng = self._rng
        async with connect(
            f"ws://{self._host}:{self._port}", compression=None, proxy=None, close_timeout=0.5
        ) as line:
            self._counts["connections of strangers"] += 1
            if rng.random() < 0.9:
                await line.send(encode(Hello(list(VERSIONS), "stranger", rng.choice(self._passwords))))
            listening = asyncio.create_task(_listen(line))
            try:
                if rng.random() < 0.7:
                    await line.send(encode(OpenTable(1, rng.randint(2, 5), "Stranger")))
                for _ in range(rng.randint(1, 40)):
                    await line.send(self._frame())
                    self._counts["messages of strangers"] += 1
                    await asyncio.sleep(rng.choice([0.0, 0.01, 0.2]))
            finally:
                listening.cancel()
            if rng.random() < 0.5:
                line.transport.abort()

    def _frame(self) -> bytes | str:
        rng = self._rng
        kind = rng.choice([each for each in KINDS if each not in {JoinTable, Resume}])
        frame = bytearray(encode(self._messages.of(kind)))
        match rng.randrange(8):
            case 0:
                frame[rng.randrange(len(frame))] ^= 1 << rng.randrange(8)
            case 1:
                del frame[rng.randrange(len(frame)) :]
            case 2:
                return "a text"
            case 3:
                frame += rng.randbytes(rng.choice([1, 100, 5000]))
        return bytes(frame)


async def _listen(line: ClientConnection) -> None:
    with contextlib.suppress(WebSocketException):
        async for _ in line:
            pass
