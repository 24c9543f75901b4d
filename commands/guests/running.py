"""`palatinus guests` as a process: it prepares its key and the gateway, which is open until it is stopped."""

import argparse
import asyncio
import contextlib
import gc
import logging
import os
import secrets
import signal
import socket
import sys
import threading
from pathlib import Path

import asyncssh

from client.language import N_, WrongUse, _, describe_reason
from client.network.transport import ServerAccess
from client.typed_text import same_server, server_url
from commands.arguments import access_of
from commands.guests.gateway import GameServer, Gateway
from commands.guests.kept_seats import GuestBook
from commands.guests.limits import GuestLimits
from commands.guests.process import FROM_INPUT, describe_ways_in
from commands.parsing import CANNOT_USE, describe_host_error, using_file
from server.config import Config
from server.errors import StartError
from server.monitoring.logs import about, log_to
from server.net.event_loop import new_loop
from server.net.listener import listening_socket

log = logging.getLogger(__name__)


def host_key(path: Path) -> asyncssh.SSHKey:
    """Return the key in the file, which is made at the first start; raises WrongUse if that cannot be."""
    try:
        with using_file(CANNOT_USE, path):
            if not path.exists():
                _create(path)
            if sys.platform != "win32" and path.stat().st_mode & 0o077:
                path.chmod(0o600)
            return asyncssh.read_private_key(path)
    except (asyncssh.KeyImportError, asyncssh.KeyEncryptionError):
        reason = _(
            "it is not an ssh key, or it has a passphrase. Move it out of the way, and a new one "
            "will be created"
        )
    raise WrongUse(_(CANNOT_USE).format(file=path, reason=reason))


def _create(path: Path) -> None:
    """Make the file, there as a whole or not at all; one that another process has made meanwhile stays."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}.new")
    with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        file.write(asyncssh.generate_private_key("ssh-ed25519").export_private_key())
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(draft, path)
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def let_guests_in(arguments: argparse.Namespace) -> int:
    """Run the command until it is stopped; raises WrongUse if it cannot begin."""
    log_to(sys.stderr, verbose=arguments.verbose, as_json=arguments.log_json)
    beside_a_server = arguments.server == FROM_INPUT
    server = None
    if not beside_a_server:
        url = server_url(arguments.server)
        server = GameServer(url, same_server(url), access_of(arguments))
    folder = Path(arguments.data) / "guests"
    key = host_key(folder / "host_key")
    with using_file(CANNOT_USE, folder):
        book = GuestBook(folder / "seats")
    limits = GuestLimits(guests=arguments.max_guests, guests_per_address=arguments.guests_per_address)
    with _listening(arguments.host, arguments.ssh) as listener:
        port, fingerprint = listener.getsockname()[1], key.get_fingerprint()
        if beside_a_server:
            print(f"{port} {fingerprint}", flush=True)
            server = _server_from_input()
        else:
            print(describe_ways_in(arguments.host, port, fingerprint), flush=True)
        log.info("the ssh gateway is open", extra=about(port=port, key=fingerprint))
        if server is None:
            return 0  # whoever started this has ended
        gc.freeze()  # what is loaded stays; looking through it for cycles would stop every screen
        with asyncio.Runner(loop_factory=new_loop) as runner:
            gateway = Gateway(key, book, server, limits)
            runner.run(_open(gateway, listener, by_input=beside_a_server))
    return 0


def _server_from_input() -> GameServer | None:
    words = sys.stdin.readline().split()
    if len(words) != 3:
        return None
    url, token, called = words
    # It runs beside its own server, which may send guests anywhere.
    return GameServer(url, called, ServerAccess(headers={"Authorization": f"Bearer {token}"}, hosts=None))


def _listening(host: str, port: int) -> socket.socket:
    try:
        return listening_socket(Config(host=host, port=port))
    except StartError as error:
        reason = (
            describe_reason(error.about["reason"]) if "reason" in error.about else describe_host_error(error)
        )
        text = _("cannot listen on {host} port {port}: {reason}. Choose another --host or --ssh")
        raise WrongUse(text.format(host=host, port=port, reason=reason)) from error


async def _open(gateway: Gateway, listener: socket.socket, *, by_input: bool) -> None:
    """Admit guests until Ctrl-C, SIGTERM or, if asked for, the end of the input."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def end(*_signal: object) -> None:
        with contextlib.suppress(RuntimeError):  # the loop has ended already
            loop.call_soon_threadsafe(stop.set)

    def wait_for_input() -> None:
        while sys.stdin.readline():
            pass
        gateway.farewell = N_("The server stopped.")  # it has held the other end of the input
        end()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)
    if by_input:
        threading.Thread(target=wait_for_input, name="input", daemon=True).start()
    async with gateway.open(listener):
        await stop.wait()
