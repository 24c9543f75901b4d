"""How a server stops: it drains until games have ended, and hands its tables to others that share them."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final

from engine.game import RandomChance
from protocol.messages import Stopping
from server.config import Timer, Timers
from server.errors import JournalError, TableDamaged
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.net.session import Clients
from server.storage.entries import Entry
from server.tables.lobby import Lobby
from server.tables.registry.table_registry import fold_or_set_aside
from server.tables.table import Table

if TYPE_CHECKING:
    from server.cluster.channel import Channel
    from server.storage.postgresql.hand_over import Departure
    from server.storage.postgresql.journal import PostgresJournal

log = logging.getLogger(__name__)

REMINDERS: Final = (3600, 1800, 600, 300, 60, 10)  # seconds before the end at which everybody is told again
_SECONDS_AFTER_THE_LAST_GAME: Final = 10.0  # for people who look at its result, or sit in the lobby
_SECONDS_BETWEEN_LOOKS: Final = 1.0
_TABLES_AT_ONCE: Final = 4
_MOST_SECONDS: Final = 8.0  # what is left then is taken up by others when the lease is given up


@dataclass(eq=False, repr=False)
class Drain:
    """The time that is left to this server, from `begin` on.

    All `clients` are told; `games_run` returns whether anybody is playing. `stop` is called when the time is
    up, shortly after the last game, or at once if there are no clients; `changed` when it begins or is
    cancelled.
    """

    timers: Timers
    _: KW_ONLY
    clients: Clients
    games_run: Callable[[], bool]
    stop: Callable[[], None]
    changed: Callable[[], None]

    def __post_init__(self) -> None:
        self._due: float | None = None
        self._told = 0  # seconds left when everybody was last told
        self._timer: Timer | None = None

    def seconds_left(self) -> int | None:
        """Return how many seconds are left; None if the server is to run on."""
        if self._due is None:
            return None
        # Rounded first: a sum of floats may be a little more than the seconds that were asked for.
        return max(0, math.ceil(round(self._due - self.timers.time(), 3)))

    def news(self) -> Stopping | None:
        """Return what a newcomer has to know of it."""
        left = self.seconds_left()
        return None if left is None else Stopping(left)

    def begin(self, seconds: float) -> None:
        """Stop in so many seconds, or sooner when no game runs any more."""
        self._due = self.timers.time() + seconds
        log.warning("draining", extra=about(seconds=math.ceil(seconds)))
        self.changed()
        self._bring_forward()
        self._remind()
        self._look_again(0.0)

    def cancel(self) -> None:
        """Run on as if nothing had been said."""
        if (left := self.seconds_left()) is not None:
            self.close()
            log.warning("no longer draining", extra=about(seconds=left))
            self.changed()
            self.clients.broadcast(Stopping())

    def close(self) -> None:
        self._due = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        if self._bring_forward():
            self._remind()
        left = self.seconds_left()
        if left == 0:
            self.stop()
            return
        if left is not None and any(left <= moment < self._told for moment in REMINDERS):
            self._remind()
        self._look_again()

    def _look_again(self, seconds: float = _SECONDS_BETWEEN_LOOKS) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self.timers.call_later(seconds, self._look)

    def _bring_forward(self) -> bool:
        """Make the end come sooner if nobody plays any more; return whether it does."""
        soon = self.timers.time() + (_SECONDS_AFTER_THE_LAST_GAME if self.clients else 0.0)
        if self._due is None or self._due <= soon or self.games_run():
            return False
        self._due = soon
        return True

    def _remind(self) -> None:
        left = self._told = self.seconds_left() or 0
        self.clients.broadcast(Stopping(left))


@dataclass(eq=False, repr=False)
class SharedTables:
    """The `TableHolder` of a server whose journal others share; `leave` hands its tables over to them.

    `stop` stops the server, and `write_records` is called when games are taken up that have ended, whose
    records may be missing.
    """

    lobby: Lobby
    clients: Clients
    journal: "PostgresJournal"
    channel: "Channel"
    _: KW_ONLY
    chances: Iterator[RandomChance]
    stop: Callable[[], None]
    write_records: Callable[[], None]

    def __post_init__(self) -> None:
        self.give_up = self.lobby.give_up
        self.speak_again = self.lobby.tell_states
        self._departure: Departure | None = None  # once it leaves

    def send_on(self) -> None:
        if self.channel.addresses():
            self.lobby.send_on()

    async def take_up(self, tables: Mapping[str, Sequence[Entry]]) -> None:
        """Go on with tables that are this server's now, with their clocks as after a restart."""
        kept = {}
        for code, entries in tables.items():
            with contextlib.suppress(TableDamaged):
                kept[code] = await fold_or_set_aside(self.journal, code, entries, next(self.chances))
            await asyncio.sleep(0)  # the tables that are here already go on, and the lease
        await self.lobby.registry.restore(kept)
        if any(state.stage == "over" for state in kept.values()):
            self.write_records()

    def refusal(self) -> Mapping[str, object] | None:
        """Return the facts for whoever wants a table from a server that leaves: where there is one."""
        if self._departure is None or (address := self._departure.address()) is None:
            return None
        return {"seconds": 0, "address": address}

    async def leave(self) -> None:
        """Give away all tables where anybody is, and send everybody there; nobody, if no other server stays.

        Tables where nobody is are taken up when the server's lease has ended.
        """
        if self.journal.lapsed:
            return
        before = len(self.lobby.tables)
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                self._departure = departure = await self.journal.leave()
                tried: set[Table] = set()
                async with Tasks() as tasks:
                    for _ in range(_TABLES_AT_ONCE):
                        tasks.start(self._give_tables(departure, tried), "handing tables over")
        except (TimeoutError, JournalError) as error:
            reason = error.reason if isinstance(error, JournalError) else "too slow"
            log.warning("not all tables could be handed over", extra=about(reason=reason))
        finally:
            log.info("leaving", extra=about(handed_over=before - len(self.lobby.tables)))
            if self._departure is not None:
                for session in self.clients:
                    session.move_from_lobby(self._departure.address())
                self._departure.close()

    async def _give_tables(self, departure: "Departure", tried: set[Table]) -> None:
        """Give tables away as long as anybody takes them."""
        while departure.address() is not None:
            left = (each for each in self.lobby.tables.values() if each not in tried)
            table = next((each for each in left if each.unattended_since is None), None)
            if table is None:
                return
            tried.add(table)
            await table.hand_over(departure.give)
