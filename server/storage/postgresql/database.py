"""Where the database is, and how to connect to it and hear its signals; no password is shown."""

import asyncio
import contextlib
import enum
import errno
import hashlib
import re
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from engine.errors import Template
from server.config import Durable
from server.errors import JournalError, NotStored, NotStoredNow
from server.storage import reasons
from server.storage.reasons import Misfit, StorageFault

# The library has no types.
Connection: TypeAlias = Any

CONNECT_SECONDS: Final = 5.0
_SCHEMA: Final = "palatinus"
_USUAL_NAME: Final = re.compile(r"[a-z_][a-z0-9_]{0,62}")
# What any use of a connection may fail with.
FAILED: Final = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresError,
)
# The classes of errors whose texts name no value of a row: of the connection and what it may use, and of what
# the database has room, rights and time for. Others may quote what is stored: "Failing row contains (...)".
_ABOUT_NO_ROW: Final = frozenset({"08", "25", "28", "3D", "40", "42", "53", "55", "57", "58"})
# Those of them that pass by themselves, as when the database is restarted or another one becomes primary.
_PASSING: Final = frozenset({"08", "25", "40", "55", "57"})
_READ_ONLY: Final = "25006"
_TOO_MANY_CONNECTIONS: Final = "53300"
_NO_SUCH_DATABASE: Final = "3D000"
_NO_RIGHTS: Final = "42501"
_NOT_LET_IN: Final = "28"  # a class
# The disk of "normal" is the database's own: no weaker level outlives the end of PostgreSQL's processes, as a
# journal in a file outlives the server's. "full" waits for synchronous standbys as well.
_SYNCHRONOUS: Final[dict[Durable, str]] = {"normal": "local", "full": "on"}
_SCHEMES: Final = ("postgresql", "postgres")
_CHOICES: Final = {
    "sslmode": ("disable", "allow", "prefer", "require", "verify-ca", "verify-full"),
    "sslnegotiation": ("postgres", "direct"),
    "target_session_attrs": ("any", "primary", "standby", "read-write", "read-only", "prefer-standby"),
}
_FILES: Final = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
_HIGHEST_PORT: Final = 65535


class WrongUrl(Misfit, OSError):
    """The URL of a database makes no sense: `fault` says why, and does not repeat what may be a password.

    While a server runs, it is a failure like others: a file that the URL names may be missing for a moment.
    """

    def __init__(self, fault: JournalError) -> None:
        super().__init__(str(fault))
        self.fault = fault


@dataclass(frozen=True, slots=True)
class Database:
    """A database by its URL; Palatinus' tables are in a schema of their own, or the URL's `search_path`."""

    url: str = field(repr=False)
    durable: Durable = "normal"

    def __str__(self) -> str:
        """Return host and name, which may be shown; nothing before an @, as a password may have any signs."""
        where = self.url.partition("://")[2].rpartition("@")[2].partition("?")[0]
        return f"localhost{where}" if where.startswith("/") else where or "localhost"

    @property
    def schema(self) -> str:
        """Return the schema's name; raises JournalError if it is an unusual one, or WrongUrl."""
        try:
            query = urlsplit(self.url).query
        except ValueError as error:
            raise WrongUrl(senseless()) from error
        (name,) = parse_qs(query).get("search_path", [_SCHEMA])[-1:]
        if _USUAL_NAME.fullmatch(name) is None:
            raise JournalError(
                "search_path in --database has to be one name of small letters, digits and _, not {name}",
                name=name,
            )
        return name

    async def connect(self) -> Connection:
        """Return a new connection; raises one of FAILED, WrongUrl among them."""
        settings = {
            "search_path": self.schema,
            "application_name": "palatinus",
            "synchronous_commit": _SYNCHRONOUS[self.durable],
            # A server that stops in the middle of a transaction holds nobody up for long.
            "idle_in_transaction_session_timeout": "10s",
            "lock_timeout": "5s",
            "tcp_keepalives_idle": "5",
            "tcp_keepalives_interval": "2",
            "tcp_keepalives_count": "3",
            "jit": "off",
        }
        if (fault := fault_in(self.url)) is not None:
            raise WrongUrl(fault)
        async with asyncio.timeout(CONNECT_SECONDS):
            try:
                return await asyncpg.connect(self.url, timeout=CONNECT_SECONDS, server_settings=settings)
            except ValueError as error:  # whose text may hold a part of the password
                raise WrongUrl(senseless()) from error

    @contextlib.asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """Connect until the context ends; raises one of FAILED."""
        connection = await self.connect()
        try:
            yield connection
        finally:
            connection.terminate()

    def unusable(self, error: Exception) -> JournalError:
        """Return the error with which the server refuses to start on this database, with a remedy."""
        if isinstance(error, WrongUrl):
            return error.fault
        state = str(getattr(error, "sqlstate", ""))
        if state == _READ_ONLY or isinstance(error, asyncpg.TargetServerAttributeNotMatched):
            text = Template(
                "the database {database} does not accept changes: {reason}. If it is a "
                "standby, list all hosts in --database and append "
                "?target_session_attrs=primary"
            )
        elif state == _TOO_MANY_CONNECTIONS:
            text = Template(
                "the database {database} accepts no more connections: {reason}. Each server"
                " needs four: raise max_connections"
            )
        elif state == _NO_SUCH_DATABASE:
            text = Template(
                "cannot use the database {database}: {reason}. Make it with createdb, or choose another "
                "--database"
            )
        elif state == _NO_RIGHTS or state[:2] == _NOT_LET_IN:
            text = Template(
                "cannot use the database {database}: {reason}. Give its user the rights and the password, or "
                "name another user in --database"
            )
        elif isinstance(error, socket.gaierror):
            text = Template(
                "cannot find the database {database}: no computer with this name is known here. Check the "
                "name, and whether this computer is connected to a network"
            )
        elif isinstance(error, TimeoutError):
            text = Template(
                "the database {database} does not answer in time. Check whether it can be reached from here"
            )
        elif _nobody_answers(error):
            text = Template(
                "nothing answers at the database {database}. Start it, or choose another --database"
            )
        else:
            text = Template(
                "cannot use the database {database}: {reason}. Start it, or choose another --database"
            )
        return JournalError(text, database=self, reason=reason_of(error))


def _nobody_answers(error: BaseException) -> bool:
    """Return whether nothing listens there, at any of several addresses: then there is no number."""
    if isinstance(error, StorageFault) or not isinstance(error, OSError):
        return False
    return error.errno in {None, errno.ECONNREFUSED, errno.ENOENT, errno.EHOSTUNREACH, errno.ENETUNREACH}


def reason_of(error: BaseException) -> str:
    """Return the reason for a failure in a line that may be shown and holds no stored data."""
    if isinstance(error, TimeoutError):
        return Template("it does not answer in time")
    if isinstance(error, socket.gaierror):
        return Template("no computer has this name")
    if _nobody_answers(error):
        return Template("nothing answers there")
    if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
        return Template("none of its hosts is what target_session_attrs asks for")
    if isinstance(error, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return f"the connection cannot be used ({type(error).__name__})"
    if not isinstance(error, asyncpg.PostgresError):
        return reasons.reason_of(error)
    if str(error.sqlstate)[:2] in _ABOUT_NO_ROW:
        return str(error).partition("\n")[0]
    kind = type(error).__name__
    if error.severity_en is None:  # the library's own, which quotes what it could not send
        return f"it cannot be sent ({kind})"
    return f"the database refuses it ({kind}, {error.sqlstate})"


def not_stored(text: str, error: Exception) -> NotStored:
    """Return the error for a change or a question that has failed: whether the database is expected back."""
    refused = refused_by_database(error)
    passes = not refused or str(getattr(error, "sqlstate", ""))[:2] in _PASSING
    return (NotStoredNow if passes else NotStored)(text, reason=reason_of(error))


def refused_by_database(error: Exception) -> bool:
    """Return whether the database says that it has undone a transaction; otherwise it may have stored it.

    Or it was not even asked, because the library cannot encode what is to be sent.
    """
    if isinstance(error, asyncpg.DataError):
        return True
    return isinstance(error, asyncpg.PostgresError) and error.severity_en == "ERROR"


def takes_no_changes(error: Exception) -> bool:
    """Return whether the database says that it is a standby, or otherwise read-only, by now."""
    return isinstance(error, asyncpg.PostgresError) and error.sqlstate == _READ_ONLY


class Signal(enum.Enum):
    """The kinds of notifications, and the prefixes of their PostgreSQL channels."""

    TABLES_WAIT = "palatinus_tables_"  # to be taken up: heard where the lease is renewed, at once
    TOLD = "palatinus_"  # by a server, or no longer: the schema's `tell` sends it, too

    @property
    def notify(self) -> str:
        """Return the SQL that notifies all servers of the schema."""
        return f"pg_notify('{self.value}' || md5(current_schema()), '')"

    def channel(self, schema: str) -> str:
        """Return the channel's name: it is one of the whole database, and a schema's may be too long."""
        return self.value + hashlib.md5(schema.encode(), usedforsecurity=False).hexdigest()


@contextlib.asynccontextmanager
async def transaction(connection: Connection) -> AsyncIterator[None]:
    """Commit the work done in the context, or roll it back.

    A cancelled transaction is not rolled back, which could take for ever: its connection is dropped.
    """
    begun = connection.transaction()
    await begun.start()
    try:
        yield
    except Exception:
        if not connection.is_closed():
            await begun.rollback()
        raise
    await begun.commit()


async def notify(connection: Connection, signal: Signal) -> None:
    """Notify all servers when the transaction is committed."""
    await connection.execute(f"SELECT {signal.notify}")


async def listen(
    connection: Connection,
    database: Database,
    signal: Signal,
    heard: Callable[[Connection, int, str, str], None],
) -> None:
    """Call `heard` with the text of each notification while the connection lasts."""
    await connection.add_listener(signal.channel(database.schema), heard)


# -- the URL: no sentence repeats a part which may be a password ---------------------------------------


def fault_in(url: str) -> JournalError | None:
    """Return the fault of a URL that can be found without connecting, else None."""
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
    """Return the error for a URL that is wrong in a way that cannot be named."""
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
