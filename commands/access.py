"""Options of the commands that connect to a server: trusted certificates and the password."""

import argparse
import os
import ssl
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from client.language import N_, WrongUse, _
from client.typed_text import server_url
from commands.parsing import CANNOT_READ, using_file
from protocol.limits import PASSWORD_LENGTH

if TYPE_CHECKING:
    from client.network.transport import ServerAccess


def add_access(command: argparse.ArgumentParser) -> None:
    meaning = _("with wss://, trust the CA certificates in this file")
    command.add_argument("--tls-ca", type=Path, metavar="FILE", help=meaning)
    meaning = _("let the server send this client on to this host as well (as often as you like)")
    command.add_argument("--other-host", action="append", default=[], metavar="HOST", help=meaning)
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
