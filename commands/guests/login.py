"""What a guest's ssh program may ask for: to come in, and for one screen. All else is refused."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Final

import asyncssh
from asyncssh.kex import get_kex_algs
from asyncssh.mac import get_default_mac_algs
from asyncssh.public_key import get_default_public_key_algs
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey

from commands.guests import identity
from commands.guests.line import Line

_ENVIRONMENT: Final = frozenset(  # all that describes a terminal; everything else is ignored
    {
        *(
            "TERM",
            "LANGUAGE",
            "LC_ALL",
            "LC_MESSAGES",
            "LC_CTYPE",
            "LANG",
            "NO_COLOR",
            "COLORTERM",
            "COLORFGBG",
        ),
        *("TERM_PROGRAM", "LC_TERMINAL", "VTE_VERSION", "KONSOLE_VERSION", "TMUX"),
    }
)
_LONGEST_VALUE: Final = 64  # characters

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


class Connection(asyncssh.SSHServerConnection):
    """An ssh connection; asyncssh only announces which signatures it wants, and takes others too."""

    async def validate_public_key(self, username: str, key_data: bytes, msg: bytes, signature: bytes) -> bool:
        algorithm = signature[4 : 4 + int.from_bytes(signature[:4])].decode("ascii", errors="replace")
        if signature and algorithm not in _SIGNATURES:
            return False
        return await super().validate_public_key(username, key_data, msg, signature)


class Login(asyncssh.SSHServer):
    """One connection, from its first byte on.

    Everybody may come in: an ssh key proves who somebody is, and without one the rest of the conversation is
    empty. Afterwards `guest` is the digest of the key, None without one.
    """

    def __init__(self, line: Line, begin: Callable[["Login", "Screen"], None]) -> None:
        self.line = line
        self.name = ""
        self.guest: str | None = None
        self._begin = begin
        self._screen: Screen | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self.connection = conn

    # A key is offered before it is proven, and anybody can offer somebody else's. So each way to come in
    # sets anew who comes: what is set when the last of them succeeds was proven by it.

    def begin_auth(self, username: str) -> bool:
        self.name, self.guest = username, None
        return True

    def public_key_auth_supported(self) -> bool:
        return True

    def validate_public_key(self, username: str, key: asyncssh.SSHKey) -> bool:
        public = key.pyca_key
        if isinstance(public, RSAPublicKey) and public.public_numbers().e > _LARGEST_EXPONENT:
            return False
        self.name, self.guest = username, identity.of_key(key.get_fingerprint())
        return True

    def kbdint_auth_supported(self) -> bool:
        return True

    def get_kbdint_challenge(self, username: str, lang: str, submethods: str) -> bool:
        del lang, submethods
        self.name, self.guest = username, None
        return True

    def password_auth_supported(self) -> bool:
        return True  # some programs on phones know nothing else

    def validate_password(self, username: str, password: str) -> bool:
        del password  # whatever it is: nobody has one here
        self.name, self.guest = username, None
        return True

    def session_requested(self) -> "Screen | bool":
        if self._screen is not None:
            return False
        self._screen = Screen(self.line, lambda screen: self._begin(self, screen))
        return self._screen


class Screen(asyncssh.SSHServerSession[bytes]):
    """The one session of a connection: a terminal, if the guest's program has asked for one."""

    def __init__(self, line: Line, begin: Callable[["Screen"], None]) -> None:
        self._line = line
        self.size: tuple[int, int] = (0, 0)
        self.term: str | None = None
        self.wants_command = False
        self.resized: Callable[[int, int], None] = lambda _columns, _rows: None
        self.received: Callable[[bytes], None] = lambda _data: None
        self.closed: Callable[[], None] = lambda: None
        self._begin = begin

    @property
    def channel(self) -> asyncssh.SSHServerChannel[bytes]:
        return self._channel

    def connection_made(self, chan: asyncssh.SSHServerChannel[bytes]) -> None:
        self._channel = chan

    def pty_requested(
        self, term_type: str, term_size: tuple[int, int, int, int], term_modes: Mapping[int, int]
    ) -> bool:
        del term_modes
        self.term, self.size = term_type[:_LONGEST_VALUE], term_size[:2]
        return True

    def shell_requested(self) -> bool:
        return True

    def exec_requested(self, command: str) -> bool:
        del command  # it is not even looked at
        self.wants_command = True
        return True  # so that a sentence can be said

    def session_started(self) -> None:
        self._begin(self)

    def terminal_size_changed(self, width: int, height: int, pixwidth: int, pixheight: int) -> None:
        del pixwidth, pixheight
        self._line.use(0)
        self.size = (width, height)
        self.resized(width, height)

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        del datatype
        self._line.use(len(data))
        self.received(data)

    def eof_received(self) -> bool:
        self.closed()
        return True  # so that what there is to say can still be said

    def connection_lost(self, exc: Exception | None) -> None:
        del exc
        self.closed()

    def environment(self) -> dict[str, str]:
        asked = self._channel.get_environment_bytes()
        found = {"TERM": self.term or ""}
        for name in _ENVIRONMENT - {"TERM"}:
            value = asked.get(name.encode(), b"").decode("ascii", errors="replace")
            if value and value.isprintable() and len(value) <= _LONGEST_VALUE:
                found[name] = value
        return found


def options(
    key: asyncssh.SSHKey, factory: Callable[[], Login], *, keepalive: float, keepalives: int
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
        login_timeout=0,  # the door has its own, until the screen is there
        keepalive_interval=keepalive,
        keepalive_count_max=keepalives,
        utf8_decode_errors="replace",
    )


def log_nothing() -> None:
    """Keep asyncssh from logging: it would name users, and the commands that they ask for."""
    asyncssh.set_log_level("CRITICAL")


async def closed(connection: asyncssh.SSHServerConnection, seconds: float) -> None:
    """Wait until a guest's program has closed its connection, and close it after so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await connection.wait_closed()
    except TimeoutError:
        connection.close()
