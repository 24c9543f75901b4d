"""`palatinus serve`: a server for others."""

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from client.address import DEFAULT_PORT
from client.language import _
from commands.access import add_password, password_of
from commands.parsing import Commands, DefaultFolder, WrongUse, port_number, positive, told_to_host


def add_serve(commands: Commands) -> None:
    serve = commands.add_parser("serve", help=_("host games for the LAN"))
    serve.add_argument("--host", default="0.0.0.0", help=_("address to listen on (default: all)"))  # noqa: S104 - a LAN host
    serve.add_argument(
        "--port", type=port_number, default=DEFAULT_PORT, help=_("port (default: %(default)s)")
    )
    where = serve.add_mutually_exclusive_group()
    where.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        default=DefaultFolder(),
        help=_("where to keep running games (default: %(default)s)"),
    )
    where.add_argument("--memory", action="store_true", help=_("keep nothing: games end with the server"))
    serve.add_argument(
        "--records", type=Path, metavar="DIR", help=_("write every finished game's record here")
    )
    serve.add_argument(
        "--durable",
        choices=("normal", "full"),
        default="normal",
        help=_("full: no move is lost in a power cut either; every move waits for the disk"),
    )
    serve.add_argument("--tls-cert", type=Path, metavar="FILE", help=_("certificate chain, for wss://"))
    serve.add_argument("--tls-key", type=Path, metavar="FILE", help=_("private key, if not in --tls-cert"))
    add_password(serve, _("let in only who knows the password in this file's first line"))
    serve.add_argument(
        "--max-tables",
        type=positive,
        metavar="N",
        default=500,
        help=_("tables at once (default: %(default)s)"),
    )
    serve.add_argument(
        "--tables-per-minute",
        type=positive,
        metavar="N",
        help=_("tables opened from one address in a minute (default: 120, 30 of them from one connection)"),
    )
    serve.add_argument(
        "--max-connections",
        type=positive,
        metavar="N",
        default=1000,
        help=_("connections at once (default: %(default)s)"),
    )
    serve.add_argument(
        "--connections-per-address",
        type=positive,
        metavar="N",
        default=250,
        help=_("connections at once from one address (default: %(default)s)"),
    )
    serve.add_argument(
        "--rate",
        type=positive,
        metavar="N",
        default=20,
        help=_("messages a second from one client (default: %(default)s)"),
    )
    serve.add_argument("-v", "--verbose", action="store_true", help=_("log who comes and goes"))
    serve.add_argument(
        "--metrics",
        action=argparse.BooleanOptionalAction,
        help=_("answer /healthz and /metrics (default: only where no other machine can ask)"),
    )
    serve.add_argument("--log-json", action="store_true", help=_("log one JSON object a line"))
    serve.set_defaults(run=_serve)


def _serve(arguments: argparse.Namespace) -> int:
    from client.bots.greedy import greedy
    from server.command import only_here, serve
    from server.config import Config, Limits
    from server.errors import HostError
    from server.logs import log_to

    if arguments.memory and arguments.durable == "full":
        raise WrongUse(
            _("--memory keeps nothing, so --durable full has nothing to keep: leave out one of them")
        )
    limits = Limits(
        tables=arguments.max_tables,
        connections=arguments.max_connections,
        connections_per_address=arguments.connections_per_address,
        rate=arguments.rate,
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
        serve(config, _announce)
    except HostError as error:
        raise WrongUse(f"{told_to_host(error)}.") from error
    print(_("Palatinus has stopped."))
    return 0


def _announce(addresses: list[str]) -> None:
    print(_("Palatinus is served. Others join with one of these; stop with Ctrl-C."))
    for address in addresses:
        print(f"  palatinus join {address}")
    sys.stdout.flush()
