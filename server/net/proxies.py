"""Proxies in front of the server: whom to trust, and how they name their clients.

The PROXY protocol, versions 1 and 2: https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt
"""

import ipaddress
import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from server.config import Network
from server.net.addresses import IpAddress, RemoteEnd, ip_address_of
from server.probes import probe

_FIRST: Final = b"PROXY "
_MOST_BYTES_FIRST: Final = 107  # of a line of version 1 with its end
_SECOND: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_FIXED: Final = struct.Struct("!12sBBH")  # signature, version and command, family and transport, length
_MOST_BYTES_SECOND: Final = 4096  # of what follows; only certificates would need more
_LOCAL, _PROXY = 0x20, 0x21
_UNSPECIFIED, _TCP4, _TCP6, _UNIX = 0x00, 0x11, 0x21, 0x31
_ADDRESS_BYTES: Final = {_UNSPECIFIED: 0, _TCP4: 12, _TCP6: 36, _UNIX: 216}
_PORT: Final = re.compile(r":\d{1,5}\Z")


class BadProxyHeader(Exception):
    """A connection does not begin with a PROXY header."""


@dataclass(frozen=True, slots=True)
class ProxyHeader:
    """A header of `size` bytes; `source` is the client's address and port, None if the proxy names none."""

    size: int
    source: tuple[str, int] | None


def proxy_header(data: bytes) -> ProxyHeader | None:
    """Return the header at the beginning of `data`, None if it is not complete; raises BadProxyHeader."""
    if data.startswith(_SECOND):
        return _second(data)
    if data.startswith(_FIRST):
        return _first(data)
    if _SECOND.startswith(data) or _FIRST.startswith(data):
        return None
    raise BadProxyHeader


def _first(data: bytes) -> ProxyHeader | None:
    line, end, _ = data[:_MOST_BYTES_FIRST].partition(b"\r\n")
    if not end:
        if len(data) >= _MOST_BYTES_FIRST:
            raise BadProxyHeader
        return None
    size = len(line) + len(end)
    match line.split(b" "):
        case [_, b"UNKNOWN", *_]:
            return ProxyHeader(size, None)
        case [_, b"TCP4" | b"TCP6" as family, source, destination, port, other_port]:
            version = int(family[-1:])
            _address_and_port(destination, other_port, version)
            return ProxyHeader(size, _address_and_port(source, port, version))
    raise BadProxyHeader


def _address_and_port(address: bytes, port: bytes, version: int) -> tuple[str, int]:
    try:
        found = ipaddress.ip_address(address.decode("ascii"))
    except ValueError as error:
        raise BadProxyHeader from error
    if found.version != version or b"%" in address:
        raise BadProxyHeader
    if not (port.isdigit() and len(port) <= 5 and int(port) <= 0xFFFF):
        raise BadProxyHeader
    return str(found), int(port)


def _second(data: bytes) -> ProxyHeader | None:
    if len(data) < _FIXED.size:
        return None
    _, command, family, length = _FIXED.unpack_from(data)
    if command not in {_LOCAL, _PROXY} or length > _MOST_BYTES_SECOND:
        raise BadProxyHeader
    if command == _PROXY and length < _ADDRESS_BYTES.get(family, length + 1):
        raise BadProxyHeader
    size = _FIXED.size + length
    if len(data) < size:
        return None
    if command == _LOCAL or family not in {_TCP4, _TCP6}:
        return ProxyHeader(size, None)
    wide = 4 if family == _TCP4 else 16
    source = ipaddress.ip_address(data[_FIXED.size : _FIXED.size + wide])
    (port,) = struct.unpack_from("!H", data, _FIXED.size + 2 * wide)
    return ProxyHeader(size, (str(source), port))


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Who is a proxy, and how the proxies name their clients.

    With `header`, each of their connections begins with a PROXY header; otherwise with an HTTP request whose
    X-Forwarded-For is believed.
    """

    networks: tuple[Network, ...] = ()
    header: bool = False

    def trusts(self, address: IpAddress | None) -> bool:
        return address is not None and any(address in network for network in self.networks)

    def client(self, forwarded_for: Sequence[str]) -> RemoteEnd | None:
        """Return the client in a proxy's X-Forwarded-For, None if there is none.

        Each proxy adds where it was asked from at the end; what comes before the last address that is not
        a proxy's may be made up.
        """
        found = None
        for entry in reversed([entry for line in forwarded_for for entry in line.split(",")]):
            address = _address_in(entry.strip())
            if address is None:
                break
            found = RemoteEnd.at(str(address))
            probe("a proxy names its client")
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
