"""A connection on which a server makes its changes, made anew whenever it is lost.

Its changes are numbered, and each writes its number in its own transaction. When the connection is lost
during one, nobody knows whether it was stored; the new connection finds its number or not, and from then on
nothing that the old one may still be carrying out is accepted.
"""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from server.errors import NotStoredNow
from server.failures import start_task
from server.logs import about
from server.storage.postgresql.database import (
    FAILED,
    Connection,
    Database,
    not_stored,
    reason_of,
    refused_by_database,
    takes_no_changes,
)
from server.storage.postgresql.schema import FENCED

T = TypeVar("T")

_CHANGE_SECONDS: Final = 10.0  # for a transaction
_BLIP_SECONDS: Final = 1.0  # if the connection is back so soon, nothing is refused
_DOUBT_SECONDS: Final = 20.0  # then the term is given up: its tables are read anew
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_MAKE: Final = "UPDATE line SET made = made + 1 WHERE term = $1 AND name = $2 RETURNING made, change"
_CLAIM: Final = "UPDATE line SET change = $4 WHERE term = $1 AND name = $2 AND made = $3 RETURNING made"

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Claim:
    """What a change shows to be accepted: whose it is, on which connection, and its number."""

    term: int
    name: str
    made: int
    change: int


class Fenced(Exception):
    """No more changes of this term are made: another server has its tables, or may have."""


class Line:
    """A numbered connection of the server with this `term`; one change at a time.

    `on_fenced` is called when the term has ended.
    """

    def __init__(self, database: Database, name: str, on_fenced: Callable[[], None]) -> None:
        self._database = database
        self._name = name
        self._on_fenced = on_fenced
        self._term = 0
        self._connection: Connection = None
        self._made = 0
        self._change = 0
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
        self._term, self._made, self._change, self.fenced = term, 0, 0, False
        self._up.clear()
        await self._make()

    async def close(self) -> None:
        """Give the connection up."""
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait((self._making,))
            self._making = None
        if self._connection is not None:
            connection, self._connection = self._connection, None
            connection.terminate()

    async def append(self, send: Callable[[Connection, Claim], Awaitable[Any]]) -> None:
        """Make a change that is one statement, and claims by itself.

        Raises asyncpg.PostgresError if the database refuses it, NotStored if the database cannot be reached,
        Fenced if the term has ended, or nobody can tell in time whether it was stored.
        """
        connection = await self._ready()
        number = self._change + 1
        self.round_trips += 1
        try:
            async with asyncio.timeout(_CHANGE_SECONDS):
                await send(connection, Claim(self._term, self._name, self._made, number))
        except FAILED as error:
            self._raise_if_undone(error)
            await self._resolve(connection, number, error)
        self._change = max(self._change, number)

    async def change(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Make a change that takes several statements, and return what `work` returns.

        Raises as `append` does; what else `work` raises undoes the change.
        """
        connection = await self._ready()
        number = self._change + 1
        try:
            async with asyncio.timeout(_CHANGE_SECONDS):
                await connection.execute("BEGIN")
                try:
                    await _claim(connection, Claim(self._term, self._name, self._made, number))
                    result = await work(connection)
                except Exception as error:
                    if not isinstance(error, FAILED) or refused_by_database(error):
                        await connection.execute("ROLLBACK")
                    raise
                await connection.execute("COMMIT")
        except Fenced:
            self.end_term()
            raise
        except FAILED as error:
            self._raise_if_undone(error)
            await self._resolve(connection, number, error)
        self._change = max(self._change, number)
        return result

    async def read(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        """Return what `work` returns, which changes nothing; raises NotStored if that fails."""
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
        if self.fenced:
            raise Fenced
        if not self._up.is_set():
            left = self._lost_at + _BLIP_SECONDS - self._loop.time()
            try:
                async with asyncio.timeout(max(0.0, left)):
                    await self._up.wait()
            except TimeoutError:
                raise NotStoredNow(
                    "the journal could not be written: {reason}",
                    reason=f"the database cannot be reached: {self._why}",
                ) from None
            if self.fenced:
                raise Fenced
        return self._connection

    def _raise_if_undone(self, error: Exception) -> None:
        if refused_by_database(error):
            if getattr(error, "sqlstate", None) == FENCED:
                self.end_term()
                raise Fenced from error
            if takes_no_changes(error) and self._connection is not None:  # another host may be the primary
                self._lose(self._connection, error)
            raise error

    async def _resolve(self, connection: Connection, number: int, error: Exception) -> None:
        """Find out what has become of a change during which the connection was lost.

        Returns if it was stored; raises NotStored if not, Fenced if that cannot be found out.
        """
        self._lose(connection, error)
        try:
            async with asyncio.timeout(_DOUBT_SECONDS):
                await self._up.wait()
        except TimeoutError:
            self.end_term()
            raise Fenced from error
        if self.fenced:
            raise Fenced
        if self._change < number:
            raise NotStoredNow(
                "the journal could not be written: {reason}",
                reason=f"the connection to the database was lost: {reason_of(error)}",
            ) from error
        log.info("a change in doubt was stored", extra=about(line=self._name, change=number))

    def _lose(self, connection: Connection, error: BaseException | None) -> None:
        """Record that the connection is lost, and begin to make another."""
        if connection is not self._connection or self._connection is None:
            return
        self._drop(reason_of(error) if error is not None else "the connection was closed")
        log.warning("the connection to the database is lost", extra=about(line=self._name, reason=self._why))
        if self._making is None:
            self._making = start_task(self._make_again(), "connecting to the database")

    def _drop(self, why: str) -> None:
        connection, self._connection = self._connection, None
        self._why = why
        self._up.clear()
        self._lost_at = self._loop.time()
        if connection is not None:
            connection.terminate()

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
        """Make the connection: what an earlier one may still be doing is waited for, or never accepted."""
        connection = await self._database.connect()
        try:
            async with asyncio.timeout(_CHANGE_SECONDS):
                made, change = await _made(connection, self._term, self._name, self._change)
        except BaseException:
            connection.terminate()
            raise
        self._made, self._change = made, change
        self._connection = connection
        connection.add_termination_listener(lambda gone: self._lose(gone, None))
        self._up.set()

    def end_term(self) -> None:
        """Make no more changes, and wake up those who wait for the connection."""
        if not self.fenced:
            self.fenced = True
            self._up.set()
            self._on_fenced()


async def _claim(connection: Connection, claim: Claim) -> None:
    """Begin a change; raises Fenced."""
    found = await connection.fetchval(_CLAIM, claim.term, claim.name, claim.made, claim.change)
    if found is None:
        raise Fenced


async def _made(connection: Connection, term: int, name: str, known: int) -> tuple[int, int]:
    """Return how often the line was made, and the number of its last change; raises Fenced."""
    row = await connection.fetchrow(_MAKE, term, name)
    if row is None:
        raise Fenced
    made, change = row
    if change < known:  # as after a failover to a standby that had not everything
        log.error("the database has lost changes", extra=about(line=name, known=known, found=change))
        raise Fenced
    return made, change
