"""The public view of the tables, without the private ones."""

import time
from collections.abc import Collection, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from engine.pieces import Seat
from protocol.codec import encoded_summaries, tables_frame
from protocol.codes import Code
from protocol.limits import ARRAY_LENGTH
from protocol.messages import ListTables, TableSummary
from server.cluster.messages import Holder, PublicTable
from server.net.session import Session, in_frame
from server.net.tokens import hash_fits
from server.refusal import Refusal
from server.tables.names import NamesInUse, alike, looks
from server.tables.online.people import Place
from server.tables.server_part import ServerPart
from server.tables.state.persistent_state import Player
from server.tables.table import Table

if TYPE_CHECKING:
    from server.cluster.channel import Channel


_MOST_TIMES: Final = 5000  # of closed tables


class PublicTables(ServerPart):
    """The list of tables, and where somebody is; nothing in it depends on private tables but `version`.

    `version` changes when any table does. If servers share a database, the list includes the tables of all of
    them.
    """

    requests = (ListTables,)

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables
        # What the other servers report, by codes, with their addresses.
        self._elsewhere: dict[str, tuple[PublicTable, str]] = {}
        self._names = NamesInUse()  # at the tables in the list
        self._channel: Channel | None = None
        # When tables were opened, in s since 1970, including those that this server may take over.
        self._opened: dict[str, float] = {}
        self.version = 0
        self._listed: list[TableSummary] | None = None  # until a table changes
        self._encoded: msgspec.Raw | None = None

    async def answer(self, session: Session, request: ListTables) -> None:
        session.post(in_frame(tables_frame(request.id, self.encoded_list())))

    @property
    def shared(self) -> bool:
        return self._channel is not None

    def share(self, channel: "Channel") -> None:
        """Share one list with the other servers from now on."""
        self._channel = channel
        channel.on_change(PublicTable, lambda: self._learn(channel))
        for code in self._tables:
            self.table_changed(code)

    def table_changed(self, code: str) -> None:
        self._outdate()
        self._note_names(code)
        if self._channel is not None:
            self._channel.keep_latest(f"table:{code}", partial(self._own, code))

    def _learn(self, channel: "Channel") -> None:
        """Take in what the other servers report about their tables."""
        before = self._elsewhere.keys()
        found = sorted(channel.holding(PublicTable), key=lambda each: each[0].term)
        self._elsewhere = {
            table.summary.table: (table, node.address)
            for node, table in found  # of two servers the latest one has it
        }
        opened = {code: when for code, when in self._opened.items() if code in self._tables}
        opened |= {code: table.opened for code, (table, _) in self._elsewhere.items()}
        gone = [each for each in self._opened.items() if each[0] not in opened]
        self._opened = dict(gone[-_MOST_TIMES:]) | opened
        self._outdate()
        for code in before | self._elsewhere.keys():
            self._note_names(code)

    def _note_names(self, code: str) -> None:
        names: list[str] = []
        if (table := self._tables.get(code)) is not None:
            if not table.state.switches.private:
                names = [player.name for _, player in table.state.held]
        elif (told := self._elsewhere.get(code)) is not None:
            names = [holder.name for holder in told[0].holders]
        self._names.put(code, tuple(names))

    def _outdate(self) -> None:
        self._listed = self._encoded = None
        self.version += 1

    def summaries(self) -> list[TableSummary]:
        """Return the list of tables, as many as fit into a message.

        Newest first, deserted tables last; these are also left out first.
        """
        if self._listed is None:
            self._listed = sorted(self._all_summaries(), key=lambda table: table.deserted)[:ARRAY_LENGTH]
        return self._listed

    def encoded_list(self) -> msgspec.Raw:
        if self._encoded is None:
            self._encoded = encoded_summaries(self.summaries())
        return self._encoded

    def open_to_all(self, code: str) -> Table | None:
        """Return the table with a code if it is in the list and spectators may watch it, else None."""
        table = self._tables.get(code)
        if table is None or table.state.switches.private or not table.state.switches.spectators:
            return None
        return table

    def watchable(self) -> Iterator[Table]:
        """Yield this server's tables that are in the list and that spectators may watch, the oldest first."""
        return (table for code in self._tables if (table := self.open_to_all(code)) is not None)

    def address_of(self, code: str) -> str | None:
        """Return another server's address for a public table that spectators may watch, else None."""
        found = None if code in self._tables else self._elsewhere.get(code)
        return None if found is None or not found[0].summary.switches.spectators else found[1]

    def is_listed(self, code: str) -> bool:
        """Return whether a table with this code is public."""
        table = self._tables.get(code)
        return self._elsewhere.get(code) is not None if table is None else not table.state.switches.private

    def place_of(self, session: Session) -> Place:
        """Return where the session is; for a private table, neither the table nor the activity."""
        if session.table is None:
            return "lobby", None
        if not self.is_listed(session.table.code):
            return "playing", None
        return "watching" if session.seat is None else "playing", session.table.code

    def has_room(self, code: str) -> bool:
        """Return whether a public table with this code still has a seat before its game."""
        summary = self._waiting(code)
        return summary is not None and summary.taken - summary.bots < summary.players

    def is_waiting(self, code: str) -> bool:
        """Return whether a table with this code is public, and its game has yet to begin."""
        return self._waiting(code) is not None

    def _waiting(self, code: str) -> TableSummary | None:
        """Return what the list says of a table whose game has yet to begin, None for other codes."""
        if (table := self._tables.get(code)) is not None:
            summary = None if table.state.switches.private else table.summary()
        else:
            summary = None if (told := self._elsewhere.get(code)) is None else told[0].summary
        return summary if summary is not None and summary.stage == "gathering" else None

    def host_of_guests(self, session: Session) -> tuple[str, str]:
        """Return the name and the table of a player who may invite; raises Refusal."""
        if session.table is None:
            raise Refusal(Code.NOT_AT_A_TABLE)
        seat, table = session.player_seat(), self._tables.get(session.table.code)
        if table is None or table.state.of_evening or not self.has_room(table.code):
            raise Refusal(Code.NOT_OPEN_TO_GUESTS)
        return table.state.names[seat], table.code

    def name_held(self, session: Session, name: str, proofs: Collection[str]) -> bool:
        """Return whether the name looks like that of another's seat at a table in the list."""

        def is_own(other: str, stored: str) -> bool:
            return not alike(name, other) or any(hash_fits(each, stored) for each in proofs)

        for code in self._names.places(looks(name)):
            if (table := self._tables.get(code)) is not None:
                for seat, player in _holders(table):
                    sits_there = session.table is table and session.seat == seat
                    if not sits_there and not is_own(player.name, player.token_hash):
                        return True
            elif (told := self._elsewhere.get(code)) is not None and not all(
                is_own(holder.name, holder.token_hash) for holder in told[0].holders
            ):
                return True
        return False

    def _all_summaries(self) -> Iterator[TableSummary]:
        """Yield what the list says of all tables, the newest first."""
        own = [table for table in self._tables.values() if not table.state.switches.private]
        if self._channel is None:
            yield from (table.summary() for table in reversed(own))
            return
        # The oldest first, because some of them may only now be given the time at which they were opened.
        found = [(self._opened_at(table), table.summary()) for table in own][::-1]
        found += (
            (table.opened, replace(table.summary, elsewhere=True))
            for code, (table, _) in self._elsewhere.items()
            if code not in self._tables
        )
        yield from (summary for _opened, summary in sorted(found, key=lambda each: -each[0]))

    def _own(self, code: str) -> PublicTable | None:
        """Return what the other servers are sent about one of this server's tables."""
        if (table := self._tables.get(code)) is None:
            self._opened.pop(code, None)
        if table is None or table.state.switches.private:
            return None
        holders = [Holder(player.name, player.token_hash) for _seat, player in _holders(table)]
        return PublicTable(table.summary(), self._opened_at(table), holders)

    def _opened_at(self, table: Table) -> float:
        return self._opened.setdefault(table.code, time.time())


def _holders(table: Table) -> Iterator[tuple[Seat, Player]]:
    """Yield the seats whose players' names everybody may know, and nobody else may take."""
    if table.state.switches.private:
        return
    over = table.state.stage == "over"
    for seat, player in table.state.held:
        # When a game is over, the clients of those who have gone have forgotten the token.
        if not player.vacant and (not over or seat in table.audience.seated):
            yield seat, player
