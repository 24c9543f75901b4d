"""Players and spectators on the real client's connection, which remember all they did and received."""

import asyncio
import contextlib
import random
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, Literal

from websockets.exceptions import ConnectionClosed

from client.bots.brains import at_random
from client.connection import ConnectFailed, Connection, RequestRefused, Timeouts, connected
from client.news import Closed
from client.table import Happened, TableModel, TableUpdate
from client.transport import Access
from engine.events import Command, SeenEvent
from engine.legal import Legal
from engine.view import View
from protocol.absence import Absence, ByVote, MoveClock, Wait
from protocol.codec import encode
from protocol.codes import Code
from protocol.messages import ServerMessage, Snapshot
from protocol.moves import move_message

TIMEOUTS: Final = Timeouts(
    opening=3.0,
    answer=5.0,
    closing=0.5,
    heartbeat=2.0,
    keep_trying=120.0,
    first_pause=0.02,
    longest_pause=0.5,
)
# Of a player's turns:
_COMES_ANEW: Final = 0.03  # the terminal is closed, and another one takes the seat
_IS_LATE: Final = 0.02  # ... and a move of the old one arrives after that
_IS_AWAY: Final = 0.03  # ... after a while, unless the table just waits for its players
_THINKS_TOO_LONG: Final = 0.02  # for the move's clock

_REMEMBERS: Final = 0.5  # of the terminals that take the seat: what the old one knew of the game
_FORGES: Final = 0.1  # ... try another token first
_PAUSE: Final = 0.1
_LATE_ID: Final = 2_000_000_000  # far from the client's own ids, which begin below 2**30
# Refusals after which the same may be asked again.
_FOR_NOW: Final = {Code.NOT_STORED, Code.TOO_SOON, Code.TOO_MANY_TABLES}
_NO_TABLE: Final = {Code.NO_SUCH_TABLE, Code.TABLE_CLOSED, Code.BAD_TOKEN, Code.GAME_FINISHED}


class Lost(Exception):
    """The server has lost what it had confirmed."""


class Stolen(Exception):
    """The server gave a seat to somebody without its token."""


class NeverBegun(Exception):
    """The table was closed before its game: it had to make room, or its players were away for too long."""


@dataclass(frozen=True, slots=True)
class Received:
    """Events that a client took in; the first has number `first`."""

    first: int
    events: tuple[SeenEvent, ...]


@dataclass(slots=True)
class Seen:
    """What one connection's model took in of a table, in order, and what it knew in the end."""

    received: list[Received | Snapshot] = field(default_factory=list)
    view: View | None = None
    seq: int = 0


class Witness(TableModel):
    """The client's model; it remembers what it took in, by tables."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: defaultdict[str, Seen] = defaultdict(Seen)

    def take(self, message: ServerMessage) -> tuple[TableUpdate, ...]:
        updates = super().take(message)
        if self.table is None:
            return updates
        seen = self.seen[self.table]
        if isinstance(message, Snapshot):
            seen.received.append(message)
        for update in updates:
            if isinstance(update, Happened):
                seen.received.append(Received(update.seq - len(update.events) + 1, update.events))
        seen.view, seen.seq = self.view, self.seq
        return updates


@dataclass(slots=True)
class Move:
    """What a player tried, and the outcome as far as the player knows; a `late` one had lost its seat."""

    table: str
    command: Command
    outcome: Literal["done", "refused", "unknown", "late"] = "unknown"
    late_id: int | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """How visitors reach the server: through the proxy, which can hold a client's messages back."""

    url: str
    access: Access
    hold: Callable[[int], Callable[[], None]]
    scale: float  # of pauses: 1 for those of people
    talk: float  # of the news, on which a client says something


@dataclass(slots=True)
class Visitor:
    """A client at a table; `models` holds what each of its connections received."""

    way: Route
    rng: random.Random
    counts: Counter[str]
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
                line = connected(self.way.url, client="chaos", timeouts=TIMEOUTS, access=self.way.access)
                self._connection = await self._open.enter_async_context(line)
                break
            except ConnectFailed as error:
                if error.final:
                    raise
                await asyncio.sleep(self.rng.uniform(0, _PAUSE))
        model = Witness() if remembered is None else remembered
        self._connection.model = model
        if remembered is None:
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
                if refusal.code == Code.AT_A_TABLE:  # the request arrived, and only its answer was lost
                    return
                if refusal.code not in _FOR_NOW:
                    raise
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def talk(self, who: str) -> None:
        """Say what nobody else says, now and then."""
        if self.rng.random() >= self.way.talk or self.connection.model.table is None:
            return
        self.said += 1
        with contextlib.suppress(ConnectFailed, RequestRefused):
            await self.connection.say(f"{self.connection.model.table} {who} {self.said}")
            self.counts["messages said"] += 1


@dataclass(slots=True)
class Spectator(Visitor):
    """Watches a game to its end, or until it is archived if its table `may_vanish`."""

    may_vanish: bool = False

    async def watch(self, table: str) -> None:
        while True:
            await self.connect()
            try:
                await self.insist(lambda: self.connection.watch(table))
            except RequestRefused as refusal:
                if self.may_vanish and refusal.code in _NO_TABLE:
                    return
                raise Lost(f"a spectator was refused: {refusal}") from refusal
            async for update in self.connection.updates():
                if is_over(self.connection):
                    return
                if isinstance(update, Closed):
                    break
                await self.talk("a spectator")


@dataclass(slots=True)
class Player(Visitor):
    """Holds a seat and makes its moves, at random."""

    seat: int = 0
    absence: Absence = field(default_factory=Wait)
    leaves_at: int | None = None  # the event after which everybody leaves for a while
    moves: list[Move] = field(default_factory=list)
    table: str = ""
    token: str = field(default="", repr=False)
    _seated_anew: bool = False  # on another connection than before

    async def open(self, players: int, *, random_layout: bool, program: bool = False) -> str:
        """Open a table and return its code; raises ConnectFailed if that is not known to have happened."""
        await self.connect()
        seated = await self.connection.open_table(
            players, "Bot 0", random_layout=random_layout, absence=self.absence, program=program
        )
        self.table, self.token = seated.table, seated.token or ""
        return self.table

    async def join(self, table: str, *, program: bool = False) -> None:
        """Take the seat; raises ConnectFailed if that is not known to have happened."""
        await self.connect()
        seated = await self.connection.join(table, f"Bot {self.seat}", self.seat, program=program)
        self.table, self.token = seated.table, seated.token or ""

    async def play(self, *, starts: bool) -> None:
        """Play the game to its end, on as many connections as that takes; the host `starts`."""
        if starts:
            await self._start()
        while not await self._played_here():
            if not self._seated_anew:
                await self._come_anew()
            self._seated_anew = False

    async def play_again(self) -> None:
        """Go to the table of the rematch, for the same seat there."""
        await asyncio.sleep(self.rng.uniform(0, 2 * _PAUSE))
        before = self.table
        while self.connection.model.table in {None, before}:
            try:
                await self.insist(self._asked_again)
            except RequestRefused as refusal:
                raise Lost(f"a rematch was refused: {refusal}") from refusal
        model = self.connection.model
        if model.seat != self.seat:
            raise Lost(f"seat {self.seat} got seat {model.seat} at the rematch")
        assert model.table is not None
        self.table, self.leaves_at = model.table, None

    # -- internals ----------------------------------------------------------------------------------

    async def _start(self) -> None:
        """Start the game, as host."""
        while True:
            try:
                await self.insist(self._started)
            except RequestRefused as refusal:
                if refusal.code in {Code.SEAT_KEPT, Code.SEATS_EMPTY}:  # not all are back yet
                    await asyncio.sleep(_PAUSE)
                    continue
                if refusal.code in _NO_TABLE:
                    raise NeverBegun from refusal
                if refusal.code != Code.ALREADY_STARTED:
                    raise Lost(f"the host was refused: {refusal}") from refusal
            return

    async def _started(self) -> None:
        if self.connection.model.table is None:
            await self.connection.resume(self.table, self.token)
        await self.connection.start()

    async def _asked_again(self) -> None:
        if self.connection.model.table is None:
            await self.connection.resume(self.table, self.token)
        await self.connection.rematch()
        self.counts["rematches"] += 1

    async def _come_anew(self) -> None:
        """Take the seat from a new terminal, which may remember what the old one knew of the game."""
        self.counts["comings anew"] += 1
        model, remembered = self.connection.model, None
        if self.rng.random() < 0.5:
            await self._open.aclose()
            if model.table == self.table and self.rng.random() < _REMEMBERS:
                assert isinstance(model, Witness)
                remembered = model
        await self.connect(remembered)
        try:
            if self.rng.random() < _FORGES:
                await self._forge()
            await self.insist(self._resumed)
        except RequestRefused as refusal:
            if refusal.code in _NO_TABLE and not any(model.seen[self.table].seq for model in self.models):
                raise NeverBegun from refusal
            raise Lost(f"a player was refused: {refusal}") from refusal

    async def _resumed(self) -> None:
        model = self.connection.model
        seated = await self.connection.resume(self.table, self.token, model.seq)
        if seated.seat != self.seat:
            raise Stolen(f"seat {self.seat} came back to seat {seated.seat}")

    async def _forge(self) -> None:
        """Try a token that no seat has."""
        try:
            seated = await self.connection.resume(self.table, self.token[::-1])
        except ConnectFailed:
            return
        except RequestRefused:
            self.counts["forged tokens refused"] += 1
        else:
            raise Stolen(f"seat {seated.seat} was given for another token")

    async def _played_here(self) -> bool:
        """Play on this connection; return whether the game is over."""
        connection, moved_at = self.connection, -1
        if is_over(connection):
            return True
        async for update in connection.updates():
            model = connection.model
            if is_over(connection):
                return True
            if isinstance(update, Closed):
                return False
            if self.leaves_at is not None and model.seq >= self.leaves_at:
                self.leaves_at = None
                await self._be_away(2.0)
                return False
            await self._vote(connection)
            while model.legal is not None and model.seq != moved_at:
                at = model.seq
                if await self._distracted(connection, model.legal):
                    return False
                if model.legal is None:
                    break
                if await self._moved(connection):
                    moved_at = at
                elif connection.closed is not None:
                    return False
            await self.talk(f"seat {self.seat}")
        return is_over(connection)

    async def _distracted(self, connection: Connection, legal: Legal) -> bool:
        """Do something else than move, now and then; return whether this connection is no longer used."""
        chance = self.rng.random()
        if chance < _COMES_ANEW:
            return True
        chance -= _COMES_ANEW
        if chance < _IS_LATE:
            await self._move_late(connection, legal)
            return True
        chance -= _IS_LATE
        if chance < _IS_AWAY and not isinstance(self.absence, Wait):
            await self._be_away(4.0)
            return True
        chance -= _IS_AWAY
        if chance < _THINKS_TOO_LONG and isinstance(self.absence, MoveClock):
            await asyncio.sleep(self.absence.seconds + 1)
        return False

    async def _be_away(self, seconds: float) -> None:
        """Close the terminal for a while."""
        self.counts["times away"] += 1
        await self._open.aclose()
        await asyncio.sleep(self.rng.uniform(0, seconds) * self.way.scale)

    async def _move_late(self, connection: Connection, legal: Legal) -> None:
        """Take the seat from another terminal, and have a move of this one arrive after that."""
        websocket = connection._websocket  # noqa: SLF001 - a client would not send what this is about to
        view = connection.model.view
        if websocket is None or view is None:
            return
        move = Move(self.table, at_random(view, legal, self.rng), "late", _LATE_ID + len(self.moves))
        assert move.late_id is not None
        release = self.way.hold(websocket.local_address[1])
        try:
            await websocket.send(encode(move_message(move.late_id, move.command)))
            await self.connect()
            await self.insist(self._resumed)
        except RequestRefused as refusal:
            raise Lost(f"a player was refused: {refusal}") from refusal
        except ConnectionClosed:
            return
        finally:
            release()
        self._seated_anew = True
        self.moves.append(move)
        self.counts["late moves"] += 1
        await asyncio.sleep(_PAUSE)  # for the move to arrive before the next one

    async def _vote(self, connection: Connection) -> None:
        """Agree that bots play for those who are away."""
        state = connection.model.state
        if state is None or not isinstance(self.absence, ByVote):
            return
        for seat, summary in enumerate(state.seats):
            if summary.seconds_left == 0 and self.seat not in summary.votes and seat != self.seat:
                with contextlib.suppress(ConnectFailed, RequestRefused):
                    await connection.vote(seat, agree=True)
                    self.counts["votes"] += 1

    async def _moved(self, connection: Connection) -> bool:
        """Try a move; return whether there was an answer that settles it."""
        model = connection.model
        assert model.view is not None
        assert model.legal is not None
        move = Move(self.table, at_random(model.view, model.legal, self.rng))
        self.moves.append(move)
        try:
            await connection.play(move.command)
        except RequestRefused as refusal:
            move.outcome = "refused"
            if refusal.code == Code.NOT_STORED:
                self.counts["moves not stored"] += 1
                await asyncio.sleep(_PAUSE)
                return False
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
