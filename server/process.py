"""A server as a process: run until it is told to stop, and the addresses at which others reach it."""

import asyncio
import contextlib
import ipaddress
import signal
import socket
from collections.abc import Callable, Iterator
from types import FrameType

from server.app import Running, serve_until
from server.config import Config
from server.event_loop import new_loop
from server.net.open_files import make_room_for


def serve(config: Config, started: Callable[[list[str]], None]) -> None:
    """Serve until Ctrl-C or SIGTERM; `started` is told the addresses at which others reach the server.

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


def only_here(host: str) -> bool:
    """Tell whether no other machine reaches a server that listens on `host`."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def reachable(host: str) -> list[str]:
    """Return the addresses under which others reach a server that listens on `host`."""
    try:
        if not ipaddress.ip_address(host).is_unspecified:
            return [host]
    except ValueError:
        return [host]
    found = [address for address in (_outward(socket.AF_INET, "192.0.2.1"), *_own_addresses()) if address]
    return list(dict.fromkeys([*found, "127.0.0.1"]))


def _outward(family: socket.AddressFamily, beyond: str) -> str | None:
    """Return the address this machine would send from to reach `beyond`; nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect((beyond, 9))
        return str(probe.getsockname()[0])
    return None


def _own_addresses() -> list[str]:
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET, socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        return [address for address in addresses if not ipaddress.ip_address(address).is_loopback]
    return []


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
