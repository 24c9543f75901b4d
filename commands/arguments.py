"""Arguments of several commands: what their words mean, and what it takes to connect to a server."""

import argparse
import contextlib
import ipaddress
import math
import os
import re
import ssl
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from client.language import CANNOT_READ, N_, WrongUse, _, using_file
from client.levels import LEVELS
from client.typed_text import BadText, server_url
from client.typed_text import table_code as code_of
from discovery.names import usable
from protocol.limits import PASSWORD_LENGTH, SERVER_NAME_LENGTH

if TYPE_CHECKING:
    from client.network.transport import ServerAccess


def table_code(text: str) -> str:
    try:
        return code_of(text)
    except BadText as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def word_reader(
    kind: Callable[[str], Any], fits: Callable[[Any], object], text: str, **facts: object
) -> Callable[[str], Any]:
    """Return what reads a word as this kind; for one that does not fit it raises an error with the text."""

    def read(word: str) -> Any:
        with contextlib.suppress(ValueError):
            if fits(found := kind(word)):
                return found
        raise argparse.ArgumentTypeError(_(text).format(word=repr(word), number=repr(word), **facts))

    return read


def _number(least: float, most: float, text: str, kind: Callable[[str], float] = int) -> Callable[[str], Any]:
    return word_reader(kind, lambda number: least <= number <= most, text, least=least, most=most)


_ABOVE_ZERO: Final = N_("{word} is not a number above zero")
positive = _number(1, math.inf, _ABOVE_ZERO)
seconds = _number(sys.float_info.min, sys.float_info.max, _ABOVE_ZERO, float)
whole_number = _number(-math.inf, math.inf, N_("{number} is not a whole number"))
move_number = _number(0, 999, N_("{word} is not a move number: count from 0"))
port_number = _number(0, 65535, N_("{word} is not a port: choose 0 to 65535"))
# Of a processor: some eight moves a second of all bots together are the least.
share = _number(0.01, 64, N_("{word} is not a share: choose {least} to {most}"), float)
_LEVEL_NAMES: Final = tuple(level.name for level in LEVELS)
_NO_LEVEL: Final = N_("{word} is not a level: choose one of {levels}")
level_name = word_reader(str, _LEVEL_NAMES.__contains__, _NO_LEVEL, levels=", ".join(_LEVEL_NAMES))
_NO_SERVER_NAME: Final = N_(
    "{word} cannot be the name of a server: at most {most} letters, digits and spaces, from a single alphabet"
)
server_name = word_reader(str, usable, _NO_SERVER_NAME, most=SERVER_NAME_LENGTH)
_NO_NETWORK: Final = N_("{word} is not an address or a network: write it as 192.0.2.7 or 192.0.2.0/24")
network = word_reader(ipaddress.ip_network, lambda _network: True, _NO_NETWORK)
_NOTICES: Final = re.compile(r"(?i)mail(:[a-z0-9.-]+)?|url(:[a-z0-9.-]+(:[0-9]{1,5})?)?")
_KINDS_OF_NOTICES: Final = "mail, url, mail:DOMAIN, url:HOST, url:HOST:PORT"
notices_allowed = word_reader(
    str, _NOTICES.fullmatch, N_("{word} is none of: {choices}"), choices=_KINDS_OF_NOTICES
)


def smtp_server(text: str) -> str:
    with contextlib.suppress(ValueError):  # from the port
        url = urlsplit(text)
        fits = url.scheme in {"smtp", "smtps"} and url.hostname and url.port != 0
        if fits and url.password is None and not (url.path.strip("/") or url.query):
            return text
    said = _("{word} is not an SMTP server: write it as smtp://user@mail.example.org:587, without a password")
    shown = repr(re.sub(r":[^/@]*@", ":...@", text))  # it may be there, where it should not be
    raise argparse.ArgumentTypeError(said.format(word=shown))


def add_access(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--tls-ca", type=Path, metavar="FILE", help=_("with wss://, trust the CA certificates in this file")
    )
    command.add_argument(
        "--other-host",
        action="append",
        default=[],
        metavar="HOST",
        help=_("also follow redirects to this host (can be repeated)"),
    )
    meaning = _("read the server's password from the first line of this file")
    also = _(PASSWORD_HELP).format(variable=PASSWORD_VARIABLE)
    command.add_argument("--password-file", type=Path, metavar="FILE", help=f"{meaning} ({also})")


PASSWORD_VARIABLE: Final = "PALATINUS_PASSWORD"
SMTP_PASSWORD_VARIABLE: Final = "PALATINUS_SMTP_PASSWORD"
PASSWORD_HELP: Final = N_("or set {variable} in the environment")


def password_of(file: Path | None, variable: str = PASSWORD_VARIABLE) -> str | None:
    """Return the password from the file or the environment; raises WrongUse if it is not a valid one."""
    if file is None:
        password = os.environ.get(variable) or None
    else:
        with using_file(CANNOT_READ, file):
            password = file.read_text(encoding="utf-8").partition("\n")[0].strip()
        if not password:
            raise WrongUse(_("{file} contains no password: write one on its first line").format(file=file))
    if password is not None and len(password) > PASSWORD_LENGTH:
        raise WrongUse(_("the password is too long: at most {most} characters").format(most=PASSWORD_LENGTH))
    return password


def access_of(arguments: argparse.Namespace) -> "ServerAccess":
    """Return what is needed to connect; raises WrongUse if a file does not contain it."""
    from client.network.transport import ServerAccess  # a server only reads a password

    tls, file = None, arguments.tls_ca
    if file is not None:
        with using_file(CANNOT_READ, file):
            try:
                tls = ssl.create_default_context(cafile=file)
            except ssl.SSLError as error:
                raise WrongUse(_("{file} contains no certificate (PEM)").format(file=file)) from error
    hosts = frozenset(urlsplit(server_url(each)).hostname or "" for each in arguments.other_host)
    return ServerAccess(tls, password_of(arguments.password_file), hosts)


def add_folder(command: argparse.ArgumentParser, default: str | None) -> None:
    command.add_argument(
        "--records",
        type=Path,
        metavar="FOLDER",
        default=default,
        help=_("folder with the records (default: the one for games on this computer)"),
    )
