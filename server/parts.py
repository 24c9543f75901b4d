"""The parts of a server, how it drains, and how it shares its tables with others."""

import asyncio
import contextlib
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import TYPE_CHECKING, Final

from engine.game import Game, RandomChance
from protocol.messages import Stopping
from server.config import Config, Timer
from server.errors import JournalError
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.net.access import AccessControl
from server.net.announcing import Announcing
from server.net.connections.connection_limits import ConnectionLimits
from server.net.session import Clients
from server.probes import probe
from server.storage.journal import Journal
from server.storage.records import Records
from server.storage.stored_tables import Kept
from server.tables.bans import Bans
from server.tables.lobby import Lobby
from server.tables.registry.table_registry import kept_tables
from server.tables.table import Table

if TYPE_CHECKING:
    from server.cluster.channel import Channel
    from server.storage.postgresql.hand_over import Departure
    from server.storage.postgresql.journal import PostgresJournal

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_WARNINGS: Final = 86_400.0  # that the certificate ends
REMINDERS: Final = (3600, 1800, 600, 300, 60, 10)  # seconds before the end at which everybody is told again
_SECONDS_AFTER_THE_LAST_GAME: Final = 10.0  # for people who look at its result, or sit in the lobby
_SECONDS_BETWEEN_LOOKS: Final = 1.0
_TABLES_AT_ONCE: Final = 4
_MOST_SECONDS: Final = 8.0  # what is left then is taken up by others when the lease is given up


@dataclass(eq=False, repr=False)
class Running:
    """A server's parts: those that wait for something run as `tasks`, and all end with `ends`."""

    config: Config
    access: AccessControl
    journal: Journal
    tasks: Tasks
    fresh: Iterator[RandomChance]
    _: KW_ONLY
    port: int
    ends: contextlib.AsyncExitStack
    stop: asyncio.Event

    def __post_init__(self) -> None:
        config, tasks = self.config, self.tasks
        self.counts = Counts()
        self.lobby = Lobby(
            config,
            self.journal,
            tasks,
            chances=self.fresh,
            counts=self.counts,
            game_over=self._on_game_over,
            stopping=self.stopping,
        )
        self.ends.callback(self.lobby.close)
        self.clients = Clients(tasks, config.limits.outgoing_bytes, self.counts)
        self.drain = Drain(self)
        self.clients.news = self.drain.news
        self.ends.callback(self.drain.close)
        self.bans = Bans(config.data)
        self.connections = ConnectionLimits(config.limits, self.bans.networks)
        self._announcing: Announcing | None = None
        self.shared: SharedTables | None = None  # with the servers that use the same journal
        self._records: Records | None = None
        if config.records is not None:
            self._records = Records(
                config.records,
                config.most_records,
                self.journal,
                tasks,
                config.timers(),
                days=config.records_days,
            )
            self.ends.callback(self._records.close)
            if self.journal.is_new and not config.shared_records:
                self._records.warn_if_any()
            self.write_missing_records()
        self._warn_daily()
        self.ends.callback(lambda: self._next_warning.cancel())  # noqa: PLW0108 - the one at that moment

    def share_tables(self) -> None:
        """Keep what is this server's, and take up what is nobody's, if others use the journal too."""
        if self.config.database is None:
            return
        from server.cluster.channel import Channel  # noqa: PLC0415 - few servers have one
        from server.storage.postgresql.database import Database  # noqa: PLC0415
        from server.storage.postgresql.journal import PostgresJournal  # noqa: PLC0415

        journal = self.journal
        assert isinstance(journal, PostgresJournal)  # noqa: S101 - that is where the database is
        channel = Channel(Database(self.config.database), lambda: journal.term)
        shared = self.shared = SharedTables(self, journal, channel)
        self.lobby.share(channel, channel.address_for_newcomers)
        self.ends.callback(self.tasks.keep(lambda: journal.keep(shared), "keeping the lease").cancel)
        self.ends.callback(self.tasks.keep(channel.run, "hearing other servers").cancel)

    def announce(self, host: str) -> None:
        """Have the server found on the network, if configured; it listens on `host`."""
        config = self.config
        if config.announce is not None:
            self._announcing = Announcing(
                config.announce, self.tasks, host=host, port=self.port, tls=config.tls_cert is not None
            )
            self._announce_unless_draining()

    async def leave(self) -> None:
        """Say goodbye, and give the tables to other servers that share the journal, if there are any."""
        if self._announcing is not None:
            self._announcing.switch(on=False)
        if self.shared is not None:
            await self.shared.leave()
        self.lobby.stop()

    def renew(self, access: AccessControl) -> None:
        """Use another certificate and password from the next connection on; nobody is disconnected.

        Raises StartError, and changes nothing, if clients could not follow.
        """
        self.access.renew(access)
        self._next_warning.cancel()
        self._warn_daily()

    def other_addresses(self) -> list[str]:
        """Return where clients reach the servers that use the same journal."""
        return [] if self.shared is None else self.shared.channel.addresses()

    def stopping(self) -> Mapping[str, object] | None:
        """Return what newcomers are told if the server takes no new tables, otherwise None."""
        if self.shared is not None and (facts := self.shared.refusal()) is not None:
            return facts
        if (left := self.drain.seconds_left()) is None:
            return None
        address = None if self.shared is None else self.shared.channel.address_for_newcomers()
        return {"seconds": left} if address is None else {"seconds": left, "address": address}

    def write_missing_records(self) -> None:
        """Write the records of games that were not written when they ended."""
        if self._records is not None:
            self.tasks.start(self._records.write_missing(), "writing records")

    def drain_changed(self) -> None:
        """Tell those who send newcomers here that the server takes no new tables, or takes them again."""
        if self.shared is not None:
            self.shared.channel.announce_drain(on=self.drain.seconds_left() is not None)
        self._announce_unless_draining()

    # -- internals ----------------------------------------------------------------------------------

    def _on_game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        self.counts.games += 1
        if self._records is not None:
            self._records.game_over(code, game.events, names, ended)

    def _warn_daily(self) -> None:
        if self.access.certificate is not None:
            self.access.certificate.warn()
        self._next_warning = self.config.timers().call_later(_SECONDS_BETWEEN_WARNINGS, self._warn_daily)

    def _announce_unless_draining(self) -> None:
        if self._announcing is not None:
            self._announcing.switch(on=self.drain.seconds_left() is None)


@dataclass(eq=False, repr=False)
class Drain:
    """The time that is left to a server, from `begin` on, as all its clients are told.

    It is stopped when the time is up, shortly after the last game, or at once if there are no clients.
    """

    server: Running

    def __post_init__(self) -> None:
        self._timers = self.server.config.timers()
        self._due: float | None = None
        self._told = 0  # seconds left when everybody was last told
        self._timer: Timer | None = None

    def seconds_left(self) -> int | None:
        """Return how many seconds are left; None if the server is to run on."""
        if self._due is None:
            return None
        # Rounded first: a sum of floats may be a little more than the seconds that were asked for.
        return max(0, math.ceil(round(self._due - self._timers.time(), 3)))

    def news(self) -> Stopping | None:
        """Return what a newcomer has to know of it."""
        left = self.seconds_left()
        return None if left is None else Stopping(left)

    def begin(self, seconds: float) -> None:
        """Stop after these seconds, or as soon as no game is running."""
        probe("a server is drained")
        self._due = self._timers.time() + seconds
        log.warning("draining", extra=about(seconds=math.ceil(seconds)))
        self.server.drain_changed()
        self._bring_forward()
        self._remind()
        self._look_again(0.0)

    def cancel(self) -> None:
        """Run on as if nothing had been said."""
        if (left := self.seconds_left()) is not None:
            self.close()
            probe("a server is no longer drained")
            log.warning("no longer draining", extra=about(seconds=left))
            self.server.drain_changed()
            self.server.clients.broadcast(Stopping())

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
            self.server.stop.set()
            probe("a drained server stops")
            return
        if left is not None and any(left <= moment < self._told for moment in REMINDERS):
            self._remind()
        self._look_again()

    def _look_again(self, seconds: float = _SECONDS_BETWEEN_LOOKS) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._timers.call_later(seconds, self._look)

    def _bring_forward(self) -> bool:
        """Make the end come sooner if nobody plays any more; return whether it does."""
        soon = self._timers.time() + (_SECONDS_AFTER_THE_LAST_GAME if self.server.clients else 0.0)
        if self._due is None or self._due <= soon or self.server.lobby.games_run():
            return False
        self._due = soon
        probe("a drained server stops sooner because nobody plays")
        return True

    def _remind(self) -> None:
        left = self._told = self.seconds_left() or 0
        self.server.clients.broadcast(Stopping(left))


@dataclass(eq=False, repr=False)
class SharedTables:
    """The `TableHolder` of a server whose journal others share; `leave` hands its tables over to them."""

    server: Running
    journal: "PostgresJournal"
    channel: "Channel"

    def __post_init__(self) -> None:
        self.lobby, self.stop = self.server.lobby, self.server.stop.set
        self.give_up = self.lobby.give_up
        self.speak_again = self.lobby.tell_states
        self._departure: Departure | None = None  # once it leaves

    def send_on(self) -> None:
        if self.channel.addresses():
            self.lobby.send_on()

    async def take_up(self, kept: Kept) -> None:
        """Go on with tables, or an evening, that are this server's now, as after a restart."""
        tables = await kept_tables(self.journal, kept.tables, self.server.fresh)
        await self.lobby.registry.restore(tables)
        if kept.evening and (taken_up := await self.lobby.evenings.take_up(kept.evening)) is not None:
            self.server.clients.broadcast(taken_up.message())
        if any(state.stage == "over" for state in tables.values()):
            self.server.write_missing_records()

    def refusal(self) -> Mapping[str, object] | None:
        """Return the facts of a refused request for a table while the server stops: where else to ask."""
        if self._departure is None or (address := self._departure.address()) is None:
            return None
        return {"seconds": 0, "address": address}

    async def leave(self) -> None:
        """Give away all tables where anybody is, and send everybody there; nobody, if no other server stays.

        Tables where nobody is are taken up when the server's lease has ended.
        """
        if self.journal.lapsed:
            return
        tried: set[Table] = set()
        try:
            async with asyncio.timeout(_MOST_SECONDS):
                self._departure = departure = await self.journal.leave()
                where = await self.lobby.evenings.hand_over(departure.give)
                async with Tasks() as tasks:
                    for _ in range(_TABLES_AT_ONCE):
                        tasks.start(self._give_tables(departure, tried, where), "handing tables over")
        except (TimeoutError, JournalError) as error:
            probe("not all tables can be handed over")
            reason = error.reason if isinstance(error, JournalError) else "too slow"
            log.warning("not all tables could be handed over", extra=about(reason=reason))
        finally:
            log.info("leaving", extra=about(handed_over=len(tried.difference(self.lobby.tables.values()))))
            if self._departure is not None:
                for session in self.server.clients:
                    session.move_from_lobby(self._departure.address())
                self._departure.close()

    async def _give_tables(self, departure: "Departure", tried: set[Table], evening: str | None) -> None:
        """Give tables away as long as anybody takes them; the evening's to the server at its address."""
        while departure.address() is not None:
            left = (each for each in self.lobby.tables.values() if each not in tried)
            table = next((each for each in left if each.unattended_since is None), None)
            if table is None:
                return
            tried.add(table)
            # Without the evening, its tables stay too: they are taken up with it when the lease has ended.
            if not table.state.of_evening:
                await table.hand_over(departure.give)
            elif evening is not None:
                await table.hand_over(partial(departure.give, to=evening))
