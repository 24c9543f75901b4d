"""The names under which servers announce themselves."""

import socket
import unicodedata
from typing import Final

from protocol.limits import SERVER_NAME_BYTES, SERVER_NAME_LENGTH
from protocol.text import mixes_alphabets, unsafe

_OF_ADDRESSES: Final = frozenset(".:/\\@[]%")  # no name is taken for an address, or split by DNS
_FALLBACK: Final = "palatinus"  # for a computer whose name says nothing


def usable(name: str) -> bool:
    """Return whether a server may have this name: it is what it looks like, and cannot be an address."""
    return (
        len(name) <= SERVER_NAME_LENGTH
        and len(name.encode(errors="replace")) <= SERVER_NAME_BYTES
        and unsafe(name) is None
        and _OF_ADDRESSES.isdisjoint(name)
        and not mixes_alphabets(name)
    )


def default_name() -> str:
    """Return the name of this computer, as far as it can be used."""
    try:
        return name_of_host(socket.gethostname())
    except OSError:
        return _FALLBACK


def name_of_host(host: str) -> str:
    """Return the name of a computer without its domain, if it can be used; otherwise a fixed one."""
    first = unicodedata.normalize("NFC", host.partition(".")[0])[:SERVER_NAME_LENGTH].strip()
    return first if usable(first) and first.lower() != "localhost" else _FALLBACK
