"""The server as a whole: how its parts start and end, and what only some servers have."""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

from protocol.codes import CloseCode, CloseReason
from server.config import Config, Website
from server.conversation import Conversation
from server.errors import StartError, in_the_way
from server.monitoring.failures import Tasks
from server.net.access import AccessControl
from server.net.addresses import websocket_urls
from server.net.connections.limited_connection import LimitedConnection
from server.net.connections.plain_http import WatchedSite
from server.net.listener import listening_socket, open_gateway, websocket_server
from server.net.session import Session
from server.parts import Running
from server.storage.journal import Journal, NoJournal
from server.storage.records import prepare_folder
from server.tables.registry.table_registry import chances, kept_tables
from server.version import install_command

if TYPE_CHECKING:
    from server.admin.endpoint import Endpoint

__all__ = ["Running", "running", "serve_until"]

# After how many new objects the young ones are searched for cycles: each time it takes some 0.3 ms in which
# nobody plays, and every other time twice that, because those that came through the last search are searched
# again. All objects are searched after 2,000,000 new ones: moves make many small ones and few cycles.
_COLLECTIONS: Final = (700, 0, 1500)
_SECONDS_BEFORE_GIVING_WAY: Final = 0.0005  # a bot that thinks keeps the event loop waiting for no longer


class OpenWebsite(WatchedSite, Protocol):
    """What browsers are shown of a running server."""

    def serve(
        self, connection: LimitedConnection, converse: Callable[[Session], Awaitable[None]]
    ) -> Awaitable[None]:
        """Serve a browser until its connection ends."""

    def close(self) -> None:
        """Show nothing any more."""


@contextlib.asynccontextmanager
async def running(config: Config) -> AsyncIterator[Running]:
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


async def serve_until(stop: asyncio.Event, config: Config, started: Callable[[Running], None]) -> None:
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
        stored = await journal.kept()
        kept = await kept_tables(journal, stored.tables, fresh)
        tasks = await ends.enter_async_context(Tasks())
        server = Running(config, access, journal, tasks, fresh, port=port, ends=ends, stop=stop)
        await server.lobby.registry.restore(kept)
        await server.lobby.evenings.restore(stored.evening)
        server.share_tables()
        if config.watched:
            _watch(server)
        site = None if config.pages is None else _open_website(server, config.pages)
        converse = partial(_converse, server, site)
        serving = websocket_server(listener, access, server.connections, converse)
        sockets = [await ends.enter_async_context(serving)]
        if config.gateway is not None:
            opening = open_gateway(config.gateway, server.connections, converse)
            sockets.append(await ends.enter_async_context(opening))
        await _administer(server, endpoint)
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


def _watch(server: Running) -> None:
    """Answer questions for the server's health and metrics."""
    from server.admin.metrics import Gauges  # noqa: PLC0415 - Prometheus' library takes long to load

    gauges = Gauges(server)
    server.connections.pages = gauges.pages
    server.ends.callback(server.tasks.start(gauges.watch_the_loop(), "watching the event loop").cancel)


def _open_website(server: Running, website: Website) -> OpenWebsite:
    """Show pages to browsers."""
    site: OpenWebsite = website.open(server)
    server.connections.site = site
    server.ends.callback(site.close)
    return site


async def _administer(server: Running, endpoint: "Endpoint | None") -> None:
    """Do what the host asks for at `endpoint`, here or at another server."""
    if endpoint is None and server.shared is None:
        return
    from server.admin.listener import admin_server  # noqa: PLC0415 - a game against bots starts without it
    from server.admin.service import AdminService  # noqa: PLC0415

    service = AdminService(server)
    do = service.do
    if server.shared is not None:
        from server.admin.cluster_service import ClusterService  # noqa: PLC0415 - few servers have one

        cluster = ClusterService(None if endpoint is None else service, server.shared)
        server.ends.callback(cluster.close)
        do = cluster.do
    if endpoint is not None:
        await server.ends.enter_async_context(admin_server(endpoint, server.tasks, do))


def _converse(server: Running, site: OpenWebsite | None, connection: LimitedConnection) -> Awaitable[None]:
    """Serve one client until its connection ends."""

    def converse(session: Session) -> Awaitable[None]:
        return Conversation(server, session).run()

    assert connection.request is not None  # noqa: S101 - which has been answered
    if site is not None and "Origin" in connection.request.headers:
        return site.serve(connection, converse)
    return converse(Session(connection, server.clients))
