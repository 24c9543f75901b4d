"""The options of `palatinus serve`, in the order of its help."""

import argparse
from pathlib import Path

import platformdirs

from client.language import _
from client.typed.address import DEFAULT_PORT
from commands.access import add_password
from commands.arguments import (
    Arguments,
    add_data_folder,
    add_file,
    add_host,
    add_number,
    network,
    port_number,
    server_name,
    share,
)
from commands.guests.command import DEFAULT_PORT as SSH_PORT
from commands.guests.command import add_guest_limits
from commands.levels import STAND_IN, level_name
from commands.serving.options import Default, add_switch, mark_defaults


def add_serve_options(serve: argparse.ArgumentParser) -> None:
    """Add all options, whose defaults can be told from what is given."""
    add_host(serve)
    serve.add_argument(
        "--port", type=port_number, default=DEFAULT_PORT, help=_("port to listen on (default: %(default)s)")
    )
    _add_storage(serve)
    _add_access(serve)
    _add_limits(serve)
    _add_bots(serve)
    _add_meeting(serve)
    _add_operation(serve)
    _add_configuration(serve)
    mark_defaults(serve)


def usual_configuration() -> Path:
    """Return where the configuration is looked for."""
    return platformdirs.user_config_path("palatinus", appauthor=False) / "serve.toml"


def _add_storage(serve: argparse.ArgumentParser) -> None:
    where = serve.add_mutually_exclusive_group()
    add_data_folder(where, _("folder where games are kept (default: %(default)s)"))
    add_switch(where, "--memory", help=_("keep nothing on disk: all games end when the server stops"))
    serve.add_argument(
        "--database",
        metavar="URL",
        help=_("keep games in this PostgreSQL database, which several servers share, not in --data"),
    )
    serve.add_argument(
        "--node",
        metavar="NAME",
        help=_("the name of this server among those that share the database (default: host and port)"),
    )
    serve.add_argument(
        "--address",
        metavar="URL",
        help=_("address that the other servers give clients for this one (default: as shown at the start)"),
    )
    add_number(
        serve,
        "--lease",
        6,
        _("seconds for which an unresponsive server keeps its tables in the database (default: %(default)s)"),
        metavar="SECONDS",
    )
    records = serve.add_mutually_exclusive_group()
    records.add_argument(
        "--records",
        type=Path,
        metavar="DIR",
        help=_(
            "write the record of every finished game to this folder, and never remove one "
            "(default: the latest 10,000 in the folder records of --data)"
        ),
    )
    _add_choice(
        records, "--history", _("keep the records of finished games for palatinus history (default: yes)")
    )
    serve.add_argument(
        "--durable",
        choices=("normal", "full"),
        default="normal",
        help=_("full: every move waits for the disk, so that not even a power cut loses one"),
    )


def _add_access(serve: argparse.ArgumentParser) -> None:
    add_file(serve, "--tls-cert", _("certificate chain (PEM), to serve wss://"))
    add_file(serve, "--tls-key", _("private key, if it is not in the --tls-cert file"))
    serve.add_argument(
        "--trust-proxy",
        type=network,
        action="append",
        metavar="ADDRESS",
        help=_("trust this proxy, or network of proxies, to report its clients' addresses (can be repeated)"),
    )
    add_switch(
        serve,
        "--proxy-protocol",
        help=_("trusted proxies report addresses with the PROXY protocol instead of X-Forwarded-For"),
    )
    add_password(serve, _("require the password on the first line of this file"))


def _add_limits(serve: argparse.ArgumentParser) -> None:
    add_number(serve, "--max-tables", 500, _("maximum number of tables at once (default: %(default)s)"))
    add_number(
        serve,
        "--tables-per-minute",
        None,
        _(
            "maximum number of tables opened per minute from one address "
            "(default: 120, and 30 from one connection)"
        ),
    )
    add_number(
        serve, "--max-connections", 1000, _("maximum number of connections at once (default: %(default)s)")
    )
    add_number(
        serve,
        "--connections-per-address",
        250,
        _("maximum number of connections at once from one address (default: %(default)s)"),
    )
    add_number(serve, "--rate", 20, _("messages per second read from one client (default: %(default)s)"))


def _add_bots(serve: argparse.ArgumentParser) -> None:
    add_switch(
        serve, "--bots", on=True, help=_("seat bots at tables whose hosts ask for them (default: yes)")
    )
    serve.add_argument(
        "--bots-cpu",
        type=share,
        metavar="SHARE",
        default=0.5,
        help=_("CPU cores that all bots together may use for thinking (default: %(default)s)"),
    )
    serve.add_argument(
        "--bots-pace",
        choices=("human", "quick"),
        default="human",
        help=_("human: at a table of several people, bots take 1.5 to 4 seconds for a move; quick: 1 second"),
    )
    serve.add_argument(
        "--stand-in",
        type=level_name,
        metavar="LEVEL",
        default=STAND_IN,
        help=_("the level of the bot that plays for absent players (default: %(default)s)"),
    )


def _add_meeting(serve: argparse.ArgumentParser) -> None:
    """Add what concerns how people find the server and each other."""
    add_switch(
        serve,
        "--lobby-chat",
        on=True,
        help=_("let people in the lobby see who is online, and talk there (default: yes)"),
    )
    _add_choice(
        serve,
        "--announce",
        _("announce the server to palatinus join (default: unless --host is a loopback address)"),
    )
    serve.add_argument(
        "--name",
        type=server_name,
        metavar="NAME",
        help=_("name under which others find the server (default: this computer's name)"),
    )
    serve.add_argument(
        "--ssh",
        type=port_number,
        nargs="?",
        metavar="PORT",
        const=SSH_PORT,
        help=_("let people play over ssh, with nothing installed (port: {port})").format(port=SSH_PORT),
    )
    add_guest_limits(serve)


def _add_operation(serve: argparse.ArgumentParser) -> None:
    """Add what concerns the host, who looks at the running server."""
    add_switch(serve, "-v", "--verbose", help=_("also log connections, seats taken and departures"))
    add_switch(serve, "--web", help=_("show browsers how to join, and the tables as spectators see them"))
    _add_choice(serve, "--metrics", _("serve /healthz and /metrics (default: only on a loopback address)"))
    add_switch(serve, "--log-json", help=_("log one JSON object per line"))
    _add_choice(serve, "--admin", _("listen for palatinus admin (default: yes, unless --memory is given)"))
    add_file(
        serve,
        "--admin-socket",
        _("listen for palatinus admin there (default: admin.sock in the data folder)"),
    )


def _add_configuration(serve: argparse.ArgumentParser) -> None:
    file = serve.add_mutually_exclusive_group()
    file.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=Default(usual_configuration()),
        help=_("read options from this TOML file (default: %(default)s, if it exists)"),
    )
    file.add_argument("--no-config", action="store_true", help=_("do not read a configuration file"))
    serve.add_argument(
        "--print-config", action="store_true", help=_("print the options in use as a TOML file, and exit")
    )


def _add_choice(command: Arguments, name: str, meaning: str) -> None:
    """Add a switch whose default depends on other options."""
    command.add_argument(name, action=argparse.BooleanOptionalAction, help=meaning)
