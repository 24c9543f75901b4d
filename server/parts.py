"""The parts that every server has, and what each of them needs of the others."""

import asyncio
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Final

from engine.game import Game, RandomChance
from server.config import Config
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.net.access import AccessControl
from server.net.announcing import Announcing
from server.net.connections.connection_limits import ConnectionLimits
from server.net.session import Clients
from server.stopping import Drain, SharedTables
from server.storage.journal import Journal
from server.storage.records import Records
from server.tables.lobby import Lobby

_SECONDS_BETWEEN_WARNINGS: Final = 86_400.0  # that the certificate ends


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
        self.clients = Clients(lambda: self.drain.news())  # noqa: PLW0108 - which needs the clients itself
        self.drain = Drain(
            config.timers(),
            clients=self.clients,
            games_run=self.lobby.games_run,
            stop=self.stop.set,
            changed=self._drain_changed,
        )
        self.ends.callback(self.drain.close)
        self.connections = ConnectionLimits(config.limits)
        self._announcing: Announcing | None = None
        self.shared: SharedTables | None = None  # with the servers that use the same journal
        self._records: Records | None = None
        if config.records is not None:
            self._records = Records(config.records, config.most_records, self.journal, tasks, config.timers())
            self.ends.callback(self._records.close)
            self._write_missing_records()
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
        shared = self.shared = SharedTables(
            self.lobby,
            self.clients,
            journal,
            channel,
            chances=self.fresh,
            stop=self.stop.set,
            write_records=self._write_missing_records,
        )
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
            self._announcing.end()
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
        """Return what is told to those who want a table from a server that takes none any more."""
        if self.shared is not None and (facts := self.shared.refusal()) is not None:
            return facts
        if (left := self.drain.seconds_left()) is None:
            return None
        address = None if self.shared is None else self.shared.channel.address_for_newcomers()
        return {"seconds": left} if address is None else {"seconds": left, "address": address}

    # -- internals ----------------------------------------------------------------------------------

    def _write_missing_records(self) -> None:
        if self._records is not None:
            self.tasks.start(self._records.write_missing(), "writing records")

    def _on_game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        self.counts.games += 1
        if self._records is not None:
            self._records.game_over(code, game.events, names, ended)

    def _warn_daily(self) -> None:
        if self.access.certificate is not None:
            self.access.certificate.warn()
        self._next_warning = self.config.timers().call_later(_SECONDS_BETWEEN_WARNINGS, self._warn_daily)

    def _drain_changed(self) -> None:
        if self.shared is not None:
            self.shared.channel.announce_drain(on=self.drain.seconds_left() is not None)
        self._announce_unless_draining()

    def _announce_unless_draining(self) -> None:
        if self._announcing is None:
            return
        if self.drain.seconds_left() is None:
            self._announcing.begin()
        else:
            self._announcing.end()
