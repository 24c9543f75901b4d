"""`palatinus guests`: lets people play over ssh, with nothing installed."""

import argparse
import importlib.util
from pathlib import Path
from typing import Final

from client.language import N_, WrongUse, _
from commands.access import add_access
from commands.arguments import HOST_HELP, data_folder, port_number, positive
from server.version import install_command

DEFAULT_PORT: Final = 7722
GUESTS_HELP: Final = N_("maximum number of guests over ssh at once (default: %(default)s)")
GUESTS_PER_ADDRESS_HELP: Final = N_(
    "maximum number of guests at once from one address (default: %(default)s)"
)


def add_guests(guests: argparse.ArgumentParser) -> None:
    meaning = _("port to listen on (default: %(default)s)")
    guests.add_argument("--ssh", type=port_number, metavar="PORT", default=DEFAULT_PORT, help=meaning)
    guests.add_argument("--host", default="0.0.0.0", help=_(HOST_HELP))  # noqa: S104 - a LAN host
    meaning = _("server they play on (default: %(default)s)")
    guests.add_argument("--server", metavar="ADDRESS", default="ws://127.0.0.1:7733", help=meaning)
    meaning = _("folder for the host key and the guests' seats (default: %(default)s)")
    guests.add_argument("--data", type=Path, metavar="FOLDER", default=data_folder(), help=meaning)
    add_access(guests)
    for name, usual, meaning in (
        ("--max-guests", 200, GUESTS_HELP),
        ("--guests-per-address", 50, GUESTS_PER_ADDRESS_HELP),
    ):
        guests.add_argument(name, type=positive, metavar="NUMBER", default=usual, help=_(meaning))
    guests.add_argument("-v", "--verbose", action="store_true", help=_("also log connections and departures"))
    guests.add_argument("--log-json", action="store_true", help=_("log one JSON object per line"))
    guests.set_defaults(run=_guests)


def need_asyncssh() -> None:
    """Raise WrongUse if the package is missing that speaks ssh."""
    if importlib.util.find_spec("asyncssh") is None:
        text = _("ssh needs the package asyncssh: install it with {command}")
        raise WrongUse(text.format(command=install_command("ssh")))


def _guests(arguments: argparse.Namespace) -> int:
    need_asyncssh()
    from commands.guests.running import let_guests_in  # it imports asyncssh

    return let_guests_in(arguments)
