"""The lease of this server: begun, renewed as long as the server runs, and lost if that fails for long."""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Iterable, Sequence
from typing import Final, Protocol

from server.errors import JournalError, NotStoredNow
from server.monitoring.failures import RepeatedFailure
from server.monitoring.logs import about
from server.probes import probe
from server.storage.journal import NodeState
from server.storage.postgresql import lease
from server.storage.postgresql.database import FAILED, Connection, Database, Signal, listen, reason_of
from server.storage.postgresql.line import DatabaseLine
from server.storage.postgresql.rows import Fenced
from server.storage.postgresql.schema import prepare
from server.storage.stored_tables import Kept

_RENEWALS: Final = 3  # within the time of a lease
_SECONDS_TO_TAKE_UP: Final = 60.0
_SECONDS_BETWEEN_TRIALS: Final = 0.25
_TAKEN_AT_ONCE: Final = 20  # tables that are nobody's; others take the next ones, or this server a bit later
_SECONDS_TO_WAIT: Final = 3.0  # for a table that somebody asks for
_SECONDS_TO_LEAVE: Final = 6.0  # however long the lease is: a stop is not held up by a silent database
_SECONDS_TO_RENEW: Final = 0.5  # after the end, as when the server has slept, before players are sent on
_A_MOMENT: Final = 0.02  # seconds after which a lease that was to end has ended

log = logging.getLogger(__name__)


class LeasedTables(Protocol):
    """A journal's view of the tables in the database, refreshed by its lease."""

    async def learn(self, connection: Connection) -> None:
        """Read the database's tables when a lease begins; none is this server's yet."""

    async def look_at_others(self, connection: Connection) -> None:
        """Read the changes that other servers have made."""

    async def take_in(self, connection: Connection, codes: Sequence[str]) -> Kept:
        """Return the tables that this server has taken over; damaged ones are set aside."""


class TableHolder(Protocol):
    """The server, as a journal that several servers share knows it."""

    def give_up(self) -> None:
        """Close all tables silently: another server may have them."""

    def send_on(self) -> None:
        """Send players to other servers, if there are any: this one cannot store, and they may be able to."""

    async def take_up(self, kept: Kept) -> None:
        """Open tables, or an evening, that this server has taken over."""

    def speak_again(self) -> None:
        """Send everybody the tables' states, after a time in which this server could send nothing."""

    def stop(self) -> None:
        """Stop the server: another one has its name."""


class HeldLease(NodeState):
    """The lease under which the server `name` at `address` has its tables, and the lines for changing them.

    `lapsed` tells whether this server may not speak for its tables; the lease may be renewed all the same.
    """

    def __init__(
        self, database: Database, name: str, address: str, seconds: float, tables: LeasedTables
    ) -> None:
        super().__init__(name)
        self._database = database
        self._address = address
        self._seconds = seconds
        # A connection that falls silent leaves time to renew the lease on another one.
        self._seconds_to_answer = seconds / _RENEWALS
        self._tables = tables
        # By this server's clock, counted from before the database's. Not by the loop's: uvloop's stands still
        # within a round, however long that takes, and on macOS goes on while the computer sleeps.
        self._valid_until = -math.inf
        self._end: asyncio.TimerHandle | None = None
        self._others_have_time_until = -math.inf  # to renew their leases, after the database was gone
        self._failures = RepeatedFailure()
        self._holder: TableHolder | None = None
        self._wake = asyncio.Event()
        self._renewal_due = -math.inf
        self._wanted: dict[str, asyncio.Future[None]] = {}  # tables that somebody asks for, by their codes
        self._leaves = False
        self._loop = asyncio.get_running_loop()
        self.moves, self.rest = (DatabaseLine(database, line, self._give_up) for line in ("moves", "rest"))
        self.held = False

    @property
    def lapsed(self) -> bool:
        return not self.held or time.monotonic() > self._valid_until

    @property
    def seconds_left(self) -> float:
        """Return how long the lease still runs, 0 if it does not."""
        return max(0.0, self._valid_until - time.monotonic()) if self.held else 0.0

    @property
    def round_trips(self) -> int:
        return self.moves.round_trips

    async def begin(self) -> None:
        """Begin the first lease; raises one of FAILED, ValueError or Fenced."""
        async with self._database.connection() as connection, asyncio.timeout(_SECONDS_TO_TAKE_UP):
            await prepare(connection, self._database)
            while True:
                try:
                    await self._begin(connection)
                    await self._take_up(connection)
                except Fenced as error:
                    if await lease.is_replaced(connection, self.name, self.term):
                        probe("another server has the name of one that starts")
                        raise Fenced("another server is using this one's name") from error
                    log.warning("the lease ran out while it began", extra=about(term=self.term))
                    probe("a lease runs out while it begins")
                else:
                    return

    async def keep(self, holder: TableHolder) -> None:
        """Renew the lease and take over free tables for as long as the server runs."""
        self._holder = holder
        while True:
            try:
                async with self._database.connection() as connection:
                    async with asyncio.timeout(self._seconds_to_answer):
                        await listen(
                            connection, self._database, Signal.TABLES_WAIT, lambda *_: self._wake.set()
                        )
                    while await self._look(connection, holder):
                        await self._pause(self._renewal_due - self._loop.time())
            except (*FAILED, JournalError, ValueError) as error:
                self._log_failure(error)
                self._renewal_due = -math.inf
                self._wake.clear()  # what failed at once is not tried again at once
            else:
                return
            await self._pause(_SECONDS_BETWEEN_TRIALS)

    async def _look(self, connection: Connection, holder: TableHolder) -> bool:
        """Renew the lease if that is due, and take up tables; return False if this server keeps none."""
        self._wake.clear()
        wanted = tuple(self._wanted)
        if self.lapsed or self._loop.time() >= self._renewal_due:
            self._renewal_due = self._loop.time() + self._seconds_to_answer
            if not await self._renew_or_begin(connection, holder):
                return False
        if not self._leaves and await self._tables_wait(connection):
            await self._take_up_or_give_up(connection, holder)
        self._failures.works()
        self._answer(wanted)
        return True

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def round_for(self, code: str, *, expired: bool) -> None:
        """Return when `keep` has looked for a table that is nobody's, or was just taken up.

        If its owner's lease may be `expired`, that is ended first. Raises NotStored if it takes too long.
        """
        if (looked_for := self._wanted.get(code)) is None:
            looked_for = self._wanted[code] = self._loop.create_future()
        if expired:
            self._renewal_due = -math.inf
        self._wake.set()
        try:
            async with asyncio.timeout(_SECONDS_TO_WAIT):
                await asyncio.shield(looked_for)
        except TimeoutError:
            probe("a table that somebody asks for is taken up too slowly")
            raise NotStoredNow("the table is being taken up") from None

    async def other_ends(self, seconds_left: float) -> bool:
        """Wait for the end of another server's lease that should have been renewed by now.

        Return whether that may have ended: its server is dead, most likely, or comes back at the last moment.
        """
        if not 0 < seconds_left < self._seconds / 2:
            return False
        await asyncio.sleep(min(seconds_left + _A_MOMENT, _SECONDS_TO_WAIT))
        probe("somebody waits for the end of another server's lease")
        return True

    def _answer(self, codes: Iterable[str]) -> None:
        """Wake those who asked for the tables that have been looked up."""
        for code in codes:
            if (looked_for := self._wanted.pop(code, None)) is not None:
                looked_for.set_result(None)

    def take_no_more(self) -> None:
        """Take up no more tables, and begin no other lease, as long as the server still runs."""
        self._leaves = True

    async def close(self) -> None:
        """Release the tables so that others can take them over immediately."""
        if self._end is not None:
            self._end.cancel()
        for line in (self.moves, self.rest):
            await line.close()
        if not self.held:
            return
        try:
            async with self._database.connection() as connection, asyncio.timeout(_SECONDS_TO_LEAVE):
                await lease.give_up(connection, self.term)
        except FAILED as error:
            log.warning("the lease is left to expire", extra=about(reason=reason_of(error)))
            probe("the lease of a server that stops is left to expire")

    async def _begin(self, connection: Connection) -> None:
        """Begin a new lease, still without tables."""
        sent = time.monotonic()
        async with lease.begin(connection, self.name, self._address, self._seconds) as term:
            self.term = term  # or it would be taken for another server's if the answer is lost
        self._extend(sent)
        await lease.end_expired(connection, self._seconds)
        await self._tables.learn(connection)
        for line in (self.moves, self.rest):
            await line.begin(self.term)
        self.held = True
        self.leases += 1

    async def _tables_wait(self, connection: Connection) -> bool:
        """Return whether tables are to be taken up: if that is not answered, surely none are taken."""
        async with asyncio.timeout(self._seconds_to_answer):
            return await lease.tables_wait(connection, self.term)

    async def _take_up(self, connection: Connection) -> Kept | None:
        codes = await lease.take_up(connection, self.term, _TAKEN_AT_ONCE, self._wanted)
        if codes:
            self._wake.set()  # there may be more, such as the tables of an evening
        if len(codes) == _TAKEN_AT_ONCE:
            probe("more tables wait than are taken up at once")
        self.taken_up += len(codes)
        return await self._tables.take_in(connection, codes) if codes else None

    async def _renew_or_begin(self, connection: Connection, holder: TableHolder) -> bool:
        """Renew the lease, or begin another if it is lost.

        Return False if this server leaves anyway, or another one has its name.
        """
        if await self._renew(connection, holder):
            async with asyncio.timeout(self._seconds):
                if time.monotonic() > self._others_have_time_until:
                    await lease.end_expired(connection, self._seconds)
                await self._tables.look_at_others(connection)
            return True
        self._give_up()
        if self._leaves:
            return False
        async with asyncio.timeout(self._seconds_to_answer):
            if await lease.is_replaced(connection, self.name, self.term):
                probe("another server has taken the name of one that runs")
                log.error("another server is using this one's name", extra=about(node=self.name))
                holder.stop()
                return False
        async with asyncio.timeout(_SECONDS_TO_TAKE_UP):
            await self._begin(connection)
        log.warning("a new lease has begun", extra=about(term=self.term))
        return True

    async def _renew(self, connection: Connection, holder: TableHolder) -> bool:
        """Renew the lease; return False if it is lost."""
        sent, lapsed = time.monotonic(), self.lapsed
        async with asyncio.timeout(self._seconds_to_answer):
            if not self.held or not await lease.renew(connection, self.term, self._seconds):
                return False
        self._extend(sent)
        self.answers, self.answer_seconds = True, time.monotonic() - sent
        if lapsed:
            probe("a lease that has run out is renewed")
            self._others_have_time_until = sent + self._seconds
            holder.speak_again()
        return True

    def _extend(self, sent: float) -> None:
        """Record that the lease runs from the time `sent`; when it ends, players are sent on."""
        self._valid_until = sent + self._seconds
        if self._end is not None:
            self._end.cancel()
        self._end = self._loop.call_later(
            self._valid_until - time.monotonic(), self._loop.call_later, _SECONDS_TO_RENEW, self._send_on
        )

    def _send_on(self) -> None:
        if self.held and self.lapsed and self._holder is not None:
            probe("players are sent on because the lease has run out")
            self._holder.send_on()

    async def _take_up_or_give_up(self, connection: Connection, holder: TableHolder) -> None:
        """Take up tables, all or none: what is only half taken up begins anew with another lease."""
        try:
            async with asyncio.timeout(_SECONDS_TO_TAKE_UP):
                if (kept := await self._take_up(connection)) is not None:
                    await holder.take_up(kept)
                    self._answer(kept.tables)
        except Exception:
            self._give_up()
            probe("tables are half taken up")
            raise

    def _log_failure(self, error: Exception) -> None:
        self.answers = self.answers and not isinstance(error, FAILED)
        self._failures.log(log.warning, "the lease cannot be renewed", reason=reason_of(error))

    def _give_up(self) -> None:
        """Give up all tables at once: another server may have them."""
        if not self.held:
            return
        self.held = False
        log.error("the lease is lost", extra=about(term=self.term))
        for line in (self.moves, self.rest):
            line.end_term()
        if self._holder is not None:
            self._holder.give_up()
        self._wake.set()
