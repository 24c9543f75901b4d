"""Server addresses and table codes as users type them."""

import re
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from client.language import _
from protocol.limits import CODE_LENGTH, PRIVATE_CODE_LENGTH

DEFAULT_PORT: Final = 7733


class BadAddress(ValueError):
    """The text is not a server address; the message says what to write."""


class BadCode(ValueError):
    """The text is not a table code; the message says what one looks like."""


def loopback(url: str) -> bool:
    """Return whether the address leads to this very computer."""
    host = urlsplit(url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def same_server(url: str) -> str:
    """Return one spelling for all addresses that are known to be the same server."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    port = parts.port or DEFAULT_PORT
    host = "localhost" if loopback(url) else (parts.hostname or "").lower().rstrip(".")
    return f"{scheme}://{host}:{port}{parts.path.rstrip('/')}"


def server_url(text: str) -> str:
    """Return the websocket URL of a server given as `ws://host:port`, `host:port` or `host`.

    Raises BadAddress if it is none of these.
    """
    text = text.strip()
    url = text if re.match(r"[A-Za-z]+://", text) else f"ws://{text}"
    hint = _("{address} is not a server address: write ws://HOST:PORT, as shown on the host's screen").format(
        address=repr(text)
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadAddress(hint) from None
    if parts.scheme not in {"ws", "wss"} or not parts.hostname or parts.query or parts.fragment:
        raise BadAddress(hint)
    if any(map(str.isspace, url)):
        raise BadAddress(hint)
    if port is not None:
        return url
    return f"{parts.scheme}://{parts.netloc.rstrip(':')}:{DEFAULT_PORT}{parts.path}"


def describe_found_as(name: str) -> str:
    """Return how others find the server of that name."""
    return _("On this network, palatinus join finds this server as {name}.").format(name=name)


def table_code(text: str) -> str:
    """Return the table code that `text` spells, in capitals; raises BadCode."""
    code = text.upper()
    if len(code) not in {CODE_LENGTH, PRIVATE_CODE_LENGTH} or re.fullmatch("[A-Z]+", code) is None:
        hint = _("{text} is not a table code: a code has four letters, such as KRTV, or eight")
        raise BadCode(hint.format(text=repr(text)))
    return code
