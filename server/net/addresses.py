"""Addresses: where others reach this server, and where the other end of a connection is."""

import asyncio
import contextlib
import ipaddress
import socket
from dataclasses import dataclass
from typing import Final, TypeAlias

from server.config import Config
from server.limits.networks import Networks, networks_of

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
_SECONDS_FOR_A_NAME: Final = 2.0


async def name_of(address: str) -> str:
    """Return the name that the DNS of this network has for one of this machine's addresses, "" if none."""
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(_SECONDS_FOR_A_NAME):
            loop = asyncio.get_running_loop()
            name, _service = await loop.getnameinfo((address, 0), socket.NI_NAMEREQD)
            return name.lower().rstrip(".")
    return ""


def only_here(host: str) -> bool:
    """Return whether no other machine reaches a server that listens on `host`."""
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
    found = [address for address in (_outward(), *_own_addresses()) if address]
    if not found:  # a network without a way out, such as a cable between two computers
        from discovery.interfaces import all_interfaces  # noqa: PLC0415 - seldom needed

        found = [str(each.ip) for each in all_interfaces() if each.version == 4 and not each.ip.is_loopback]
    return list(dict.fromkeys([*found, "127.0.0.1"]))


def websocket_urls(config: Config, port: int) -> list[str]:
    """Return the URLs under which clients reach a server that listens at `port`, the best first."""
    scheme = "ws" if config.tls_cert is None else "wss"
    hosts = (f"[{host}]" if ":" in host else host for host in reachable(config.host))
    return [f"{scheme}://{host}:{port}" for host in hosts]


def _outward() -> str | None:
    """Return the address this machine would send from to the internet; nothing is sent."""
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(("192.0.2.1", 9))
        return str(probe.getsockname()[0])
    return None


def _own_addresses() -> list[str]:
    with contextlib.suppress(OSError):
        found = socket.getaddrinfo(socket.gethostname().encode(), None, socket.AF_INET, socket.SOCK_STREAM)
        addresses = [str(entry[4][0]) for entry in found]
        return [address for address in addresses if not ipaddress.ip_address(address).is_loopback]
    return []


@dataclass(frozen=True, slots=True)
class RemoteEnd:
    """Where a client is: what logs call it, what its address counts as, and the address if it is known."""

    name: str
    counted_as: Networks
    address: IpAddress | None

    @classmethod
    def at(cls, host: str, port: int | None = None) -> "RemoteEnd":
        name = host if port is None else f"{host}:{port}"
        return cls(name, networks_of(host), ip_address_of(host.partition("%")[0]))

    def near(self, here: str) -> bool:
        """Return whether this may be in the network of the address `here`, which strangers cannot reach."""
        outside = self.address is not None and self.address.is_global
        return not outside or self.counted_as[-1] == networks_of(here)[-1]


UNKNOWN: Final = RemoteEnd("?", ("?",), None)


def remote_of(transport: asyncio.BaseTransport) -> RemoteEnd:
    """Return the peer's address as the operating system reports it."""
    address = transport.get_extra_info("peername")
    return RemoteEnd.at(str(address[0]), address[1]) if address else UNKNOWN


def ip_address_of(text: str) -> IpAddress | None:
    """Return the address that a text is, None if it is not one or names an interface."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(found, ipaddress.IPv4Address):
        return found
    return None if found.scope_id else found.ipv4_mapped or found
