"""The server as a whole: listener, lobby and journal under one TaskGroup."""

import asyncio
import contextlib
import gc
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from websockets.asyncio.server import Server, ServerConnection, serve

from engine.game import Game, RandomChance
from protocol.codes import CloseCode
from protocol.limits import CLIENT_FRAME_BYTES
from server.config import Config
from server.counts import Counts
from server.errors import StartError
from server.net.connection_limits import Door
from server.net.conversation import Conversation
from server.net.session import Session
from server.storage.journal import Journal, NoJournal
from server.storage.records import prepare_folder, write_record
from server.tables.lobby import Lobby, chances, kept_tables

_BACKLOG: Final = 1024
# Moves make many small objects and few cycles: to look for those at Python's usual 700 costs a tenth more.
_OBJECTS_BETWEEN_COLLECTIONS: Final = 20_000
# What the system holds for each connection beside what we do: little, or a thousand of them cost gigabytes.
_RECEIVE_BUFFER: Final = 2 * CLIENT_FRAME_BYTES  # also bounds what is parsed at once
_SEND_BUFFER: Final = 64 * 1024
_NO_WRITE_LIMIT: Final = 2**30  # bytes; who lets Limits.outgoing_bytes pile up is dropped long before

wire_log: Final = logging.getLogger("palatinus.wire")
# Below that it would tell whole frames: hidden pieces, tokens.
wire_log.setLevel(max(wire_log.level, logging.INFO))


@dataclass(frozen=True, slots=True)
class Running:
    """A server that accepts connections."""

    port: int
    lobby: Lobby


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
    gc.freeze()  # what is loaded by now stays; looking through it again and again would stop every table
    gc.set_threshold(_OBJECTS_BETWEEN_COLLECTIONS)
    tls = _tls(config)
    _prepare_records(config)
    listener = _listener(config)
    with listener:
        journal: Journal = _journal(config)
        try:
            fresh = chances(config.seed)
            kept = kept_tables(journal, fresh)
            async with asyncio.TaskGroup() as tasks:
                house = _House(config, journal, tasks, fresh)
                house.lobby.restore(kept)
                async with house.open(listener, tls) as server:
                    started(Running(listener.getsockname()[1], house.lobby))
                    await stop.wait()
                    house.lobby.rest()
                    server.close(code=CloseCode.GOING_AWAY, reason="the server is stopping")
                    house.door.close()
                    await server.wait_closed()
                house.stop()
        finally:
            await journal.close()


class _House:
    """The lobby, and the door to it."""

    def __init__(
        self, config: Config, journal: Journal, tasks: asyncio.TaskGroup, fresh: Iterator[RandomChance]
    ) -> None:
        self.counts = Counts()
        self.lobby = Lobby(
            config, journal, tasks, chances=fresh, counts=self.counts, when_over=self._when_over
        )
        self._watching: asyncio.Task[None] | None = None
        self.door = Door(config.limits)
        self._config = config
        self._tasks = tasks
        if config.watched:
            self._begin_watching(journal)

    def open(self, listener: socket.socket, tls: ssl.SSLContext | None) -> Server:
        limits = self._config.limits
        return serve(
            self._converse,
            sock=listener,
            ssl=tls,
            # Until TLS is agreed on, the door does not know of a connection and cannot count it.
            ssl_handshake_timeout=None if tls is None else limits.hello_seconds,
            backlog=_BACKLOG,
            # No browser has business here: a page from anywhere could play with its visitor's seat.
            origins=[None],
            compression=None,  # moves are tiny, and a compressed bomb cannot be measured before it bursts
            process_request=self.door.admitted,
            create_connection=cast("type[ServerConnection]", self.door.caller),
            server_header=None,
            open_timeout=limits.hello_seconds,
            ping_interval=limits.ping_seconds,
            ping_timeout=limits.ping_seconds,
            close_timeout=limits.close_seconds,
            max_size=CLIENT_FRAME_BYTES,
            # Never wait for a slow reader: pings and goodbyes would wait too, and it would stay for ever.
            write_limit=_NO_WRITE_LIMIT,
            logger=wire_log,
        )

    async def _converse(self, connection: ServerConnection) -> None:
        session = Session(connection, self._tasks, self._config.limits.outgoing_bytes, self.counts)
        await Conversation(connection, session, self.lobby, self._config).run()

    def _begin_watching(self, journal: Journal) -> None:
        from server.metrics import Gauges  # noqa: PLC0415 - Prometheus' library takes long to load

        gauges = Gauges(self.counts, journal, self.door, self.lobby)
        self.door.pages = {"/healthz": gauges.health, "/metrics": gauges.metrics}
        self._watching = self._tasks.create_task(gauges.watch_the_loop())

    def stop(self) -> None:
        """End what would go on for ever; what was accepted is in the journal."""
        self.lobby.stop()
        if self._watching is not None:
            self._watching.cancel()

    def _when_over(self, code: str, game: Game, names: Sequence[str]) -> None:
        self.counts.games += 1
        if self._config.records is not None:
            self._tasks.create_task(write_record(self._config.records, code, game, names))


def _journal(config: Config) -> Journal:
    if config.data is None:
        return NoJournal()
    from server.storage.sqlite_journal import SqliteJournal  # noqa: PLC0415 - a game against bots starts without SQLite

    return SqliteJournal(config.data, config.durable, config.limits.archived_tables)


def _tls(config: Config) -> ssl.SSLContext | None:
    if config.tls_cert is None:
        if config.tls_key is not None:
            raise StartError("a --tls-key needs its --tls-cert")
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    try:
        context.load_cert_chain(config.tls_cert, config.tls_key)
    except (OSError, ssl.SSLError) as error:
        raise StartError(
            "cannot use the certificate {file}: {reason}", file=config.tls_cert, reason=error
        ) from error
    return context


def _prepare_records(config: Config) -> None:
    if config.records is None:
        return
    try:
        prepare_folder(config.records)
    except OSError as error:
        raise StartError(
            "cannot write records into {folder}: {reason}. Choose another --records",
            folder=config.records,
            reason=error.strerror,
        ) from error


def _listener(config: Config) -> socket.socket:
    try:
        found = socket.getaddrinfo(config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = address[0] == "::" and socket.has_dualstack_ipv6()  # all addresses are those of IPv4 too
        listener = socket.create_server(address[:2], family=family, backlog=_BACKLOG, dualstack_ipv6=both)
    except (OSError, UnicodeError) as error:  # UnicodeError: a host name that cannot be one
        said: str = getattr(error, "strerror", None) or str(error)
        reason = said.partition(" (while attempting")[0]  # the address, as Python writes it, is told here
        raise StartError(
            "cannot listen on {host} port {port}: {reason}. Choose another --host or --port",
            host=config.host,
            port=config.port,
            reason=reason,
        ) from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)  # connections inherit these
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, _SEND_BUFFER)
    return listener
