"""`palatinus serve`: a server for others."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from client.address import DEFAULT_PORT
from client.language import _
from commands.access import add_password, password_of
from commands.parsing import Commands, DefaultFolder, WrongUse, describe_host_error, port_number, positive


def add_serve(commands: Commands) -> None:
    serve = commands.add_parser("serve", help=_("host games on the local network"))
    serve.add_argument("--host", default="0.0.0.0", help=_("address to listen on (default: all)"))  # noqa: S104 - a LAN host
    serve.add_argument(
        "--port", type=port_number, default=DEFAULT_PORT, help=_("port to listen on (default: %(default)s)")
    )
    where = serve.add_mutually_exclusive_group()
    where.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=DefaultFolder(),
        help=_("folder where games are kept (default: %(default)s)"),
    )
    where.add_argument(
        "--memory", action="store_true", help=_("keep nothing on disk: all games end when the server stops")
    )
    serve.add_argument(
        "--records",
        type=Path,
        metavar="DIR",
        help=_("write the record of every finished game to this folder"),
    )
    serve.add_argument(
        "--durable",
        choices=("normal", "full"),
        default="normal",
        help=_("full: every move waits for the disk, so that not even a power cut loses one"),
    )
    serve.add_argument(
        "--tls-cert", type=Path, metavar="FILE", help=_("certificate chain (PEM), to serve wss://")
    )
    serve.add_argument(
        "--tls-key", type=Path, metavar="FILE", help=_("private key, if it is not in the --tls-cert file")
    )
    add_password(serve, _("require the password on the first line of this file"))
    serve.add_argument(
        "--max-tables",
        type=positive,
        metavar="N",
        default=500,
        help=_("maximum number of tables at once (default: %(default)s)"),
    )
    serve.add_argument(
        "--tables-per-minute",
        type=positive,
        metavar="N",
        help=_(
            "maximum number of tables opened per minute from one address "
            "(default: 120, and 30 from one connection)"
        ),
    )
    serve.add_argument(
        "--max-connections",
        type=positive,
        metavar="N",
        default=1000,
        help=_("maximum number of connections at once (default: %(default)s)"),
    )
    serve.add_argument(
        "--connections-per-address",
        type=positive,
        metavar="N",
        default=250,
        help=_("maximum number of connections at once from one address (default: %(default)s)"),
    )
    serve.add_argument(
        "--rate",
        type=positive,
        metavar="N",
        default=20,
        help=_("messages per second read from one client (default: %(default)s)"),
    )
    serve.add_argument(
        "-v", "--verbose", action="store_true", help=_("also log who connects, takes a seat and leaves")
    )
    serve.add_argument(
        "--metrics",
        action=argparse.BooleanOptionalAction,
        help=_("serve /healthz and /metrics (default: only on a loopback address)"),
    )
    serve.add_argument("--log-json", action="store_true", help=_("log one JSON object per line"))
    serve.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    from client.bots.greedy import greedy
    from server.config import Config, Limits
    from server.errors import HostError
    from server.logs import log_to
    from server.net.addresses import only_here
    from server.process import serve

    if arguments.memory and arguments.durable == "full":
        raise WrongUse(
            _("--memory keeps nothing on disk, so --durable full has no effect: leave out one of them")
        )
    usual = Limits()
    # Whoever lets more connections come from one address has a proxy, or many people behind it.
    share = max(1.0, arguments.connections_per_address / usual.connections_per_address)
    limits = Limits(
        tables=arguments.max_tables,
        connections=arguments.max_connections,
        connections_per_address=arguments.connections_per_address,
        rate=arguments.rate,
        burst_per_address=round(share * usual.burst_per_address),
        rate_per_address=share * arguments.rate * usual.rate_per_address / usual.rate,
        chat_per_address=round(share * usual.chat_per_address),
    )
    if (most := arguments.tables_per_minute) is not None:
        limits = replace(limits, tables_per_connection=most, tables_per_address=most)
    config = Config(
        host=arguments.host,
        port=arguments.port,
        data=None if arguments.memory else Path(arguments.data),
        durable=arguments.durable,
        records=arguments.records,
        tls_cert=arguments.tls_cert,
        tls_key=arguments.tls_key,
        password=password_of(arguments),
        stand_in=greedy,
        watched=only_here(arguments.host) if arguments.metrics is None else arguments.metrics,
        limits=limits,
    )
    log_to(sys.stderr, verbose=arguments.verbose, as_json=arguments.log_json)
    try:
        open_to_all = not (only_here(config.host) or config.tls_cert or config.password)
        serve(config, lambda addresses: _announce(addresses, open_to_all=open_to_all))
    except HostError as error:
        raise WrongUse(f"{describe_host_error(error)}.") from error
    print(_("Palatinus has stopped."))
    return 0


def _announce(addresses: list[str], *, open_to_all: bool) -> None:
    print(_("The server is running. Others join with one of these commands; Ctrl-C stops it."))
    for address in addresses:
        print(f"  palatinus join {address}")
    if open_to_all:
        print(
            _(
                "Anyone who reaches this computer can join, and what players send can be read on its way. "
                "On the internet, use --tls-cert and --password-file."
            )
        )
    sys.stdout.flush()
