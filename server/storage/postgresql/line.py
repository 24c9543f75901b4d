"""A connection on which a server makes its changes, made anew whenever it is lost.

When it is lost during a change, nobody knows whether that was stored. So the change is made again on the next
connection, and finds there what the earlier attempt has stored, or may still store.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from server.errors import NotStoredNow
from server.monitoring.failures import start_task
from server.monitoring.logs import about
from server.probes import probe
from server.storage.postgresql.database import (
    FAILED,
    Connection,
    Database,
    not_stored,
    reason_of,
    refused_by_database,
    takes_no_changes,
)
from server.storage.postgresql.rows import Fenced, prove_term

T = TypeVar("T")

_CHANGE_SECONDS: Final = 10.0  # for a transaction
_BLIP_SECONDS: Final = 1.0  # if the connection is back so soon, nothing is refused
_DOUBT_SECONDS: Final = 20.0  # then the term is given up: its tables are read anew
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0

log = logging.getLogger(__name__)


class DatabaseLine:
    """A connection of the server with this `term`; one change at a time.

    `on_fenced` is called when the term has ended.
    """

    def __init__(self, database: Database, name: str, on_fenced: Callable[[], None]) -> None:
        self._database = database
        self._name = name
        self._on_fenced = on_fenced
        self._term = 0
        self._connection: Connection = None
        self._up = asyncio.Event()
        self._lost_at = 0.0
        self._why = ""
        self._making: asyncio.Task[None] | None = None
        self._loop = asyncio.get_running_loop()
        self.fenced = False
        self.round_trips = 0

    async def begin(self, term: int) -> None:
        """Connect under this term; raises one of FAILED, or Fenced."""
        await self.close()
        self._term, self.fenced = term, False
        self._up.clear()
        await self._make()

    async def close(self) -> None:
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait((self._making,))
            self._making = None
        if self._connection is not None:
            connection, self._connection = self._connection, None
            self._up.clear()
            connection.terminate()

    async def change(self, work: Callable[[Connection, bool], Awaitable[T]]) -> T:
        """Return what `work` returns, which proves the term, and stores everything or nothing.

        If the connection is lost meanwhile, `work` is done again, and told so: it must recognize what is
        stored already. From then on nobody is told that it is not stored: the first attempt may still arrive
        after the database has refused another one.
        Raises asyncpg.PostgresError if the database refuses it, NotStored if the database cannot be reached,
        Fenced if the term has ended, or nobody can tell in time whether it was stored.
        """
        connection, term = await self._ready(), self._term
        until: float | None = None
        while True:
            self.round_trips += 1
            try:
                async with asyncio.timeout(_CHANGE_SECONDS):
                    result = await work(connection, until is not None)
            except Fenced:
                self.end_term()
                raise
            except FAILED as error:
                refused = refused_by_database(error)
                if not refused or takes_no_changes(error):  # another host may be the primary
                    probe("the connection to the database is lost during a change")
                    self._lose(connection, error)
                if until is None:
                    if refused:
                        raise
                    probe("a change is in doubt")
                    until = self._loop.time() + _DOUBT_SECONDS
                connection = await self._next(until, term, error)
            else:
                if until is not None:
                    probe("a change in doubt is stored")
                    log.info("a change in doubt was stored", extra=about(line=self._name))
                return result

    async def _next(self, until: float, term: int, error: Exception) -> Connection:
        """Return a connection for making a change again; raises Fenced if there is none in time."""
        try:
            async with asyncio.timeout_at(until):
                if self._connection is not None:
                    # The database has refused the change, perhaps because of the earlier attempt.
                    probe("a change in doubt is refused when it is made again")
                    await asyncio.sleep(_FIRST_PAUSE)
                connection = await self._connected()
        except TimeoutError:
            self.end_term()
            probe("nobody can tell in time whether a change was stored")
        if self.fenced or self._term != term:
            raise Fenced from error
        return connection

    async def _connected(self) -> Connection:
        """Return the connection when there is one, or raise Fenced when the term has ended."""
        while self._connection is None and not self.fenced:
            await self._up.wait()  # though it may be made and lost in the same moment
        if self.fenced:
            raise Fenced
        return self._connection

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Run `work`, which only reads, and return its result; raises NotStored if that fails."""
        connection = await self._ready()
        try:
            async with asyncio.timeout(_CHANGE_SECONDS):
                return await work(connection)
        except FAILED as error:
            if not refused_by_database(error):
                self._lose(connection, error)
            raise not_stored("the journal could not be used: {reason}", error) from error

    async def _ready(self) -> Connection:
        """Return the connection; if it is lost, wait a moment for the next one, and raise NotStored."""
        try:
            async with asyncio.timeout_at(self._lost_at + _BLIP_SECONDS):
                return await self._connected()
        except TimeoutError:
            reason = f"the database cannot be reached: {self._why}"
            raise NotStoredNow("the journal could not be written: {reason}", reason=reason) from None

    def _lose(self, connection: Connection, error: BaseException | None) -> None:
        if connection is not self._connection or self._connection is None:
            return
        self._connection = None
        self._why = reason_of(error) if error is not None else "the connection was closed"
        self._up.clear()
        self._lost_at = self._loop.time()
        connection.terminate()
        log.warning("the connection to the database is lost", extra=about(line=self._name, reason=self._why))
        if self._making is None:
            self._making = start_task(self._make_again(), "connecting to the database")

    async def _make_again(self) -> None:
        pause = _FIRST_PAUSE
        while True:
            try:
                await self._make()
            except Fenced:
                self.end_term()
            except Exception as error:  # noqa: BLE001 - whatever it is, the tables cannot do without
                self._why = reason_of(error)
            if self._connection is not None or self.fenced:
                break
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(2 * pause, _LONGEST_PAUSE)
        self._making = None
        if self._connection is not None:
            log.info("connected to the database again", extra=about(line=self._name))

    async def _make(self) -> None:
        """Make the connection; raises one of FAILED, or Fenced."""
        connection = await self._database.connect()
        try:
            async with asyncio.timeout(_CHANGE_SECONDS):
                await prove_term(connection, self._term)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection
        connection.add_termination_listener(lambda gone: self._lose(gone, None))
        self._up.set()

    def end_term(self) -> None:
        """Make no more changes, and wake up those who wait for the connection."""
        if not self.fenced:
            self.fenced = True
            self._up.set()
            self._on_fenced()
