"""A line to a server: opened and greeted, and why it ended, in a sentence that a player understands."""

import asyncio
import errno
import socket
import ssl
from dataclasses import dataclass
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from protocol.codec import BadMessage, decode_server, encode, readable
from protocol.codes import CloseCode
from protocol.limits import SERVER_FRAME_BYTES, VERSIONS
from protocol.messages import Hello, Refused, ServerMessage, Welcome
from protocol.text import printable

# Whoever is closed with one of these would be closed with it again.
_FINAL_CODES: Final = frozenset(
    {
        CloseCode.TAKEN_OVER,
        CloseCode.POLICY_VIOLATION,
        CloseCode.UNSUPPORTED_DATA,
        1002,  # protocol error
        1007,  # invalid data
        1009,  # message too big
    }
)
_BUSY_STATUSES: Final = frozenset({429, 502, 503, 504})  # HTTP's ways to say: try again later


class ConnectFailed(Exception):
    """There is no connection, for the reason in its one sentence; if `final`, trying again will not help."""

    def __init__(self, text: str, *, final: bool = False, code: int | None = None) -> None:
        super().__init__(text)
        self.final = final
        self.code = code


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for what, in seconds."""

    opening: float = 10.0
    answer: float = 10.0
    closing: float = 2.0
    heartbeat: float = 20.0
    keep_trying: float = 120.0
    first_pause: float = 0.1
    longest_pause: float = 5.0


@dataclass(frozen=True, slots=True)
class Address:
    """Where the server is, and what it is told and shown first; `tls` replaces the system's trust."""

    url: str
    client: str
    tls: ssl.SSLContext | None = None


async def opened(address: Address, patience: Patience) -> tuple[ClientConnection, Welcome]:
    """Return a line on which server and client have greeted each other; raises ConnectFailed."""
    url = address.url
    try:
        line = await connect(
            url,
            ssl=(address.tls or True) if url.lower().startswith("wss:") else None,
            compression=None,
            proxy=None,
            open_timeout=patience.opening,
            ping_interval=patience.heartbeat,
            ping_timeout=patience.heartbeat,
            close_timeout=patience.closing,
            max_size=SERVER_FRAME_BYTES,
        )
    except (OSError, InvalidURI, InvalidHandshake, ValueError) as error:
        raise why_not(url, error) from error
    try:
        return line, await _greeted(line, address, patience)
    except BaseException:
        line.transport.abort()
        raise


async def _greeted(line: ClientConnection, address: Address, patience: Patience) -> Welcome:
    try:
        async with asyncio.timeout(patience.opening):
            await line.send(encode(Hello(list(VERSIONS), address.client)))
            welcome = await received(line)
    except BadMessage as error:
        raise ConnectFailed(f"{address.url} is no Palatinus server: {error}.", final=True) from error
    except ConnectionClosed as error:
        raise ending(error) from error
    except TimeoutError as error:
        raise why_not(address.url, error) from error
    match welcome:
        case Welcome() if welcome.version in VERSIONS:
            return welcome
        case Refused():
            raise ConnectFailed(printable(welcome.text), final=True)
        case _:
            raise ConnectFailed(f"{address.url} does not speak this client's protocol.", final=True)


async def received(line: ClientConnection) -> ServerMessage:
    """Return the next message; raises ConnectionClosed, and BadMessage if it is none."""
    frame = await line.recv()
    if isinstance(frame, str):
        raise BadMessage("a text frame instead of a binary one")
    return decode_server(frame)


def not_understood(error: BadMessage) -> ConnectFailed:
    return ConnectFailed(f"The server said what this client does not understand: {error}.", final=True)


def ending(error: ConnectionClosed) -> ConnectFailed:
    """Return what the end of a line means, in a sentence."""
    close = error.rcvd or error.sent
    code = None if close is None else close.code
    said = "" if error.rcvd is None else printable(error.rcvd.reason)
    match code:
        case CloseCode.GOING_AWAY:
            text = "The server stopped."
        case 1012:  # of whatever stands before the server
            text = "The server is restarting."
        case CloseCode.TAKEN_OVER:
            text = "Your seat was taken over from another connection."
        case 1009:
            text = "The server sent a message that is too long."
        case _ if said:
            text = f"The server closed the connection: {said}."
        case _:
            text = "The connection to the server broke."
    return ConnectFailed(text, final=code in _FINAL_CODES, code=code)


def why_not(url: str, error: Exception) -> ConnectFailed:
    """Return why `url` cannot be connected to, in a sentence."""
    match error:
        case TimeoutError():
            return ConnectFailed(f"{url} does not answer.")
        case ssl.SSLCertVerificationError():
            return ConnectFailed(
                f"The certificate of {url} is not trusted: {error.verify_message}.", final=True
            )
        case ssl.SSLError():
            return ConnectFailed(f"{url} does not speak TLS. Try ws:// instead of wss://.", final=True)
        case socket.gaierror():
            return ConnectFailed(f"{url} cannot be found: {error.strerror}.")
        case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
            return ConnectFailed(f"There is no way from here to {url}.")
        case OSError():
            return ConnectFailed(f"Nobody answers at {url}. Is the server running?")
        case InvalidStatus() if error.response.status_code in _BUSY_STATUSES:
            return ConnectFailed(f"{url} is too busy. Try again later.")
        case InvalidHandshake():
            return ConnectFailed(f"{url} is no Palatinus server: {readable(error)}.", final=True)
        case _:
            return ConnectFailed(
                f"{printable(url)} is no address of a server. Write ws://HOST:PORT.", final=True
            )
