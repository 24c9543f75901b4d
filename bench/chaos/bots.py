"""Players and spectators on the real client's connection, which remember all they did and received."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from client.bots.brains import at_random
from client.connection import ConnectFailed, Connection, RequestRefused, Timeouts, connected
from client.news import Closed
from client.table import Happened, TableModel, TableUpdate
from engine.events import Command, SeenEvent
from engine.view import View
from protocol.codes import Code
from protocol.messages import ServerMessage, Snapshot

TIMEOUTS: Final = Timeouts(
    opening=3.0,
    answer=5.0,
    closing=0.5,
    heartbeat=2.0,
    keep_trying=120.0,
    first_pause=0.02,
    longest_pause=0.5,
)
_COMES_ANEW: Final = 0.03  # of a player's turns: the terminal is closed, and another one takes the seat
_PAUSE: Final = 0.1


class Lost(Exception):
    """The server has lost what it had confirmed."""


@dataclass(frozen=True, slots=True)
class Received:
    """Events that a client took in; the first has number `first`."""

    first: int
    events: tuple[SeenEvent, ...]


class Witness(TableModel):
    """The client's model; it remembers what it took in, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[Received | Snapshot] = []

    def take(self, message: ServerMessage) -> tuple[TableUpdate, ...]:
        updates = super().take(message)
        if isinstance(message, Snapshot):
            self.received.append(message)
        for update in updates:
            if isinstance(update, Happened):
                self.received.append(Received(update.seq - len(update.events) + 1, update.events))
        return updates


@dataclass(slots=True)
class Move:
    """What a player tried, and the outcome as far as the player knows."""

    command: Command
    outcome: Literal["done", "refused", "unknown"] = "unknown"


@dataclass(slots=True)
class Visitor:
    """A client at a table; `models` holds what each of its connections received."""

    url: str
    rng: random.Random
    counts: Counter[str]
    models: list[Witness] = field(default_factory=list)
    _open: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    _connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        assert self._connection is not None
        return self._connection

    @property
    def view(self) -> View | None:
        """Return this visitor's final view of the table."""
        return self.models[-1].view

    async def connect(self) -> None:
        """Open a connection, however many attempts that takes; the previous one stays open."""
        while True:
            try:
                line = connected(self.url, client="chaos", timeouts=TIMEOUTS)
                self._connection = await self._open.enter_async_context(line)
                break
            except ConnectFailed as error:
                if error.final:
                    raise
                await asyncio.sleep(self.rng.uniform(0, _PAUSE))
        model = Witness()
        self._connection.model = model
        self.models.append(model)

    async def disconnect(self) -> None:
        await self._open.aclose()

    async def insist(self, what: Callable[[], Awaitable[object]]) -> None:
        """Ask for something until there is an answer, on new connections if need be.

        Raises RequestRefused.
        """
        while True:
            try:
                await what()
            except ConnectFailed:
                if self.connection.closed is not None:
                    await self.connect()
            except RequestRefused as refusal:
                if refusal.code != Code.AT_A_TABLE:  # else the request arrived, and only its answer was lost
                    raise
                return
            else:
                return


@dataclass(slots=True)
class Spectator(Visitor):
    """Watches a game to its end."""

    async def watch(self, table: str) -> None:
        while True:
            await self.connect()
            try:
                await self.insist(lambda: self.connection.watch(table))
            except RequestRefused as refusal:
                raise Lost(f"a spectator was refused: {refusal}") from refusal
            async for update in self.connection.updates():
                if isinstance(update, Closed):
                    break
                if is_over(self.connection):
                    return


@dataclass(slots=True)
class Player(Visitor):
    """Holds a seat and makes its moves, at random."""

    moves: list[Move] = field(default_factory=list)
    table: str = ""
    token: str = field(default="", repr=False)

    async def open(self, players: int, *, random_layout: bool) -> str:
        """Open a table and return its code; raises ConnectFailed if that is not known to have happened."""
        await self.connect()
        seated = await self.connection.open_table(players, "Bot 0", random_layout=random_layout)
        self.table, self.token = seated.table, seated.token or ""
        return self.table

    async def join(self, table: str, number: int) -> None:
        """Take a seat; raises ConnectFailed if that is not known to have happened."""
        await self.connect()
        seated = await self.connection.join(table, f"Bot {number}")
        self.table, self.token = seated.table, seated.token or ""

    async def _start(self) -> None:
        """Start the game, as host."""
        try:
            await self.insist(self._started)
        except RequestRefused as refusal:
            if refusal.code != Code.ALREADY_STARTED:
                raise Lost(f"the host was refused: {refusal}") from refusal

    async def _started(self) -> None:
        if self.connection.model.table is None:
            await self.connection.resume(self.table, self.token)
        await self.connection.start()

    async def play(self, *, starts: bool) -> None:
        """Play the game to its end, on as many connections as that takes; the host `starts`."""
        if starts:
            await self._start()
        while not await self._played_here():
            self.counts["comings anew"] += 1
            if self.rng.random() < 0.5:
                await self._open.aclose()
            await self.connect()
            try:
                await self.insist(lambda: self.connection.resume(self.table, self.token))
            except RequestRefused as refusal:
                raise Lost(f"a player was refused: {refusal}") from refusal

    async def _played_here(self) -> bool:
        """Play on this connection; return whether the game is over."""
        connection, moved_at = self.connection, -1
        async for update in connection.updates():
            model = connection.model
            if is_over(connection):
                return True
            if isinstance(update, Closed):
                return False
            while model.legal is not None and model.seq != moved_at:
                if self.rng.random() < _COMES_ANEW:
                    return False
                at = model.seq
                if await self._moved(connection):
                    moved_at = at
                elif connection.closed is not None:
                    return False
        return is_over(connection)

    async def _moved(self, connection: Connection) -> bool:
        """Try a move; return whether there was an answer."""
        model = connection.model
        assert model.view is not None
        assert model.legal is not None
        move = Move(at_random(model.view, model.legal, self.rng))
        self.moves.append(move)
        try:
            await connection.play(move.command)
        except RequestRefused:
            move.outcome = "refused"
        except ConnectFailed:
            self.counts["moves without an answer"] += 1
            return False
        else:
            move.outcome = "done"
            self.counts["moves"] += 1
        return True


def is_over(connection: Connection) -> bool:
    view = connection.model.view
    return view is not None and view.result is not None
