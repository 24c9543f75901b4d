"""The network interfaces of this computer, and which of them multicast may use."""

import ipaddress
import os
from collections.abc import Iterable
from typing import Final, TypeAlias

Interface: TypeAlias = ipaddress.IPv4Interface | ipaddress.IPv6Interface  # an address and its network
IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

MULTICAST_VARIABLE: Final = "PALATINUS_MULTICAST"  # addresses of the interfaces it may use, or `none`
MOST_INTERFACES: Final = 16  # of a computer with more, the first ones are used


def switched_off() -> bool:
    """Return whether the environment allows no multicast at all."""
    return os.environ.get(MULTICAST_VARIABLE, "").strip().lower() == "none"


def own_interfaces() -> tuple[Interface, ...]:
    """Return the addresses of this computer that multicast may use."""
    allowed = frozenset(os.environ.get(MULTICAST_VARIABLE, "").replace(",", " ").split())
    usable = (each for each in all_interfaces() if not allowed or str(each.ip).partition("%")[0] in allowed)
    return tuple(usable)[:MOST_INTERFACES]


def all_interfaces() -> tuple[Interface, ...]:
    """Return the addresses of this computer; none if the system does not report them."""
    import ifaddr  # noqa: PLC0415 - a server starts without waiting for it

    try:
        adapters = list(ifaddr.get_adapters())
    except OSError:
        return ()
    found = (interface_of(each.ip, each.network_prefix) for adapter in adapters for each in adapter.ips)
    return tuple(dict.fromkeys(found))


def interface_of(address: str | tuple[str, int, int], prefix: int) -> Interface:
    """Return an address as ifaddr writes it: IPv6 addresses are tuples with flow and scope."""
    if isinstance(address, str):
        return ipaddress.ip_interface(f"{address}/{prefix}")
    text, _flow, scope = address
    zone = f"%{scope}" if scope else ""
    return ipaddress.ip_interface(f"{text}{zone}/{prefix}")


def listened_on(host: str, own: Iterable[Interface]) -> tuple[Interface, ...]:
    """Return those interfaces at which a server is reached that listens on the address `host`.

    Loopback counts only if it listens there alone, or if there is nothing else.
    """
    address = ipaddress.ip_address(host)
    if not address.is_unspecified:
        return tuple(each for each in own if each.ip == address)
    served = [each for each in own if each.version == 4 or address.version == 6]
    return tuple(each for each in served if not each.ip.is_loopback) or tuple(served)


def is_among(address: IpAddress, interfaces: Iterable[Interface]) -> bool:
    """Return whether the address is in the network of one of the interfaces."""
    bare = _bare(address)
    return any(bare.version == each.version and bare in each.network for each in interfaces)


def _bare(address: IpAddress) -> IpAddress:
    """Return the address without the interface that it may name; an IPv4 address that is written as IPv6."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    return address.ipv4_mapped or ipaddress.IPv6Address(address.packed)
