"""The lobby: what clients, the host of the server and tables ask of all tables."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from engine.game import Game, RandomChance
from engine.pieces import Seat
from protocol import messages
from protocol.codes import Code
from protocol.settings import unusual
from server.config import Config
from server.errors import JournalError, NotStoredNow, TableLost
from server.limits.networks import Networks
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.net.session import Session
from server.net.tokens import new_token, token_hash
from server.probes import probe
from server.refusal import Refusal
from server.storage import entries as stored
from server.storage.commit_queue import Part
from server.storage.entries import Entry
from server.storage.journal import Journal
from server.tables.absence.stand_in import StandIn
from server.tables.attendance import Attendance
from server.tables.evening.evenings import Evenings
from server.tables.feature import GoesOn, Opening
from server.tables.names import check_name
from server.tables.online.lobby_chat import LobbyChat
from server.tables.rates import Rates
from server.tables.registry.public_tables import PublicTables
from server.tables.registry.table_registry import TableRegistry
from server.tables.server_part import ServerPart
from server.tables.state.persistent_state import PersistentState
from server.tables.table import Table

if TYPE_CHECKING:
    from server.cluster.channel import Channel


log = logging.getLogger(__name__)

# Refusals that say whether there is a table with a code, to somebody who has no seat there.
_OF_CODES: Final = {Code.NO_SUCH_TABLE, Code.BAD_TOKEN, Code.TABLE_DAMAGED}
_NO_TOKEN: Final = token_hash("")
_MOST_SECONDS_TO_REFUSE: Final = 0.05  # a code after too many wrong ones


@dataclass(eq=False, repr=False)
class Lobby:
    """The tables of a server, whose deadlines run in `tasks`.

    `game_over` is called with a table's code, its finished game, the players' names by seat, and when the
    game ended in seconds since 1970.
    `stopping` returns the facts of the refusal if the server takes no more tables, else None.
    """

    config: Config
    journal: Journal
    tasks: Tasks
    _: KW_ONLY
    chances: Iterator[RandomChance]
    counts: Counts
    game_over: Callable[[str, Game, Sequence[str], int], None]
    stopping: Callable[[], Mapping[str, object] | None]

    def __post_init__(self) -> None:
        config = self.config
        self.timers = config.timers()
        self.rates = Rates(config.limits, self.timers.time)
        self.stand_in = StandIn(config, self.tasks)
        self.registry = TableRegistry(self)
        self.tables = self.registry.tables
        self.public = PublicTables(self.tables)
        self._address_elsewhere: Callable[[], str | None] = lambda: None
        self.stopped = False
        # By hashes of tokens: a request may come again while it is still being carried out.
        self._opening: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        public = self.public
        self.chat = LobbyChat(
            self, public.place_of, public.name_held, public.host_of_guests, public.has_room, public.is_waiting
        )
        self.evenings = Evenings(self, self.registry)
        self._parts: list[ServerPart] = [self.public, self.chat, self.evenings]
        if config.attendance is not None:
            self._parts.append(Attendance(self.tables, config.attendance))
        self._answering = {request: part for part in self._parts for request in part.requests}

    def share(self, channel: "Channel", address: Callable[[], str | None]) -> None:
        """Share the lobby with the other servers of the database.

        `address` returns where one of them takes newcomers, None if none does.
        """
        self._address_elsewhere = address
        for part in self._parts:
            part.share(channel)

    def give_up(self) -> None:
        """End all tables without sending anything: another server may have them."""
        for part in self._parts:
            part.give_up()
        for table in list(self.tables.values()):
            table.give_up()

    def send_on(self) -> None:
        """Close the connections at all tables; the tables stay, and clients come back, here or elsewhere."""
        for table in self.tables.values():
            table.send_on()

    def tell_states(self) -> None:
        for table in self.tables.values():
            table.tell_state()

    async def shorten_journal(self) -> None:
        """Drop obsolete entries that an earlier process left in the journal."""
        for table in list(self.tables.values()):
            if self.stopped:
                return
            with contextlib.suppress(JournalError):  # which the journal logs; it stays as long as it is
                await table.shorten_if_long()

    def stop(self) -> None:
        """Cancel everything that would fall due at any table, even at those still being opened."""
        self.stopped = True
        for part in self._parts:
            part.stop()
        for table in self.tables.values():
            table.stop()

    def close(self) -> None:
        """Stop the bots that are thinking."""
        self.stand_in.close()

    # -- what conversations ask ---------------------------------------------------------------------

    def welcomed(self) -> Mapping[str, Any]:
        """Return all parts' fields of the welcome message."""
        return {name: shown for part in self._parts for name, shown in part.welcomed().items()}

    def part_for(self, request: messages.ClientMessage) -> ServerPart | None:
        """Return the part that answers such a request, None without one."""
        return self._answering.get(type(request))

    async def open(self, session: Session, message: messages.OpenTable) -> None:
        """Open a table and seat its host; raises Refusal or JournalError and changes nothing."""
        self.check_lease()
        if message.starting is not None and message.starting >= message.players:
            raise Refusal(Code.NO_SUCH_SEAT, seat=message.starting, last_seat=message.players - 1)
        check_name(message.name)
        token = new_token() if message.token is None else None  # otherwise the client knows it
        held = token_hash(token or message.token or "")
        opened = stored.Opened(message.players, message.random_layout, message.starting, message.absence)
        entries: list[Entry] = [stored.SeatsFollow()] if message.grows else []
        entries.append(stored.Taken(0, message.name, held, message.program))
        entries += [stored.Changed(each) for each in unusual(message.switches)]
        async with self._opening.setdefault(held, asyncio.Lock()):
            if message.token is not None and await self._opened_before(session, message, held):
                return
            session.check_seats_left()
            table = await self.registry.open_table(session, opened, entries)
            await table.seat_opener(session, message.id, token)

    async def enter(self, session: Session, message: messages.JoinTable | messages.Watch) -> None:
        """Seat the session, or have it watch; raises Refusal or JournalError and changes nothing."""
        token = message.token if isinstance(message, messages.JoinTable) else None
        await self._check_here(session, message.table, token_hash(token or ""))
        if message.table not in self.tables:
            self.count_code(session.address, message.table)
        await self.registry.table(message.table).enter(session, message)

    async def resume(self, session: Session, message: messages.Resume) -> None:
        """Give a player the seat back, at a table brought back from the archive if need be.

        Raises Refusal or JournalError and changes nothing.
        """
        wanted = token_hash(message.token)
        with self._counting_guesses(session, message.table):
            while True:
                await self._check_here(session, message.table, wanted)
                table = await self.registry.find_table(session, message.table, wanted)
                if table is None:
                    continue
                try:
                    return await table.enter(session, message)
                except Refusal:
                    if not table.archived:  # otherwise it was archived just when its player came
                        raise
                    probe("a table is archived just when its player comes back")

    async def tell_turn(self, session: Session, message: messages.AskTurn) -> None:
        """Send a seat's holder the state of the game; raises Refusal or JournalError as `resume` does."""
        with self._counting_guesses(session, message.table):
            await self._check_here(session, message.table, message.proof)
            stage = await self.registry.archived_stage(session, message.table, message.proof)
            if stage is not None:
                session.send(messages.Turn(message.id, stage, archived=True))
                return
            table = self.registry.table(message.table)
            if (seat := self._seat_held(message.table, message.proof)) is None:
                raise Refusal(Code.BAD_TOKEN, table=message.table)
            session.send(table.turn(message.id, seat))

    def count_code(self, address: Networks, code: str) -> None:
        """Count a wrong code, unless it is in the list; raise Refusal if there were too many from there."""
        if not self.public.is_listed(code):
            self.rates.count_wrong_code(address)

    def disconnect(self, session: Session) -> None:
        for part in self._parts:
            part.session_gone(session)

    def games_run(self) -> bool:
        return any(table.state.stage == "playing" and table.audience.seated for table in self.tables.values())

    # -- what tables ask ----------------------------------------------------------------------------

    def check_lease(self) -> None:
        """Raise NotStored if this server's tables may be out of date, with the address of another server."""
        if self.journal.lapsed:
            probe("the lease has run out when somebody in the lobby asks for something")
            address = self._address_elsewhere()
            raise NotStoredNow("the lease has run out", **({} if address is None else {"address": address}))

    def table_changed(self, code: str) -> None:
        for part in self._parts:
            part.table_changed(code)

    def privacy_changed(self) -> None:
        self.chat.hide()

    def said_at_table(self, session: Session, text: str) -> None:
        self.chat.overhear(session, text)

    def table_ended(self, code: str, *, failed: bool) -> None:
        self.registry.remove(code, failed=failed)
        for part in self._parts:
            part.table_ended(code)

    @property
    def notice_kinds(self) -> list[messages.NoticeKind]:
        return [] if self.config.postman is None else list(self.config.postman.kinds)

    async def table_after(
        self, session: Session, code: str, state: PersistentState, goes_on: GoesOn
    ) -> Table:
        player = None if session.seat is None else state.players[session.seat]
        if goes_on.known is not None and player is not None:
            try:
                while True:
                    if not self.registry.knows(goes_on.known):
                        await self._check_not_elsewhere(goes_on.known)
                    found = await self.registry.find_table(session, goes_on.known, player.token_hash)
                    if found is not None:
                        return found
            except Refusal as refusal:
                if refusal.code not in {Code.NO_SUCH_TABLE, Code.BAD_TOKEN}:
                    raise
                probe("the table of a rematch has gone")
            # It was closed, or archived without that player.

        def linked(opened: str) -> Part:
            return code, state.entry_count, [goes_on.link(opened)]

        table = await self.registry.open_table(
            session, goes_on.opened, goes_on.entries, linked, continues=True
        )
        table.state.follow(state)
        return table

    def sits_elsewhere(self, code: str, held: str) -> bool:
        return any(
            table.code != code and table.state.seat_held(held) in table.audience.seated
            for table in self.tables.values()
        )

    async def open_beside(self, session: Session, opening: Opening, beside: Part) -> str:
        opened = await self.registry.open_table(session, opening.opened, opening.entries, lambda _: beside)
        return opened.code

    # -- internals ----------------------------------------------------------------------------------

    async def _opened_before(self, session: Session, message: messages.OpenTable, held: str) -> bool:
        """Return whether this very request has opened a table; then its session gets the seat back.

        `held` is the hash of its token. Raises Refusal if the table is another server's, and JournalError. To
        look among those is for whoever may open a table, and finding one counts as that.
        """
        if (table := self.registry.table_held(held)) is None:
            session.check_seats_left()
            self.rates.check_opening(session)
            if (code := await self.journal.opened_with(held)) is None:
                return False
            probe("a table was opened at another server by the same request")
            self.rates.count_opening(session)
            await self._check_not_elsewhere(code)
            table = self.tables.get(code)
        with contextlib.suppress(Refusal, TableLost):  # it has ended in the meantime
            return table is not None and await table.return_opener(session, message)
        return False

    @contextlib.contextmanager
    def _counting_guesses(self, session: Session, code: str) -> Iterator[None]:
        """Count a code that is refused to somebody who has no seat there."""
        try:
            yield
        except Refusal as refusal:
            if refusal.code in _OF_CODES:
                self.count_code(session.address, code)
            raise

    async def _check_here(self, session: Session, code: str, wanted: str = _NO_TOKEN) -> None:
        """Raise Refusal if a table is another server's, NotStored if this one cannot say.

        Raise Refusal, too, after too many wrong codes from one address, whether there is such a table or not:
        private ones are not to be found by trying codes. So the archive is not searched before, which takes
        longer, and the refusal is delayed at random, because a table that is here takes microseconds longer.
        """
        self.check_lease()
        if not self.public.is_listed(code):
            try:
                self.rates.check_codes(session.address)
            except Refusal:
                if self._seat_held(code, wanted) is None:
                    due = asyncio.Event()
                    self.timers.call_later(random.uniform(0.0, _MOST_SECONDS_TO_REFUSE), due.set)
                    await due.wait()
                    raise
        if not self.registry.knows(code):
            await self._check_not_elsewhere(code)

    def _seat_held(self, code: str, wanted: str) -> Seat | None:
        """Return the seat that the token with this hash holds at a table that is here, None if none."""
        return None if (table := self.tables.get(code)) is None else table.state.seat_held(wanted)

    async def _check_not_elsewhere(self, code: str) -> None:
        if (address := await self.journal.whereabouts(code)) is not None:
            raise Refusal(Code.TABLE_ELSEWHERE, table=code, address=address)
