"""What a server announces by multicast DNS, and how strangers' announcements are checked.

Nothing that comes from the network is trusted: names are shown only if they are what they look like, and
an address counts only if it can be that of a server in the same place.
"""

import ipaddress
import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from discovery.interfaces import Interface, IpAddress, is_among
from discovery.names import usable

SERVICE_TYPE: Final = "_palatinus._tcp.local."
TEXT_VERSION: Final = "1"
MOST_ADDRESSES: Final = 4  # of one server
MOST_HEARD: Final = 16  # addresses in one announcement that are looked at


@dataclass(frozen=True, slots=True)
class Service:
    """A server to be announced: its name, its port, and whether it speaks TLS."""

    name: str
    port: int
    tls: bool = False

    @property
    def properties(self) -> dict[str, str]:
        """Return the TXT record: nothing that changes, and nothing about players or tables."""
        return {"txtvers": TEXT_VERSION, "scheme": "wss" if self.tls else "ws"}


@dataclass(frozen=True, slots=True)
class HeardServer:
    """A server that was heard of; `name` is empty if the one it gives cannot be shown.

    The `urls` are those at which it may be reached, the likeliest first.
    """

    name: str
    urls: tuple[str, ...]


def server_in(
    full_name: str,
    port: int | None,
    properties: Mapping[bytes, bytes | None],
    addresses: Iterable[str],
    own: Iterable[Interface],
    *,
    on_loopback: bool,
) -> HeardServer | None:
    """Return the server in an announcement that came over these interfaces; None if it makes no sense."""
    scheme = properties.get(b"scheme")
    if not port or not 0 < port < 2**16 or scheme not in {b"ws", b"wss"}:
        return None
    likely = _likely(list(addresses)[:MOST_HEARD], tuple(own), on_loopback=on_loopback)
    hosts = [f"[{each}]" if each.version == 6 else str(each) for each in likely[:MOST_ADDRESSES]]
    if not hosts:
        return None
    return HeardServer(shown_name(full_name), tuple(f"{scheme.decode()}://{host}:{port}" for host in hosts))


def shown_name(full_name: str) -> str:
    """Return the name in a service's full name; empty if it is not one that a server may have."""
    name = unicodedata.normalize("NFC", full_name[: -len(SERVICE_TYPE) - 1])
    return name if full_name.lower().endswith(f".{SERVICE_TYPE}") and usable(name) else ""


def _likely(addresses: Iterable[str], own: tuple[Interface, ...], *, on_loopback: bool) -> list[IpAddress]:
    """Return the addresses that can be the server's, those in this computer's own networks first."""
    mine = {each.ip for each in own}
    found: dict[IpAddress, None] = {}
    for text in addresses:
        try:
            address = ipaddress.ip_address(text)
        except ValueError:
            continue
        if _makes_sense(address, own, on_loopback=on_loopback):
            found[address] = None
    # An address of this computer itself is either this computer's, or that of a network that many have.
    return sorted(found, key=lambda each: (each in mine, not is_among(each, own), each.is_link_local))


def _makes_sense(address: IpAddress, own: tuple[Interface, ...], *, on_loopback: bool) -> bool:
    if on_loopback or address.is_loopback:
        return on_loopback and address.is_loopback
    if address.is_multicast or address.is_unspecified or address.is_reserved:
        return False
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            return False
        if address.is_link_local:
            return address.scope_id is not None  # without an interface it leads nowhere
    return address.is_private or address.is_link_local or is_among(address, own)
