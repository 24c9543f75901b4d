"""The lobby: all tables by their codes."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final
from weakref import WeakValueDictionary

import msgspec
from msgspec.structs import replace

from engine.game import Game, RandomChance
from engine.pieces import Seat
from protocol.codec import encoded_summaries
from protocol.codes import Code
from protocol.limits import ARRAY_LENGTH
from protocol.messages import (
    Done,
    EnterLobby,
    InLobby,
    JoinTable,
    OpenTable,
    Resume,
    SayInLobby,
    TableSummary,
    Watch,
)
from protocol.settings import Hints, Private
from server.config import Config
from server.counts import Counts
from server.errors import JournalError, TableDamaged
from server.logs import about
from server.net.addresses import Origins, only_here
from server.net.rate_limits import PerMinuteLimit
from server.net.session import Session
from server.net.tokens import hash_fits, new_code, new_token, token_hash
from server.refusal import Refusal
from server.storage.entries import (
    BotSeated,
    Changed,
    Continued,
    Entry,
    Freed,
    Kept,
    Opened,
    Taken,
    TokenRevoked,
)
from server.storage.journal import Journal, Part
from server.tables.absence.stand_in import StandIn
from server.tables.chat import ChatLimits
from server.tables.online.lobby_chat import LobbyChat
from server.tables.online.people import Place
from server.tables.rematch import entries_to_play_again, options_to_play_again
from server.tables.seats.confusables import read_list
from server.tables.seats.names import check_name, looks
from server.tables.state import PersistentState
from server.tables.table import Table

log = logging.getLogger(__name__)

# Refusals that tell whether there is a table with a code, to somebody who has no seat there.
_OF_CODES: Final = {Code.NO_SUCH_TABLE, Code.BAD_TOKEN, Code.TABLE_DAMAGED}


def chances(seed: int | None) -> Iterator[RandomChance]:
    """Yield a generator of its own for each table: what one table draws reveals nothing about another."""
    seeds = random.SystemRandom() if seed is None else random.Random(seed)
    while True:
        yield RandomChance(random.Random(seeds.getrandbits(256)))


async def kept_tables(journal: Journal, chances: Iterator[RandomChance]) -> dict[str, PersistentState]:
    """Return what an earlier process kept, by table codes; a table that makes no sense is set aside.

    Raises JournalError if the journal cannot be used.
    """
    kept = {}
    for code, entries in journal.tables().items():
        with contextlib.suppress(TableDamaged):
            kept[code] = await _folded(journal, code, entries, next(chances))
    return kept


async def _folded(
    journal: Journal, code: str, entries: Sequence[Entry], chance: RandomChance
) -> PersistentState:
    """Return the fold of a table's entries; one that makes no sense is set aside, and raises TableDamaged."""
    state = PersistentState((), chance)
    for number, entry in enumerate(entries):
        try:
            state.fold(entry)
        except Exception as error:  # whatever the error, no server wrote this
            # Its text may name a hidden piece, and this one is logged and kept.
            reason = f"entry {number} does not fit the game: {type(error).__name__}"
            await journal.set_aside(code, number, reason)
            raise TableDamaged("table {code} is damaged: {reason}", code=code, reason=reason) from error
    return state


def _folded_as_far_as_possible(entries: Sequence[Entry], chance: RandomChance) -> tuple[PersistentState, int]:
    """Return the fold of the entries before the first one that makes no sense, and how many they are."""
    state = PersistentState((), chance)
    for number, entry in enumerate(entries):
        try:
            state.fold(entry)
        except Exception:  # noqa: BLE001 - whatever the error, no server wrote this
            return PersistentState(entries[:number], chance), number
    return state, len(entries)


class Lobby:
    """The tables of a server; what falls due at them runs in `tasks`.

    `on_game_over` is called with a table's code, its finished game, the players' names by seat, and when the
    game ended in seconds since 1970.
    `seconds_to_stop` returns how long the server will still run if it takes no more tables, else None.
    """

    def __init__(
        self,
        config: Config,
        journal: Journal,
        tasks: asyncio.TaskGroup,
        *,
        chances: Iterator[RandomChance],
        counts: Counts,
        on_game_over: Callable[[str, Game, Sequence[str], int], None],
        seconds_to_stop: Callable[[], int | None],
    ) -> None:
        self.tables: dict[str, Table] = {}
        self._config = config
        self._journal = journal
        self._tasks = tasks
        self._timers = config.timers()
        self._on_game_over = on_game_over
        self._seconds_to_stop = seconds_to_stop
        self.list_version = 0
        self._listed_tables: list[TableSummary] | None = None  # until a table changes
        self._encoded_list: msgspec.Raw | None = None
        self._opened_by_connection = PerMinuteLimit(config.limits.tables_per_connection)
        self._opened_by_address = PerMinuteLimit(config.limits.tables_per_address)
        self._guesses = PerMinuteLimit(config.limits.wrong_codes_per_address)
        self._origins = Origins()
        self._failed: set[str] = set()  # codes whose entries wait for the next start
        self._moving: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # by table codes
        self._timers_stopped = False
        self._coming: set[str] = set()  # codes of tables that are being stored or brought back
        self._going: set[Table] = set()  # tables that are being archived
        self._chances = chances
        self._counts = counts
        self._stand_in = StandIn(config.stand_in, config.brains, config.seed, config.limits.bots_cpu)
        if not only_here(config.host):
            read_list()
        self._chat = ChatLimits(config.limits, self._timers.time)
        self._lobby_chat = LobbyChat(
            config.limits,
            self._timers,
            tasks,
            place_of=self._place_of,
            name_held=self._name_held,
            seed=config.seed,
        )

    def restore(self, kept: Mapping[str, PersistentState]) -> None:
        """Take up the tables of an earlier process, by their codes."""
        for code, state in kept.items():
            self._add(code, state)
        if kept:
            log.info("tables resumed", extra=about(tables=len(kept)))

    async def shorten_journal(self) -> None:
        """Have the journal drop what an earlier process has left there and no longer counts."""
        for table in list(self.tables.values()):
            if self._timers_stopped:
                return
            with contextlib.suppress(JournalError):  # which the journal logs; it stays as long as it is
                await table.shorten_if_long()

    def stop_timers(self) -> None:
        """Let nothing more fall due at any table, also at those that are still being opened."""
        self._timers_stopped = True
        self._lobby_chat.close()
        for table in self.tables.values():
            table.stop_timers()

    def close(self) -> None:
        """Stop the brains."""
        self._stand_in.close()

    # -- what conversations ask ---------------------------------------------------------------------

    def listed(self) -> list[TableSummary]:
        """Return the list of tables, as many as fit into a message.

        Newest first; deserted tables come after all others, and are left out first.

        Nothing in it depends on private tables.
        """
        if self._listed_tables is None:
            public = (table for table in reversed(self.tables.values()) if not table.state.private)
            told = sorted(public, key=lambda table: not table.players_here)[:ARRAY_LENGTH]
            self._listed_tables = [table.summary() for table in told]
        return self._listed_tables

    def encoded_list(self) -> msgspec.Raw:
        """Return the list of tables, ready to be sent."""
        if self._encoded_list is None:
            self._encoded_list = encoded_summaries(self.listed())
        return self._encoded_list

    def open_to_all(self, code: str) -> Table | None:
        """Return the table with a code if it is in the list and spectators may watch it, else None."""
        table = self.tables.get(code)
        return None if table is None or table.state.private or table.state.no_spectators else table

    async def open(self, session: Session, message: OpenTable) -> None:
        """Open a table and seat its host; raises Refusal or JournalError and changes nothing."""
        if message.starting is not None and message.starting >= message.players:
            raise Refusal(Code.NO_SUCH_SEAT, seat=message.starting, last_seat=message.players - 1)
        check_name(message.name)
        token = new_token()
        opened = Opened(message.players, message.random_layout, message.starting, message.absence)
        entries: list[Entry] = [Taken(0, message.name, token_hash(token), message.program)]
        if message.private:
            entries.append(Changed(Private(on=True)))
        if message.hints:
            entries.append(Changed(Hints(on=True)))
        table = await self._opened(session, opened, entries)
        table.seat_opener(session, message.id, token)

    async def enter(self, session: Session, message: JoinTable | Watch) -> None:
        """Let the session take a seat, or watch; raises Refusal or JournalError and changes nothing."""
        await self._guessed(session, message.table).enter(session, message)

    async def resume(self, session: Session, message: Resume) -> None:
        """Give a player the seat back, at a table brought back from the archive if need be.

        Raises Refusal or JournalError and changes nothing.
        """
        try:
            while True:
                table = await self._found(session, message.table, token_hash(message.token))
                try:
                    return await table.enter(session, message)
                except Refusal:
                    if not table.archived:  # otherwise it was archived just when its player came
                        raise
        except Refusal as refusal:
            if refusal.code in _OF_CODES and not self._listed(message.table):
                self._count_guess(session)
            raise

    def talk(self, session: Session, message: InLobby) -> None:
        """List the session among those who are online, or say something in the lobby; raises Refusal."""
        if not self._config.lobby_chat:
            raise Refusal(Code.NO_LOBBY_CHAT)
        match message:
            case EnterLobby(_, str(name), tokens):
                self._lobby_chat.enter(session, name, tokens)
            case EnterLobby():
                self._lobby_chat.leave(session)
            case SayInLobby(_, text):
                self._lobby_chat.say(session, text)
        session.send(Done(message.id))

    def gone(self, session: Session) -> None:
        """Take note that the session's connection has ended."""
        self._lobby_chat.leave(session)

    # -- what the host of the server asks -----------------------------------------------------------

    @property
    def archived(self) -> Collection[str]:
        """Return the codes of the archived tables."""
        return self._journal.archived

    def games_run(self) -> bool:
        """Tell whether a game is running that any of its players is at."""
        return any(table.state.stage == "playing" and table.players_here for table in self.tables.values())

    async def close_table(self, code: str, reason: str | None) -> None:
        """Close a table for good, wherever it is; those who are there are told, with the reason if any.

        Raises Refusal if there is none, or JournalError, and changes nothing.
        """
        async with self._moving_lock(code):
            if code in self._journal.archived:
                await self._journal.remove(code)
                log.warning("archived table removed by the host", extra=about(table=code))
                return
            if code in self._journal.codes_set_aside:
                await self._journal.remove(code)
                log.warning("damaged table removed by the host", extra=about(table=code))
                return
        await self._table(code).close(reason)

    async def restore_damaged(self, code: str) -> Table | None:
        """Put a damaged table back into play at its last whole move; return None if nothing of it is left.

        Raises Refusal if none with this code is damaged, or JournalError, and changes nothing.
        """
        async with self._moving_lock(code):
            self._check_not_stopping()
            if code in self._journal.archived:
                with contextlib.suppress(TableDamaged):  # which sets it aside
                    await self._journal.archived_entries(code)
            if code not in self._journal.codes_set_aside:
                raise Refusal(Code.NO_SUCH_TABLE, table=code)
            (stored,) = await self._journal.tables_set_aside([code])
            state, whole = _folded_as_far_as_possible(stored.entries, next(self._chances))
            if not whole:
                return None
            await self._make_room(None)
            self._coming.add(code)
            try:
                await self._journal.restore(code, whole)
            finally:
                self._coming.discard(code)
            log.warning("damaged table restored by the host", extra=about(table=code, entries=whole))
            return self._add(code, state)

    async def remove_player(self, code: str, seat: Seat) -> bool:
        """Take a seat at a table from its player, unless it is free.

        Raises Refusal if there is no such table, or JournalError, and changes nothing.
        """
        return await self._table(code).remove_player(seat)

    # -- what tables ask ----------------------------------------------------------------------------

    def table_changed(self) -> None:
        """Take note that the list of tables has changed."""
        self._listed_tables = self._encoded_list = None
        self.list_version += 1

    def privacy_changed(self) -> None:
        """Take note that a table has become private, or has ceased to be."""
        self._lobby_chat.hide()

    def table_ended(self, code: str, *, failed: bool) -> None:
        """Take note that a table has ended."""
        del self.tables[code]
        if failed:
            self._failed.add(code)
        self.table_changed()

    @property
    def writes_records(self) -> bool:
        """Tell whether finished games are to be recorded."""
        return self._config.records is not None

    def game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        """Take note of a finished game."""
        self._on_game_over(code, game, names, ended)

    async def table_after(self, session: Session, code: str, state: PersistentState) -> Table:
        """Return the table where the session's player plays again after table `code`.

        The first request opens it; the link is stored in the same commit, for the earlier table to fold.
        Raises Refusal or JournalError and changes nothing.
        """
        player = None if session.seat is None else state.players[session.seat]
        if state.next_table is not None and player is not None:
            try:
                return await self._found(session, state.next_table, player.token_hash)
            except Refusal as refusal:
                if refusal.code not in {Code.NO_SUCH_TABLE, Code.BAD_TOKEN}:
                    raise
            # It is gone, or was archived without that player.
        opened, entries = options_to_play_again(state), entries_to_play_again(state)
        return await self._opened(session, opened, entries, (code, state.entry_count))

    # -- internals ----------------------------------------------------------------------------------

    def _table(self, code: str) -> Table:
        if code in self._journal.codes_set_aside:
            raise Refusal(Code.TABLE_DAMAGED, table=code)
        if (table := self.tables.get(code)) is None:
            raise Refusal(Code.NO_SUCH_TABLE, table=code)
        return table

    def _listed(self, code: str) -> bool:
        """Tell whether everybody may know that there is a table with this code."""
        table = self.tables.get(code)
        return table is not None and not table.state.private

    def _place_of(self, session: Session) -> Place:
        """Return where the session is: at a private table neither which nor what it does there."""
        if session.table is None:
            return "lobby", None
        if not self._listed(session.table.code):
            return "playing", None
        return "watching" if session.seat is None else "playing", session.table.code

    def _name_held(self, session: Session, name: str, proofs: Collection[str]) -> bool:
        """Tell whether the name looks like that of another's seat at a table in the list."""
        wanted = looks(name)
        for table in self.tables.values():
            if table.state.private:
                continue
            for seat, player in enumerate(table.state.players):
                if player is None or player.vacant or looks(player.name).isdisjoint(wanted):
                    continue
                if table.state.stage == "over" and not table.is_here(Seat(seat)):
                    continue  # their clients have forgotten the token
                sits_there = session.table is table and session.seat == seat
                if not sits_there and not any(hash_fits(each, player.token_hash) for each in proofs):
                    return True
        return False

    def _guessed(self, session: Session, code: str) -> Table:
        """Return the table with a code that may be guessed.

        Raises Refusal if there is none, and, as if none but those in the list existed, after too many wrong
        codes from one address: private tables are not to be found by trying all codes.
        """
        if not self._listed(code):
            if (wait := self._guesses.wait(session.address, now := self._timers.time())) > 0:
                raise Refusal(Code.TOO_MANY_GUESSES, seconds=wait)
            if code not in self.tables:
                self._guesses.count(session.address, now)
        return self._table(code)

    def _count_guess(self, session: Session) -> None:
        """Count a code with a token that does not fit; raise Refusal if there were too many lately."""
        if (wait := self._guesses.wait(session.address, now := self._timers.time())) > 0:
            raise Refusal(Code.TOO_MANY_GUESSES, seconds=wait)
        self._guesses.count(session.address, now)

    def _moving_lock(self, code: str) -> asyncio.Lock:
        """Return the lock of whoever takes the table `code` out of the archive or from those set aside."""
        return self._moving.setdefault(code, asyncio.Lock())

    async def _found(self, session: Session, code: str, wanted: str) -> Table:
        """Return the table `code`, out of the archive if it is there and a token's hash there is `wanted`."""
        async with self._moving_lock(code):  # two players of one game may come at the same time
            if code in self.tables or code not in self._journal.archived:
                return self._table(code)
            self._check_not_stopping()
            try:
                entries = await self._journal.archived_entries(code)
            except TableDamaged:
                raise Refusal(Code.TABLE_DAMAGED, table=code) from None
            holders: dict[int, str] = {}
            for entry in entries:
                match entry:
                    case Taken(seat, _, held) | Kept(seat, _, held):
                        holders[seat] = held
                    case TokenRevoked(seat) | Freed(seat) | BotSeated(seat):
                        holders.pop(seat, None)
            if not any(hash_fits(wanted, each) for each in holders.values()):
                raise Refusal(Code.BAD_TOKEN, table=code)
            self._count_opening(session)  # it costs no less than a new table
            await self._make_room(self._origins.of(session.address))
            self._coming.add(code)
            try:
                state = await _folded(self._journal, code, entries, next(self._chances))
                await self._journal.bring_back(code)
            except TableDamaged:
                raise Refusal(Code.TABLE_DAMAGED, table=code) from None
            finally:
                self._coming.discard(code)
            log.info("table brought back from the archive", extra=about(table=code))
            return self._add(code, state)

    async def _opened(
        self, session: Session, opened: Opened, others: Sequence[Entry], before: tuple[str, int] | None = None
    ) -> Table:
        """Return a new table; `before` are code and entry count of the table that it continues."""
        self._check_not_stopping()
        self._count_opening(session)
        await self._make_room(self._origins.of(session.address))
        code = new_code(
            self.tables, self._coming, self._failed, self._journal.archived, self._journal.codes_set_aside
        )
        entries: list[Entry] = [replace(opened, origin=self._origins.of(session.address)), *others]
        parts: list[Part] = [(code, 0, entries)]
        if before is not None:
            parts.append((*before, [Continued(code)]))
        self._coming.add(code)
        try:
            await self._journal.append_together(parts)
        finally:
            self._coming.discard(code)
        return self._add(code, PersistentState(entries, next(self._chances)))

    def _check_not_stopping(self) -> None:
        """Raise Refusal if the server is about to stop: a table that comes now would not get far."""
        if (seconds := self._seconds_to_stop()) is not None:
            raise Refusal(Code.SERVER_STOPPING, seconds=seconds)

    def _count_opening(self, session: Session) -> None:
        """Count a table that the session opens or brings back; raise Refusal if it is one too many."""
        now = asyncio.get_running_loop().time()
        wait = max(
            self._opened_by_connection.wait(session.name, now),
            self._opened_by_address.wait(session.address, now),
        )
        if wait > 0:
            raise Refusal(Code.TOO_SOON, seconds=wait)
        self._opened_by_connection.count(session.name, now)
        self._opened_by_address.count(session.address, now)

    async def _make_room(self, origin: str | None) -> None:
        """Archive tables that everybody has left until there is room for one more, for an opener at `origin`.

        Raises Refusal if none can be archived. The room is there until the caller awaits something else.
        """
        tried: set[Table] = set()
        while len(self.tables) + len(self._coming) >= self._config.limits.tables:
            left = (table for table in self.tables.values() if table not in self._going | tried)
            table = min(
                (table for table in left if table.unattended_since is not None),
                key=lambda table: self._worth(table, origin),
                default=None,
            )
            if table is None:
                raise Refusal(Code.TOO_MANY_TABLES)
            tried.add(table)
            self._going.add(table)  # so that another opener takes another one
            try:
                await table.archive_if_unattended()
            finally:
                self._going.discard(table)

    def _worth(self, table: Table, origin: str | None) -> tuple[bool, bool, bool, bool, float]:
        """Return a table's place in the order of archiving for an opener at `origin`.

        First those that lose nothing, then those that `origin` opened; games that were played come last.
        """
        gathering = table.state.stage == "gathering"
        lost = gathering or not self._journal.keeps_games
        return (
            lost,
            table.state.opened.origin != origin,
            lost and table.state.played,
            gathering,
            table.unattended_since or 0.0,
        )

    def _add(self, code: str, state: PersistentState) -> Table:
        table = self.tables[code] = Table(
            code,
            state,
            self._journal,
            self._config.limits,
            self._counts,
            stand_in=self._stand_in,
            chat=self._chat,
            owner=self,
            timers=self._timers,
            tasks=self._tasks,
            shares_draws=self._config.seed is None,
        )
        if self._timers_stopped:
            table.stop_timers()
        self.table_changed()
        return table
