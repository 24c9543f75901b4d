"""What decides who gets in, and may change while the server runs: the certificate, the password, proxies.

The certificate is read, checked as clients will check it, and watched for its end.
"""

import logging
import re
import ssl
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, NoReturn

from server.config import Config
from server.errors import StartError
from server.monitoring.logs import about
from server.net.proxies import TrustedProxies

log = logging.getLogger(__name__)

_DAY: Final = 86_400  # seconds
_SOON: Final = 30 * _DAY
_VERY_SOON: Final = 7 * _DAY
_CERTIFICATE: Final = re.compile(rb"-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----")
_KEY: Final = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY-----")
# The last is OpenSSL's answer to a key of another kind than the certificate's.
_MISMATCHES: Final = frozenset({"KEY_VALUES_MISMATCH", "KEY_TYPE_MISMATCH", "NO_CERTIFICATE_ASSIGNED"})
# Of a public RSA key (RFC 5280, 4.1; RFC 8017, A.1.1), with how many bytes its modulus has.
_LONG_RSA: Final = re.compile(
    rb"\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01\x05\x00\x03\x82..\x00\x30\x82..\x02\x82(..)", re.DOTALL
)
_SLOW_RSA: Final = 4096  # bits: a handshake takes five times as long as with 2,048, which is long enough
_NO_CHECK_TIME: Final = ssl.VerifyFlags(0x200000)  # OpenSSL's X509_V_FLAG_NO_CHECK_TIME


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate in use, which is valid from `begins` to `ends`, in seconds since 1970.

    `ends` is None if no client would accept it anyway, for the reason `refused_for`.
    """

    file: Path
    context: ssl.SSLContext
    begins: float
    ends: float | None
    refused_for: str = ""

    def check(self) -> None:
        """Raise StartError if clients refuse the certificate now."""
        now = time.time()
        if self.ends is None:
            raise StartError(
                "clients refuse the certificate in {file}: {reason}. The server keeps the one that it has",
                file=self.file,
                reason=self.refused_for,
            )
        if self.ends <= now:
            raise StartError(
                "the certificate in {file} expired on {day}. The server keeps the one that it has",
                file=self.file,
                day=_day(self.ends),
            )
        if self.begins > now:
            raise StartError(
                "the certificate in {file} is not valid before {day}. The server keeps the one that it has",
                file=self.file,
                day=_day(self.begins),
            )

    @property
    def is_accepted(self) -> bool:
        try:
            self.check()
        except StartError:
            return False
        return True

    def warn(self) -> None:
        """Log a warning if the certificate expires soon, has expired or is not valid yet."""
        if self.ends is None:
            return
        now = time.time()
        left = self.ends - now
        file, day = str(self.file), _day(self.ends)
        if left <= 0:
            log.error("the certificate has expired, and clients refuse it", extra=about(file=file, ended=day))
            return
        if self.begins > now:
            begins = _day(self.begins)
            log.error(
                "the certificate is not valid yet, and clients refuse it",
                extra=about(file=file, begins=begins),
            )
            return
        days = int(left // _DAY)
        if left <= _VERY_SOON:
            log.error("the certificate expires soon", extra=about(file=file, ends=day, days=days))
        elif left <= _SOON:
            log.warning("the certificate expires soon", extra=about(file=file, ends=day, days=days))


@dataclass(slots=True)
class AccessControl:
    """The certificate, None without TLS, and the password, None without one, for all new connections.

    `proxies` are those that name the clients they connect for.
    """

    certificate: Certificate | None
    password: str | None
    proxies: TrustedProxies = field(default_factory=TrustedProxies)

    @classmethod
    def of(cls, config: Config) -> "AccessControl":
        """Return what the configuration says; raises StartError if a file cannot be used. May block."""
        if config.tls_cert is None and config.tls_key is not None:
            raise StartError("--tls-key needs --tls-cert as well")
        certificate = None if config.tls_cert is None else load_certificate(config.tls_cert, config.tls_key)
        proxies = TrustedProxies(config.trusted_proxies, config.proxy_header)
        return cls(certificate, config.password, proxies)

    def renew(self, new: "AccessControl") -> None:
        """Replace everything; raises StartError and replaces nothing if that would harm.

        Clients could not follow, or the server would be open to everybody because a line is missing.
        """
        if (self.certificate is None) is not (new.certificate is None):
            raise StartError("TLS can be turned on or off only by a restart")
        if self.password is not None and new.password is None:
            raise StartError(
                "the configuration no longer sets a password. The server keeps the one that it has: restart "
                "it to let everybody in"
            )
        if self.certificate is not None and new.certificate is not None and self.certificate.is_accepted:
            new.certificate.check()
        self.certificate, self.password, self.proxies = new.certificate, new.password, new.proxies


def load_certificate(file: Path, key: Path | None) -> Certificate:
    """Read a certificate and its key, which may be in the same file.

    Raises StartError if they cannot be used. It reads files and calculates: for some 10 ms, or as long as
    the disk takes.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)

    def ask_for_password() -> NoReturn:
        raise StartError(
            "the key in {file} is encrypted. Decrypt it with: openssl pkey -in {file} -out NEW_FILE",
            file=key or file,
        )

    try:
        context.load_cert_chain(file, key, password=ask_for_password)
    except (OSError, ssl.SSLError) as error:
        raise _why_not(file, key, error) from error
    context.options |= ssl.OP_NO_RENEGOTIATION  # each would cost as much as the handshake
    try:
        found = _read_certificate(context, file)
    except ssl.SSLCertVerificationError as error:
        reason = error.verify_message
        log.warning("clients refuse the certificate", extra=about(file=str(file), reason=reason))
        return Certificate(file, context, 0.0, None, reason)
    except ssl.SSLError as error:
        raise _why_not(file, key, error) from error
    begins, ends = (ssl.cert_time_to_seconds(str(found[name])) for name in ("notBefore", "notAfter"))
    return Certificate(file, context, begins, ends)


def _day(seconds: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))


def _why_not(file: Path, key: Path | None, error: OSError) -> StartError:
    for each in (file, key or file):
        try:
            text = each.read_bytes()
        except OSError as unread:
            return StartError("cannot read {file}: {reason}", file=each, reason=unread.strerror)
        if each is file and not _CERTIFICATE.search(text):
            return StartError("{file} contains no certificate (PEM)", file=file)
    if not _KEY.search(text):
        if key is None:
            return StartError(
                "{file} contains a certificate but no private key. Name the key's file with --tls-key",
                file=file,
            )
        return StartError(
            "{file} contains no private key (PEM) for the certificate {certificate}",
            file=key,
            certificate=file,
        )
    if isinstance(error, ssl.SSLError) and error.reason in _MISMATCHES:
        return StartError(
            "the key in {key} does not belong to the certificate in {file}", key=key or file, file=file
        )
    reason = getattr(error, "reason", None) or error.strerror
    return StartError("cannot use the certificate {file}: {reason}", file=file, reason=reason)


def _read_certificate(server: ssl.SSLContext, file: Path) -> "dict[str, object]":
    """Return what a client is told of the server's certificate, by a handshake in memory.

    Python reads a certificate only as one that a client trusts. Log it if its key makes handshakes slow.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    binary = _shake_hands(client, server).getpeercert(binary_form=True)
    assert binary is not None  # noqa: S101 - a server always shows one
    if (found := _LONG_RSA.search(binary)) and (bits := 8 * (int.from_bytes(found[1]) - 1)) >= _SLOW_RSA:
        log.warning("the certificate's key is slow", extra=about(file=str(file), bits=bits))
    client.verify_mode = ssl.CERT_REQUIRED
    client.verify_flags = ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    client.load_verify_locations(cadata=binary)
    return dict(_shake_hands(client, server).getpeercert() or {})


def _shake_hands(client: ssl.SSLContext, server: ssl.SSLContext) -> ssl.SSLObject:
    to_client, to_server = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server), server.wrap_bio(to_server, to_client, server_side=True)]
    shaken = 0
    while shaken < len(ends):
        shaken = 0
        for end in ends:
            try:
                end.do_handshake()
                shaken += 1
            except ssl.SSLWantReadError:
                pass
    return ends[0]
