"""Notifications to players who are away: e-mail through the operator's SMTP server, and POST to URLs.

Players choose the URLs, so that nothing of what they name is trusted: a name is resolved once, every address
that it has must be public, and the connection goes to the address that was checked. No redirect is followed,
and only the first line of the answer is read.
"""

import asyncio
import contextlib
import ipaddress
import re
import secrets
import smtplib
import socket
import ssl
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import UTC, datetime
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import parseaddr
from functools import partial
from typing import Final
from urllib.parse import SplitResult, urlsplit

from discovery.interfaces import all_interfaces, is_among
from protocol.codes import Code
from protocol.messages import NoticeKind
from server.config import PlayerNotice
from server.limits.networks import Networks
from server.limits.own_threads import OwnThreads
from server.limits.turns import InTurn
from server.net.addresses import only_here
from server.refusal import Refusal

_SECONDS: Final = 10.0  # for each step: resolving a name, and sending
_SECONDS_WITH_WAITING: Final = 30.0  # in all: then it is tried again later
# Receivers and names that do not answer delay nobody from elsewhere, only others of the same network.
_POSTS_AT_ONCE: Final = 32
_RESOLVED_AT_ONCE: Final = 8
_OF_EACH: Final = 2
_MAILS_AT_ONCE: Final = 2
_MAILS_OF_EACH: Final = 1
_ADDRESSES_TRIED: Final = 4
_LINE_BYTES: Final = 1024  # of an answer; no more of it is read
_PORTS: Final = {"http": 80, "https": 443}
_PUBLIC_V6: Final = ipaddress.ip_network("2000::/3")
_DOCUMENTATION_V6: Final = ipaddress.ip_network("3fff::/20")  # Python 3.11 takes it for public (RFC 9637)
# One mailbox in ASCII, without quotes or comments; domains have a dot, so that none is the operator's own.
_MAILBOX: Final = re.compile(
    r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@((?:[A-Za-z0-9-]{1,63}\.)+[A-Za-z0-9-]{2,63})"
)
_URL: Final = re.compile(r"https?://[!-~]+")

# What a notice says, from a language, the server's address and the notice: a subject and a text.
Wording = Callable[[str, str, PlayerNotice], tuple[str, str]]


class _Undelivered(Exception):
    """A notice was not delivered, for a reason that does not contain the address."""


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """The server that sends the operator's e-mail; TLS is checked, and needed except on this computer."""

    host: str
    port: int
    sender: str
    user: str = ""
    password: str = field(default="", repr=False)
    implicit_tls: bool = False

    def send(self, message: EmailMessage) -> None:
        """Hand a message to the server; blocks, and raises OSError or SMTPException."""
        tls = ssl.create_default_context()
        if self.implicit_tls:
            smtp: smtplib.SMTP = smtplib.SMTP_SSL(self.host, self.port, timeout=_SECONDS, context=tls)
        else:
            smtp = smtplib.SMTP(self.host, self.port, timeout=_SECONDS)
        with smtp:
            smtp.ehlo()
            if not self.implicit_tls and (not only_here(self.host) or smtp.has_extn("starttls")):
                smtp.starttls(context=tls)
            if self.user:
                smtp.login(self.user, self.password)
            smtp.send_message(message)


@dataclass(eq=False, repr=False)
class NoticePostman:
    """The `Postman`: sends notices to addresses that are `allowed`: `mail`, `url`, `mail:DOMAIN`, `url:HOST`.

    `url:HOST` or `url:HOST:PORT` may be on the operator's own network, and at that port.
    """

    allowed: Sequence[str]
    smtp: SmtpServer | None
    _: KW_ONLY
    wording: Wording

    def __post_init__(self) -> None:
        self._named = {kind.lower() for kind in self.allowed}
        self._posts = InTurn(_POSTS_AT_ONCE, _OF_EACH)
        self._tls: ssl.SSLContext | None = None
        self._resolving: OwnThreads[list[str]] = OwnThreads("resolving", _RESOLVED_AT_ONCE, _OF_EACH)
        self._mailing: OwnThreads[None] = OwnThreads("mail", _MAILS_AT_ONCE, _MAILS_OF_EACH)

    @property
    def kinds(self) -> Sequence[NoticeKind]:
        kinds: tuple[NoticeKind, ...] = ("mail", "url")
        return [kind for kind in kinds if any(each.partition(":")[0] == kind for each in self._named)]

    def kind_of(self, address: str) -> NoticeKind:
        if (mailbox := _MAILBOX.fullmatch(address)) is not None:
            if self._named.isdisjoint({"mail", f"mail:{mailbox[1].lower()}"}):
                raise Refusal(Code.ADDRESS_NOT_ALLOWED, kinds=self._describe_allowed())
            return "mail"
        url = _url_of(address)
        if not self._is_named(url) and not ("url" in self._named and _port_of(url) == _PORTS[url.scheme]):
            raise Refusal(Code.ADDRESS_NOT_ALLOWED, kinds=self._describe_allowed())
        return "url"

    def receiver(self, address: str) -> str:
        if _MAILBOX.fullmatch(address) is not None:
            return address.casefold()
        url = _url_of(address)
        assert url.hostname is not None  # noqa: S101 - as in kind_of
        if self._is_named(url):  # it is meant for many: each has a path of it
            return address.casefold().partition("?")[0]
        return url.hostname.rstrip(".")

    async def send(
        self, address: str, language: str, server: str, notice: PlayerNotice, asker: Networks
    ) -> str | None:
        subject, text = self.wording(language, server, notice)
        try:
            async with asyncio.timeout(_SECONDS_WITH_WAITING):
                if self.kind_of(address) == "mail":
                    message = self._message(address, subject, text, notice.key)
                    await self._mailing.do(message, asker, _SECONDS)
                else:
                    await self._post(_url_of(address), text, notice.key, asker)
        except _Undelivered as fault:
            return str(fault)
        except Refusal:  # the operator has changed what is allowed
            return "not allowed any more"
        except Exception as error:  # noqa: BLE001 - their texts contain the address, which no log may
            return type(error).__name__
        return None

    # -- internals ----------------------------------------------------------------------------------

    def _describe_allowed(self) -> str:
        return ", ".join(sorted(self._named))

    def _is_named(self, url: SplitResult) -> bool:
        host, port = url.hostname, _port_of(url)
        return f"url:{host}:{port}" in self._named or (
            f"url:{host}" in self._named and port == _PORTS[url.scheme]
        )

    def _message(self, address: str, subject: str, text: str, key: str) -> Callable[[], None]:
        """Return what sends an e-mail."""
        if self.smtp is None:
            raise _Undelivered("no SMTP server")
        message = EmailMessage(SMTP)
        message["From"] = self.smtp.sender
        message["To"] = Address(addr_spec=address)
        message["Subject"] = subject
        message["Auto-Submitted"] = "auto-generated"  # so that nobody's autoresponder answers (RFC 3834)
        message["Date"] = datetime.now(UTC)  # without it, mail is not valid (RFC 5322), and looks like spam
        domain = parseaddr(self.smtp.sender)[1].rpartition("@")[2]
        message["Message-ID"] = f"<{key or secrets.token_hex(16)}@{domain}>"
        message.set_content(text)
        return partial(self.smtp.send, message)

    async def _post(self, url: SplitResult, text: str, key: str, asker: Networks) -> None:
        assert url.hostname is not None  # noqa: S101 - as in kind_of
        addresses = await self._addresses_of(url.hostname, _port_of(url), asker)
        if not self._is_named(url) and not all(map(is_public, addresses)):
            raise _Undelivered("not a public address")
        if url.scheme == "https" and self._tls is None:
            self._tls = await asyncio.to_thread(ssl.create_default_context)
        async with self._posts.turn(asker), asyncio.timeout(_SECONDS):
            await self._post_to(addresses, url, text, key)

    async def _addresses_of(self, host: str, port: int, asker: Networks) -> list[str]:
        """Return the addresses of a host; raises OSError."""
        with contextlib.suppress(socket.gaierror):  # it is a name
            return _addresses(host, port, socket.AI_NUMERICHOST)
        return await self._resolving.do(partial(_addresses, host, port), asker, _SECONDS)

    async def _post_to(self, addresses: Sequence[str], url: SplitResult, text: str, key: str) -> None:
        assert url.hostname is not None  # noqa: S101 - as in kind_of
        tls = self._tls if url.scheme == "https" else None
        reader, writer = await _connection(addresses, _port_of(url), tls, url.hostname)
        try:
            body = text.encode()
            target = (url.path or "/") + (f"?{url.query}" if url.query else "")
            lines = [
                f"POST {target} HTTP/1.1",
                f"Host: {url.netloc}",
                "User-Agent: palatinus",
                "Content-Type: text/plain; charset=utf-8",
                f"Content-Length: {len(body)}",
                *([f"Idempotency-Key: {key}"] if key else []),
                "Connection: close",
            ]
            writer.write("\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + body)
            status = re.match(rb"HTTP/1\.[01] (\d{3})\b", await reader.readline())
            if status is None or not status[1].startswith(b"2"):
                raise _Undelivered("no HTTP answer" if status is None else f"status {status[1].decode()}")
        finally:
            writer.transport.abort()  # the rest of the answer is not wanted, however long it is


def _url_of(address: str) -> SplitResult:
    """Return the parts of a URL; raises Refusal if it is none, or has a user in it."""
    try:
        url = urlsplit(address)
        fits = _URL.fullmatch(address) and url.hostname and "@" not in url.netloc and _port_of(url)
    except ValueError:  # from the port, or a bracket
        fits = False
    if not fits:
        raise Refusal(Code.BAD_ADDRESS)
    return url


def _port_of(url: SplitResult) -> int:
    return url.port or _PORTS[url.scheme]


def _addresses(host: str, port: int, flags: int = 0) -> list[str]:
    """Return the first addresses of a host; blocks unless the flags keep it from asking anybody."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    return list(dict.fromkeys(str(each[4][0]) for each in found))[:_ADDRESSES_TRIED]


def is_public(text: str) -> bool:
    """Return whether an address is on the internet, and neither inside another one nor on this network."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and (
        address not in _PUBLIC_V6
        or address in _DOCUMENTATION_V6
        or address.sixtofour is not None
        or address.teredo is not None
    ):
        return False
    return address.is_global and not address.is_multicast and not is_among(address, all_interfaces())


async def _connection(
    addresses: Sequence[str], port: int, tls: ssl.SSLContext | None, host: str
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect to the first address that answers; raises OSError, and what its certificate causes."""
    for number, address in enumerate(addresses, start=1):
        try:
            return await asyncio.open_connection(
                address, port, ssl=tls, server_hostname=host if tls else None, limit=_LINE_BYTES
            )
        except OSError:
            if number == len(addresses):
                raise
    raise OSError("the name has no address")
