"""Clients on the real client's connection, which remember all they received: spectators, and who looks on."""

import asyncio
import contextlib
import random
import time
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias, cast

from client.network.connection import Connection, open_connection
from client.network.transport import FREE_ACCESS, ConnectFailed, RequestRefused, ServerAccess, Timeouts
from client.tables.draws import DrawsFault
from client.tables.table import Closed, TableClosed, TableModel, TableUpdate, Update
from engine.pieces import Seat
from engine.view import View
from protocol.codes import SENT_AWAY, Code
from protocol.messages import NEW, AtTable, GetRecord, ListTables, Say, ServerMessage, TableState, Watch
from simulation.people.postbox import Postbox
from simulation.verdict import Finding

# Of a client, and of the listener that it came to: a connection's two, for one port can have several.
Ports: TypeAlias = tuple[int, int]
TIMEOUTS: Final = Timeouts(
    opening=3.0,
    answer=5.0,
    closing=0.5,
    heartbeat=2.0,
    keep_trying=120.0,
    first_pause=0.02,
    longest_pause=0.5,
)
PAUSE: Final = 0.1
# Refusals that mean that the table, or the seat there, is gone.
NO_TABLE: Final = {Code.NO_SUCH_TABLE, Code.TABLE_CLOSED, Code.BAD_TOKEN, Code.GAME_FINISHED}
# Refusals of a move that say nothing of it: it was sent again when the seat was gone, and may have been made.
WITHOUT_A_SEAT: Final = NO_TABLE | SENT_AWAY | {Code.NOT_AT_A_TABLE, Code.LEFT_THE_TABLE, Code.NOT_A_PLAYER}
# Refusals to a spectator that may end: the table is closed to spectators, or has no room for them.
_NO_WATCHING: Final = {Code.NO_SPECTATORS, Code.REMOVED_NEARBY, Code.SPECTATORS_FULL}
# Refusals after which the same may be asked again.
_FOR_NOW: Final = {
    Code.NOT_STORED,
    Code.TOO_SOON,
    Code.TOO_MANY_TABLES,
    Code.TOO_MANY_GUESSES,
    Code.SERVER_STOPPING,
    Code.TABLE_ELSEWHERE,  # again: it has gone on meanwhile
}


class Lost(Exception):
    """The server has lost what it had confirmed."""


class Stolen(Exception):
    """The server gave a seat to somebody without its token."""


class NeverBegun(Exception):
    """The table was closed before its game: it had to make room, or its players were away for too long."""


@dataclass(slots=True)
class Seen:
    """What one connection knew of one table in the end, from its seat.

    `fault` is what it has found wrong with the draws of the game, and `at` when it last was told anything.
    """

    at: float = 0.0
    view: View | None = None
    seq: int = 0
    seat: Seat | None = None
    fault: DrawsFault | None = None


class Witness(TableModel):
    """The client's model; it remembers what it knew, by tables.

    `strangers` has the seats that it was given though they have another name than its own.
    """

    def __init__(self, name: str | None) -> None:
        super().__init__()
        self.seen: defaultdict[str, Seen] = defaultdict(Seen)
        self.strangers: list[Finding] = []
        self._name = name

    def take(self, message: ServerMessage) -> tuple[TableUpdate, ...]:
        updates = super().take(message)
        if self.table is None:
            return updates
        seen = self.seen[self.table]
        seen.at = time.time()
        seen.view, seen.seq, seen.seat = self.view, self.seq, self.seat
        seen.fault = None if (check := self.draws.check()) is None else check.fault
        if isinstance(message, TableState) and message.table == self.table and self.seat is not None:
            named = message.seats[self.seat].name
            if named != self._name:
                text = f"seat {self.seat} of {named} was given to {self._name}"
                self.strangers.append(Finding(text, self.table, time.time()))
        return updates


@dataclass(frozen=True, slots=True)
class Route:
    """How visitors reach the server: through the proxy, which can hold a client's messages back.

    `private` has the tables that are private for certain, because their hosts were told so; `once_public` has
    those that were not always private.
    """

    url: str
    scale: float  # of pauses: 1 for those of people
    talk: float  # of the news, on which a client says something
    longest_absence: float  # seconds
    private: set[str] = field(default_factory=set)
    once_public: set[str] = field(default_factory=set)
    postbox: Postbox | None = None  # where players are called
    hold: Callable[[Ports], Callable[[], None]] = lambda _ports: lambda: None
    access: ServerAccess = FREE_ACCESS


async def next_update(connection: Connection, seconds: float) -> Update | None:
    """Return what changes next, at last Closed, or None if nothing does for so long."""
    updates = cast("AsyncGenerator[Update, None]", connection.updates())
    try:
        async with asyncio.timeout(seconds):
            return await anext(updates)
    except TimeoutError:
        return None
    except StopAsyncIteration:
        return connection.closed
    finally:
        await updates.aclose()


@dataclass(slots=True)
class Visitor:
    """A client at a table; `models` holds what each of its connections received."""

    way: Route
    rng: random.Random
    counts: Counter[str]
    name: str | None = None
    models: list[Witness] = field(default_factory=list)
    said: int = 0
    _open: contextlib.AsyncExitStack = field(default_factory=contextlib.AsyncExitStack)
    _connection: Connection | None = None

    @property
    def connection(self) -> Connection:
        assert self._connection is not None
        return self._connection

    async def connect(self, remembered: Witness | None = None) -> None:
        """Open a connection, however many attempts that takes; the previous one stays open."""
        while True:
            try:
                line = open_connection(
                    self.way.url, client="chaos", timeouts=TIMEOUTS, access=self.way.access
                )
                self._connection = await self._open.enter_async_context(line)
                break
            except ConnectFailed as error:
                if error.final:
                    raise
                await asyncio.sleep(self.rng.uniform(0, PAUSE))
        model = Witness(self.name) if remembered is None else remembered
        self._connection.model = model
        if remembered is None:
            self.models.append(model)

    async def disconnect(self) -> None:
        await self._open.aclose()

    @contextlib.asynccontextmanager
    async def visiting(self) -> AsyncIterator[Connection]:
        """Be connected for the length of the context, even if it is cancelled because a table is given up."""
        try:
            await self.connect()
            yield self.connection
        finally:
            await self.disconnect()

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
                if refusal.code == Code.AT_A_TABLE:  # the request arrived, and only its answer was lost
                    return
                if refusal.code not in _FOR_NOW:
                    raise
                self.counts[f"asked again later: {refusal.code}"] += 1
                await asyncio.sleep(PAUSE)
                if refusal.code == Code.TABLE_ELSEWHERE:  # a client goes there if it has not begun to know it
                    await self.connect()
            else:
                return

    async def talk(self, who: str) -> None:
        """Send unusual chat messages now and then."""
        if self.rng.random() >= self.way.talk or self.connection.model.table is None:
            return
        self.said += 1
        await self.try_to(Say(NEW, f"{self.connection.model.table} {who} {self.said}"), "messages said")

    async def try_to(self, request: AtTable | GetRecord, count: str) -> None:
        """Ask for something once, and count it if that was answered with yes."""
        with contextlib.suppress(ConnectFailed, RequestRefused):
            await self.connection.ask(request)
            self.counts[count] += 1


@dataclass(slots=True)
class Spectator(Visitor):
    """Watches a game to its end, or until its table is archived or closed, if it `may_vanish`.

    While the table is closed to spectators, it tries again until `over` is set: the players have ended.
    """

    may_vanish: bool = False
    over: asyncio.Event = field(default_factory=asyncio.Event)
    kept_out: bool = False

    async def watch(self, table: str) -> None:
        while True:
            await self.connect()
            try:
                await self.insist(lambda: self.connection.ask(Watch(NEW, table)))
            except RequestRefused as refusal:
                if refusal.code in _NO_WATCHING:
                    self.kept_out |= refusal.code == Code.NO_SPECTATORS
                    if self.over.is_set():
                        return
                    await asyncio.sleep(PAUSE)
                    continue
                if refusal.code in NO_TABLE and (self.may_vanish or self.over.is_set()):
                    return
                if refusal.code in NO_TABLE and not any(model.seen[table].seq for model in self.models):
                    raise NeverBegun from refusal
                raise Lost(f"a spectator was refused: {refusal}") from refusal
            while not is_over(self.connection):
                update = await next_update(self.connection, 5 * PAUSE)
                if isinstance(update, Closed | TableClosed):
                    break
                await self.talk("a spectator")
            else:
                return


@dataclass(slots=True)
class Stroller(Visitor):
    """Looks at the list of tables again and again; `found` are tables that should not have been in it."""

    found: list[str] = field(default_factory=list)

    async def stroll(self) -> None:
        await self.connect()
        while True:
            before = set(self.way.private)
            with contextlib.suppress(ConnectFailed, RequestRefused):
                listed = {table.table for table in (await self.connection.ask(ListTables(NEW))).tables}
                self.counts["lists of tables"] += 1
                self.found += sorted(listed & before & self.way.private)
            if self.connection.closed is not None:
                await self.connect()
            await asyncio.sleep(self.rng.uniform(0, 20 * PAUSE))


def is_over(connection: Connection) -> bool:
    """Return whether the game has a result, or was ended without one."""
    view, state = connection.model.view, connection.model.state
    return (view is not None and view.result is not None) or (state is not None and state.ended)
