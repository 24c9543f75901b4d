"""A server as a process: run until a signal tells it to stop."""

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from types import FrameType
from typing import Final, TypeVar

from server.app import Running, serve_until
from server.config import Config
from server.errors import HostError
from server.monitoring.failures import Tasks
from server.monitoring.logs import about, set_verbose
from server.monitoring.systemd import ServiceManager
from server.monitoring.tracing import traced_as_asked
from server.net.access import AccessControl
from server.net.addresses import websocket_urls
from server.net.event_loop import make_room_for, new_loop

log = logging.getLogger(__name__)

T = TypeVar("T")

_STANDARD_STREAMS: Final = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class Renewal:
    """The configuration as it is now, and the names of options that changed but wait for a restart."""

    config: Config
    verbose: bool
    waiting: tuple[str, ...]


def serve(config: Config, started: Callable[[list[str]], None], read_again: Callable[[], Renewal]) -> None:
    """Serve until Ctrl-C or SIGTERM; `started` is called with the addresses at which others reach the server.

    SIGHUP reads the configuration again, in a thread; `read_again` raises HostError if it cannot be used.
    Raises HostError if the server cannot start.
    """
    make_room_for(config.limits.connections)
    with (
        traced_as_asked(config.node or socket.gethostname()),
        asyncio.Runner(loop_factory=new_loop) as runner,
    ):
        runner.run(_serve(config, started, read_again))


async def _serve(
    config: Config, started: Callable[[list[str]], None], read_again: Callable[[], Renewal]
) -> None:
    stop, renew = asyncio.Event(), asyncio.Event()
    manager = ServiceManager()

    async def tell_stop() -> None:
        await stop.wait()
        manager.stopping()

    def running(server: Running) -> None:
        tasks.keep(lambda: _renew_on(renew, server, read_again, manager), "renewing the configuration")
        tasks.start(tell_stop(), "telling the service manager")
        started(websocket_urls(config, server.port))
        manager.ready(f"listening on port {server.port}")

    with _signals(stop, renew):
        async with Tasks() as tasks:
            await serve_until(stop, config, running)
            tasks.cancel()


async def _renew_on(
    renew: asyncio.Event, server: Running, read_again: Callable[[], Renewal], manager: ServiceManager
) -> None:
    """Renew the server each time `renew` is set; what cannot be used is logged, and changes nothing."""

    def read() -> tuple[Renewal, AccessControl]:
        renewal = read_again()
        return renewal, AccessControl.of(renewal.config)

    listening = f"listening on port {server.port}"
    while True:
        await renew.wait()
        renew.clear()
        manager.reloading()
        status = listening
        try:
            renewal, access = await _in_daemon_thread(read)
            server.renew(access)
            server.lobby.chat.open(on=renewal.config.lobby_chat)
            set_verbose(on=renewal.verbose)
            log.info("the configuration was reloaded", extra=about(waiting=len(renewal.waiting)))
            if renewal.waiting:
                options = ", ".join(renewal.waiting)
                log.warning("these options change with the next start", extra=about(options=options))
        except HostError as error:
            log.error("the configuration was not reloaded", extra=about(reason=str(error)))  # noqa: TRY400 - one line says it
            status = f"{listening}; the last reload failed: {error}"
        finally:
            manager.ready(status)


async def _in_daemon_thread(work: Callable[[], T]) -> T:
    """Return what `work` returns, or raise what it raises.

    A process does not end before its other threads do, but a file may be on a disk that does not answer.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()  # so that nobody can cancel it under the thread's hands

    def run() -> None:
        try:
            done.set_result(work())
        except Exception as error:  # noqa: BLE001 - for the waiting task
            done.set_exception(error)

    threading.Thread(target=run, name="renewal", daemon=True).start()
    return await asyncio.wrap_future(done)


@contextlib.contextmanager
def _signals(stop: asyncio.Event, renew: asyncio.Event) -> Iterator[None]:
    """Set `stop` on SIGINT and SIGTERM, `renew` on SIGHUP."""
    loop = asyncio.get_running_loop()
    terminals = [stream for stream in _STANDARD_STREAMS if os.isatty(stream)]

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop.set)

    def ask_to_renew(_number: int, _frame: FrameType | None) -> None:
        # The system sends this signal too, when the terminal of the server is closed.
        hung_up = terminals and not any(map(os.isatty, terminals))
        loop.call_soon_threadsafe(stop.set if hung_up else renew.set)

    handlers = {signal.SIGINT: ask_to_stop, signal.SIGTERM: ask_to_stop}
    if sys.platform != "win32":
        handlers[signal.SIGHUP] = ask_to_renew
    # signal.signal and not loop.add_signal_handler, which Windows does not have.
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, former in before.items():
            # The process ends as it was asked to: asking again must neither kill it nor change its exit code.
            signal.signal(number, signal.SIG_IGN if stop.is_set() else former)
