"""The lobby: all tables by their codes."""

import asyncio
import contextlib
import itertools
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence

import msgspec

from engine.game import Game, RandomChance
from protocol.codec import encoded_summaries
from protocol.codes import Code
from protocol.limits import ARRAY_LENGTH
from protocol.messages import JoinTable, OpenTable, Resume, Watch
from server.config import Config
from server.counts import Counts
from server.logs import about
from server.net.rate_limits import PerMinuteLimit
from server.net.session import Session
from server.net.tokens import hash_fits, new_code, new_token, token_hash
from server.refusal import Refusal
from server.storage.entries import Continued, Entry, Opened, Taken
from server.storage.journal import Journal, Part
from server.tables.names import check_name
from server.tables.rematch import entries_to_play_again
from server.tables.stand_in import StandIn
from server.tables.state import PersistentState
from server.tables.table import Table

log = logging.getLogger(__name__)


def chances(seed: int | None) -> Iterator[RandomChance]:
    """Yield a generator of its own for each table: what one table draws reveals nothing about another."""
    seeds = random.SystemRandom() if seed is None else random.Random(seed)
    while True:
        yield RandomChance(random.Random(seeds.getrandbits(256)))


def kept_tables(journal: Journal, chances: Iterator[RandomChance]) -> dict[str, PersistentState]:
    """Return what an earlier process kept, by table codes; raises JournalError if it makes no sense."""
    return {
        code: _folded(journal, code, entries, next(chances)) for code, entries in journal.tables().items()
    }


def _folded(journal: Journal, code: str, entries: list[Entry], chance: RandomChance) -> PersistentState:
    try:
        return PersistentState(entries, chance)
    except Exception as error:  # whatever it is, no server wrote this
        raise journal.damaged(f"table {code}: {error}") from error


class Lobby:
    """The tables of a server; what falls due at them runs in `tasks`.

    `on_game_over` is called with a table's code, its finished game and the players' names by seat.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal,
        tasks: asyncio.TaskGroup,
        *,
        chances: Iterator[RandomChance],
        counts: Counts,
        on_game_over: Callable[[str, Game, Sequence[str]], None],
    ) -> None:
        self.tables: dict[str, Table] = {}
        self._config = config
        self._journal = journal
        self._tasks = tasks
        self._timers = config.timers()
        self._on_game_over = on_game_over
        self._encoded_list: msgspec.Raw | None = None  # until a table changes
        self._opened_by_connection = PerMinuteLimit(config.limits.tables_per_connection)
        self._opened_by_address = PerMinuteLimit(config.limits.tables_per_address)
        self._failed: set[str] = set()  # codes whose entries wait for the next start
        self._bringing_back = asyncio.Lock()
        self._opening: set[str] = set()  # codes of tables that are being stored
        self._chances = chances
        self._counts = counts
        self._stand_in = StandIn(config.stand_in, config.seed)

    def restore(self, kept: Mapping[str, PersistentState]) -> None:
        """Take up the tables of an earlier process, by their codes."""
        for code, state in kept.items():
            self._add(code, state)
        if kept:
            log.info("tables resumed", extra=about(tables=len(kept)))

    def stop_timers(self) -> None:
        """Let nothing more fall due at any table."""
        for table in self.tables.values():
            table.stop_timers()

    def close(self) -> None:
        """Stop the stand-in."""
        self._stand_in.close()

    # -- what conversations ask ---------------------------------------------------------------------

    def encoded_list(self) -> msgspec.Raw:
        """Return the list of tables, newest first, as many as fit into a message, ready to be sent."""
        if self._encoded_list is None:
            newest = itertools.islice(reversed(self.tables.values()), ARRAY_LENGTH)
            self._encoded_list = encoded_summaries([table.summary() for table in newest])
        return self._encoded_list

    async def open(self, session: Session, message: OpenTable) -> None:
        """Open a table and seat its host; raises Refusal or JournalError and changes nothing."""
        if message.starting is not None and message.starting >= message.players:
            raise Refusal(Code.NO_SUCH_SEAT, seat=message.starting, last_seat=message.players - 1)
        check_name(message.name)
        token = new_token()
        entries: list[Entry] = [
            Opened(message.players, message.random_layout, message.starting, message.absence),
            Taken(0, message.name, token_hash(token), message.program),
        ]
        table = await self._opened(session, entries)
        table.seat_opener(session, message.id, token)

    async def enter(self, session: Session, message: JoinTable | Watch) -> None:
        """Let the session take a seat, or watch; raises Refusal or JournalError and changes nothing."""
        await self._table(message.table).enter(session, message)

    async def resume(self, session: Session, message: Resume) -> None:
        """Give a player the seat back, at a table brought back from the archive if need be.

        Raises Refusal or JournalError and changes nothing.
        """
        while True:
            table = await self._found(message.table, token_hash(message.token))
            try:
                return await table.enter(session, message)
            except Refusal:
                if not table.archived:  # else it was archived just when its player came
                    raise

    # -- what tables ask ----------------------------------------------------------------------------

    def table_changed(self) -> None:
        """Take note that the list of tables is not what it was."""
        self._encoded_list = None

    def table_ended(self, code: str, *, failed: bool) -> None:
        """Take note that a table has ended."""
        del self.tables[code]
        if failed:
            self._failed.add(code)
        self.table_changed()

    def game_over(self, code: str, game: Game, names: Sequence[str]) -> None:
        """Take note of a finished game."""
        self._on_game_over(code, game, names)

    async def table_after(self, session: Session, code: str, state: PersistentState) -> Table:
        """Return the table where the session's player plays again after table `code`.

        Whoever asks first opens it; where it is, is stored together with it, for the table before to take in.
        Raises Refusal or JournalError and changes nothing.
        """
        player = None if session.seat is None else state.players[session.seat]
        if state.next_table is not None and player is not None:
            with contextlib.suppress(Refusal):  # it is gone, or put away without that player
                return await self._found(state.next_table, player.token_hash)
        return await self._opened(session, entries_to_play_again(state), (code, state.entry_count))

    # -- in between ---------------------------------------------------------------------------------

    def _table(self, code: str) -> Table:
        if (table := self.tables.get(code)) is None:
            raise Refusal(Code.NO_SUCH_TABLE, table=code)
        return table

    async def _found(self, code: str, wanted: str) -> Table:
        """Return the table `code`, out of the archive if it is there and a token's hash there is `wanted`."""
        async with self._bringing_back:  # two players of one game may come at the same time
            if code in self.tables or code not in self._journal.archived:
                return self._table(code)
            entries = await self._journal.archived_entries(code)
            hashes = [entry.token_hash for entry in entries if isinstance(entry, Taken)]
            if not any(hash_fits(wanted, each) for each in hashes):
                raise Refusal(Code.BAD_TOKEN, table=code)
            state = _folded(self._journal, code, entries, next(self._chances))
            await self._journal.bring_back(code)
            log.info("table brought back from the archive", extra=about(table=code))
            # Whatever the limit: a player who was promised the seat gets it, and connections are limited too.
            return self._add(code, state)

    async def _opened(
        self, session: Session, entries: list[Entry], before: tuple[str, int] | None = None
    ) -> Table:
        """Return a new table with these entries; `before` are code and entries of the table it continues."""
        now = asyncio.get_running_loop().time
        wait = max(
            self._opened_by_connection.wait(session.name, now()),
            self._opened_by_address.wait(session.address, now()),
        )
        if wait > 0:
            raise Refusal(Code.TOO_SOON, seconds=wait)
        if self._full() and not await self._make_room():
            raise Refusal(Code.TOO_MANY_TABLES)
        code = new_code(self.tables, self._opening, self._failed, self._journal.archived)
        parts: list[Part] = [(code, 0, entries)]
        if before is not None:
            parts.append((*before, [Continued(code)]))
        self._opening.add(code)
        try:
            await self._journal.append_together(parts)
        finally:
            self._opening.discard(code)
        self._opened_by_connection.count(session.name, now())
        self._opened_by_address.count(session.address, now())
        return self._add(code, PersistentState(entries, next(self._chances)))

    def _full(self) -> bool:
        return len(self.tables) + len(self._opening) >= self._config.limits.tables

    async def _make_room(self) -> bool:
        """Archive the table that everyone left longest ago; return whether there is room now."""
        left = [(table.unattended_since, table) for table in self.tables.values()]
        times = [(since, table) for since, table in left if since is not None]
        if not times:
            return False
        _, longest = min(times, key=lambda each: each[0])
        return await longest.archive_if_unattended() and not self._full()

    def _add(self, code: str, state: PersistentState) -> Table:
        table = self.tables[code] = Table(
            code,
            state,
            self._journal,
            self._config.limits,
            self._counts,
            stand_in=self._stand_in,
            owner=self,
            timers=self._timers,
            tasks=self._tasks,
        )
        self.table_changed()
        return table
