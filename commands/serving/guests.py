"""`palatinus guests`: lets people play over ssh, with nothing installed."""

import argparse
import socket
import sys
from pathlib import Path
from typing import Final

from client.language import WrongUse, _, describe_reason
from client.player.folders import data_folder
from client.typed_text import same_server, server_url
from commands.arguments import access_of, add_access, port_number
from commands.serving.options import serve_options
from gateway.process import FROM_INPUT, SSH_PORT, need_asyncssh
from hosting.errors import describe_host_error
from server.errors import StartError

_AS_BESIDE_A_SERVER: Final = ("host", "max-guests", "guests-per-address", "log-json")


def add_guests(guests: argparse.ArgumentParser) -> None:
    guests.add_argument(
        "--ssh",
        type=port_number,
        metavar="PORT",
        default=SSH_PORT,
        help=_("port to listen on (default: %(default)s)"),
    )
    guests.add_argument(
        "--server",
        metavar="ADDRESS",
        default="ws://127.0.0.1:7733",
        help=_("server they play on (default: %(default)s)"),
    )
    guests.add_argument(
        "--data",
        type=Path,
        metavar="FOLDER",
        default=data_folder(),
        help=_("folder for the host key and the guests' seats (default: %(default)s)"),
    )
    add_access(guests)
    for option in serve_options():
        if option.key in _AS_BESIDE_A_SERVER:
            option.add_to(guests)
            guests.set_defaults(**{option.name: option.default})
    guests.add_argument("-v", "--verbose", action="store_true", help=_("also log connections and departures"))


def run_guests(arguments: argparse.Namespace) -> int:
    need_asyncssh()
    from gateway.gateway import GameServer  # it imports asyncssh
    from gateway.limits import GuestLimits
    from gateway.running import let_guests_in
    from server.monitoring.logs import log_to

    log_to(sys.stderr, verbose=arguments.verbose, as_json=arguments.log_json)
    server = None
    if arguments.server != FROM_INPUT:
        url = server_url(arguments.server)
        server = GameServer(url, same_server(url), access_of(arguments))
    limits = GuestLimits(guests=arguments.max_guests, guests_per_address=arguments.guests_per_address)
    with _listening(arguments.host, arguments.ssh) as listener:
        let_guests_in(server, arguments.host, listener, Path(arguments.data) / "guests", limits)
    return 0


def _listening(host: str, port: int) -> socket.socket:
    from server.config import Config
    from server.net.listener import listening_socket

    try:
        return listening_socket(Config(host=host, port=port))
    except StartError as error:
        reason = (
            describe_reason(error.about["reason"]) if "reason" in error.about else describe_host_error(error)
        )
        text = _("cannot listen on {host} port {port}: {reason}. Choose another --host or --ssh")
        raise WrongUse(text.format(host=host, port=port, reason=reason)) from error
