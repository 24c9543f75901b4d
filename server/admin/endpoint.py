"""Where the admin socket is: a unix socket that only its owner may open.

Where there are none, as on Windows, it is a loopback port, and a private file holds its number and a token.
"""

import contextlib
import errno
import os
import secrets
import socket
import stat
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from engine.errors import Template
from server.errors import HostError, StartError

SOCKET_NAME: Final = "admin.sock"
_LONGEST: Final = 107 if sys.platform == "linux" else 103  # bytes in the address of a unix socket
_BACKLOG: Final = 16
_FILE_BYTES: Final = 1024
_BY_UNIX_SOCKET: Final = hasattr(socket, "AF_UNIX") and sys.platform != "win32"


class NoServer(HostError):
    """No server listens there."""


class _Loopback(Struct, frozen=True):
    """What the private file says."""

    port: int
    token: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A listening admin socket; with a `token`, requests have to have it."""

    path: Path
    socket: socket.socket
    token: str | None


@contextlib.contextmanager
def listen_at(path: Path, *, by_unix_socket: bool = _BY_UNIX_SOCKET) -> Iterator[Endpoint]:
    """Listen at `path` until the context ends; what a killed server left there is replaced.

    Raises StartError if that cannot be, if another server listens there, or something else is there.
    """
    with contextlib.ExitStack() as stack:
        try:
            endpoint = _open(path, stack, by_unix_socket=by_unix_socket)
        except OSError as error:
            raise StartError(
                "cannot listen on the admin socket {file}: {reason}. "
                "Choose another --admin-socket, or --no-admin",
                file=path,
                reason=error.strerror or error,
            ) from error
        yield endpoint


def _open(path: Path, stack: contextlib.ExitStack, *, by_unix_socket: bool) -> Endpoint:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    stack.enter_context(_ownership(path))
    _remove_stale(path, unix=by_unix_socket)
    family = socket.AF_UNIX if by_unix_socket else socket.AF_INET
    listener = stack.enter_context(socket.socket(family))
    listener.setblocking(False)
    if not by_unix_socket:
        token = secrets.token_urlsafe(32)
        listener.bind(("127.0.0.1", 0))
        listener.listen(_BACKLOG)
        _write_private(path, msgspec.json.encode(_Loopback(listener.getsockname()[1], token)))
        stack.callback(_remove_own, path, _identity(path))
        return Endpoint(path, listener, token)
    with _short(path) as address:
        listener.bind(address)
    stack.callback(_remove_own, path, _identity(path))
    path.chmod(0o600)  # nobody can connect before it listens
    listener.listen(_BACKLOG)
    return Endpoint(path, listener, None)


def connect_to(path: Path, seconds: float) -> tuple[socket.socket, str | None]:
    """Return a connection to the server that listens at `path`, and the token that it asks for, if any.

    No wait for it takes longer than `seconds`. Raises NoServer, or OSError if `path` may not be used.
    """
    try:
        if not stat.S_ISSOCK(path.lstat().st_mode):
            return _connect_by_port(path, seconds)
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.settimeout(seconds)
            with _short(path) as address:
                connection.connect(address)
        except BaseException:
            connection.close()
            raise
    except (FileNotFoundError, ConnectionRefusedError) as error:
        raise _no_server(path) from error
    return connection, None


def _connect_by_port(path: Path, seconds: float) -> tuple[socket.socket, str]:
    file = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(file, "rb") as opened:
        content = opened.read(_FILE_BYTES)
    try:
        found = msgspec.json.decode(content, type=_Loopback)
    except msgspec.DecodeError as error:
        raise _no_server(path) from error
    return socket.create_connection(("127.0.0.1", found.port), seconds), found.token


def _no_server(path: Path) -> NoServer:
    text = Template(
        "no server is running in {folder}: nothing listens at {file}. Start one, or choose another --data"
    )
    return NoServer(text, folder=path.parent, file=path)


@contextlib.contextmanager
def _ownership(path: Path) -> Iterator[None]:
    """Be the only server at `path` until the context ends, however it ends."""
    lock = path.with_name(f"{path.name}.lock")
    file = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        if not _lock(file):
            raise StartError(
                "another server is using the admin socket {file}. Stop it, or choose another --data "
                "for this one (with --memory, another --admin-socket)",
                file=path,
            )
        yield
    finally:
        os.close(file)


def _lock(file: int) -> bool:
    """Lock the file until it is closed, and return True, unless another process has it."""
    try:
        if sys.platform == "win32":
            import msvcrt  # noqa: PLC0415 - only there

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl  # noqa: PLC0415 - not there

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    return True


def _remove_stale(path: Path, *, unix: bool) -> None:
    """Remove what a killed server left; raises StartError if it is something else."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not (stat.S_ISSOCK(kind) if unix else stat.S_ISREG(kind)):
        raise StartError(
            "{file} is not an admin socket. Move it out of the way, or choose another --admin-socket or "
            "--no-admin",
            file=path,
        )
    path.unlink()


def _identity(path: Path) -> tuple[int, int]:
    status = path.lstat()
    return status.st_dev, status.st_ino


def _remove_own(path: Path, identity: tuple[int, int]) -> None:
    """Remove what was made at `path`, unless the folder was replaced and something else is there now."""
    with contextlib.suppress(OSError):
        if _identity(path) == identity:
            path.unlink()


@contextlib.contextmanager
def _short(path: Path) -> Iterator[str]:
    """Yield an address of the unix socket `path`: by way of its folder if it is too long for one."""
    if len(os.fsencode(path)) <= _LONGEST:
        yield str(path)
        return
    if sys.platform != "linux":
        raise OSError(errno.ENAMETOOLONG, os.strerror(errno.ENAMETOOLONG))
    folder = os.open(path.parent, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)


def _write_private(path: Path, content: bytes) -> None:
    unfinished = path.with_name(f"{path.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    unfinished.touch(mode=0o600, exist_ok=False)
    unfinished.write_bytes(content)
    unfinished.replace(path)
