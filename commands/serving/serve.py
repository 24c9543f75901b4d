"""`palatinus serve`: a server for others."""

import argparse
import contextlib
import functools
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from client.language import _
from client.typed.address import DEFAULT_PORT, BadAddress, describe_found_as, server_url
from commands.access import PASSWORD_VARIABLE, add_password, password_is_empty, password_of
from commands.finished_games.past_games import MOST_KEPT
from commands.guests.command import DEFAULT_PORT as SSH_PORT
from commands.guests.command import add_guest_limits, need_asyncssh
from commands.levels import STAND_IN, level_name, with_bots
from commands.parsing import (
    Commands,
    DefaultFolder,
    UsualConfiguration,
    WrongUse,
    describe_host_error,
    network,
    port_number,
    positive,
    server_name,
    share,
)
from commands.serving.configuration import Setting, namespace_of, printed, settings
from commands.serving.options import add_switch, mark_defaults

if TYPE_CHECKING:
    from commands.guests.process import DoorProcess
    from server.config import Announce, Config, Limits, Pages


_RENEWED: Final = frozenset(
    {"tls-cert", "tls-key", "trust-proxy", "proxy-protocol", "password-file", "lobby-chat", "verbose"}
)  # by SIGHUP


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
        help=_("where clients reach this server, as the others tell them (default: as shown at the start)"),
    )
    serve.add_argument(
        "--lease",
        type=positive,
        metavar="SECONDS",
        default=6,
        help=_(
            "how long a server that does not answer keeps its tables in the database (default: %(default)s)"
        ),
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
    records.add_argument(
        "--history",
        action=argparse.BooleanOptionalAction,
        help=_("keep the records of finished games for palatinus history (default: yes)"),
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
    serve.add_argument(
        "--trust-proxy",
        type=network,
        action="append",
        metavar="ADDRESS",
        help=_("believe this proxy, or this network of proxies, where its clients are (can be repeated)"),
    )
    add_switch(
        serve,
        "--proxy-protocol",
        help=_("trusted proxies say it by the PROXY protocol, not by X-Forwarded-For"),
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
    add_switch(
        serve, "--bots", on=True, help=_("seat bots at tables whose hosts ask for them (default: yes)")
    )
    serve.add_argument(
        "--bots-cpu",
        type=share,
        metavar="SHARE",
        default=0.5,
        help=_("how many processors' time all bots may take to think (default: %(default)s)"),
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
    add_switch(
        serve,
        "--lobby-chat",
        on=True,
        help=_("let people in the lobby see who is online, and talk there (default: yes)"),
    )
    serve.add_argument(
        "--announce",
        action=argparse.BooleanOptionalAction,
        help=_("be found by palatinus join (default: unless --host is a loopback address)"),
    )
    serve.add_argument(
        "--name",
        type=server_name,
        metavar="NAME",
        help=_("the name under which others find it (default: that of this computer)"),
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
    add_switch(serve, "-v", "--verbose", help=_("also log who connects, takes a seat and leaves"))
    add_switch(serve, "--web", help=_("show browsers how to join, and the tables as spectators see them"))
    serve.add_argument(
        "--metrics",
        action=argparse.BooleanOptionalAction,
        help=_("serve /healthz and /metrics (default: only on a loopback address)"),
    )
    add_switch(serve, "--log-json", help=_("log one JSON object per line"))
    serve.add_argument(
        "--admin",
        action=argparse.BooleanOptionalAction,
        help=_("listen for palatinus admin (default: yes, unless --memory is given)"),
    )
    serve.add_argument(
        "--admin-socket",
        type=Path,
        metavar="FILE",
        help=_("listen for palatinus admin there (default: admin.sock in the data folder)"),
    )
    file = serve.add_mutually_exclusive_group()
    file.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=UsualConfiguration(),
        help=_("take options from this TOML file (default: %(default)s, if it exists)"),
    )
    file.add_argument("--no-config", action="store_true", help=_("take options from no file"))
    serve.add_argument(
        "--print-config", action="store_true", help=_("print the options in use as a TOML file, and exit")
    )
    mark_defaults(serve)
    serve.set_defaults(run=functools.partial(_serve, serve))


def _serve(command: argparse.ArgumentParser, arguments: argparse.Namespace) -> int:
    from server.errors import HostError
    from server.logs import log_to
    from server.net.addresses import only_here
    from server.process import Renewal, serve

    file = _file(arguments)
    found = settings(command, arguments, file)
    chosen = namespace_of(found)
    _check(chosen)
    if arguments.print_config:
        print("\n".join(printed(found)))
        return 0
    config = _config(chosen)
    if not arguments.announced:
        config = replace(config, announce=None)
    if config.announce is not None:
        config = replace(config, announce=replace(config.announce, told=_tell_name))
    log_to(sys.stderr, verbose=chosen.verbose, as_json=chosen.log_json)

    def read_again() -> Renewal:
        try:
            now = settings(command, arguments, _file(arguments))
            chosen = namespace_of(now)
            _check(chosen)
            return Renewal(_config(chosen), chosen.verbose, _waiting(found, now))
        except WrongUse as error:
            raise HostError("{reason}", reason=error) from error

    door = None if chosen.ssh is None else _door(chosen)
    open_to_all = not (only_here(config.host) or config.tls_cert or config.password)
    told = []
    if door is not None:
        from commands.guests.announcement import announcement

        opened = door.start()
        told = [announcement(chosen.host, opened.port, opened.fingerprint)]
        config = replace(
            config, gateway=functools.partial(door.let_in, called=f"ws://127.0.0.1:{chosen.port}")
        )
        if chosen.web:
            config = replace(config, pages=_pages(opened.port))

    def started(addresses: list[str]) -> None:
        _announce(addresses, file, told, web=chosen.web, open_to_all=open_to_all)

    try:
        serve(config, started, read_again)
    except HostError as error:
        raise WrongUse(f"{describe_host_error(error)}.") from error
    finally:
        if door is not None:
            door.close()
    with contextlib.suppress(OSError):  # the terminal that it was started in may be gone
        print(_("Palatinus has stopped."), flush=True)
    return 0


def _waiting(before: Sequence[Setting], now: Sequence[Setting]) -> tuple[str, ...]:
    """Return the names of options that have changed but wait for a restart."""
    return tuple(
        new.option.key
        for old, new in zip(before, now, strict=True)
        if old.value != new.value and new.option.key not in _RENEWED
    )


def _file(arguments: argparse.Namespace) -> Path | None:
    """Return the configuration file to read: the one given, or the usual one if it exists."""
    if arguments.no_config:
        return None
    if isinstance(arguments.config, Path):
        return arguments.config
    usual = Path(UsualConfiguration())
    try:
        return usual if usual.exists() else None
    except OSError:  # a home that a service may not look into
        return None


def _check(chosen: argparse.Namespace) -> None:
    if chosen.password_file is None and password_is_empty():
        raise WrongUse(
            _("{variable} is empty: write the password into it, or remove it").format(
                variable=PASSWORD_VARIABLE
            )
        )
    if chosen.memory and chosen.durable == "full":
        raise WrongUse(
            _("--memory keeps nothing on disk, so --durable full has no effect: leave out one of them")
        )
    if chosen.address is not None:
        try:
            server_url(chosen.address)
        except BadAddress as error:
            raise WrongUse(str(error)) from error
    if chosen.memory and chosen.database is not None:
        raise WrongUse(_("--memory keeps nothing, so --database has no effect: leave out one of them"))
    if chosen.proxy_protocol and not chosen.trust_proxy:
        raise WrongUse(_("--proxy-protocol needs --trust-proxy, with the address of the proxy"))
    if chosen.admin and chosen.memory and chosen.admin_socket is None:
        raise WrongUse(_("--admin with --memory needs --admin-socket: there is no data folder to listen in"))


def _config(chosen: argparse.Namespace) -> "Config":
    from server.config import Config
    from server.net.addresses import only_here

    data = None if chosen.memory else Path(chosen.data)
    records, most_records = chosen.records, None
    if records is None and data is not None and chosen.history is not False:
        records, most_records = data / "records", MOST_KEPT
    config = Config(
        host=chosen.host,
        port=chosen.port,
        data=data,
        database=chosen.database,
        node=chosen.node,
        address="" if chosen.address is None else server_url(chosen.address),
        lease_seconds=chosen.lease,
        durable=chosen.durable,
        records=records,
        most_records=most_records,
        tls_cert=chosen.tls_cert,
        tls_key=chosen.tls_key,
        trusted_proxies=tuple(chosen.trust_proxy or ()),
        proxy_header=chosen.proxy_protocol,
        password=password_of(chosen),
        announce=_announced_as(chosen),
        admin=_admin_socket(chosen),
        pages=_pages() if chosen.web else None,
        watched=only_here(chosen.host) if chosen.metrics is None else chosen.metrics,
        human_pace=chosen.bots_pace == "human",
        lobby_chat=chosen.lobby_chat,
        limits=_limits(chosen),
    )
    return with_bots(config, chosen.stand_in, seated=chosen.bots)


def _announced_as(chosen: argparse.Namespace) -> "Announce | None":
    """Return how the server is announced: not if only this computer reaches it, unless it is asked for."""
    from discovery.interfaces import switched_off
    from discovery.names import default_name
    from server.config import Announce
    from server.net.addresses import only_here

    wanted = not only_here(chosen.host) if chosen.announce is None else chosen.announce
    if not wanted or switched_off():
        return None
    return Announce(chosen.name or default_name())


def _admin_socket(chosen: argparse.Namespace) -> Path | None:
    """Return where to listen for `palatinus admin`: without a data folder, nowhere unless told where."""
    from server.admin.endpoint import SOCKET_NAME

    if chosen.admin is False:
        return None
    if chosen.admin_socket is not None:
        return Path(chosen.admin_socket)
    return None if chosen.memory else Path(chosen.data) / SOCKET_NAME


def _pages(ssh_port: int | None = None) -> "Pages":
    from client.ui.web.pages import WebPages

    return WebPages(ssh_port=ssh_port)


def _limits(chosen: argparse.Namespace) -> "Limits":
    from server.config import Limits

    usual = Limits()
    # Whoever lets more connections come from one address has a proxy, or many people behind it.
    more = max(1.0, chosen.connections_per_address / usual.connections_per_address)
    limits = Limits(
        tables=chosen.max_tables,
        connections=chosen.max_connections,
        connections_per_address=chosen.connections_per_address,
        rate=chosen.rate,
        burst_per_address=round(more * usual.burst_per_address),
        rate_per_address=more * chosen.rate * usual.rate_per_address / usual.rate,
        chat_per_address=round(more * usual.chat_per_address),
        pages_per_address=round(more * usual.pages_per_address),
        bots_cpu=chosen.bots_cpu,
        chat_in_lobby_per_address=round(more * usual.chat_in_lobby_per_address),
        lobby_names_per_address=round(more * usual.lobby_names_per_address),
    )
    if (most := chosen.tables_per_minute) is not None:
        limits = replace(limits, tables_per_connection=most, tables_per_address=most)
    return limits


def _door(chosen: argparse.Namespace) -> "DoorProcess":
    """Return the process for guests over ssh; raises WrongUse if it cannot be."""
    from client.language import spoken
    from commands.guests.process import DoorProcess

    need_asyncssh()
    if chosen.memory:
        raise WrongUse(_("--ssh needs a data folder, for its key and the guests' seats: leave out --memory"))
    return DoorProcess(
        chosen.ssh,
        (
            *("--host", chosen.host, "--data", str(Path(chosen.data))),
            *("--max-guests", str(chosen.max_guests)),
            *("--guests-per-address", str(chosen.guests_per_address)),
            *(("--verbose",) if chosen.verbose else ()),
            *(("--log-json",) if chosen.log_json else ()),
            *("--lang", spoken()),
        ),
    )


def _announce(
    addresses: list[str], file: Path | None, more: Sequence[str], *, web: bool, open_to_all: bool
) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody reads it any more; the server goes on
        _print_announcement(addresses, file, more, web=web, open_to_all=open_to_all)


def _tell_name(name: str) -> None:
    with contextlib.suppress(OSError):  # nobody reads it any more
        print(describe_found_as(name), flush=True)


def _print_announcement(
    addresses: list[str], file: Path | None, more: Sequence[str], *, web: bool, open_to_all: bool
) -> None:
    if file is not None:
        print(_("The configuration is from {file}.").format(file=file))
    print(_("The server is running. Others join with one of these commands; Ctrl-C stops it."))
    for address in addresses:
        print(f"  palatinus join {address}")
    if web:
        print(_("Browsers show the tables at these addresses:"))
        for address in addresses:
            print(f"  {address.replace('ws', 'http', 1)}/")
    for each in more:
        print(each)
    if open_to_all:
        print(
            _(
                "Anyone who reaches this computer can join, and what players send can be read on its way. "
                "On the internet, use --tls-cert and --password-file."
            )
        )
    sys.stdout.flush()
