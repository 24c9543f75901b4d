"""The server as a whole: from the opening of its journal to the end of its last task."""

import asyncio
import contextlib
import gc
import socket
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from protocol.codes import CloseCode, CloseReason
from server.config import Config
from server.errors import StartError, in_the_way
from server.monitoring.failures import Tasks
from server.net.access import Access
from server.net.addresses import reachable
from server.net.listener import listening_socket, websocket_server
from server.net.session import Clients
from server.parts import ServerParts
from server.stopping import Drain
from server.storage.journal import Journal, NoJournal
from server.storage.records import prepare_folder
from server.tables.lobby import Lobby
from server.tables.registry.table_registry import chances, kept_tables
from server.version import install_command

if TYPE_CHECKING:
    from server.admin.endpoint import Endpoint

# After how many new objects the young ones are searched for cycles: each time it takes a fraction of a
# millisecond, every eighth time some more, in which nobody plays. All objects are searched after 2,000,000
# new ones, because moves make many small ones and few cycles.
_COLLECTIONS: Final = (700, 7, 400)
_SECONDS_BEFORE_GIVING_WAY: Final = 0.0005  # a bot that thinks keeps the event loop waiting for no longer


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

    Raises StartError if the address, the certificate or the records' folder cannot be used, JournalError if
    the journal cannot.
    """
    gc.freeze()  # everything loaded so far stays; collecting it again and again would stop every table
    gc.set_threshold(*_COLLECTIONS)
    sys.setswitchinterval(_SECONDS_BEFORE_GIVING_WAY)
    access = Access.of(config)
    async with contextlib.AsyncExitStack() as parts:
        listener = parts.enter_context(listening_socket(config))
        if config.postman is not None:
            config = replace(config, address=config.address or _usual_address(config, listener))
        journal = await _journal(config, listener)
        parts.push_async_callback(journal.close)
        _prepare_records(config)
        endpoint = parts.enter_context(_admin_endpoint(config))
        fresh = config.chances or chances(config.seed)
        kept, evening = await kept_tables(journal, fresh)
        tasks = await parts.enter_async_context(Tasks())
        server = ServerParts(config, access, journal, tasks, fresh, ends=parts, stop=stop)
        await server.lobby.registry.restore(kept)
        await server.lobby.restore_evening(evening)
        server.share_tables()
        sockets = [
            await parts.enter_async_context(
                websocket_server(listener, access, config.limits, server.connections, server.converse)
            ),
            *await parts.enter_async_context(server.entered_by_gateway()),
        ]
        address, port = listener.getsockname()[:2]
        await parts.enter_async_context(server.administered(endpoint, port))
        started(Running(port, server.lobby, server.clients, server.drain, server.renew))
        server.announce_at(address, port)
        if kept:
            tasks.start(server.lobby.shorten_journal(), "shortening the journal")
        await stop.wait()
        server.announce_no_more()
        await server.leave()
        server.lobby.stop()
        for each in sockets:
            each.close(code=CloseCode.GOING_AWAY, reason=CloseReason.STOPPING)
        server.connections.stop()
        for each in sockets:
            await each.wait_closed()


@contextlib.contextmanager
def _admin_endpoint(config: Config) -> "Iterator[Endpoint | None]":
    """Listen for the host until the context ends, if the configuration says where; raises StartError."""
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
            "--database needs the package {package}: install it with {command}",
            package=error.name,
            command=install_command("cluster"),
        ) from error
    return await PostgresJournal(
        Database(url, config.durable),
        config.node or f"{socket.gethostname()}:{listener.getsockname()[1]}",
        config.address or _usual_address(config, listener),
        lease_seconds=config.lease_seconds,
        most_archived=config.limits.archived_tables,
        archive_share=config.limits.archived_per_address,
    ).open()


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
