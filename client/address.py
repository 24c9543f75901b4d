"""Server addresses as people type them."""

import re
from typing import Final
from urllib.parse import urlsplit

from client.language import _

DEFAULT_PORT: Final = 7733


class BadAddress(ValueError):
    """The text is no server address; it says what to write."""


def server_url(text: str) -> str:
    """Return the websocket URL of a server given as `ws://host:port`, `host:port` or `host`.

    Raises BadAddress if it is none of these.
    """
    url = text if re.match(r"[a-z]+://", text) else f"ws://{text}"
    hint = _("{address} is no server address: write ws://HOST:PORT, as the host's screen shows it").format(
        address=repr(text)
    )
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadAddress(hint) from None
    if parts.scheme not in {"ws", "wss"} or not parts.hostname or parts.query or parts.fragment:
        raise BadAddress(hint)
    if port is not None:
        return url
    return f"{parts.scheme}://{parts.netloc.rstrip(':')}:{DEFAULT_PORT}{parts.path}"
