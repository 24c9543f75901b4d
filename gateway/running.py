"""`palatinus guests` as a process: it prepares its key and the gateway, which is open until it is stopped."""

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

from client.language import CANNOT_USE, N_, WrongUse, _, using_file
from client.network.transport import ServerAccess
from gateway.gateway import GameServer, Gateway
from gateway.kept_seats import GuestBook
from gateway.limits import GuestLimits
from gateway.process import describe_ways_in
from server.monitoring.logs import about
from server.net.event_loop import new_loop

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


def let_guests_in(
    server: GameServer | None, host: str, listener: socket.socket, folder: Path, limits: GuestLimits
) -> None:
    """Let guests play at the server until this process is stopped; raises WrongUse if it cannot begin.

    The key and the guests' seats are in `folder`. Without a server the input says where guests play.
    """
    key = host_key(folder / "host_key")
    with using_file(CANNOT_USE, folder):
        book = GuestBook(folder / "seats")
    port, fingerprint = listener.getsockname()[1], key.get_fingerprint()
    beside_a_server = server is None
    if beside_a_server:
        print(f"{port} {fingerprint}", flush=True)
        server = _server_from_input()
    else:
        print(describe_ways_in(host, port, fingerprint), flush=True)
    log.info("the ssh gateway is open", extra=about(port=port, key=fingerprint))
    if server is None:
        return  # whoever started this has ended
    gc.freeze()  # what is loaded stays; looking through it for cycles would stop every screen
    with asyncio.Runner(loop_factory=new_loop) as runner:
        gateway = Gateway(key, book, server, limits)
        runner.run(_open(gateway, listener, by_input=beside_a_server))


def _server_from_input() -> GameServer | None:
    words = sys.stdin.readline().split()
    if len(words) != 3:
        return None
    url, token, called = words
    # It runs beside its own server, which may send guests anywhere.
    return GameServer(url, called, ServerAccess(headers={"Authorization": f"Bearer {token}"}, hosts=None))


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
