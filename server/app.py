"""The server as a whole: listener, lobby and journal under one TaskGroup."""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from websockets.asyncio.server import Server

from engine.game import Game, RandomChance
from protocol.codes import CloseCode, CloseReason
from protocol.messages import Stopping
from server.announcing import Announcing
from server.config import Config, Pages
from server.counts import Counts
from server.drain import Drain
from server.errors import StartError, in_the_way
from server.leaving import Leaving
from server.net.access import Access
from server.net.addresses import reachable
from server.net.clients import Clients
from server.net.connections.connection_limits import ConnectionLimits
from server.net.connections.limited_connection import LimitedConnection
from server.net.conversation import Conversation
from server.net.listener import listening_socket, websocket_server
from server.net.session import Session
from server.storage.journal import Journal, NoJournal, SharedJournal
from server.storage.records import Records, prepare_folder
from server.tables.lobby import Lobby
from server.tables.registry.folding import chances, kept_tables
from server.tables.shared_tables import SharedTables
from server.timers import Timer

if TYPE_CHECKING:
    from server.admin.endpoint import Endpoint
    from server.cluster.channel import Channel
    from server.cluster.newcomers import Newcomers
    from server.web.site import Site

# Moves make many small objects and few cycles: collecting at Python's usual 700 would take a tenth more CPU.
_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000
_SECONDS_BEFORE_GIVING_WAY: Final = 0.0005  # a bot that thinks keeps the event loop waiting for no longer
_SECONDS_BETWEEN_WARNINGS: Final = 86_400.0  # that the certificate ends


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts connections."""

    port: int
    lobby: Lobby
    clients: Clients
    drain: Drain
    renew: Callable[[Access], None]  # raises StartError


@contextlib.asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
    """Serve while the context lasts; raises what `serve_until` raises."""
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


async def serve_until(stop: asyncio.Event, config: Config, started: Callable[[Running], None]) -> None:
    """Serve until `stop` is set; then tell the clients and close everything.

    Raises StartError if the address, the certificate or the records' folder cannot be used, JournalError if
    the journal cannot.
    """
    gc.freeze()  # everything loaded so far stays; collecting it again and again would stop every table
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    sys.setswitchinterval(_SECONDS_BEFORE_GIVING_WAY)
    access = Access.of(config)
    listener = listening_socket(config)
    with listener:
        journal = await _journal(config, listener)
        try:
            _prepare_records(config)
            with _admin_endpoint(config) as endpoint:
                fresh = chances(config.seed)
                kept = await kept_tables(journal, fresh)
                async with asyncio.TaskGroup() as tasks:
                    server = _Server(config, access, journal, tasks, fresh, stop=stop)
                    await server.lobby.restore(kept)
                    server.share_tables(stop.set)
                    listening = websocket_server(
                        listener, access, config.limits, server.connections, server.converse
                    )
                    address, port = listener.getsockname()[:2]
                    async with (
                        listening as sockets,
                        server.entered_by_gateway() as gateway,
                        server.administered(endpoint, port),
                    ):
                        started(server.running(port))
                        server.announce_at(address, port)
                        if kept:
                            tasks.create_task(server.lobby.shorten_journal())
                        await stop.wait()
                        server.announce_no_more()
                        await server.leave()
                        server.lobby.stop_timers()
                        for each in (sockets, *gateway):
                            each.close(code=CloseCode.GOING_AWAY, reason=CloseReason.STOPPING)
                        server.connections.stop()
                        for each in (sockets, *gateway):
                            await each.wait_closed()
                    server.close()
        finally:
            await journal.close()


class _Server:
    """The parts of a server."""

    def __init__(
        self,
        config: Config,
        access: Access,
        journal: Journal,
        tasks: asyncio.TaskGroup,
        fresh: Iterator[RandomChance],
        *,
        stop: asyncio.Event,
    ) -> None:
        self.counts = Counts()
        self.clients = Clients(self._news)
        self.drain = Drain(
            config.timers(),
            clients=self.clients,
            games_run=self._games_run,
            stop=stop.set,
            changed=self._drain_changed,
        )
        self._announcing: Announcing | None = None
        self._leaving: Leaving | None = None
        self.lobby = Lobby(
            config,
            journal,
            tasks,
            chances=fresh,
            counts=self.counts,
            on_game_over=self._on_game_over,
            stopping=self._stopping,
        )
        self.connections = ConnectionLimits(config.limits)
        self._access = access
        self._timers = config.timers()
        self._next_warning: Timer | None = None
        self._watching: asyncio.Task[None] | None = None
        self._sharing: list[asyncio.Task[None]] = []
        self._newcomers: Newcomers | None = None
        self.channel: Channel | None = None  # to the servers that use the same journal
        self._fresh = fresh
        self._records = (
            None
            if config.records is None
            else Records(config.records, config.most_records, journal, tasks, self._timers)
        )
        self._config = config
        self._journal = journal
        self._tasks = tasks
        if config.watched:
            self._begin_watching(journal)
        self._site = None if config.pages is None else self._shown_site(config.pages)
        self._write_missing_records()
        self._warn_daily()

    def _write_missing_records(self) -> None:
        if self._records is not None:
            self._tasks.create_task(self._records.write_missing())

    def share_tables(self, stop: Callable[[], None]) -> None:
        """Keep what is this server's, and take up what is nobody's, if others use the journal too."""
        journal = self._journal
        if isinstance(journal, SharedJournal) and self._config.database is not None:
            from server.cluster.channel import Channel  # noqa: PLC0415 - few servers have one
            from server.cluster.newcomers import Newcomers  # noqa: PLC0415
            from server.storage.postgresql.database import Database  # noqa: PLC0415

            holder = SharedTables(
                self.lobby, journal, self._fresh, stop=stop, write_records=self._write_missing_records
            )
            self.channel = Channel(Database(self._config.database), lambda: journal.term)
            self._newcomers = Newcomers(self.channel)
            self.lobby.share(self.channel)
            self._sharing = [
                self._tasks.create_task(journal.keep(holder)),
                self._tasks.create_task(self.channel.run()),
            ]
            self._leaving = Leaving(self.lobby, self.clients, journal)

    async def leave(self) -> None:
        """Give the tables to other servers that share the journal, if there are any."""
        if self._leaving is not None:
            await self._leaving.run()

    def running(self, port: int) -> Running:
        """Return what others may do with the server once it accepts connections."""
        return Running(port, self.lobby, self.clients, self.drain, self.renew)

    def announce_at(self, address: str, port: int) -> None:
        """Have the server found on the network, if it is to be; the address is the one it listens on."""
        config = self._config
        if config.announce is not None:
            self._announcing = Announcing(
                config.announce, self._tasks, host=address, port=port, tls=config.tls_cert is not None
            )
            self._announce_unless_draining()

    def announce_no_more(self) -> None:
        """Say goodbye; that goes on beside the rest of the end, for at most a second."""
        if self._announcing is not None:
            self._announcing.end()

    async def converse(self, connection: LimitedConnection) -> None:
        """Serve one client until its connection ends."""
        remote = self.connections.remote(connection)
        if (
            self._site is not None
            and connection.request is not None
            and "Origin" in connection.request.headers
        ):
            await self._site.serve(connection, remote)
            return
        session = Session(connection, remote, self._tasks, self._config.limits.outgoing_bytes, self.counts)
        conversation = Conversation(
            connection,
            session,
            self.lobby,
            self.clients,
            access=self._access,
            limits=self._config.limits,
            levels=tuple(self._config.brains),
            other_addresses=self._other_addresses,
        )
        await conversation.run()

    def _other_addresses(self) -> list[str]:
        return [] if self.channel is None else self.channel.addresses()

    @contextlib.asynccontextmanager
    async def entered_by_gateway(self) -> AsyncIterator[tuple[Server, ...]]:
        """Let a program connect for others while the context lasts, if the configuration asks for that."""
        if self._config.gateway is None:
            yield ()
            return
        from server.net.gateway import open_gateway  # noqa: PLC0415 - few servers have one

        async with open_gateway(self._config.limits, self.connections, self.converse) as gateway:
            self._config.gateway(gateway.url, gateway.token)
            yield (gateway.server,)

    @contextlib.asynccontextmanager
    async def administered(self, endpoint: "Endpoint | None", port: int) -> AsyncIterator[None]:
        """Do what the host asks for at `endpoint` while the context lasts, here or at another server."""
        if endpoint is None and self.channel is None:
            yield
            return
        from server.admin.listener import admin_server  # noqa: PLC0415 - a game against bots starts without it
        from server.admin.service import AdminService  # noqa: PLC0415

        service = AdminService(
            self._config,
            port,
            journal=self._journal,
            lobby=self.lobby,
            clients=self.clients,
            connections=self.connections,
            drain=self.drain,
        )
        do = service.do
        async with contextlib.AsyncExitStack() as stack:
            if self.channel is not None and isinstance(self._journal, SharedJournal):
                from server.admin.cluster_service import ClusterService  # noqa: PLC0415 - few servers have one

                here = None if endpoint is None else service
                cluster = ClusterService(here, self.channel, self._journal, self.lobby, self._tasks)
                stack.callback(cluster.close)
                do = cluster.do
            if endpoint is not None:
                await stack.enter_async_context(admin_server(endpoint, self._tasks, do))
            yield

    def close(self) -> None:
        """End everything that would run on; accepted moves are in the journal."""
        self.lobby.close()
        self.drain.close()
        if self._site is not None:
            self._site.close()
        if self._records is not None:
            self._records.close()
        if self._next_warning is not None:
            self._next_warning.cancel()
        for task in (self._watching, *self._sharing):
            if task is not None:
                task.cancel()

    def renew(self, access: Access) -> None:
        """Use another certificate and password from the next connection on; nobody is disconnected."""
        self._access.renew(access)
        self._warn_daily()

    def _warn_daily(self) -> None:
        if self._next_warning is not None:
            self._next_warning.cancel()
        self._access.warn()
        self._next_warning = self._timers.call_later(_SECONDS_BETWEEN_WARNINGS, self._warn_daily)

    def _begin_watching(self, journal: Journal) -> None:
        from server.metrics import Gauges  # noqa: PLC0415 - Prometheus' library takes long to load

        gauges = Gauges(
            self.counts,
            journal,
            self.connections,
            self.lobby,
            access=self._access,
            drain=self.drain,
            takes_tables=lambda: self._stopping() is None,
            data=self._config.journal_folder,
        )
        self.connections.pages = {
            "/healthz": gauges.health,
            "/livez": gauges.alive,
            "/readyz": gauges.ready,
            "/metrics": gauges.metrics,
        }
        self._watching = self._tasks.create_task(gauges.watch_the_loop())

    def _shown_site(self, pages: Pages) -> "Site":
        from server.web.site import Site  # noqa: PLC0415 - a game against bots starts without it

        site = Site(
            pages,
            self.lobby,
            self.clients,
            access=self._access,
            limits=self._config.limits,
            tasks=self._tasks,
            counts=self.counts,
        )
        self.connections.site = site
        return site

    def _news(self) -> Stopping | None:
        """Return what a newcomer has to know; a method, because the drain needs the clients itself."""
        return self.drain.news()

    def _drain_changed(self) -> None:
        if self._newcomers is not None:
            self._newcomers.draining(on=self.drain.seconds_left() is not None)
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
        address = None if self._newcomers is None else self._newcomers.address()
        return {"seconds": left} if address is None else {"seconds": left, "address": address}

    def _games_run(self) -> bool:
        return self.lobby.games_run()

    def _on_game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        self.counts.games += 1
        if self._records is not None:
            self._records.game_over(code, game.events, names, ended)


@contextlib.contextmanager
def _admin_endpoint(config: Config) -> "Iterator[Endpoint | None]":
    """Listen for the host while the context lasts, if the configuration says where; raises StartError."""
    if config.admin is None:
        yield None
        return
    from server.admin.endpoint import listening  # noqa: PLC0415 - a game against bots starts without it

    with listening(config.admin) as endpoint:
        yield endpoint


async def _journal(config: Config, listener: socket.socket) -> Journal:
    if config.database is not None:
        return await _journal_in_database(config, config.database, listener)
    if config.data is None:
        return NoJournal()
    from server.storage.sqlite.journal import (  # noqa: PLC0415 - a server without a journal starts without SQLite
        SqliteJournal,
    )

    return SqliteJournal(
        config.data, config.durable, config.limits.archived_tables, config.limits.archived_per_address
    )


async def _journal_in_database(config: Config, url: str, listener: socket.socket) -> Journal:
    try:
        from server.storage.postgresql.database import Database  # noqa: PLC0415 - few servers have one
        from server.storage.postgresql.journal import PostgresJournal  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise StartError(
            "--database needs the package {package}: pip install 'palatinus[cluster]'", package=error.name
        ) from error
    return await PostgresJournal.opened(
        Database(url, config.durable),
        config.node or f"{socket.gethostname()}:{listener.getsockname()[1]}",
        config.address or _usual_address(config, listener),
        lease_seconds=config.lease_seconds,
        most_archived=config.limits.archived_tables,
        archive_share=config.limits.archived_per_address,
    )


def _usual_address(config: Config, listener: socket.socket) -> str:
    """Return the address that a server tells its host first."""
    host = reachable(config.host)[0]
    scheme = "ws" if config.tls_cert is None else "wss"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def _prepare_records(config: Config) -> None:
    if config.records is None:
        return
    try:
        prepare_folder(config.records)
    except (FileExistsError, NotADirectoryError) as error:
        raise StartError(
            "{file} is not a folder. Choose another --records", file=in_the_way(config.records)
        ) from error
    except OSError as error:
        raise StartError(
            "cannot write records into {folder}: {reason}. Choose another --records",
            folder=config.records,
            reason=error.strerror,
        ) from error
