"""The journal in PostgreSQL: the tables of this server, which it owns by a lease, and the archive of all.

Moves have a connection of their own, and so has the lease, so that neither waits for rarer work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import asyncpg

from server.errors import CodeTaken, JournalError, NotStoredNow
from server.probes import probe
from server.storage import operations
from server.storage.commit_queue import Batch, CommitQueue, Health
from server.storage.journal import Journal, NodeState
from server.storage.operations import Operation, Outcome
from server.storage.postgresql import lease
from server.storage.postgresql import rows as stored
from server.storage.postgresql.database import FAILED, Connection, Database, not_stored, reason_of
from server.storage.postgresql.hand_over import Departure
from server.storage.postgresql.held_lease import HeldLease, TableHolder
from server.storage.postgresql.rows import Fenced
from server.storage.stored_tables import Kept

T = TypeVar("T")


class PostgresJournal(Journal):
    """A journal in a database that several servers share; `name` is this server's, `address` where it is."""

    def __init__(
        self,
        database: Database,
        name: str,
        address: str = "",
        *,
        lease_seconds: float = 6.0,
        most_archived: int = 10_000,
        archive_share: int = 100,
    ) -> None:
        super().__init__(most_archived, archive_share)
        self._database = database
        self._departure: Departure | None = None
        self._archive_state: tuple[int, ...] = ()  # its size and its last rank, when it was last looked at
        self._lease = HeldLease(database, name, address, lease_seconds, self)
        self._health = Health(lambda: self._queue.append(()))
        # Two queues, so that moves do not wait for rarer work. They hand failures on to those who wait.
        self._queue, self._rest = (
            CommitQueue(
                lambda batch: asyncio.create_task(self._commit(batch), name="committing"),
                self._health,
            )
            for _ in range(2)
        )

    async def open(self) -> Self:
        """Acquire the lease, and take over free tables; raises JournalError.

        If there are many, the rest follows later, so that no start takes longer than a lease.
        """
        try:
            await self._lease.begin()
        except Fenced as error:
            raise JournalError(
                "another server using the database {database} has since started under the "
                "name {node}. Give each server its own --node",
                database=self._database,
                node=self._lease.name,
            ) from error
        except (*FAILED, ValueError) as error:
            raise self._database.unusable(error) from error
        return self

    @property
    def lapsed(self) -> bool:
        return self._lease.lapsed

    @property
    def term(self) -> int | None:
        """Return the number of this server's lease, None if it has none."""
        return self._lease.term if self._lease.held else None

    @property
    def node(self) -> NodeState:
        return self._lease

    async def keep(self, holder: TableHolder) -> None:
        """Renew the lease and take over unowned tables until the server stops."""
        await self._lease.keep(holder)

    async def learn(self, connection: Connection) -> None:
        self._archive_state = ()
        await self.look_at_others(connection)
        # Only now: until here, a commit of the lease before may have ended.
        self._lease.lost += len(self._queue.in_use)
        self._queue.in_use.clear()

    async def look_at_others(self, connection: Connection) -> None:
        began = self._rest.jobs_begun
        aside = await stored.carry_out(connection, operations.codes_set_aside())
        state = await stored.archive_state(connection)
        archived = None if state == self._archive_state else dict(await stored.archive_index(connection))
        if self._lease.held and (self._rest.busy or began != self._rest.jobs_begun):
            return  # what was read may be out of date: the next look will do
        self.codes_set_aside = aside
        self._archive_state = state
        if archived is not None:
            for code in self._archive.codes - archived.keys():
                self._archive.discard(code)
            for code, game in archived.items():  # in order: the oldest give way first
                if code not in self._archive.codes:
                    self._archive.add(code, game)

    async def take_in(self, connection: Connection, codes: Sequence[str]) -> Kept:
        found = await stored.carry_out(connection, operations.tables_in_use(codes))
        for code in set(codes) - {table.code for table in found}:
            await self.set_aside(code, 0, "it has no entries")
        for table in found:
            if table.damage is None:
                self._queue.take_note(table.code, table.standing)
            else:
                await self.set_aside(table.code, len(table.entries), table.damage)
        return Kept.of(table for table in found if table.damage is None)

    def holds(self, code: str) -> bool:
        return self._lease.held and code in self._queue.in_use

    async def whereabouts(self, code: str) -> str | None:
        found = await self._owner(code)
        if (
            found is not None
            and found.term != self._lease.term
            and await self._lease.other_ends(found.seconds_left)
        ):
            found = await self._owner(code)
        if found is None:
            return None
        term, address, in_use, seconds_left = found
        if not in_use:  # so it is in the archive, or damaged: this server learns it with the next look
            probe("another server has just put a table away")
            raise NotStoredNow("another server has just put the table away")
        if seconds_left and term != self._lease.term:
            return address or None
        if self._departure is not None and (stays := self._departure.address()) is not None:
            probe("a server that stops names the one that stays")
            return stays  # and takes it up
        await self._lease.round_for(code, expired=term is not None and not seconds_left)
        if not self.holds(code):
            probe("another server is faster to take a table up")
            raise NotStoredNow("another server is taking the table up")
        return None

    async def opened_with(self, token_hash: str) -> str | None:
        return await self._read_rows(lambda connection: lease.opened_with(connection, token_hash))

    async def term_of(self, code: str) -> int | None:
        found = await self._owner(code)
        return None if found is None else found.term

    async def _owner(self, code: str) -> lease.Owner | None:
        return await self._read_rows(lambda connection: lease.owner(connection, code))

    async def leave(self) -> Departure:
        """Stop taking over tables and start handing them over; raises NotStored."""
        self._lease.take_no_more()
        departure = Departure(self._database, self._lease.term, self._drop)
        try:
            await departure.begin()
        except FAILED as error:
            raise not_stored("the journal could not be used: {reason}", error) from error
        self._departure = departure
        return departure

    def _drop(self, code: str, given: bool) -> None:
        self._lease.handed_over += given
        self._queue.in_use.pop(code, None)

    async def storing(self) -> bool:
        return await self._health.works() and self._lease.held and not self.lapsed

    async def kept(self) -> Kept:
        codes = list(self._queue.in_use)
        return Kept.of(await self._read(lambda: operations.tables_in_use(codes)))

    async def records_due(self) -> list[tuple[str, int]]:
        return await self._read_rows(lambda connection: stored.records_due(connection, self._lease.term))

    async def copy(self, path: Path, *, exact: bool) -> bytes:  # noqa: ARG002 - as Journal has it
        raise JournalError("a journal in a database has no file: back up the database itself")

    async def close(self) -> None:
        await self._queue.finish()
        await self._rest.finish()
        await self._health.close()
        await self._lease.close()

    async def _commit(self, batch: Batch) -> None:
        try:
            if not batch.changes and self._health.failing:
                await self._lease.moves.change(
                    lambda connection, _: stored.try_moves(connection, self._lease.term)
                )
                return
            await self._lease.moves.change(
                lambda connection, again: stored.append(
                    connection, self._lease.term, batch, self._queue.in_use, again=again
                )
            )
        except asyncpg.PostgresError as error:
            if isinstance(error, asyncpg.UniqueViolationError) and error.table_name == "game_table":
                raise CodeTaken("the code is taken") from error
            raise not_stored("the journal could not be written: {reason}", error) from error

    async def _work(self, work: Callable[[], Awaitable[T]]) -> T:
        try:
            return await work()
        except asyncpg.PostgresError as error:
            raise not_stored("the journal could not be used: {reason}", error) from error
        except ValueError as error:
            raise JournalError(
                "the journal in {database} is damaged: {reason}. "
                "See the log, and if necessary restore a copy",
                database=self._database,
                reason=reason_of(error),
            ) from error

    async def _do(self, work: Callable[[], Awaitable[T]]) -> T:
        """Return what a rarer piece of work returns, done after those that were asked for earlier."""
        return await self._rest.do(
            lambda: asyncio.create_task(self._work(work), name="working in the database")
        )

    async def _read_rows(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        return await self._do(lambda: self._lease.rest.read(work))

    async def _read(self, make: Callable[[], Operation[T]]) -> T:
        return await self._read_rows(lambda connection: stored.carry_out(connection, make()))

    async def _transact(self, make: Callable[[], Operation[Outcome]]) -> Outcome:
        attempts: list[Outcome] = []
        outcome = await self._do(
            lambda: self._lease.rest.change(
                lambda connection, _: stored.transact(connection, self._lease.term, make, attempts)
            )
        )
        self._archive_state = ()  # or it is as before if another server brings the table back at once
        return outcome
