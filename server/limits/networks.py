"""What an address counts as: for IPv6 a network, and those around it.

One household has a /64 whole, and a /56 or a /48 is free to have. So what one address may do, each of these
may do, in multiples: or whoever has a /48 would have the limits of 65,536 addresses.
"""

import hashlib
import ipaddress
import secrets
from collections import Counter
from collections.abc import Iterable
from typing import Final, TypeAlias, TypeVar

Networks: TypeAlias = tuple[str, ...]  # from the narrowest to the widest; an IPv4 address has only itself
T = TypeVar("T", int, float)
Holder = TypeVar("Holder")

_BITS: Final = (64, 56, 48)
_MULTIPLES: Final = (1, 2, 4)


def networks_of(address: str) -> Networks:
    """Return what an address counts as."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return (address,)
    if isinstance(found, ipaddress.IPv4Address):
        return (address,)
    if found.ipv4_mapped is not None:
        return (str(found.ipv4_mapped),)
    return tuple(str(ipaddress.ip_network((found.packed, bits), strict=False)) for bits in _BITS)


def shares(networks: Networks, most: T, of_all: T | None = None) -> list[tuple[str, T]]:
    """Return the limit of each network, if `most` is that of an address.

    No network gets more than half of all there are (`of_all`), unless an address may.
    """
    found = zip(networks, (most * multiple for multiple in _MULTIPLES), strict=False)
    if of_all is None:
        return list(found)
    return [(network, max(most, min(share, of_all // 2))) for network, share in found]


# What everybody shares is shared by networks. When all of it is used, whoever has used less than the others
# may still have some; and what can be taken back is taken from the network that has most.


def has_part_left(networks: Networks, users: Iterable[Networks], most: int) -> bool:
    """Return whether an address has used less than an equal part of the `most` that it shares with `users`.

    The widest networks have equal parts, and within each of them the narrower ones.
    """
    among, part = list(users), float(most)
    for width in range(1, len(networks) + 1):
        own = networks[-width]
        used = Counter(_at(width, each) for each in among)
        part /= len(used.keys() | {own})
        if used[own] >= part:
            return False
        among = [each for each in among if _at(width, each) == own]
    return True


def who_gives_way(networks: Networks, holders: Iterable[tuple[Networks, Holder]]) -> Holder | None:
    """Return which of those who hold all places gives way to a newcomer, None if nobody does.

    It is the first one from the network that holds most, if that holds more than the newcomer's would.
    """
    among, found = list(holders), False
    for width in range(1, len(_BITS) + 1):
        held = Counter(_at(width, each) for each, _ in among)
        crowd = max(held, key=held.__getitem__, default="")
        found = found or held[crowd] > held[_at(width, networks)] + 1
        own = crowd if found else _at(width, networks)
        among = [each for each in among if _at(width, each[0]) == own]
    return among[0][1] if found else None


def _at(width: int, networks: Networks) -> str:
    """Return the widest of the networks, the one inside it, and so on."""
    return networks[-min(width, len(networks))]


class Origins:
    """Pseudonyms of networks: fixed while this process runs, and impossible to trace back."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)  # never stored, so nobody can try all addresses

    def of(self, networks: Networks) -> str:
        """Return the pseudonyms of what an address counts as, in one text."""
        digests = (hashlib.blake2b(each.encode(), key=self._key, digest_size=8) for each in networks)
        return ".".join(digest.hexdigest() for digest in digests)


def networks_in(origin: str) -> Networks:
    """Return the pseudonyms in such a text."""
    return tuple(origin.split("."))
