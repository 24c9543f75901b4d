"""What is wrong with the URL of a database, in sentences that repeat no part which may be a password."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from server.errors import JournalError

_SCHEMES: Final = ("postgresql", "postgres")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
        "sslnegotiation": ("postgres", "direct"),
        "target_session_attrs": ("any", "primary", "standby", "read-write", "read-only", "prefer-standby"),
    }
)
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_HIGHEST_PORT: Final = 65535


def fault_in(url: str) -> JournalError | None:
    """Return what is wrong with a URL, None if nothing is that can be told without connecting."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return senseless()
    # A slash or a question mark of a password ends what is taken for the host.
    if parts.scheme not in _SCHEMES or ("@" in parts.path + parts.query and "@" not in parts.netloc):
        return senseless()
    options = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    return _wrong_host(parts.netloc.rpartition("@")[2], options) or _wrong_option(options)


def senseless() -> JournalError:
    """Return the error for a URL of which nobody can say what is wrong."""
    return JournalError(
        "--database has to be a URL such as postgresql://palatinus@db.example.org/palatinus. "
        "Write a password into ~/.pgpass"
    )


def _wrong_host(named: str, options: Mapping[str, str]) -> JournalError | None:
    hosts = [unquote(host) for host in (named or options.get("host", "")).split(",")]
    if len(hosts) > 1 and not all(hosts):
        return JournalError("the list of hosts in --database has an empty entry")
    after = [host.rpartition("]")[2] for host in hosts if not host.startswith("/")]  # an IPv6 address
    ports = [each.rpartition(":")[2] for each in after if ":" in each]
    ports += filter(None, options.get("port", "").split(","))
    if all(port.isdecimal() and 0 < int(port) <= _HIGHEST_PORT for port in ports if port):
        return None
    return JournalError(
        "a port in --database has to be a number up to {most}, as in "
        "postgresql://palatinus@db.example.org:5432/palatinus. Write a password into ~/.pgpass",
        most=_HIGHEST_PORT,
    )


def _wrong_option(options: Mapping[str, str]) -> JournalError | None:
    for name, choices in _CHOICES.items():
        if name in options and options[name] not in choices:
            return JournalError(
                "{option} in --database has to be one of {choices}", option=name, choices=", ".join(choices)
            )
    for name in _FILES:
        if name in options:
            try:
                with Path(options[name]).open("rb"):
                    pass
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or type(error).__name__
                return JournalError(
                    "cannot read {file}, which {option} in --database names: {reason}",
                    file=options[name],
                    option=name,
                    reason=reason,
                )
    return None
