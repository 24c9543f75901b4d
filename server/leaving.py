"""Stopping while other servers go on: they take the tables up one by one, and their clients follow."""

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from server.errors import JournalError
from server.failures import Tasks
from server.logs import about
from server.net.clients import Clients
from server.tables.lobby import Lobby
from server.tables.table import Table

if TYPE_CHECKING:
    from server.storage.postgresql.hand_over import Departure
    from server.storage.postgresql.journal import PostgresJournal

log = logging.getLogger(__name__)

_TABLES_AT_ONCE: Final = 4
_MOST_SECONDS: Final = 8.0  # what is left then is taken up by others when the lease is given up


class Leaving:
    """The end of a server whose journal others share; before `run` it does nothing."""

    def __init__(self, lobby: Lobby, clients: Clients, journal: "PostgresJournal") -> None:
        self._lobby = lobby
        self._clients = clients
        self.journal = journal
        self._departure: Departure | None = None
        self._tried: set[Table] = set()

    def refusal(self) -> Mapping[str, object] | None:
        """Return the facts for whoever wants a table from a server that leaves: where there is one."""
        if self._departure is None or (address := self._departure.address()) is None:
            return None
        return {"seconds": 0, "address": address}

    async def run(self) -> None:
        """Give away all tables where anybody is, and send everybody there; nobody, if no other server stays.

        Tables where nobody is are taken up when the server's lease has ended.
        """
        if self.journal.lapsed:
            return
        before = len(self._lobby.tables)
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                self._departure = await self.journal.leave()
                async with Tasks() as tasks:
                    for _ in range(_TABLES_AT_ONCE):
                        tasks.start(self._give_tables(self._departure), "handing tables over")
        except (TimeoutError, JournalError) as error:
            log.warning("not all tables could be handed over", extra=about(reason=_why(error)))
        finally:
            log.info("leaving", extra=about(handed_over=before - len(self._lobby.tables)))
            if self._departure is not None:
                self._send_on_from_lobby(self._departure)
                self._departure.close()

    async def _give_tables(self, departure: "Departure") -> None:
        """Give tables away as long as anybody takes them."""
        while departure.address() is not None and (table := self._next()) is not None:
            self._tried.add(table)
            await table.hand_over(departure.give)

    def _next(self) -> Table | None:
        tables = (table for table in self._lobby.tables.values() if table not in self._tried)
        return next((table for table in tables if table.unattended_since is None), None)

    def _send_on_from_lobby(self, departure: "Departure") -> None:
        for session in self._clients:
            session.move_from_lobby(departure.address())


def _why(error: TimeoutError | JournalError) -> str:
    return error.reason if isinstance(error, JournalError) else "too slow"
