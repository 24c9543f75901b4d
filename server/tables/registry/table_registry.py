"""All tables by their codes: opening, making room, archiving and bringing back."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from weakref import WeakValueDictionary

from msgspec.structs import replace

from engine.game import RandomChance
from protocol.codes import Code
from protocol.messages import Stage
from protocol.settings import Private
from server.errors import CodeTaken, TableDamaged, TableLost
from server.limits.networks import Origins, networks_in, who_gives_way
from server.monitoring.logs import about
from server.net.session import Session
from server.net.tokens import hash_fits, new_code
from server.probes import probe
from server.refusal import Refusal
from server.storage.commit_queue import Part
from server.storage.entries import (
    BotSeated,
    Changed,
    Entry,
    Freed,
    Kept,
    Opened,
    Taken,
    TokenRevoked,
    contents,
)
from server.storage.journal import Journal
from server.tables.context import TableContext
from server.tables.owner import TableOwner
from server.tables.state.persistent_state import PersistentState
from server.tables.table import Table

log = logging.getLogger(__name__)


def chances(seed: int | None) -> Iterator[RandomChance]:
    """Yield a separate generator for each table, so that one table's draws reveal nothing about another's."""
    seeds = random.SystemRandom() if seed is None else random.Random(seed)
    while True:
        yield RandomChance(random.Random(seeds.getrandbits(256)))


async def kept_tables(
    journal: Journal, stored: Mapping[str, Sequence[Entry]], chances: Iterator[RandomChance]
) -> dict[str, PersistentState]:
    """Return the tables that another process has `stored`, by code.

    A table that makes no sense is set aside. Raises JournalError if the journal cannot be used.
    """
    kept = {}
    for code, entries in stored.items():
        with contextlib.suppress(TableDamaged):
            kept[code] = await fold_or_set_aside(journal, code, entries, next(chances))
        await asyncio.sleep(0)  # the tables that are here already go on, and the lease
    return kept


async def fold_or_set_aside(
    journal: Journal, code: str, entries: Sequence[Entry], chance: RandomChance
) -> PersistentState:
    """Return the fold of a table's entries; one that makes no sense is set aside, and raises TableDamaged."""
    state, whole, error = _fold_as_far_as_possible(entries, chance)
    if error is not None:
        # Its text may name a hidden piece, and this one is logged and kept.
        reason = f"entry {whole} does not fit the game: {type(error).__name__}"
        await journal.set_aside(code, whole, reason)
        raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=reason) from error
    return state


def _fold_as_far_as_possible(
    entries: Sequence[Entry], chance: RandomChance
) -> tuple[PersistentState, int, Exception | None]:
    """Return the fold of the entries before the first one that makes no sense, their number, its error."""
    state = PersistentState((), chance)
    for number, entry in enumerate(entries):
        try:
            state.fold(entry)
        except Exception as error:  # noqa: BLE001 - whatever the error, no server wrote this
            return PersistentState(entries[:number], chance), number, error
    return state, len(entries), None


class TableRegistry:
    """The tables of a server."""

    def __init__(self, lobby: TableOwner) -> None:
        self.lobby, self.journal, self.chances = lobby, lobby.journal, lobby.chances
        self.tables: dict[str, Table] = {}
        self.origins = Origins()
        self._failed: set[str] = set()  # codes whose entries wait for the next start
        self._moving: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by table codes
        self._coming: set[str] = set()  # codes of tables that are being stored or brought back
        self._going: set[Table] = set()  # tables that are being archived

    async def restore(self, kept: Mapping[str, PersistentState]) -> None:
        """Resume the tables of an earlier process, by code; one whose fold fails is set aside.

        Raises JournalError.
        """
        before = len(self.tables)
        for code, state in kept.items():
            with contextlib.suppress(TableDamaged, TableLost):
                await self._add(code, state)
        if resumed := len(self.tables) - before:
            log.info("tables resumed", extra=about(tables=resumed))

    def knows(self, code: str) -> bool:
        """Return whether the table is here, in the archive, or set aside."""
        return code in self.tables or code in self.journal.archived or code in self.journal.codes_set_aside

    def table(self, code: str) -> Table:
        """Return the table with a code; raises Refusal if there is none."""
        if code in self.journal.codes_set_aside:
            raise Refusal(Code.TABLE_DAMAGED, table=code)
        if (table := self.tables.get(code)) is None:
            raise Refusal(Code.NO_SUCH_TABLE, table=code)
        return table

    def table_held(self, wanted: str) -> Table | None:
        """Return a table with a seat that the token with this hash holds, None if there is none."""
        tables = self.tables.values()
        return next((table for table in tables if table.state.seat_held(wanted) is not None), None)

    async def open_table(
        self,
        session: Session,
        opened: Opened,
        others: Sequence[Entry],
        beside: Callable[[str], Part] | None = None,
        *,
        continues: bool = False,
    ) -> Table:
        """Return a new table, which may be the one that `continues` another; raises Refusal or JournalError.

        What `beside` returns for its code is stored with it. If that fails, nothing has changed.
        """
        self._check_not_stopping(continues=continues)
        self.lobby.rates.count_opening(session)
        await self._make_room(session)
        entries: list[Entry] = [replace(opened, origin=self.origins.of(session.address)), *others]
        while (code := await self._store(entries, beside)) is None:
            pass
        return await self._add(code, PersistentState(entries, next(self.chances)))

    async def open_tables(
        self, contents: Sequence[Sequence[Entry]], part: Callable[[Sequence[str]], Part]
    ) -> None:
        """Open tables with these entries; `part` returns what is stored with them, from their codes.

        Raises Refusal or JournalError and changes nothing.
        """
        self._check_not_stopping()
        codes: list[str] = []
        with contextlib.ExitStack() as places:
            for _ in contents:
                await self._make_room(None)
                codes.append(self._free_code())
                places.enter_context(self._place_kept(codes[-1]))
            parts: list[Part] = [(code, 0, each) for code, each in zip(codes, contents, strict=True)]
            await self.journal.append_together([*parts, part(codes)])
        for code, entries in zip(codes, contents, strict=True):
            await self._add(code, PersistentState(entries, next(self.chances)))

    def _free_code(self, *, private: bool = False) -> str:
        return new_code(
            self.tables,
            self._coming,
            self._failed,
            self.journal.archived,
            self.journal.codes_set_aside,
            private=private,
        )

    async def _store(self, entries: Sequence[Entry], beside: Callable[[str], Part] | None) -> str | None:
        """Store a table under a new code, and return that; None if another server has just taken it."""
        code = self._free_code(private=Changed(Private(on=True)) in entries)
        parts: list[Part] = [(code, 0, entries)]
        if beside is not None:
            parts.append(beside(code))
        try:
            with self._place_kept(code):
                await self.journal.append_together(parts)
        except CodeTaken:
            probe("another server takes the code of a new table first")
            return None
        return code

    @contextlib.contextmanager
    def _place_kept(self, code: str) -> Iterator[None]:
        """Count a table among those that are here while it is being stored or brought back."""
        self._coming.add(code)
        try:
            yield
        finally:
            self._coming.discard(code)

    async def find_table(self, session: Session, code: str, wanted: str) -> Table | None:
        """Return the table `code`, out of the archive if it is there and a token's hash there is `wanted`.

        Return None if another server has just brought it back. Raises Refusal or JournalError and changes
        nothing.
        """
        was_known = self.knows(code)
        async with self._moving_lock(code):  # two players of one game may come at the same time
            if was_known and not self.knows(code):
                probe("a table goes to another server while somebody waits for it")
                return None
            if code in self.tables or code not in self.journal.archived:
                return self.table(code)
            self._check_not_stopping()
            if (entries := await self._archived_entries(code, wanted)) is None:
                return None
            self.lobby.rates.count_opening(session)  # it costs no less than a new table
            await self._make_room(session)
            try:
                with self._place_kept(code):
                    state = await fold_or_set_aside(self.journal, code, entries, next(self.chances))
                    await self.journal.bring_back(code)
                    probe("a table is brought back from the archive")
                log.info("table brought back from the archive", extra=about(table=code))
                return await self._add(code, state)
            except TableDamaged:
                raise Refusal(Code.TABLE_DAMAGED, table=code) from None

    async def archived_stage(self, session: Session, code: str, wanted: str) -> Stage | None:
        """Return the stage of a game in the archive, None if it is not there.

        Raises Refusal, unless a token's hash there is `wanted`, or JournalError.
        """
        if code in self.tables or code not in self.journal.archived:
            return None
        if (entries := await self._archived_entries(code, wanted)) is None:
            return None
        self.lobby.rates.count_opening(session)  # reading it costs most of what bringing it back does
        return contents(entries).stage

    async def _archived_entries(self, code: str, wanted: str) -> list[Entry] | None:
        """Return the entries of an archived table, None if another server has just brought it back.

        Raises Refusal, unless a seat's token there has the hash `wanted`, or JournalError.
        """
        try:
            entries = await self.journal.archived_entries(code)
        except TableDamaged:
            raise Refusal(Code.TABLE_DAMAGED, table=code) from None
        if code not in self.journal.archived:
            return None
        holders: dict[int, str] = {}
        for entry in entries:
            match entry:
                case Taken(seat, _, held) | Kept(seat, _, held):
                    holders[seat] = held
                case TokenRevoked(seat) | Freed(seat) | BotSeated(seat):
                    holders.pop(seat, None)
        if not any(hash_fits(wanted, each) for each in holders.values()):
            probe("an archived table is refused to a stranger")
            raise Refusal(Code.BAD_TOKEN, table=code)
        return entries

    async def close(self, code: str, reason: str | None) -> None:
        """Close a table for good, wherever it is; everybody there is sent the reason, if any.

        Raises Refusal if there is none, or JournalError, and changes nothing.
        """
        async with self._moving_lock(code):
            if code in self.journal.archived:
                await self.journal.remove(code)
                probe("an archived table is removed")
                log.warning("archived table removed by the host", extra=about(table=code))
                return
            if code in self.journal.codes_set_aside:
                await self.journal.remove(code)
                probe("a table that was set aside is removed")
                log.warning("damaged table removed by the host", extra=about(table=code))
                return
        await self.table(code).close(reason)
        log.warning("table closed by the host", extra=about(table=code))

    async def restore_damaged(self, code: str) -> Table | None:
        """Put a damaged table back into play at its last intact move; return None if nothing of it is left.

        Raises Refusal if none with this code is damaged, or JournalError, and changes nothing.
        """
        async with self._moving_lock(code):
            self._check_not_stopping()
            if code in self.journal.archived:
                with contextlib.suppress(TableDamaged):  # which sets it aside
                    await self.journal.archived_entries(code)
            if code not in self.journal.codes_set_aside:
                raise Refusal(Code.NO_SUCH_TABLE, table=code)
            stored = await self.journal.tables_set_aside([code])
            if not stored:  # another server has just restored or removed it
                raise Refusal(Code.NO_SUCH_TABLE, table=code)
            state, whole, _ = _fold_as_far_as_possible(stored[0].entries, next(self.chances))
            if not whole:
                return None
            await self._make_room(None)
            with self._place_kept(code):
                await self.journal.restore(code, whole)
                probe("a table that was set aside is restored")
            log.warning("damaged table restored by the host", extra=about(table=code, entries=whole))
            return await self._add(code, state)

    def remove(self, code: str, *, failed: bool) -> None:
        del self.tables[code]
        if failed:
            self._failed.add(code)
        self.lobby.table_changed(code)

    def _check_not_stopping(self, *, continues: bool = False) -> None:
        """Raise Refusal if the server is about to stop: a table that comes now would not get far.

        Not if it `continues` another one and there is a server to which both will be given.
        """
        facts = self.lobby.stopping()
        if facts is not None and not (continues and "address" in facts):
            probe("a server that stops takes no new table")
            raise Refusal(Code.SERVER_STOPPING, **facts)

    def _moving_lock(self, code: str) -> asyncio.Lock:
        """Return the lock of whoever takes the table `code` out of the archive or from those set aside."""
        return self._moving.setdefault(code, asyncio.Lock())

    async def _make_room(self, opener: Session | None) -> None:
        """Archive tables until there is room for one more, for an `opener` if that is a client.

        First those that everybody has left, then one opened where most were, for an opener elsewhere.

        Raises Refusal if none can be archived. The room is there until the caller awaits something else.
        """
        origin = None if opener is None else self.origins.of(opener.address)
        here = None if opener is None or opener.table is None else self.tables.get(opener.table.code)
        # It cannot be archived before it has opened the next one.
        busy = set[Table]() if here is None else {here} - self._going
        self._going |= busy
        tried: set[Table] = set()
        try:
            while len(self.tables) + len(self._coming) >= self.lobby.config.limits.tables:
                left = [table for table in self.tables.values() if table not in self._going | tried]
                table = min(
                    (table for table in left if table.unattended_since is not None),
                    key=lambda table: self._worth(table, origin),
                    default=None,
                )
                if attended := table is None:
                    probe("no table is unattended when one has to make room")
                    table = self._crowded_out(left, origin)
                if table is None:
                    probe("no table can make room")
                    raise Refusal(Code.TOO_MANY_TABLES)
                tried.add(table)
                self._going.add(table)  # so that two openers do not choose the same one
                try:
                    await table.archive(attended=attended)
                finally:
                    self._going.discard(table)
        finally:
            self._going -= busy

    def _crowded_out(self, tables: list[Table], origin: str | None) -> Table | None:
        """Return the table that makes room though somebody is there, None if none does.

        It is the newest of those opened where most were opened: if possible one without a game, and never a
        game that would be lost.
        """
        if origin is None:
            return None
        newest_first = tables[::-1]
        newest_first.sort(key=lambda table: table.state.stage != "gathering")
        by_origin = [(networks_in(table.state.opened.origin or table.code), table) for table in newest_first]
        found = who_gives_way(networks_in(origin), by_origin)
        lost = found is not None and found.state.stage != "gathering" and not self.journal.keeps_games
        return None if lost else found

    def _worth(self, table: Table, origin: str | None) -> tuple[bool, int, bool, bool, bool, float]:
        """Return a table's place in the order of archiving for an opener at `origin`.

        First those that lose nothing, then those opened from `origin` or near it; played games, and
        correspondence games, whose clocks are stopped in the archive, come last.
        """
        near = set(networks_in(table.state.opened.origin)).intersection(networks_in(origin or ""))
        gathering = table.state.stage == "gathering"
        lost = gathering or not self.journal.keeps_games
        return (
            lost,
            -len(near),
            lost and table.state.played,
            table.is_awaited,
            gathering,
            table.unattended_since or 0.0,
        )

    async def _add(self, code: str, state: PersistentState) -> Table:
        """Return a table with what is stored of it.

        Raises TableLost if it is another server's by now, and TableDamaged if it cannot go on so, which sets
        it aside: whatever is stored of one table, the others play.
        """
        if not self.journal.holds(code):
            probe("the lease is lost while a table is being stored")
            raise TableLost("the lease was lost while it was being stored")
        try:
            table = Table(TableContext(code, state, self.lobby))
        except Exception as error:  # whatever the error, no server wrote this
            # Its text may name a hidden piece, and this one is logged and kept.
            reason = f"it cannot go on: {type(error).__name__}"
            probe("a table cannot continue with what is stored of it")
            await self.journal.set_aside(code, state.entry_count, reason)
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=reason) from error
        if self.lobby.stopped:
            table.stop()
        self.tables[code] = table
        self.lobby.table_changed(code)
        return table
