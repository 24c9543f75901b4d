"""Proxies in front of the server, whose word for where a client is can be trusted."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.config import Network
from server.net.addresses import IpAddress, Remote, ip_address_of

_PORT: Final = re.compile(r":\d{1,5}\Z")


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Who is a proxy, and how the proxies name their clients.

    With `header`, each of their connections begins with a PROXY header; otherwise with an HTTP request whose
    X-Forwarded-For is believed.
    """

    networks: tuple[Network, ...] = ()
    header: bool = False

    def trusts(self, address: IpAddress | None) -> bool:
        """Return whether a proxy is at `address`."""
        return address is not None and any(address in network for network in self.networks)

    def client(self, forwarded_for: Sequence[str]) -> Remote | None:
        """Return the client in a proxy's X-Forwarded-For, None if there is none.

        Each proxy adds where it was asked from at the end; what comes before the last address that is not
        a proxy's may be made up.
        """
        found = None
        for entry in reversed([entry for line in forwarded_for for entry in line.split(",")]):
            address = _address_in(entry.strip())
            if address is None:
                break
            found = Remote.at(str(address))
            if not self.trusts(address):
                break
        return found


def _address_in(entry: str) -> IpAddress | None:
    """Return the address in an entry, which may have a port: `192.0.2.7:4711`, `[2001:db8::7]:4711`."""
    if entry.startswith("["):
        entry = _PORT.sub("", entry)[1:].removesuffix("]")
    elif entry.count(":") == 1:
        entry = _PORT.sub("", entry)
    return ip_address_of(entry)
