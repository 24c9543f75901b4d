"""A websocket to a server: its addresses, opening it, the greeting, and why it ended, in a sentence."""

import asyncio
import contextlib
import errno
import random
import socket
import ssl
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import (
    ConnectionClosed,
    InvalidHandshake,
    InvalidMessage,
    InvalidStatus,
    InvalidURI,
)
from websockets.http11 import Response

from client.language import N_, _, describe_reason
from client.network.refusals import describe_closing, describe_refusal
from protocol.codec import BadMessage, UnknownMessage, decode_server, encode, readable
from protocol.codes import FULL, CloseCode, Code
from protocol.limits import ADDRESSES_TOLD, SERVER_FRAME_BYTES, VERSIONS
from protocol.messages import Hello, Moved, Refused, ServerMessage, Welcome
from protocol.text import printable

# A client that is closed with one of these would be closed with it again.
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
_THIS_COMPUTER: Final = frozenset({"localhost", "127.0.0.1", "::1"})
_CERTIFICATE_FAULTS: Final = {  # by OpenSSL's codes
    9: N_("it is not valid yet"),
    10: N_("it has expired"),
    18: N_("it is self-signed"),
    19: N_("it is self-signed"),
    20: N_("its issuer is not known here"),
    21: N_("its issuer is not known here"),
    62: N_("it is for another name"),
    64: N_("it is for another address"),
}


class ConnectFailed(Exception):
    """There is no connection, for the reason in the text; if `final`, trying again will not help.

    If `only_here`, another server of the cluster may do: the reason lies with this one.
    """

    def __init__(
        self, text: str, *, final: bool = False, only_here: bool = False, code: int | None = None
    ) -> None:
        super().__init__(text)
        self.final, self.only_here, self.code = final, only_here, code


class RequestRefused(Exception):
    """The server refused one request, and nothing has changed; the text says why, in the language in use.

    `code` is stable, `rule` the section of the rules that forbids it, if one does; `retry_in` tells how many
    seconds to wait if it may be asked again then.
    """

    def __init__(self, code: str, text: str, rule: str | None = None, retry_in: float | None = None) -> None:
        super().__init__(text)
        self.code, self.rule, self.retry_in = code, rule, retry_in


class RequestUnanswered(ConnectFailed):
    """The server did not answer a request: it is not known whether it was carried out."""


class Elsewhere(ConnectFailed):
    """The table is at another server of the cluster, at `url`; if `all_undone`, the lobby is there as well.

    Then the server has carried out no request that it has not answered.
    """

    def __init__(self, text: str, url: str, *, all_undone: bool = False) -> None:
        super().__init__(text)
        self.url = url
        self.all_undone = all_undone


class PasswordWanted(ConnectFailed):
    """The server requires a password, and none or a wrong one was given."""


def password_wanted(reason: str) -> str:
    """Return how to give a password to a program that cannot ask for it."""
    text = _(
        "{reason} Give the password with --password-file or in the environment variable PALATINUS_PASSWORD."
    )
    return text.format(reason=reason)


@dataclass(frozen=True, slots=True)
class Timeouts:
    opening: float = 10.0
    answer: float = 10.0
    closing: float = 2.0
    heartbeat: float = 20.0
    keep_trying: float = 120.0
    sent_on: float = 15.0  # to find a table whose server has died: others take it up within a lease or so
    first_pause: float = 0.1
    longest_pause: float = 5.0

    def pauses(self) -> Iterator[float]:
        """Yield how long to pause before each attempt: longer each time, and different for each client.

        Otherwise all clients of a restarted server would reconnect at once.
        """
        least = self.first_pause
        while True:
            yield min(random.uniform(least, 2 * least), self.longest_pause)
            least = min(2 * least, self.longest_pause / 2)


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """What it takes to connect: a password if required; `tls` replaces the system's certificates.

    A program that connects for somebody else says in `headers` where they are, and why it is to be believed.
    The latter (Authorization) is for the server that gave it alone. `hosts` are those, besides the server's
    own, to which it may send this client on: those that the player has confirmed, None for any.
    """

    tls: ssl.SSLContext | None = None
    password: str | None = field(default=None, repr=False)
    hosts: frozenset[str] | None = frozenset()
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


FREE_ACCESS: Final = ServerAccess()


@dataclass(frozen=True, slots=True)
class ServerAddress:
    url: str
    client: str
    access: ServerAccess = FREE_ACCESS

    def at(self, url: str) -> "ServerAddress":
        headers = {name: each for name, each in self.access.headers.items() if name != "Authorization"}
        return replace(self, url=url, access=replace(self.access, headers=headers))


def elsewhere(told: Refused | Moved, address: ServerAddress) -> Elsewhere | None:
    """Return where a server sends this client, None if it does not, or where nobody should go."""
    match told:
        case Moved(url):
            text = _("The server stopped.")
        case Refused(code=Code.TABLE_ELSEWHERE | Code.SERVER_STOPPING | Code.NOT_STORED, about=about):
            url, text = (about or {}).get("address", ""), describe_refusal(told)
        case _:
            return None
    if not may_follow(url, address):
        return None
    return Elsewhere(text, url, all_undone=isinstance(told, Moved))


def may_follow(url: str, address: ServerAddress) -> bool:
    """Return whether a client that was given `address` may go where a server says.

    It goes to the same host, or to one that its player has confirmed: seat and password are shown there.
    """
    host, hosts = host_told(url, address), address.access.hosts
    if host is None or hosts is None or host in hosts:
        return host is not None
    both = {host, urlsplit(address.url).hostname}
    return len(both) == 1 or both <= _THIS_COMPUTER


def host_told(url: str, address: ServerAddress) -> str | None:
    """Return to which host a server sends a client that was given `address`; None where nobody should go.

    What was encrypted stays encrypted, and a client logs in nowhere (`user:password@`).
    """
    safe = ("wss://",) if address.url.lower().startswith("wss:") else ("ws://", "wss://")
    if not url.startswith(safe) or printable(url) != url or not set("@?#\\").isdisjoint(url):
        return None
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None


class _Direct(connect):
    """A connection to the address that was given: no HTTP answer leads it anywhere else."""

    def process_redirect(self, exc: Exception) -> Exception:
        return exc


async def open_websocket(address: ServerAddress, timeouts: Timeouts) -> tuple[ClientConnection, Welcome]:
    """Return a websocket on which server and client have exchanged greetings; raises ConnectFailed."""
    url = address.url
    try:
        websocket = await _Direct(
            url,
            additional_headers=address.access.headers,
            ssl=(address.access.tls or True) if url.lower().startswith("wss:") else None,
            compression=None,
            proxy=None,
            open_timeout=timeouts.opening,
            ping_interval=timeouts.heartbeat,
            ping_timeout=timeouts.heartbeat,
            close_timeout=timeouts.closing,
            max_size=SERVER_FRAME_BYTES,
        )
    except (OSError, InvalidURI, InvalidHandshake, ValueError) as error:
        raise why_not(url, error) from error
    try:
        return websocket, await _greet(websocket, address, timeouts)
    except BaseException:
        websocket.transport.abort()
        raise


async def _greet(websocket: ClientConnection, address: ServerAddress, timeouts: Timeouts) -> Welcome:
    try:
        async with asyncio.timeout(timeouts.opening):
            await websocket.send(encode(Hello(list(VERSIONS), address.client, address.access.password)))
            welcome = await receive(websocket)
    except BadMessage as error:
        raise not_a_server(address.url, describe_reason(error)) from error
    except (ConnectionClosed, TimeoutError) as error:
        raise why_not(address.url, error) from error
    match welcome:
        case Welcome() if welcome.version in VERSIONS:
            return welcome
        case Refused(Code.PASSWORD_NEEDED | Code.BAD_PASSWORD):
            raise PasswordWanted(describe_refusal(welcome), final=True)
        case Refused():
            raise ConnectFailed(describe_refusal(welcome), final=True)
        case _:
            text = _("{url} does not speak this client's protocol.")
            raise ConnectFailed(text.format(url=address.url), final=True)


async def receive(websocket: ClientConnection) -> ServerMessage:
    """Return the next message that this version knows: newer servers may send others besides.

    Raises ConnectionClosed, and BadMessage for what is not a message.
    """
    while True:
        frame = await websocket.recv()
        if isinstance(frame, str):
            raise BadMessage(N_("a text frame instead of a binary one"))
        with contextlib.suppress(UnknownMessage):
            return decode_server(frame)


def ending(error: ConnectionClosed) -> ConnectFailed:
    close = error.rcvd or error.sent
    code = None if close is None else close.code
    said = "" if error.rcvd is None else printable(error.rcvd.reason)
    match code:
        case CloseCode.GOING_AWAY:
            text = _("The server stopped.")
        case CloseCode.SERVICE_RESTART:  # sent by a proxy in front of the server, too
            text = _("The server is restarting.")
        case CloseCode.TAKEN_OVER:
            text = _("Your seat was taken over by another connection.")
        case 1009:
            text = _("The server sent a message that is too long.")
        case _ if said:
            text = _("The server closed the connection: {reason}.").format(reason=describe_closing(said))
        case _:
            text = _("The connection to the server was lost.")
    # If it was this client that closed it, then because of what this one server had sent.
    return ConnectFailed(text, final=code in _FINAL_CODES, only_here=error.rcvd is None, code=code)


def why_not(url: str, error: Exception) -> ConnectFailed:
    """Return why there is no connection to `url`, or no longer one."""
    match error:
        case ConnectionClosed():
            return ending(error)
        case BadMessage():
            text = _("The server sent something this client does not understand: {reason}.")
            reason = describe_reason(error)
            return ConnectFailed(text.format(reason=reason), final=True, only_here=True)
        case TimeoutError():
            return ConnectFailed(_("{url} does not answer.").format(url=url))
        case ssl.SSLCertVerificationError():
            text = _(
                "The certificate of {url} is not trusted: {reason}. If the host made it, ask them for "
                "the file and pass it with --tls-ca."
            )
            form = _(_CERTIFICATE_FAULTS.get(error.verify_code, error.verify_message))
            return ConnectFailed(text.format(url=url, reason=form), final=True)
        case ssl.SSLError():
            text = _("{url} does not speak TLS. Try ws:// instead of wss://.")
            return ConnectFailed(text.format(url=url), final=True)
        case socket.gaierror():  # whose own words are English, and of programmers
            text = _("{url} cannot be found: no computer has this name. Check how it is spelt.")
            if error.errno == socket.EAI_AGAIN:
                text = _(
                    "{url} cannot be found: no name server answers. Is this computer connected to a network?"
                )
            return ConnectFailed(text.format(url=url))
        case OSError(errno=errno.ENETUNREACH | errno.EHOSTUNREACH):
            return ConnectFailed(_("{url} cannot be reached from here.").format(url=url))
        case OSError():
            return ConnectFailed(_("Nothing answers at {url}. Is the server running?").format(url=url))
        case InvalidStatus(response=Response(status_code=(429 | 502 | 503 | 504) as status, body=body)):
            text = _(
                "{url} is answered by a proxy that cannot reach the game server (HTTP {status}). "
                "Try again later."
            )
            if status == 429 or (status == 503 and bytes(body or b"") == FULL.encode()):
                text = _("{url} is too busy. Try again later.")
            return ConnectFailed(text.format(url=url, status=status))
        case InvalidMessage(__cause__=EOFError()):  # killed or cut off while it was about to answer
            text = _("The connection to {url} was lost before it was established.")
            if url.lower().startswith("ws:"):
                text = _(
                    "The connection to {url} was lost before it was established. If the server speaks "
                    "TLS, write wss:// instead of ws://."
                )
            return ConnectFailed(text.format(url=url))
        case InvalidHandshake():
            return not_a_server(url, readable(error))
        case _no_address:
            text = _("{url} is not a server address. Write ws://HOST:PORT.")
            return ConnectFailed(text.format(url=printable(url)), final=True)


def not_a_server(url: str, reason: str) -> ConnectFailed:
    text = _("{url} is not a Palatinus server: {reason}.")
    return ConnectFailed(text.format(url=url, reason=reason), final=True)


AT_ONCE: Final = 0.0
WITHIN_A_ROUND: Final = 0.5
NEXT_ROUND: Final = 1.0
_MOST_AT_ONCE: Final = 2  # as when a client comes for a table, and the table moves
_MOST_FOLLOWED: Final = 3  # in a row: then servers send clients in circles
_MOST_KNOWN: Final = ADDRESSES_TOLD + 1


class ServerAddresses:
    """The addresses of a cluster, of which `given` is the one that the client was started with.

    `at` is where the client is, or tries to be. While a connection is lost, all addresses are tried in turn,
    round after round; those that have shown to be of no use are left out until there is a connection again.
    """

    def __init__(self, given: ServerAddress) -> None:
        self.given = given
        self.at = given
        self._last = given.url  # where the client was, or was sent
        self._others: tuple[str, ...] = ()
        self._useless: set[str] = set()
        self._left: list[str] = []  # of this round
        self._followed = 0  # times that the client has just been sent on, and followed at once

    @property
    def known(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((self.given.url, self.at.url, *self._others)))

    def learn(self, others: Sequence[str]) -> None:
        """Record the other servers' addresses, if this one sends any; it does not send its own."""
        told = [url for url in others if may_follow(url, self.given)]
        if told:
            # Servers that were there before may be there again: they come last.
            known = dict.fromkeys((self.at.url, *told, *self._others))
            self._others = tuple(known)[:_MOST_KNOWN]

    def note_arrival(self) -> None:
        """Record that the client is back where it wants to be."""
        self._last = self.at.url
        self._useless.clear()
        self._left.clear()

    def note_lasting(self) -> None:
        self._followed = 0

    def turn(self, failure: ConnectFailed) -> float:
        """Go to the next address after a failure at this one; return how much of a pause to make before.

        Raises the failure if there is no use in going on.
        """
        if failure.final:
            if not failure.only_here:
                raise failure
            self._useless.add(self.at.url)
        is_circle = self._followed >= _MOST_FOLLOWED
        if isinstance(failure, Elsewhere) and not is_circle and failure.url not in self._useless:
            self._go(failure.url)
            self._last = failure.url
            self._followed += 1
            return AT_ONCE if self._followed <= _MOST_AT_ONCE else NEXT_ROUND
        self._followed = 0
        pause = WITHIN_A_ROUND
        if not self._left:
            pause = NEXT_ROUND
            known = dict.fromkeys((self._last, self.given.url, *self._others))
            self._left = [url for url in known if url not in self._useless]
        if not self._left:
            raise failure
        self._go(self._left[0])
        return pause

    def _go(self, url: str) -> None:
        self.at = self.given if url == self.given.url else self.given.at(url)
        self._left = [each for each in self._left if each != url]
