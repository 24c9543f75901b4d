"""The parts of a server, put together: what each of them needs of the others, and what they do at the end."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from websockets.asyncio.server import Server

from engine.game import Game, RandomChance
from server.config import Config, Pages
from server.conversation import Conversation
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.net.access import Access
from server.net.announcing import Announcing
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import LimitedConnection
from server.net.listener import open_gateway
from server.net.session import Clients, Session
from server.stopping import Drain, Leaving, SharedTables
from server.storage.journal import Journal
from server.storage.records import Records
from server.tables.lobby import Lobby

if TYPE_CHECKING:
    from server.admin.endpoint import Endpoint
    from server.cluster.channel import Channel
    from server.web.site import Site

_SECONDS_BETWEEN_WARNINGS: Final = 86_400.0  # that the certificate ends


@dataclass(eq=False, repr=False)
class ServerParts:
    """The parts of one server: those that wait for something run as `tasks`, and all end with `ends`."""

    config: Config
    access: Access
    journal: Journal
    tasks: Tasks
    fresh: Iterator[RandomChance]
    _: KW_ONLY
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
            stopping=self._stopping,
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
        self._announcing: Announcing | None = None
        self._leaving: Leaving | None = None
        self.connections = ConnectionLimits(config.limits)
        self.channel: Channel | None = None  # to the servers that use the same journal
        self._records: Records | None = None
        if config.records is not None:
            self._records = Records(config.records, config.most_records, self.journal, tasks, config.timers())
            self.ends.callback(self._records.close)
        if config.watched:
            self._begin_watching()
        self._site = None if config.pages is None else self._shown_site(config.pages)
        self._write_missing_records()
        self._warn_daily()
        self.ends.callback(self._warn_no_more)

    def _write_missing_records(self) -> None:
        if self._records is not None:
            self.tasks.start(self._records.write_missing(), "writing records")

    def share_tables(self) -> None:
        """Keep what is this server's, and take up what is nobody's, if others use the journal too."""
        if self.config.database is not None:
            from server.cluster.channel import Channel  # noqa: PLC0415 - few servers have one
            from server.storage.postgresql.database import Database  # noqa: PLC0415
            from server.storage.postgresql.journal import PostgresJournal  # noqa: PLC0415

            journal = self.journal
            assert isinstance(journal, PostgresJournal)  # noqa: S101 - that is where the database is
            holder = SharedTables(
                self.lobby,
                journal,
                self.fresh,
                stop=self.stop.set,
                write_records=self._write_missing_records,
                other_addresses=self._other_addresses,
            )
            self.channel = Channel(Database(self.config.database), lambda: journal.term)
            self.lobby.share(self.channel, self.channel.address_for_newcomers)
            self.ends.callback(self.tasks.keep(lambda: journal.keep(holder), "keeping the lease").cancel)
            self.ends.callback(self.tasks.keep(self.channel.run, "hearing other servers").cancel)
            self._leaving = Leaving(self.lobby, self.clients, journal)

    async def leave(self) -> None:
        """Give the tables to other servers that share the journal, if there are any."""
        if self._leaving is not None:
            await self._leaving.run()

    def announce_at(self, address: str, port: int) -> None:
        """Announce the server on the network if configured; the address is the one it listens on."""
        config = self.config
        if config.announce is not None:
            self._announcing = Announcing(
                config.announce, self.tasks, host=address, port=port, tls=config.tls_cert is not None
            )
            self._announce_unless_draining()

    def announce_no_more(self) -> None:
        """Say goodbye; that goes on beside the rest of the end, for at most a second."""
        if self._announcing is not None:
            self._announcing.end()

    def converse(self, connection: LimitedConnection) -> Awaitable[None]:
        """Serve one client until its connection ends."""
        remote = self.connections.remote(connection)
        assert connection.request is not None  # noqa: S101 - which has been answered
        if self._site is not None and "Origin" in connection.request.headers:
            return self._site.serve(connection, remote, self._converse)
        most = self.config.limits.outgoing_bytes
        return self._converse(Session(connection, remote, self.tasks, most, self.counts))

    def _converse(self, session: Session) -> Awaitable[None]:
        connection = session.connection
        assert connection.request is not None  # noqa: S101 - which has been answered
        connection.request.headers.clear()  # 2 KiB that nobody reads any more
        connection.response = None
        conversation = Conversation(
            connection,
            session,
            self.lobby,
            self.clients,
            access=self.access,
            limits=self.config.limits,
            levels=tuple(self.config.brains),
            other_addresses=self._other_addresses,
        )
        return conversation.run()

    def _other_addresses(self) -> list[str]:
        return [] if self.channel is None else self.channel.addresses()

    @contextlib.asynccontextmanager
    async def entered_by_gateway(self) -> AsyncIterator[tuple[Server, ...]]:
        """Accept a program that connects for others until the context ends, if so configured."""
        if self.config.gateway is None:
            yield ()
            return
        async with open_gateway(self.config.limits, self.connections, self.converse) as gateway:
            self.config.gateway(gateway.url, gateway.token)
            yield (gateway.server,)

    @contextlib.asynccontextmanager
    async def administered(self, endpoint: "Endpoint | None", port: int) -> AsyncIterator[None]:
        """Do what the host asks for at `endpoint` until the context ends, here or at another server."""
        if endpoint is None and self.channel is None:
            yield
            return
        from server.admin.listener import admin_server  # noqa: PLC0415 - a game against bots starts without it
        from server.admin.service import AdminService  # noqa: PLC0415

        service = AdminService(
            self.config,
            port,
            journal=self.journal,
            lobby=self.lobby,
            clients=self.clients,
            connections=self.connections,
            drain=self.drain,
        )
        do = service.do
        async with contextlib.AsyncExitStack() as stack:
            if self.channel is not None and self._leaving is not None:
                from server.admin.cluster_service import ClusterService  # noqa: PLC0415 - few servers have one

                here = None if endpoint is None else service
                cluster = ClusterService(here, self.channel, self._leaving.journal, self.lobby, self.tasks)
                stack.callback(cluster.close)
                do = cluster.do
            if endpoint is not None:
                await stack.enter_async_context(admin_server(endpoint, self.tasks, do))
            yield

    def renew(self, access: Access) -> None:
        """Use another certificate and password from the next connection on; nobody is disconnected."""
        self.access.renew(access)
        self._warn_no_more()
        self._warn_daily()

    def _warn_daily(self) -> None:
        self.access.warn()
        self._next_warning = self.config.timers().call_later(_SECONDS_BETWEEN_WARNINGS, self._warn_daily)

    def _warn_no_more(self) -> None:
        self._next_warning.cancel()

    def _begin_watching(self) -> None:
        from server.admin.metrics import Gauges  # noqa: PLC0415 - Prometheus' library takes long to load

        gauges = Gauges(
            self.counts,
            self.journal,
            self.connections,
            self.lobby,
            access=self.access,
            drain=self.drain,
            takes_tables=lambda: self._stopping() is None,
            data=self.config.journal_folder,
        )
        self.connections.pages = {
            "/healthz": gauges.health,
            "/livez": gauges.alive,
            "/readyz": gauges.ready,
            "/metrics": gauges.metrics,
        }
        self.ends.callback(self.tasks.start(gauges.watch_the_loop(), "watching the event loop").cancel)

    def _shown_site(self, pages: Pages) -> "Site":
        from server.web.site import Site  # noqa: PLC0415 - a game against bots starts without it

        site = Site(
            pages,
            self.lobby,
            self.clients,
            access=self.access,
            limits=self.config.limits,
            tasks=self.tasks,
            counts=self.counts,
            levels=tuple(self.config.brains),
            names={urlsplit(self.config.address).hostname or "", socket.gethostname().lower()},
        )
        self.connections.site = site
        self.ends.callback(site.close)
        return site

    def _drain_changed(self) -> None:
        if self.channel is not None:
            self.channel.announce_drain(on=self.drain.seconds_left() is not None)
        self._announce_unless_draining()

    def _announce_unless_draining(self) -> None:
        if self._announcing is None:
            return
        if self.drain.seconds_left() is None:
            self._announcing.begin()
        else:
            self._announcing.end()

    def _stopping(self) -> Mapping[str, object] | None:
        """Return what is told to those who want a table from a server that takes none any more."""
        if self._leaving is not None and (facts := self._leaving.refusal()) is not None:
            return facts
        if (left := self.drain.seconds_left()) is None:
            return None
        address = None if self.channel is None else self.channel.address_for_newcomers()
        return {"seconds": left} if address is None else {"seconds": left, "address": address}

    def _on_game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        self.counts.games += 1
        if self._records is not None:
            self._records.game_over(code, game.events, names, ended)
