"""The tables of a server that shares its journal with others, as the journal loses and takes them up."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence

from engine.game import RandomChance
from server.errors import TableDamaged
from server.storage.entries import Entry
from server.storage.journal import Journal
from server.tables.lobby import Lobby
from server.tables.registry.folding import folded


class SharedTables:
    """The `TableHolder` of a server with this lobby; `stop` stops the server.

    `write_records` is called when games are taken up that have ended, whose records may be missing, and
    `other_addresses` returns where the other servers are.
    """

    def __init__(
        self,
        lobby: Lobby,
        journal: Journal,
        chances: Iterator[RandomChance],
        *,
        stop: Callable[[], None],
        write_records: Callable[[], None],
        other_addresses: Callable[[], Sequence[str]],
    ) -> None:
        self._lobby = lobby
        self._journal = journal
        self._chances = chances
        self.stop = stop
        self._write_records = write_records
        self._other_addresses = other_addresses
        self.give_up = lobby.give_up
        self.speak_again = lobby.tell_states

    def send_on(self) -> None:
        if self._other_addresses():
            self._lobby.send_on()

    async def take_up(self, tables: Mapping[str, Sequence[Entry]]) -> None:
        """Go on with tables that are this server's now, with their clocks as after a restart."""
        kept = {}
        for code, entries in tables.items():
            with contextlib.suppress(TableDamaged):
                kept[code] = await folded(self._journal, code, entries, next(self._chances))
            await asyncio.sleep(0)  # the tables that are here already go on, and the lease
        await self._lobby.registry.restore(kept)
        if any(state.stage == "over" for state in kept.values()):
            self._write_records()
