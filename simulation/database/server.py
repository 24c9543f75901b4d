"""The database server of a simulation, and the library's connections to it: `asyncpg.connect` leads here.

It is killed and restarted, gives way to another one, and falls silent. Connections are lost before a request
has arrived, or after it was carried out; then one side may learn of it late.
"""

import asyncio
import errno
import os
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import asyncpg

from simulation.database.rows import Answer, Blocked, Row, Rows, Transaction, refusal
from simulation.database.statements import carry_out, define_functions
from simulation.judging.ownership import Ownership
from simulation.machine.loop import EPOCH, Clock, Process
from simulation.machine.network import Weather

LEASE_SECONDS: Final = 3.0
_MOST_WORK: Final = 0.004  # seconds for a statement, usually; a commit takes as long again
_SECONDS_FOR_A_LOCK: Final = 5.0  # as `Database.connect` asks for
_SECONDS_IDLE: Final = 10.0  # in a transaction; this, too
_SECONDS_UNNOTICED: Final = 11.0  # for a connection that has gone without a word; this, too
_READ_ONLY: Final = ("25006", "cannot execute this in a read-only transaction")


class Line:
    """What is between a node's host and the database: it can be cut, refuse, fall silent and be slow."""

    def __init__(self, database: "DatabaseServer") -> None:
        self.refuses = False
        self.silent = {True: False, False: False}  # requests, and answers
        self.delay = 0.0
        self.connections: dict[int, DatabaseConnection] = {}
        self._database = database

    def carry(self, connection: "DatabaseConnection", do: Callable[[], None], *, request: bool) -> None:
        """Have something happen at the other end of a connection, after all that was sent there before."""
        weather, rng = self._database.weather, self._database.rng
        if connection.broken:
            return
        if weather.cut and rng.random() < weather.cut:
            connection.break_off(self.delay + rng.random() * weather.most_delay)
        delay = self.delay + rng.uniform(weather.least_delay, weather.most_delay)
        if rng.random() < weather.stalled:
            delay += rng.uniform(0, weather.longest_stall)
        connection.waiting[request].append(do)
        self._database.clock.after(delay, partial(self._deliver, connection, request))

    def _deliver(self, connection: "DatabaseConnection", request: bool) -> None:
        """Let the next thing arrive."""
        waiting = connection.waiting[request]
        if waiting and not (connection.broken or self.silent[request]):
            waiting.popleft()()

    def let_go(self) -> None:
        """Be silent no longer: what was held up arrives."""
        self.silent = {True: False, False: False}
        for connection in list(self.connections.values()):
            for request, waiting in connection.waiting.items():
                for _ in range(len(waiting)):
                    self._database.clock.after(0, partial(self._deliver, connection, request))

    def cut(self) -> None:
        """End all connections."""
        for connection in list(self.connections.values()):
            connection.break_off(0.0)


class DatabaseSession:
    """One connection, as the database has it."""

    def __init__(
        self, database: "DatabaseServer", connection: "DatabaseConnection", *, synchronous: bool
    ) -> None:
        self.channels: set[str] = set()
        self.dead = False
        self.synchronous = synchronous
        self._database = database
        self._connection = connection
        self._open: Transaction | None = None  # that was begun, and lasts
        self._at_work: Transaction | None = None
        self._text = ""
        self._number = 0  # of the statement
        self._blocked = False  # it waits for a lock
        self._gone = False  # the node is

    def take(self, text: str, arguments: Sequence[Sequence[Any]]) -> None:
        """Carry a statement out, for each of the arguments, and answer."""
        self._number += 1
        self._blocked = False
        self._text = text
        self._at_work = self._open or self._database.transaction(synchronous=self.synchronous)
        match text:
            case "BEGIN":
                self._open = self._at_work
            case "COMMIT" | "ROLLBACK":
                self._open = None
            case "SET synchronous_commit = off":
                self.synchronous = False
            case _ if text.startswith("LISTEN ") and self._database.read_only:
                self._fail(refusal(*_READ_ONLY))
                return
            case _ if text.startswith("LISTEN "):
                self.channels.add(text.removeprefix("LISTEN "))
            case _:
                self._attempt(arguments, self._number)
                return
        self._later(partial(self._finish, []))

    def _attempt(self, arguments: Sequence[Sequence[Any]], number: int) -> None:
        """Do the statement, or wait for a lock, and do it then."""
        transaction = self._at_work
        if transaction is None or number != self._number:
            return
        if transaction.failed:
            self._fail(refusal("25P02", "the transaction is aborted"))
            return

        def statement() -> Answer:
            return [row for each in arguments for row in carry_out(transaction, self._text, each)]

        def too_late() -> None:
            if self._at_work is transaction and number == self._number and self._blocked:
                self._fail(refusal("55P03", "canceling statement due to lock timeout"))

        try:
            rows = transaction.attempt(statement)
        except Blocked:
            self._database.counts["waits for locks in the database"] += 1
            self._database.waiting.append(partial(self._attempt, arguments, number))
            if not self._blocked:  # it waits from now on, however often it is tried again
                self._blocked = True
                self._database.clock.after(_SECONDS_FOR_A_LOCK, too_late)
        except asyncpg.PostgresError as error:
            self._fail(error)
        else:
            self._blocked = False
            if transaction.changes and self._database.read_only:
                self._fail(refusal(*_READ_ONLY))
            else:
                self._later(partial(self._finish, rows))

    def _later(self, do: Callable[[], None]) -> None:
        number = self._number

        def done() -> None:
            if not self.dead and number == self._number:
                do()

        self._database.clock.after(self._database.work(), done)

    def _finish(self, rows: Answer) -> None:
        transaction = self._at_work
        assert transaction is not None
        if self._open is None:
            if self._text == "ROLLBACK" or transaction.failed:
                self._database.end(transaction)
            else:
                self._database.commit(transaction)
        self._answer(None, rows)

    def _fail(self, error: Exception) -> None:
        transaction = self._at_work
        assert transaction is not None
        transaction.failed = True
        if self._open is None:
            self._database.end(transaction)
        self._answer(error, [])

    def _answer(self, error: Exception | None, rows: Answer) -> None:
        self._at_work = None
        if self._gone:
            self.end()
            return
        number, connection = self._number, self._connection
        connection.line.carry(connection, partial(connection.answered, error, rows), request=False)
        if self._open is not None:
            self._database.clock.after(_SECONDS_IDLE, partial(self._end_if_idle, number))

    def _end_if_idle(self, number: int) -> None:
        if not self.dead and number == self._number and self._at_work is None and self._open is not None:
            self.die(refusal("25P03", "terminating: idle in a transaction", severity="FATAL"))

    def cancel(self) -> None:
        """Give up a statement that waits for a lock, as the library asks when its caller has no patience."""
        if self._at_work is not None and self._text != "COMMIT" and self._database.rng.random() < 0.5:
            self._number += 1
            self._fail(refusal("57014", "canceling statement due to user request"))

    def leave(self) -> None:
        """Learn that the node has gone: what is being done is done to its end."""
        self._gone = True
        if self._at_work is None:
            self.end()

    def end(self) -> None:
        """Undo what is not committed."""
        self.dead = True
        self._database.sessions.pop(self._connection.number, None)
        for each in {id(each): each for each in (self._open, self._at_work) if each is not None}.values():
            self._database.end(each)
        self._open = self._at_work = None

    def die(self, error: Exception) -> None:
        """End, and say why."""
        self.end()
        connection = self._connection
        connection.line.carry(connection, partial(connection.lost, error), request=False)

    def notify(self, channel: str, payload: str) -> None:
        connection = self._connection
        connection.line.carry(connection, partial(connection.notified, channel, payload), request=False)


class DatabaseConnection:
    """What `asyncpg.connect` returns in a simulation."""

    def __init__(self, database: "DatabaseServer", process: Process, number: int) -> None:
        self.number = number
        self.broken = False  # nothing arrives any more
        self.waiting: dict[bool, deque[Callable[[], None]]] = {True: deque(), False: deque()}
        self.line = database.line(process.host)
        self.line.connections[number] = self
        self._database = database
        self._process = process
        self._session: DatabaseSession | None = None
        self._closed = False
        self._pending: asyncio.Future[None] | None = None  # until an answer comes, if anybody waits or not
        self._answer: asyncio.Future[Answer] | None = None
        self._listeners: dict[str, Callable[..., None]] = {}
        self._ended: list[Callable[[DatabaseConnection], None]] = []
        process.at_end.append(self._process_ended)

    async def begin(self, *, synchronous: bool) -> None:
        """Connect; raises OSError."""
        self._session = DatabaseSession(self._database, self, synchronous=synchronous)

        def arrived() -> None:
            assert self._session is not None
            if self.line.refuses or not self._database.listens:
                self.lost(ConnectionRefusedError(errno.ECONNREFUSED, os.strerror(errno.ECONNREFUSED)))
            else:
                self._database.sessions[self.number] = self._session
                self.line.carry(self, partial(self.answered, None, []), request=False)

        try:
            await self._exchange(arrived)
        except BaseException:
            self.terminate()
            raise

    # -- for the product ----------------------------------------------------------------------------

    async def execute(self, text: str, *arguments: Any) -> str:
        await self._ask(text, [arguments])
        return ""

    async def executemany(self, text: str, many: Sequence[Sequence[Any]]) -> None:
        await self._ask(text, many)

    async def fetch(self, text: str, *arguments: Any) -> Answer:
        return await self._ask(text, [arguments])

    async def fetchrow(self, text: str, *arguments: Any) -> tuple[Any, ...] | None:
        return next(iter(await self._ask(text, [arguments])), None)

    async def fetchval(self, text: str, *arguments: Any) -> Any:
        row = await self.fetchrow(text, *arguments)
        return None if row is None else row[0]

    def transaction(self) -> "_Block":
        return _Block(self)

    async def add_listener(self, channel: str, heard: Callable[..., None]) -> None:
        await self._ask(f"LISTEN {channel}", [()])
        self._listeners[channel] = heard

    def add_termination_listener(self, ended: "Callable[[DatabaseConnection], None]") -> None:
        self._ended.append(ended)

    def is_closed(self) -> bool:
        return self._closed

    def terminate(self) -> None:
        if not self._closed:
            self._tell_session_to_leave()
            self._end(asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation"))

    async def _ask(self, text: str, arguments: Sequence[Sequence[Any]]) -> Answer:
        session = self._session
        assert session is not None

        def arrived() -> None:
            if not session.dead:
                session.take(" ".join(text.split()), arguments)

        return await self._exchange(arrived)

    async def _exchange(self, arrived: Callable[[], None]) -> Answer:
        if self._answer is not None and self._answer.cancelled() and self._pending is not None:
            await asyncio.shield(self._pending)  # for what was asked to be cancelled
        if self._closed:
            raise asyncpg.InterfaceError("connection is closed")
        if self._pending is not None and not self._pending.done():
            raise asyncpg.InterfaceError("cannot perform operation: another operation is in progress")
        self._pending = self._process.create_future()
        answer: asyncio.Future[Answer] = self._process.create_future()
        self._answer = answer
        self.line.carry(self, arrived, request=True)
        try:
            return await answer
        except asyncio.CancelledError:
            if not self._closed and self._session is not None:
                self.line.carry(self, self._session.cancel, request=True)
            raise

    # -- for what is in between ---------------------------------------------------------------------

    def answered(self, error: Exception | None, rows: Answer) -> None:
        self._process.call_soon(self._take_answer, error, rows)

    def _take_answer(self, error: Exception | None, rows: Answer) -> None:
        if self._pending is not None and not self._pending.done():
            self._pending.set_result(None)
        if self._answer is not None and not self._answer.done():
            if error is None:
                self._answer.set_result(rows)
            else:
                self._answer.set_exception(error)

    def notified(self, channel: str, payload: str) -> None:
        self._process.call_soon(self._hear, channel, payload)

    def _hear(self, channel: str, payload: str) -> None:
        if not self._closed and channel in self._listeners:
            self._listeners[channel](self, 0, channel, payload)

    def lost(self, error: Exception) -> None:
        """Have the node learn that the connection has ended."""
        self.broken = True
        self.line.connections.pop(self.number, None)
        self._process.call_soon(self._end, error)

    def break_off(self, after: float) -> None:
        """End in the middle, in so many seconds; one side may learn of it late."""
        self._database.clock.after(after, self._break)

    def _break(self) -> None:
        if self.broken:
            return
        self.broken = True
        clock, rng = self._database.clock, self._database.rng
        self._database.counts["lines lost"] += 1
        clock.after(rng.choice([0.0, 0.0, _SECONDS_UNNOTICED]), self._session_left)
        error = asyncpg.ConnectionDoesNotExistError("connection was closed in the middle of operation")
        clock.after(rng.choice([0.0, 0.0, 0.0, 60.0]), partial(self.lost, error))

    def _session_left(self) -> None:
        self.line.connections.pop(self.number, None)
        if self._session is not None and not self._session.dead:
            self._session.leave()

    def _tell_session_to_leave(self) -> None:
        """Have the session learn that this end has gone; what was sent before that may be lost."""
        if self._database.rng.random() < 0.5:
            self.waiting[True].clear()
        self.line.carry(self, self._session_left, request=True)

    def _process_ended(self) -> None:
        if not self._closed:
            self._closed = True
            self.line.carry(self, self._session_left, request=True)

    def _end(self, error: Exception) -> None:
        if self._closed:
            return
        self._closed = True
        self._process.at_end.remove(self._process_ended)
        self._take_answer(error, [])
        for ended in self._ended:
            self._process.call_soon(ended, self)


class _Block:
    """A transaction of the library's."""

    def __init__(self, connection: DatabaseConnection) -> None:
        self._connection = connection

    async def start(self) -> None:
        await self._connection.execute("BEGIN")

    async def commit(self) -> None:
        await self._connection.execute("COMMIT")

    async def rollback(self) -> None:
        await self._connection.execute("ROLLBACK")

    async def __aenter__(self) -> None:
        await self.start()

    async def __aexit__(self, kind: type[BaseException] | None, *_error: object) -> None:
        await (self.commit() if kind is None else self.rollback())


class DatabaseServer:
    """The database that all nodes share; `listens` unless it is down."""

    def __init__(self, clock: Clock, rng: random.Random, weather: Weather, counts: Counter[str]) -> None:
        self.clock = clock
        self.rng = rng
        self.counts = counts
        self.listens = True
        self.read_only = False
        self.rows = Rows(self._note)
        define_functions(self.rows)
        self.sessions: dict[int, DatabaseSession] = {}
        self.waiting: list[Callable[[], None]] = []  # for locks
        self._tables_waited = 0.0  # to be taken up, when
        self._owned: list[tuple[str, str | None, float, int]] = []
        self.weather = weather
        self._lines: dict[str, Line] = {}
        self._offset = 0.0  # of its clock
        self._started = -1e6  # by that
        self._numbers = 0

    @property
    def now(self) -> float:
        """Return its own time."""
        return EPOCH + self.clock.now + self._offset

    @property
    def lines(self) -> list[Line]:
        return list(self._lines.values())

    def line(self, host: str) -> Line:
        """Return what is between a host and the database."""
        return self._lines.setdefault(host, Line(self))

    async def connect(
        self, _url: str, *, server_settings: dict[str, str], **_options: Any
    ) -> DatabaseConnection:
        """Stand in for `asyncpg.connect`."""
        assert self.clock.running is not None
        self._numbers += 1
        connection = DatabaseConnection(self, self.clock.running, self._numbers)
        await connection.begin(synchronous=server_settings["synchronous_commit"] != "off")
        return connection

    def work(self) -> float:
        """Return in how many seconds something is done."""
        return self.rng.random() * self.rng.choice([_MOST_WORK, _MOST_WORK, _MOST_WORK, 20 * _MOST_WORK])

    def transaction(self, *, synchronous: bool) -> Transaction:
        return Transaction(self.rows, lambda: self.now, self._started, synchronous=synchronous)

    def commit(self, transaction: Transaction) -> None:
        transaction.commit()
        self._wake()
        for channel, payload in transaction.notes:
            for session in list(self.sessions.values()):
                if channel in session.channels:
                    session.notify(channel, payload)

    def end(self, transaction: Transaction) -> None:
        """Undo a transaction."""
        transaction.end()
        self._wake()

    def _wake(self) -> None:
        waiting, self.waiting = self.waiting, []
        for again in waiting:
            self.clock.after(0, again)

    # -- what happens to it -------------------------------------------------------------------------

    def stop(self) -> None:
        """Stop as its host has it stop."""
        self.listens = False
        for session in list(self.sessions.values()):
            session.die(refusal("57P01", "terminating connection", severity="FATAL"))

    def crash(self) -> None:
        """End in the middle."""
        self.listens = False
        for session in list(self.sessions.values()):
            session.end()
        for line in self.lines:
            line.cut()
        self.rows.crash(self.rng.randint(0, len(self.rows.unflushed)))

    def start(self, *, offset: float = 0.0, standby: bool = False) -> None:
        """Run again; a standby that takes over has run before, and has another clock."""
        self.listens = True
        self._offset += offset
        if not standby:
            self._started = self.now

    # -- what it has seen ---------------------------------------------------------------------------

    def _note(self, table: str, before: Row | None, now: Row | None) -> None:
        old, new = before or {}, now or {}
        if table == "game_table" and now is not None and (before is None or old["term"] != new["term"]):
            owner = next((str(node["name"]) for node in self.rows.all("node", term=new["term"])), None)
            entries = len(self.rows.all("entry", code=new["code"]))
            self._owned.append((new["code"], owner, EPOCH + self.clock.now, entries))
        if table == "game_table" and (_waits(old) or _waits(new)):
            self._tables_waited = self.clock.now

    def has_no_fault(self, term: int) -> bool:
        """Tell whether a lease runs, and its node cannot have failed in the middle of taking up a table."""
        leases = self.rows.all("node", term=term)
        if not leases or leases[0]["expires"] < self.now or any(map(_waits, self.rows.all("game_table"))):
            return False
        return self.clock.now - self._tables_waited > LEASE_SECONDS

    def ownership(self) -> Ownership:
        """Return which node had which table when."""
        return Ownership(self._owned)


def _waits(table: Row) -> bool:
    return table.get("place") == "=" and (table["term"] is None or table["offered"] is not None)
