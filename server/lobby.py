"""The lobby: all tables by their codes."""

import asyncio
import itertools
import logging
import random
from collections.abc import Callable, Iterator, Mapping

from engine.game import Game, RandomChance
from protocol.codes import Code
from protocol.limits import ARRAY_LENGTH
from protocol.messages import OpenTable, TableLine
from server.config import Config
from server.entries import Entry, Opened, Taken
from server.journal import Journal
from server.logs import about
from server.rematch import played_again
from server.requests import Refusal
from server.seating import Seating
from server.session import Session
from server.stand_in import StandIn
from server.table import Table, check_name
from server.tokens import new_code, new_token, token_hash

log = logging.getLogger(__name__)


def chances(seed: int | None) -> Iterator[RandomChance]:
    """Yield a generator of its own for each table: what one table draws tells nothing about another."""
    seeds = random.SystemRandom() if seed is None else random.Random(seed)
    while True:
        yield RandomChance(random.Random(seeds.getrandbits(256)))


def kept_tables(journal: Journal, chances: Iterator[RandomChance]) -> dict[str, Seating]:
    """Return what an earlier process kept, by table codes; raises JournalError if it makes no sense."""
    kept = {}
    for code, entries in journal.tables().items():
        try:
            kept[code] = Seating(entries, next(chances))
        except Exception as error:  # whatever it is, no server wrote this
            raise journal.damaged(f"table {code}: {error}") from error
    return kept


class Lobby:
    """The tables of a server; each runs as a task of `tasks`."""

    def __init__(
        self,
        config: Config,
        journal: Journal,
        tasks: asyncio.TaskGroup,
        chances: Iterator[RandomChance],
        when_over: Callable[[str, Game], None],
    ) -> None:
        self.tables: dict[str, Table] = {}
        self._config = config
        self._journal = journal
        self._tasks = tasks
        self._when_over = when_over
        self._running: set[asyncio.Task[None]] = set()
        self._opening: set[str] = set()  # codes of tables that are being stored
        self._chances = chances
        self._stand_in = StandIn(config.stand_in, config.seed)

    def restore(self, kept: Mapping[str, Seating]) -> None:
        """Take up the tables of an earlier process, by their codes."""
        for code, seating in kept.items():
            self._run(code, seating)
        if kept:
            log.info("tables resumed", extra=about(tables=len(kept)))

    def stop(self) -> None:
        """End every table's task; what was accepted is in the journal."""
        for task in self._running:
            task.cancel()
        self._stand_in.close()

    def lines(self) -> list[TableLine]:
        """Return the list of tables, newest first, as many as fit into a message."""
        newest = itertools.islice(reversed(self.tables.values()), ARRAY_LENGTH)
        return [table.line() for table in newest]

    def table(self, code: str) -> Table:
        """Return the table with this code; raises Refusal if there is none."""
        if (table := self.tables.get(code)) is None:
            text = "There is no table {table}. Ask for the list of tables."
            raise Refusal(Code.NO_SUCH_TABLE, text, table=code)
        return table

    async def open(self, session: Session, message: OpenTable) -> None:
        """Open a table and seat its host; raises Refusal or JournalError and changes nothing."""
        if message.starting is not None and message.starting >= message.players:
            text = "Seat {seat} cannot start. Choose 0 to {last}."
            raise Refusal(Code.BAD_MESSAGE, text, seat=message.starting, last=message.players - 1)
        check_name(message.name)
        token = new_token()
        entries: list[Entry] = [
            Opened(message.players, message.random_layout, message.starting, message.absence),
            Taken(0, message.name, token_hash(token)),
        ]
        table = await self._opened(session, entries)
        table.seat_opener(session, message.id, token)

    async def following(self, session: Session, seating: Seating) -> Table:
        """Return the table where the players of a finished game play again; who asks first opens it.

        Raises Refusal or JournalError and changes nothing.
        """
        if seating.next is not None and (table := self.tables.get(seating.next)) is not None:
            return table
        return await self._opened(session, played_again(seating))

    async def _opened(self, session: Session, entries: list[Entry]) -> Table:
        limits = self._config.limits
        tables = len(self.tables) + len(self._opening)
        if tables >= limits.tables or session.tables_opened >= limits.tables_per_connection:
            raise Refusal(Code.TOO_MANY_TABLES, "There are too many tables. Join one, or try again later.")
        code = new_code(self.tables.keys() | self._opening)
        self._opening.add(code)
        try:
            await self._journal.append(code, 0, entries)
        finally:
            self._opening.discard(code)
        session.tables_opened += 1
        return self._run(code, Seating(entries, next(self._chances)))

    def _run(self, code: str, seating: Seating) -> Table:
        table = Table(
            code,
            seating,
            self._journal,
            self._config.limits,
            stand_in=self._stand_in,
            when_over=self._when_over,
            following=self.following,
        )
        self.tables[code] = table
        task = self._tasks.create_task(self._kept_running(table))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return table

    async def _kept_running(self, table: Table) -> None:
        try:
            await table.run()
        except Exception:  # whatever fails at one table, the others play on
            log.exception("table failed and is closed", extra=about(table=table.code))
        del self.tables[table.code]
        await table.close()
