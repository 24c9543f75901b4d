"""The server as a whole: its parts, what each of them needs of the others, and how they start and end."""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from engine.game import Game, RandomChance
from protocol.codes import CloseCode, CloseReason
from server.config import Config, Pages
from server.conversation import Conversation
from server.errors import StartError, in_the_way
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.net.access import AccessControl
from server.net.addresses import websocket_urls
from server.net.announcing import Announcing
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import LimitedConnection
from server.net.listener import listening_socket, open_gateway, websocket_server
from server.net.session import Clients, Session
from server.stopping import Drain, SharedTables
from server.storage.journal import Journal, NoJournal
from server.storage.records import Records, prepare_folder
from server.tables.lobby import Lobby
from server.tables.registry.table_registry import chances, kept_tables
from server.version import install_command

if TYPE_CHECKING:
    from server.admin.endpoint import Endpoint
    from server.cluster.channel import Channel
    from server.web.site import Site

# After how many new objects the young ones are searched for cycles: each time it takes a fraction of a
# millisecond, every eighth time some more, in which nobody plays. All objects are searched after 2,000,000
# new ones, because moves make many small ones and few cycles.
_COLLECTIONS: Final = (700, 7, 400)
_SECONDS_BEFORE_GIVING_WAY: Final = 0.0005  # a bot that thinks keeps the event loop waiting for no longer
_SECONDS_BETWEEN_WARNINGS: Final = 86_400.0  # that the certificate ends


@contextlib.asynccontextmanager
async def running(config: Config) -> "AsyncIterator[Running]":
    """Serve until the context ends; raises what `serve_until` raises."""
    started: asyncio.Future[Running] = asyncio.get_running_loop().create_future()
    stop = asyncio.Event()
    serving = asyncio.create_task(serve_until(stop, config, started.set_result))
    try:
        waiting: set[asyncio.Future[Any]] = {started, serving}
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        if started.done():
            yield started.result()
    finally:
        stop.set()
        await serving


async def serve_until(stop: asyncio.Event, config: Config, started: "Callable[[Running], None]") -> None:
    """Serve until `stop` is set; then tell the clients and close everything.

    `started` is called when connections are accepted. Raises StartError if the address, the certificate or
    the records' folder cannot be used, JournalError if the journal cannot.
    """
    gc.freeze()  # everything loaded so far stays; collecting it again and again would stop every table
    gc.set_threshold(*_COLLECTIONS)
    sys.setswitchinterval(_SECONDS_BEFORE_GIVING_WAY)
    access = AccessControl.of(config)
    async with contextlib.AsyncExitStack() as ends:
        listener = ends.enter_context(listening_socket(config))
        port = listener.getsockname()[1]
        if config.postman is not None or config.database is not None:
            config = replace(config, address=config.address or websocket_urls(config, port)[0])
        journal = await _journal(config, port)
        ends.push_async_callback(journal.close)
        if config.records is not None:
            _prepare_records(config.records)
        endpoint = None
        if config.admin is not None:
            from server.admin.endpoint import listen_at  # noqa: PLC0415 - a game against bots starts without it

            endpoint = ends.enter_context(listen_at(config.admin))
        fresh = config.chances or chances(config.seed)
        kept, evening = await kept_tables(journal, fresh)
        tasks = await ends.enter_async_context(Tasks())
        server = Running(config, access, journal, tasks, fresh, port=port, ends=ends, stop=stop)
        await server.lobby.registry.restore(kept)
        await server.lobby.restore_evening(evening)
        server.share_tables()
        serving = websocket_server(listener, access, config.limits, server.connections, server.converse)
        sockets = [await ends.enter_async_context(serving)]
        if config.gateway is not None:
            opening = open_gateway(config.gateway, config.limits, server.connections, server.converse)
            sockets.append(await ends.enter_async_context(opening))
        await server.be_administered(endpoint)
        started(server)
        server.announce(listener.getsockname()[0])
        if kept:
            tasks.start(server.lobby.shorten_journal(), "shortening the journal")
        await stop.wait()
        await server.leave()
        for each in sockets:
            each.close(code=CloseCode.GOING_AWAY, reason=CloseReason.STOPPING)
        server.connections.stop()
        for each in sockets:
            await each.wait_closed()


async def _journal(config: Config, port: int) -> Journal:
    if config.database is not None:
        try:
            from server.storage.postgresql.database import Database  # noqa: PLC0415 - few servers have one
            from server.storage.postgresql.journal import PostgresJournal  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise StartError(
                "--database needs the package {package}: install it with {command}",
                package=error.name,
                command=install_command("cluster"),
            ) from error
        return await PostgresJournal(
            Database(config.database, config.durable),
            config.node or f"{socket.gethostname()}:{port}",
            config.address,
            lease_seconds=config.lease_seconds,
            most_archived=config.limits.archived_tables,
            archive_share=config.limits.archived_per_address,
        ).open()
    if config.data is None:
        return NoJournal()
    from server.storage.sqlite.journal import (  # noqa: PLC0415 - a server without a journal starts without SQLite
        SqliteJournal,
    )

    limits = config.limits
    return SqliteJournal(config.data, config.durable, limits.archived_tables, limits.archived_per_address)


def _prepare_records(folder: Path) -> None:
    try:
        prepare_folder(folder)
    except (FileExistsError, NotADirectoryError) as error:
        raise StartError(
            "{file} is not a folder. Choose another --records", file=in_the_way(folder)
        ) from error
    except OSError as error:
        raise StartError(
            "cannot write records into {folder}: {reason}. Choose another --records",
            folder=folder,
            reason=error.strerror,
        ) from error


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
        self.connections = ConnectionLimits(config.limits)
        self._announcing: Announcing | None = None
        self._channel: Channel | None = None  # to the servers that use the same journal
        self._shared: SharedTables | None = None
        self._records: Records | None = None
        if config.records is not None:
            self._records = Records(config.records, config.most_records, self.journal, tasks, config.timers())
            self.ends.callback(self._records.close)
            self._write_missing_records()
        if config.watched:
            self._watch()
        self._site = None if config.pages is None else self._show(config.pages)
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
        shared = self._shared = SharedTables(
            self.lobby,
            self.clients,
            journal,
            self.fresh,
            stop=self.stop.set,
            write_records=self._write_missing_records,
            other_addresses=self._other_addresses,
        )
        channel = self._channel = Channel(Database(self.config.database), lambda: journal.term)
        self.lobby.share(channel, channel.address_for_newcomers)
        self.ends.callback(self.tasks.keep(lambda: journal.keep(shared), "keeping the lease").cancel)
        self.ends.callback(self.tasks.keep(channel.run, "hearing other servers").cancel)

    async def be_administered(self, endpoint: "Endpoint | None") -> None:
        """Do what the host asks for at `endpoint`, here or at another server."""
        if endpoint is None and self._shared is None:
            return
        from server.admin.listener import admin_server  # noqa: PLC0415 - a game against bots starts without it
        from server.admin.service import AdminService  # noqa: PLC0415

        service = AdminService(
            self.config,
            self.port,
            journal=self.journal,
            lobby=self.lobby,
            clients=self.clients,
            connections=self.connections,
            drain=self.drain,
        )
        do = service.do
        if self._channel is not None and self._shared is not None:
            from server.admin.cluster_service import ClusterService  # noqa: PLC0415 - few servers have one

            here = None if endpoint is None else service
            cluster = ClusterService(here, self._channel, self._shared.journal, self.lobby, self.tasks)
            self.ends.callback(cluster.close)
            do = cluster.do
        if endpoint is not None:
            await self.ends.enter_async_context(admin_server(endpoint, self.tasks, do))

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
        if self._shared is not None:
            await self._shared.leave()
        self.lobby.stop()

    def converse(self, connection: LimitedConnection) -> Awaitable[None]:
        """Serve one client until its connection ends."""
        assert connection.request is not None  # noqa: S101 - which has been answered
        if self._site is not None and "Origin" in connection.request.headers:
            return self._site.serve(connection, self._converse)
        most = self.config.limits.outgoing_bytes
        return self._converse(Session(connection, self.tasks, most, self.counts))

    def renew(self, access: AccessControl) -> None:
        """Use another certificate and password from the next connection on; nobody is disconnected.

        Raises StartError, and changes nothing, if clients could not follow.
        """
        self.access.renew(access)
        self._next_warning.cancel()
        self._warn_daily()

    # -- internals ----------------------------------------------------------------------------------

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
        return [] if self._channel is None else self._channel.addresses()

    def _write_missing_records(self) -> None:
        if self._records is not None:
            self.tasks.start(self._records.write_missing(), "writing records")

    def _on_game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        self.counts.games += 1
        if self._records is not None:
            self._records.game_over(code, game.events, names, ended)

    def _watch(self) -> None:
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

    def _show(self, pages: Pages) -> "Site":
        from server.web.site import Site  # noqa: PLC0415 - a game against bots starts without it

        site = self.connections.site = Site(
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
        self.ends.callback(site.close)
        return site

    def _warn_daily(self) -> None:
        if self.access.certificate is not None:
            self.access.certificate.warn()
        self._next_warning = self.config.timers().call_later(_SECONDS_BETWEEN_WARNINGS, self._warn_daily)

    def _drain_changed(self) -> None:
        if self._channel is not None:
            self._channel.announce_drain(on=self.drain.seconds_left() is not None)
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
        if self._shared is not None and (facts := self._shared.refusal()) is not None:
            return facts
        if (left := self.drain.seconds_left()) is None:
            return None
        address = None if self._channel is None else self._channel.address_for_newcomers()
        return {"seconds": left} if address is None else {"seconds": left, "address": address}
