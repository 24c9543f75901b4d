"""The lobby: all tables by their codes."""

import asyncio
import contextlib
import itertools
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from engine.game import Game, RandomChance
from protocol.codec import encoded_lines
from protocol.codes import Code
from protocol.limits import ARRAY_LENGTH
from protocol.messages import OpenTable, Resume
from server.config import Config
from server.counts import Counts
from server.logs import about
from server.net.rate_limits import PerMinute
from server.net.session import Session
from server.net.tokens import hash_fits, new_code, new_token, token_hash
from server.storage.entries import Continued, Entry, Opened, Taken
from server.storage.journal import Journal, Part
from server.tables.names import check_name
from server.tables.rematch import played_again
from server.tables.requests import PutAway, Refusal
from server.tables.stand_in import StandIn
from server.tables.state import Seating
from server.tables.table import Table

log = logging.getLogger(__name__)


def chances(seed: int | None) -> Iterator[RandomChance]:
    """Yield a generator of its own for each table: what one table draws tells nothing about another."""
    seeds = random.SystemRandom() if seed is None else random.Random(seed)
    while True:
        yield RandomChance(random.Random(seeds.getrandbits(256)))


def kept_tables(journal: Journal, chances: Iterator[RandomChance]) -> dict[str, Seating]:
    """Return what an earlier process kept, by table codes; raises JournalError if it makes no sense."""
    return {
        code: _folded(journal, code, entries, next(chances)) for code, entries in journal.tables().items()
    }


def _folded(journal: Journal, code: str, entries: list[Entry], chance: RandomChance) -> Seating:
    try:
        return Seating(entries, chance)
    except Exception as error:  # whatever it is, no server wrote this
        raise journal.damaged(f"table {code}: {error}") from error


class Lobby:
    """The tables of a server; each runs as a task of `tasks`."""

    def __init__(
        self,
        config: Config,
        journal: Journal,
        tasks: asyncio.TaskGroup,
        *,
        chances: Iterator[RandomChance],
        counts: Counts,
        when_over: Callable[[str, Game, Sequence[str]], None],
    ) -> None:
        self.tables: dict[str, Table] = {}
        self._config = config
        self._journal = journal
        self._tasks = tasks
        self._when_over = when_over
        self._running: set[asyncio.Task[None]] = set()
        self._listed: msgspec.Raw | None = None  # until a table changes
        self._opened_by_connection = PerMinute(config.limits.tables_per_connection)
        self._opened_by_address = PerMinute(config.limits.tables_per_address)
        self._failed: set[str] = set()  # codes whose entries wait for the next start
        self._bringing_back = asyncio.Lock()
        self._opening: set[str] = set()  # codes of tables that are being stored
        self._chances = chances
        self._counts = counts
        self._stand_in = StandIn(config.stand_in, config.seed)

    def restore(self, kept: Mapping[str, Seating]) -> None:
        """Take up the tables of an earlier process, by their codes."""
        for code, seating in kept.items():
            self._run(code, seating)
        if kept:
            log.info("tables resumed", extra=about(tables=len(kept)))

    def rest(self) -> None:
        """Let nothing more fall due at any table."""
        for table in self.tables.values():
            table.rest()

    def stop(self) -> None:
        """End every table's task; what was accepted is in the journal."""
        for task in self._running:
            task.cancel()
        self._stand_in.close()

    def listed(self) -> msgspec.Raw:
        """Return the list of tables, newest first, as many as fit into a message, ready to be sent."""
        if self._listed is None:
            newest = itertools.islice(reversed(self.tables.values()), ARRAY_LENGTH)
            self._listed = encoded_lines([table.line() for table in newest])
        return self._listed

    def table(self, code: str) -> Table:
        """Return the table with this code; raises Refusal if there is none."""
        if (table := self.tables.get(code)) is None:
            text = "There is no table {table}. Ask for the list of tables."
            raise Refusal(Code.NO_SUCH_TABLE, text, table=code)
        return table

    async def table_of_seat(self, message: Resume) -> Table:
        """Return the table that a player comes back to, out of the archive if it is there.

        Raises Refusal or JournalError and changes nothing.
        """
        return await self._found(message.table, token_hash(message.token))

    async def _found(self, code: str, wanted: str) -> Table:
        """Return the table `code`, out of the archive if it is there and a token's hash there is `wanted`."""
        async with self._bringing_back:  # two players of one game may come at the same time
            if code in self.tables or code not in self._journal.archived:
                return self.table(code)
            entries = await self._journal.archived_entries(code)
            hashes = [entry.token_hash for entry in entries if isinstance(entry, Taken)]
            if not any(hash_fits(wanted, each) for each in hashes):
                raise Refusal(Code.BAD_TOKEN, "That token holds no seat at table {table}.", table=code)
            seating = _folded(self._journal, code, entries, next(self._chances))
            await self._journal.bring_back(code)
            log.info("table brought back from the archive", extra=about(table=code))
            # Whatever the limit: whoever was promised the seat gets it, and connections are limited too.
            return self._run(code, seating)

    async def open(self, session: Session, message: OpenTable) -> None:
        """Open a table and seat its host; raises Refusal or JournalError and changes nothing."""
        if message.starting is not None and message.starting >= message.players:
            text = "Seat {seat} cannot start. Choose 0 to {last}."
            raise Refusal(Code.BAD_MESSAGE, text, seat=message.starting, last=message.players - 1)
        check_name(message.name)
        token = new_token()
        entries: list[Entry] = [
            Opened(message.players, message.random_layout, message.starting, message.absence),
            Taken(0, message.name, token_hash(token), message.program),
        ]
        table = await self._opened(session, entries)
        table.seat_opener(session, message.id, token)

    async def following(self, session: Session, before: Table) -> Table:
        """Return the table where the session's player plays again; who asks first opens it.

        Where that is, is stored together with it, for the table `before` to take in. Raises Refusal or
        JournalError and changes nothing.
        """
        seating = before.seating
        player = None if session.seat is None else seating.players[session.seat]
        if seating.next is not None and player is not None:
            with contextlib.suppress(Refusal):  # it is gone, or put away without that player
                return await self._found(seating.next, player.token_hash)
        return await self._opened(session, played_again(seating), before)

    async def _opened(self, session: Session, entries: list[Entry], before: Table | None = None) -> Table:
        now = asyncio.get_running_loop().time
        wait = max(
            self._opened_by_connection.wait(session.name, now()),
            self._opened_by_address.wait(session.address, now()),
        )
        if wait > 0:
            text = "Too many tables were opened within a minute. Try again in {seconds} seconds."
            raise Refusal(Code.TOO_SOON, text, seconds=wait)
        if self._full() and not await self._room_made():
            raise Refusal(Code.TOO_MANY_TABLES, "There are too many tables. Join one, or try again later.")
        code = new_code(self.tables, self._opening, self._failed, self._journal.archived)
        parts: list[Part] = [(code, 0, entries)]
        if before is not None:
            parts.append((before.code, before.seating.entries, [Continued(code)]))
        self._opening.add(code)
        try:
            await self._journal.append_together(parts)
        finally:
            self._opening.discard(code)
        self._opened_by_connection.count(session.name, now())
        self._opened_by_address.count(session.address, now())
        return self._run(code, Seating(entries, next(self._chances)))

    def _full(self) -> bool:
        return len(self.tables) + len(self._opening) >= self._config.limits.tables

    async def _room_made(self) -> bool:
        """Put the table away that everyone left longest ago; return whether there is room now."""
        left = [(table.unattended_since, table) for table in self.tables.values()]
        times = [(since, table) for since, table in left if since is not None]
        if not times:
            return False
        _, longest = min(times, key=lambda each: each[0])
        ended = asyncio.get_running_loop().create_future()
        longest.send(PutAway(ended))
        return await ended and not self._full()

    def _changed(self) -> None:
        self._listed = None

    def _run(self, code: str, seating: Seating) -> Table:
        table = Table(
            code,
            seating,
            self._journal,
            self._config.limits,
            self._counts,
            stand_in=self._stand_in,
            when_over=self._when_over,
            following=self.following,
            when_changed=self._changed,
        )
        self.tables[code] = table
        self._changed()
        task = self._tasks.create_task(self._kept_running(table))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return table

    async def _kept_running(self, table: Table) -> None:
        try:
            await table.run()
        except Exception:  # whatever fails at one table, the others play on
            self._failed.add(table.code)
            log.exception("table failed and is closed", extra=about(table=table.code))
        del self.tables[table.code]
        self._changed()
        await table.close()
