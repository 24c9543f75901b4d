"""`palatinus guests`: lets people play over ssh, with nothing installed."""

import argparse
from pathlib import Path
from typing import Final

from client.language import _
from commands.arguments import SSH_PORT, add_access, data_folder, port_number
from commands.guests.process import need_asyncssh
from commands.serving.options import serve_options

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
    from commands.guests.running import let_guests_in  # it imports asyncssh

    return let_guests_in(arguments)
