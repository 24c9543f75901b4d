"""Options of the commands that connect to a server: trusted certificates and the password."""

import argparse
import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from client.language import _
from commands.arguments import add_file
from commands.parsing import WrongUse

if TYPE_CHECKING:
    from client.network.transport import Access
    from client.ui.online.visit import Options, Visit


async def visit_asking(options: "Options") -> "Visit":
    """Visit a server; ask for its password if it wants one, and whether it may send the player elsewhere."""
    import getpass

    from client.network.transport import password_wanted
    from client.player.preferences import clusters_file, clusters_in, remember
    from client.ui.game import visit
    from commands.confirmation import confirmed

    clusters, host = clusters_in(clusters_file()), urlsplit(options.url).hostname or ""
    hosts = (options.access.hosts or frozenset()) | clusters.hosts_with(host)
    options = replace(options, access=replace(options.access, hosts=hosts), asks=sys.stdin.isatty())
    while True:
        visited = await visit(options)
        if visited.hosts:
            text = _("This server is one of several. If it stops, your game goes on at one of: {hosts}")
            question = _("Go there then? Your seat and your password go with you.")
            if confirmed([text.format(hosts=", ".join(visited.hosts))], question):
                remember(clusters_file(), clusters.confirmed(host, visited.hosts))
                options = replace(options, access=replace(options.access, hosts=hosts.union(visited.hosts)))
            options = replace(options, asks=False)
            continue
        if not visited.password_wanted:
            return visited
        if not sys.stdin.isatty():
            return replace(visited, sentence=password_wanted(visited.sentence))
        print(visited.sentence, flush=True)
        try:
            password = getpass.getpass(_("Password: "))
        except EOFError:
            return replace(visited, sentence=password_wanted(visited.sentence))
        options = replace(options, access=replace(options.access, password=password))


def add_access(command: argparse.ArgumentParser) -> None:
    add_file(command, "--tls-ca", _("with wss://, trust the CA certificates in this file"))
    command.add_argument(
        "--other-host",
        action="append",
        default=[],
        metavar="HOST",
        help=_("let the server send this client on to this host as well (as often as you like)"),
    )
    add_password(command, _("read the server's password from the first line of this file"))


def add_password(command: argparse.ArgumentParser, meaning: str) -> None:
    also = _("or set {variable} in the environment").format(variable=PASSWORD_VARIABLE)
    add_file(command, "--password-file", f"{meaning} ({also})")


PASSWORD_VARIABLE: Final = "PALATINUS_PASSWORD"


def password_is_empty() -> bool:
    """Tell whether the environment names a password without one, which a server must not take for none."""
    return os.environ.get(PASSWORD_VARIABLE) == ""


def password_of(arguments: argparse.Namespace) -> str | None:
    """Return the password from the file or the environment; raises WrongUse if it is not a valid one."""
    from protocol.limits import PASSWORD_LENGTH

    file = arguments.password_file
    if file is None:
        password = os.environ.get(PASSWORD_VARIABLE) or None
    else:
        try:
            password = file.read_text(encoding="utf-8").partition("\n")[0].strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = getattr(error, "strerror", None) or _("it is not UTF-8 text")
            raise WrongUse(_("cannot read {file}: {reason}").format(file=file, reason=reason)) from error
        if not password:
            raise WrongUse(_("{file} contains no password: write one on its first line").format(file=file))
    if password is not None and len(password) > PASSWORD_LENGTH:
        raise WrongUse(_("the password is too long: at most {most} characters").format(most=PASSWORD_LENGTH))
    return password


def access_of(arguments: argparse.Namespace) -> "Access":
    """Return what is needed to connect; raises WrongUse if a file does not contain it."""
    import ssl

    from client.network.transport import Access

    tls, file = None, arguments.tls_ca
    if file is not None:
        try:
            tls = ssl.create_default_context(cafile=file)
        except ssl.SSLError as error:
            raise WrongUse(_("{file} contains no certificate (PEM)").format(file=file)) from error
        except OSError as error:
            raise WrongUse(
                _("cannot read {file}: {reason}").format(file=file, reason=error.strerror)
            ) from error
    return Access(tls, password_of(arguments), frozenset(map(_host_in, arguments.other_host)))


def _host_in(text: str) -> str:
    """Return the host in an address or a name; raises WrongUse."""
    from client.typed.address import BadAddress, server_url

    try:
        return urlsplit(server_url(text)).hostname or ""
    except BadAddress as error:
        raise WrongUse(str(error)) from error
