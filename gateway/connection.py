"""A guest's ssh connection: who it is, how fast it is read, and what its program may ask for.

asyncssh answers whatever comes, and keeps what it cannot send. So a connection is read no faster than
allowed, and nothing piles up behind one that stalls.
"""

import asyncio
import hashlib
import re
import secrets
from collections.abc import Callable
from typing import Any, Final, cast

import asyncssh
from asyncssh.kex import get_kex_algs
from asyncssh.mac import get_default_mac_algs
from asyncssh.public_key import get_default_public_key_algs
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from gateway.limits import GuestLimits
from server.limits.rate_limits import RateLimiter
from server.net.addresses import RemoteEnd

_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"
_WORD_PARTS: Final = 4
_RIGHT_PARTS: Final = re.compile(f"(?:(?:[{_CONSONANTS}][{_VOWELS}]){{2}})+")


def new_word() -> str:
    """Return a word that can be read aloud and typed, and that nobody guesses: one of 70 to the eighth."""
    parts = ("".join(secrets.choice(_CONSONANTS) + secrets.choice(_VOWELS) for _ in "12") for _ in "1234")
    return "-".join(parts)


def resembles_word(text: str) -> bool:
    """Return whether a text may be somebody's word, even mistyped: a name would give most of it away."""
    parts = re.findall("[a-z]+", text.lower())
    right = sum(len(part) // 4 for part in parts if _RIGHT_PARTS.fullmatch(part))
    return len(parts) >= _WORD_PARTS or right >= _WORD_PARTS - 1


def of_word(word: str) -> str:
    return _digest("word", word.lower())


def of_key(fingerprint: str) -> str:
    return _digest("key", fingerprint)


def _digest(kind: str, what: str) -> str:
    return hashlib.blake2b(what.encode(), digest_size=16, person=f"guest {kind}".encode()).hexdigest()


# Key exchanges that cost little; the others that asyncssh knows take up to a second of a processor.
_KEY_EXCHANGES: Final = (
    *("mlkem768x25519-sha256", "curve25519-sha256", "curve25519-sha256@libssh.org"),
    *("ecdh-sha2-nistp256", "ecdh-sha2-nistp384", "ecdh-sha2-nistp521"),
)
_SIGNATURES: Final = [
    each.decode() for each in get_default_public_key_algs() if each != b"ssh-rsa" and b"sha224" not in each
]
_CHECKSUMS: Final = [
    each.decode()
    for each in get_default_mac_algs()
    if not any(weak in each for weak in (b"sha1", b"sha224", b"umac-64"))
]
_LARGEST_EXPONENT: Final = 2**32  # of RSA keys: usual is 65,537, and 3,071 bits take 6 ms to check


_OVERHEAD: Final = 96  # bytes that ssh adds to a message at most


class Arrival(asyncio.Protocol):
    """A new connection, until `admit` ends it, or hands it to a GuestConnection, which costs far more."""

    def __init__(self, admit: Callable[[asyncio.Transport], None]) -> None:
        self._admit = admit

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._admit(cast("asyncio.Transport", transport))


class GuestConnection(asyncssh.SSHServerConnection):
    """A guest's ssh connection. asyncssh only announces which signatures it wants, and takes others too.

    `leave` is called when it ends, perhaps again.
    """

    def __init__(
        self,
        options: asyncssh.SSHServerConnectionOptions,
        limits: GuestLimits,
        remote: RemoteEnd,
        leave: Callable[["GuestConnection"], None],
    ) -> None:
        super().__init__(asyncio.get_running_loop(), options)
        self.remote, self._leave = remote, leave
        self._network: asyncio.Transport
        self._incoming = RateLimiter(limits.incoming_bytes, limits.incoming_rate)
        self._other = RateLimiter(limits.other_bytes, limits.other_rate)
        self._reading_again: asyncio.TimerHandle | None = None
        self._used = 0  # bytes of those being read that were keys, or the like
        self.given = 0  # bytes that were given to ssh since it sent something

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._network = cast("asyncio.Transport", transport)
        self._address = transport.get_extra_info("sockname")[:2]
        super().connection_made(cast("asyncio.Transport", _Network(self, self._network)))

    def way_in(self, word: str | None = None) -> str:
        """Return the command that leads here, or back here with a guest's word."""
        host, port = self._address
        return f"ssh -p {port} {'' if word is None else f'{word}@'}{host}"

    def data_received(self, data: bytes, datatype: asyncssh.DataType = None) -> None:
        loop = asyncio.get_running_loop()
        wait = self._incoming.wait(loop.time(), len(data))
        if wait > 0 and self._reading_again is None and not self._network.is_closing():
            self._network.pause_reading()
            self._reading_again = loop.call_later(wait, self._read_again)
        self._used = 0
        super().data_received(data, datatype)
        if self._other.wait(loop.time(), max(0, len(data) - self._used)) > 0:
            self._network.abort()

    def connection_lost(self, exc: Exception | None = None) -> None:
        if self._reading_again is not None:
            self._reading_again.cancel()
        super().connection_lost(exc)
        self._leave(self)

    def use(self, size: int) -> None:
        """Record that a message of so many bytes is one that guests may send as often as they like."""
        self._used += size + _OVERHEAD

    @property
    def unsent(self) -> int:
        """Return how many bytes wait for the network, or in ssh for the end of an exchange of keys."""
        return self.given + self._network.get_write_buffer_size()

    def abort(self) -> None:
        """End the connection at once; its place is free."""
        self._leave(self)
        self._network.abort()

    async def end(self, seconds: float) -> None:
        """Wait until the guest's program has closed the connection, and close it after so many seconds."""
        try:
            async with asyncio.timeout(seconds):
                await self.wait_closed()
        except TimeoutError:
            self.close()
        self.abort()

    def _read_again(self) -> None:
        self._reading_again = None
        if not self._network.is_closing():
            self._network.resume_reading()

    async def validate_public_key(self, username: str, key_data: bytes, msg: bytes, signature: bytes) -> bool:
        algorithm = signature[4 : 4 + int.from_bytes(signature[:4])].decode("ascii", errors="replace")
        if signature and algorithm not in _SIGNATURES:
            return False
        return await super().validate_public_key(username, key_data, msg, signature)


class _Network:
    """The network as ssh knows it: what ssh writes is no longer waiting in ssh."""

    def __init__(self, connection: GuestConnection, transport: asyncio.Transport) -> None:
        self._connection, self._transport = connection, transport

    def write(self, data: bytes) -> None:
        self._transport.write(data)
        self._connection.given = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Login(asyncssh.SSHServer):
    """One connection, from its first byte on.

    Everybody may come in: an ssh key proves who somebody is, and without one the rest of the conversation is
    empty. Afterwards `guest` is the digest of the key, None without one.
    """

    def __init__(self, terminal: Callable[["Login"], asyncssh.SSHServerSession[bytes]]) -> None:
        """Take what `terminal` returns as the one session of the connection."""
        self.name = ""
        self.guest: str | None = None
        self._terminal = terminal
        self._asked = False

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = cast("GuestConnection", conn)

    # A key is offered before it is proven, and anybody can offer somebody else's. So each way to come in
    # sets anew who comes: what is set when the last of them succeeds was proven by it. What is typed for a
    # password does not matter, nobody has one here; but some programs on phones know no other way.

    def _come_without_key(self, username: str, *_told: str) -> bool:
        self.name, self.guest = username, None
        return True

    begin_auth = get_kbdint_challenge = validate_password = _come_without_key  # type: ignore[assignment]

    def public_key_auth_supported(self) -> bool:
        return True

    kbdint_auth_supported = password_auth_supported = public_key_auth_supported

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        public = key.pyca_key
        if isinstance(public, RSAPublicKey) and public.public_numbers().e > _LARGEST_EXPONENT:
            return False
        self.name, self.guest = username, of_key(key.get_fingerprint())
        return True

    def session_requested(self) -> asyncssh.SSHServerSession[bytes] | bool:
        before, self._asked = self._asked, True
        return not before and self._terminal(self)


def options(
    key: asyncssh.SSHKey, factory: Callable[[], Login], limits: GuestLimits
) -> asyncssh.SSHServerConnectionOptions:
    """Return asyncssh's options: no forwarding, no files, no compression, nothing read from this computer."""
    return asyncssh.SSHServerConnectionOptions(
        server_factory=factory,
        server_host_keys=[key],
        server_version="Palatinus",
        kex_algs=[each for each in _KEY_EXCHANGES if each.encode() in get_kex_algs()],
        mac_algs=_CHECKSUMS,
        signature_algs=_SIGNATURES,
        compression_algs=["none"],
        host_based_auth=False,
        gss_kex=False,
        gss_auth=False,
        agent_forwarding=False,
        x11_forwarding=False,
        allow_scp=False,
        sftp_factory=None,
        gss_host=None,
        line_editor=False,
        encoding=None,
        window=16 * 1024,
        max_pktsize=8 * 1024,
        login_timeout=0,  # the gateway has its own, until the screen is there
        keepalive_interval=limits.keepalive_seconds,
        keepalive_count_max=limits.keepalives,
        utf8_decode_errors="replace",
    )
