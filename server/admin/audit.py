"""The audit log: one line for each admin command, with who asked for what, and what came of it.

It is written whatever the log level, because the people it is about can change that level.
"""

import asyncio
import json
import logging
import os
import socket
import struct
import sys
from typing import Any, Final

import msgspec

from protocol import admin
from server.monitoring.logs import about

_NAME: Final = "palatinus.audit"
log = logging.getLogger(_NAME)
logging.getLogger(_NAME).setLevel(logging.INFO)  # which the level of all others does not change

DONE: Final = "done"
INTERRUPTED: Final = "interrupted"
_TEXTS: Final = frozenset({"text", "reason"})  # for players, and nobody else's business
_MOST_LISTED: Final = 20
_CREDENTIALS: Final = struct.Struct("3i")  # of the process, user and group at the other end
_SECONDS_FOR_A_NAME: Final = 1.0


def record(by: str, request: admin.Request | None, result: str) -> None:
    """Log a command, None if it could not be understood; `result` is DONE or why it was not carried out."""
    what = "?" if request is None else describe(request)
    log.info("admin command", extra=about(by=by, request=what, result=result))


def describe(request: admin.Request) -> str:
    """Return the name of a command and what it is about, without the texts that players are shown."""
    if isinstance(request, admin.AskNodes):
        return f"{describe(request.ask)} node={_shown(request.node or '*')}"
    fields = msgspec.to_builtins(request)
    words = [f"{name}={_shown(value)}" for name, value in fields.items() if name not in {"do", *_TEXTS}]
    return " ".join([fields["do"], *words])


async def who_is_at(connection: socket.socket | None) -> str:
    """Return who has opened a connection: for a unix socket on Linux, the user and the process."""
    if sys.platform != "linux" or connection is None or connection.family != socket.AF_UNIX:
        return "?"
    try:
        with socket.socket(fileno=os.dup(connection.fileno())) as own:  # uvloop shows no options
            read = own.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    except OSError:
        return "?"
    pid, uid, _gid = _CREDENTIALS.unpack(read)
    try:
        async with asyncio.timeout(_SECONDS_FOR_A_NAME):  # a directory of users may be on another machine
            name = await asyncio.to_thread(_user_name, uid)
    except TimeoutError:
        name = "?"
    return f"user={name} uid={uid} pid={pid}"


def _user_name(uid: int) -> str:
    import pwd  # noqa: PLC0415 - Windows has none

    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return "?"


def _shown(value: Any) -> str:
    match value:
        case [str(), *_]:
            more = len(value) - _MOST_LISTED
            return ",".join(value[:_MOST_LISTED]) + (f" and {more} more" if more > 0 else "")
        case dict():
            return json.dumps(value)
    return str(value)
