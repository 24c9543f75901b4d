"""A server as a process: run until a signal tells it to stop."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Iterator
from types import FrameType

from server.app import Running, serve_until
from server.config import Config
from server.event_loop import new_loop
from server.net.addresses import reachable
from server.net.connections.open_files import make_room_for


def serve(config: Config, started: Callable[[list[str]], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `started` is called with the addresses at which others reach the server.

    Raises HostError if the server cannot start.
    """
    make_room_for(config.limits.connections)
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(_serve(config, started))


async def _serve(config: Config, started: Callable[[list[str]], None]) -> None:
    stop = asyncio.Event()

    def running(server: Running) -> None:
        scheme = "ws" if config.tls_cert is None else "wss"
        hosts = [f"[{host}]" if ":" in host else host for host in reachable(config.host)]
        started([f"{scheme}://{host}:{server.port}" for host in hosts])

    with _stopped_by_signals(stop):
        await serve_until(stop, config, running)


@contextlib.contextmanager
def _stopped_by_signals(stop: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()

    def ask_to_stop(_number: int, _frame: FrameType | None) -> None:
        loop.call_soon_threadsafe(stop.set)

    # signal.signal and not loop.add_signal_handler, which Windows does not have.
    before = {number: signal.signal(number, ask_to_stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
