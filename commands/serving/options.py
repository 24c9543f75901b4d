"""The options of `palatinus serve`: its parser, configuration file and documentation come from these."""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import UnionType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from client.language import N_, _
from client.typed_text import DEFAULT_PORT
from commands.access import PASSWORD_HELP, PASSWORD_VARIABLE
from commands.arguments import HOST_HELP, data_folder, network, port_number, positive, server_name, share
from commands.guests.command import DEFAULT_PORT as SSH_PORT
from commands.guests.command import GUESTS_HELP, GUESTS_PER_ADDRESS_HELP
from commands.levels import STAND_IN, level_name
from server.config import Network

_METAVARS: Final[Mapping[type, str]] = {int: "NUMBER", Path: "FILE"}
_CONVERTED: Final[Mapping[type, Callable[[str], Any]]] = {int: positive, Path: Path}


@dataclass(frozen=True, slots=True)
class Option:
    """An option: what the help says of it, how a word for it is read, its key in a file, type and default."""

    help: str
    metavar: str | None = None
    convert_word: Callable[[str], Any] | None = None
    only: str = ""  # of the options with the same word here, one can be in use
    more: Mapping[str, Any] = field(default_factory=dict)  # for argparse alone
    heading: str = ""  # of the help, above this option and those that follow
    key: str = ""
    hint: Any = None
    default: Any = None

    @property
    def name(self) -> str:
        return self.key.replace("-", "_")

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
        return (self.convert_word or _CONVERTED.get(self.kind, str))(word)

    def describe(self) -> str:
        """Return what the help says; `%(default)s` stands for the default."""
        text = _(self.help) if self.key != "password-file" else f"{_(self.help)} ({_(PASSWORD_HELP)})"
        return text.format(port=SSH_PORT, variable=PASSWORD_VARIABLE)

    def add_to(self, group: Any) -> argparse.Action:
        """Add the option to a parser's group; what is not given is None."""
        names = ["-v"] if self.key == "verbose" else []
        more: dict[str, Any] = {"action": argparse.BooleanOptionalAction}
        if self.choices:
            more = {"choices": self.choices}
        elif self.kind is not bool:
            more = {"type": self.convert, "metavar": self.metavar or _METAVARS.get(self.kind), **self.more}
        action: argparse.Action = group.add_argument(*names, f"--{self.key}", help=self.describe(), **more)
        show_default(action, self.default)
        return action


def _option(default: Any, *told: Any, **more: Any) -> Any:
    """Declare an option; what `default` returns is its default if it can be called."""
    metadata = {"option": Option(*told, **more)}
    if callable(default):
        return field(default_factory=default, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What is chosen, and by default; None if nothing is, or something that excludes it."""

    host: str = _option("0.0.0.0", HOST_HELP, metavar="ADDRESS", heading=N_("where"))  # noqa: S104 - a LAN host
    port: int = _option(DEFAULT_PORT, N_("port to listen on (default: %(default)s)"), "PORT", port_number)
    announce: bool | None = _option(
        None, N_("announce the server to palatinus join (default: unless --host is a loopback address)")
    )
    name: str | None = _option(
        None,
        N_("name under which others find the server (default: this computer's name)"),
        "NAME",
        server_name,
    )
    data: Path | None = _option(
        data_folder,
        N_("folder where games are kept (default: %(default)s)"),
        "FOLDER",
        only="data",
        heading=N_("storage"),
    )
    memory: bool | None = _option(
        False, N_("keep nothing on disk: all games end when the server stops"), only="data"
    )
    durable: Literal["normal", "full"] = _option(
        "normal",
        N_(
            "full: every move waits for the disk, so that not even a power cut loses one "
            "(default: %(default)s)"
        ),
    )
    records: Path | None = _option(
        None,
        N_(
            "write the record of every finished game to this folder, and never remove one "
            "(default: the latest 10,000 in the folder records of --data)"
        ),
        "FOLDER",
        only="records",
    )
    history: bool | None = _option(
        None, N_("keep the records of finished games for palatinus history (default: yes)"), only="records"
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
    password_file: Path | None = _option(
        None, N_("require the password on the first line of this file"), heading=N_("who gets in")
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
    max_tables: int = _option(
        500, N_("maximum number of tables at once (default: %(default)s)"), heading=N_("limits")
    )
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
    bots: bool = _option(
        True, N_("seat bots at tables whose hosts ask for them (default: yes)"), heading=N_("bots")
    )
    bots_cpu: float = _option(
        0.5,
        N_("CPU cores that all bots together may use for thinking (default: %(default)s)"),
        "SHARE",
        share,
    )
    bots_pace: Literal["human", "quick"] = _option(
        "human",
        N_(
            "human: at a table of several people, bots take 1.5 to 4 seconds for a move; quick: 1 second "
            "(default: %(default)s)"
        ),
    )
    stand_in: str = _option(
        STAND_IN,
        N_("the level of the bot that plays for absent players (default: %(default)s)"),
        "LEVEL",
        level_name,
    )
    ssh: int | None = _option(
        None,
        N_("let people play over ssh, with nothing installed (port: {port})"),
        "PORT",
        port_number,
        more={"nargs": "?", "const": SSH_PORT},
        heading=N_("guests and pages"),
    )
    max_guests: int = _option(200, GUESTS_HELP)
    guests_per_address: int = _option(50, GUESTS_PER_ADDRESS_HELP)
    web: bool = _option(False, N_("show browsers how to join, and the tables as spectators see them"))
    lobby_chat: bool = _option(
        True, N_("let people in the lobby see who is online, and talk there (default: yes)")
    )
    verbose: bool = _option(
        False, N_("also log connections, seats taken and departures"), heading=N_("logs and control")
    )
    log_json: bool = _option(False, N_("log one JSON object per line"))
    metrics: bool | None = _option(
        None, N_("serve /healthz and /metrics (default: only on a loopback address)")
    )
    admin: bool | None = _option(
        None, N_("listen for palatinus admin (default: yes, unless --memory is given)")
    )
    admin_socket: Path | None = _option(
        None, N_("listen for palatinus admin there (default: admin.sock in the data folder)")
    )


def serve_options() -> list[Option]:
    usual, hints = ServeOptions(), get_type_hints(ServeOptions)
    return [
        replace(
            each.metadata["option"],
            key=each.name.replace("_", "-"),
            hint=hints[each.name],
            default=getattr(usual, each.name),
        )
        for each in fields(ServeOptions)
    ]


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    group: Any = serve
    exclusive: dict[str, Any] = {}
    for option in serve_options():
        if option.heading:
            group = serve.add_argument_group(_(option.heading))
        if option.only and option.only not in exclusive:
            exclusive[option.only] = group.add_mutually_exclusive_group()
        option.add_to(exclusive.get(option.only, group))


def show_default(action: argparse.Action, default: object) -> None:
    """Make the help show a default that the parser leaves out, so that what is given can be told from it."""
    action.help = str(action.help).replace("%(default)s", "%(usual)s")
    vars(action)["usual"] = default
