"""What everybody may know of the tables: private ones are hidden here."""

from collections.abc import Collection

import msgspec

from engine.pieces import Seat
from protocol.codec import encoded_summaries
from protocol.limits import ARRAY_LENGTH
from protocol.messages import TableSummary
from server.net.session import Session
from server.net.tokens import hash_fits
from server.tables.online.people import Place
from server.tables.seats.names import looks
from server.tables.table import Table


class PublicTables:
    """The list of tables, and where somebody is; nothing in it depends on private tables but `version`.

    `version` is another one after every change of any table.
    """

    def __init__(self, tables: dict[str, Table]) -> None:
        self._tables = tables
        self.version = 0
        self._listed: list[TableSummary] | None = None  # until a table changes
        self._encoded: msgspec.Raw | None = None

    def changed(self) -> None:
        """Take note that a table has changed, or that there is another one or one less."""
        self._listed = self._encoded = None
        self.version += 1

    def listed(self) -> list[TableSummary]:
        """Return the list of tables, as many as fit into a message.

        Newest first; deserted tables come after all others, and are left out first.
        """
        if self._listed is None:
            public = (table for table in reversed(self._tables.values()) if not table.state.private)
            told = sorted(public, key=lambda table: not table.players_here)[:ARRAY_LENGTH]
            self._listed = [table.summary() for table in told]
        return self._listed

    def encoded(self) -> msgspec.Raw:
        """Return the list of tables, ready to be sent."""
        if self._encoded is None:
            self._encoded = encoded_summaries(self.listed())
        return self._encoded

    def open_to_all(self, code: str) -> Table | None:
        """Return the table with a code if it is in the list and spectators may watch it, else None."""
        table = self._tables.get(code)
        return None if table is None or table.state.private or table.state.no_spectators else table

    def is_listed(self, code: str) -> bool:
        """Tell whether everybody may know that there is a table with this code."""
        table = self._tables.get(code)
        return table is not None and not table.state.private

    def place_of(self, session: Session) -> Place:
        """Return where the session is: at a private table neither which nor what it does there."""
        if session.table is None:
            return "lobby", None
        if not self.is_listed(session.table.code):
            return "playing", None
        return "watching" if session.seat is None else "playing", session.table.code

    def name_held(self, session: Session, name: str, proofs: Collection[str]) -> bool:
        """Tell whether the name looks like that of another's seat at a table in the list."""
        wanted = looks(name)
        for table in self._tables.values():
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
