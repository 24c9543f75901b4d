"""The HTTP that server and client share: the answers to a request for a websocket."""

from typing import Final

# With status 503. A proxy in front of the server that cannot reach it answers 503 as well, with other words.
FULL: Final = "This Palatinus server has no room for more connections. Try again later.\n"
