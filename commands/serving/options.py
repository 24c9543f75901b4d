"""The options of `palatinus serve`, in the order of its help; a configuration file has the same."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from client.language import N_, _
from client.typed.address import DEFAULT_PORT
from commands.access import PASSWORD_HELP, PASSWORD_VARIABLE
from commands.arguments import (
    HOST_HELP,
    data_folder,
    network,
    port_number,
    positive,
    server_name,
    share,
)
from commands.guests.command import DEFAULT_PORT as SSH_PORT
from commands.guests.command import GUESTS_HELP, GUESTS_PER_ADDRESS_HELP
from commands.levels import STAND_IN, level_name
from server.config import Network

_METAVARS: Final[Mapping[type, str]] = {int: "N", Path: "FILE"}
_CONVERTED: Final[Mapping[type, Callable[[str], Any]]] = {int: positive, Path: Path}


@dataclass(frozen=True, slots=True)
class Told:
    """What the help says of an option, how its word is read, and which group's options exclude each other."""

    help: str
    metavar: str | None = None
    convert: Callable[[str], Any] | None = None
    group: str = ""
    more: Mapping[str, Any] = field(default_factory=dict)  # for argparse alone


def _option(default: Any, help: str, metavar: str | None = None, convert: Any = None, **more: Any) -> Any:  # noqa: A002 - argparse's own word
    """Declare an option; what `default` returns is its default if it can be called."""
    told = {"told": Told(help, metavar, convert, **more)}
    if callable(default):
        return field(default_factory=default, metadata=told)
    return field(default=default, metadata=told)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What is chosen, and by default; None if nothing is, or something that excludes it."""

    host: str = _option("0.0.0.0", HOST_HELP)  # noqa: S104 - a LAN host
    port: int = _option(DEFAULT_PORT, N_("port to listen on (default: %(default)s)"), "PORT", port_number)
    data: Path | None = _option(
        data_folder, N_("folder where games are kept (default: %(default)s)"), "DIR", group="data"
    )
    memory: bool | None = _option(
        False, N_("keep nothing on disk: all games end when the server stops"), group="data"
    )
    database: str | None = _option(
        None, N_("keep games in this PostgreSQL database, which several servers share, not in --data"), "URL"
    )
    node: str | None = _option(
        None,
        N_("the name of this server among those that share the database (default: host and port)"),
        "NAME",
    )
    address: str | None = _option(
        None,
        N_("address that the other servers give clients for this one (default: as shown at the start)"),
        "URL",
    )
    lease: int = _option(
        6,
        N_(
            "seconds for which an unresponsive server keeps its tables in the database (default: %(default)s)"
        ),
        "SECONDS",
    )
    records: Path | None = _option(
        None,
        N_(
            "write the record of every finished game to this folder, and never remove one "
            "(default: the latest 10,000 in the folder records of --data)"
        ),
        "DIR",
        group="records",
    )
    history: bool | None = _option(
        None, N_("keep the records of finished games for palatinus history (default: yes)"), group="records"
    )
    durable: Literal["normal", "full"] = _option(
        "normal", N_("full: every move waits for the disk, so that not even a power cut loses one")
    )
    tls_cert: Path | None = _option(None, N_("certificate chain (PEM), to serve wss://"))
    tls_key: Path | None = _option(None, N_("private key, if it is not in the --tls-cert file"))
    trust_proxy: list[Network] | None = _option(
        None,
        N_("trust this proxy, or network of proxies, to report its clients' addresses (can be repeated)"),
        "ADDRESS",
        network,
        more={"action": "append"},
    )
    proxy_protocol: bool = _option(
        False, N_("trusted proxies report addresses with the PROXY protocol instead of X-Forwarded-For")
    )
    password_file: Path | None = _option(None, N_("require the password on the first line of this file"))
    max_tables: int = _option(500, N_("maximum number of tables at once (default: %(default)s)"))
    tables_per_minute: int | None = _option(
        None,
        N_(
            "maximum number of tables opened per minute from one address "
            "(default: 120, and 30 from one connection)"
        ),
    )
    max_connections: int = _option(1000, N_("maximum number of connections at once (default: %(default)s)"))
    connections_per_address: int = _option(
        250, N_("maximum number of connections at once from one address (default: %(default)s)")
    )
    rate: int = _option(20, N_("messages per second read from one client (default: %(default)s)"))
    bots: bool = _option(True, N_("seat bots at tables whose hosts ask for them (default: yes)"))
    bots_cpu: float = _option(
        0.5,
        N_("CPU cores that all bots together may use for thinking (default: %(default)s)"),
        "SHARE",
        share,
    )
    bots_pace: Literal["human", "quick"] = _option(
        "human",
        N_("human: at a table of several people, bots take 1.5 to 4 seconds for a move; quick: 1 second"),
    )
    stand_in: str = _option(
        STAND_IN,
        N_("the level of the bot that plays for absent players (default: %(default)s)"),
        "LEVEL",
        level_name,
    )
    lobby_chat: bool = _option(
        True, N_("let people in the lobby see who is online, and talk there (default: yes)")
    )
    announce: bool | None = _option(
        None, N_("announce the server to palatinus join (default: unless --host is a loopback address)")
    )
    name: str | None = _option(
        None,
        N_("name under which others find the server (default: this computer's name)"),
        "NAME",
        server_name,
    )
    ssh: int | None = _option(
        None,
        N_("let people play over ssh, with nothing installed (port: {port})"),
        "PORT",
        port_number,
        more={"nargs": "?", "const": SSH_PORT},
    )
    max_guests: int = _option(200, GUESTS_HELP)
    guests_per_address: int = _option(50, GUESTS_PER_ADDRESS_HELP)
    verbose: bool = _option(False, N_("also log connections, seats taken and departures"))
    web: bool = _option(False, N_("show browsers how to join, and the tables as spectators see them"))
    metrics: bool | None = _option(
        None, N_("serve /healthz and /metrics (default: only on a loopback address)")
    )
    log_json: bool = _option(False, N_("log one JSON object per line"))
    admin: bool | None = _option(
        None, N_("listen for palatinus admin (default: yes, unless --memory is given)")
    )
    admin_socket: Path | None = _option(
        None, N_("listen for palatinus admin there (default: admin.sock in the data folder)")
    )


@dataclass(frozen=True, slots=True)
class Option:
    """An option of the command: what a file calls it, its type, and its default."""

    key: str
    hint: Any
    default: Any
    told: Told

    @property
    def name(self) -> str:
        return self.key.replace("-", "_")

    @property
    def group(self) -> str:
        return self.told.group or self.key

    @property
    def kind(self) -> type:
        """Return bool, int, float, str, Path or list."""
        first = get_args(self.hint)[0] if get_origin(self.hint) is UnionType else self.hint
        return str if get_origin(first) is Literal else get_origin(first) or first

    @property
    def choices(self) -> tuple[str, ...]:
        return get_args(self.hint) if get_origin(self.hint) is Literal else ()

    def convert(self, word: str) -> Any:
        """Return what a word means; raises ArgumentTypeError."""
        return (self.told.convert or _CONVERTED.get(self.kind, str))(word)


def serve_options() -> list[Option]:
    """Return all options with today's defaults."""
    usual, hints = ServeOptions(), get_type_hints(ServeOptions)
    return [
        Option(
            each.name.replace("_", "-"), hints[each.name], getattr(usual, each.name), each.metadata["told"]
        )
        for each in fields(ServeOptions)
    ]


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    """Add all options; what is not given is None."""
    groups: dict[str, Any] = {}
    for option in serve_options():
        told = option.told
        if told.group and told.group not in groups:
            groups[told.group] = serve.add_mutually_exclusive_group()
        into = groups.get(told.group, serve)
        names = ["-v"] if option.key == "verbose" else []
        more: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
        if option.kind is not bool:
            metavar = told.metavar or _METAVARS.get(option.kind)
            more = {"type": option.convert, "metavar": metavar, **told.more}
        if option.choices:
            more = {"choices": option.choices}
        text = _(told.help) if option.key != "password-file" else f"{_(told.help)} ({_(PASSWORD_HELP)})"
        text = text.format(port=SSH_PORT, variable=PASSWORD_VARIABLE)
        say_default(into.add_argument(*names, f"--{option.key}", help=text, **more), option.default)


def say_default(action: argparse.Action, default: object) -> None:
    """Let the help say a default that the parser leaves out, so that what is given can be told from it."""
    action.help = str(action.help).replace("%(default)s", "%(usual)s")
    vars(action)["usual"] = default
