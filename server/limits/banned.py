"""Networks that are banned: nothing from there is let in."""

import ipaddress
from typing import Final, TypeAlias

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
IpNetwork: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

_HOUSEHOLD_BITS: Final = 64
_IPV4_BITS: Final = 32


def network_to_ban(text: str) -> IpNetwork:
    """Return the network that an address or a network stands for; raises ValueError.

    A household has an IPv6 /64 whole, so that nothing smaller is worth a ban.
    """
    network = ipaddress.ip_network(text)
    if isinstance(network, ipaddress.IPv4Network):
        return network
    mapped, bits = network.network_address.ipv4_mapped, network.prefixlen - (128 - _IPV4_BITS)
    if mapped is not None and bits >= 0:
        return ipaddress.IPv4Network((mapped, bits))
    if network.prefixlen <= _HOUSEHOLD_BITS:
        return network
    return ipaddress.IPv6Network((network.network_address, _HOUSEHOLD_BITS), strict=False)


class BannedNetworks:
    """A set of networks that is asked about an address in a moment, however many networks it holds."""

    def __init__(self) -> None:
        self._networks: dict[tuple[int, int], set[int]] = {}  # their beginnings, by version and bits

    def add(self, network: IpNetwork) -> None:
        self._networks.setdefault(_kind(network), set()).add(_beginning(network.network_address, network))

    def discard(self, network: IpNetwork) -> None:
        beginnings = self._networks.get(_kind(network), set())
        beginnings.discard(_beginning(network.network_address, network))
        if not beginnings:
            self._networks.pop(_kind(network), None)

    def __contains__(self, address: IpAddress | None) -> bool:
        """Return whether the address is in one of the networks; an unknown one is not."""
        return address is not None and any(
            version == address.version and int(address) >> (address.max_prefixlen - bits) in beginnings
            for (version, bits), beginnings in self._networks.items()
        )


def _kind(network: IpNetwork) -> tuple[int, int]:
    return network.version, network.prefixlen


def _beginning(address: IpAddress, network: IpNetwork) -> int:
    return int(address) >> (network.max_prefixlen - network.prefixlen)
