"""The other end of the admin socket, for the command line."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, Final, TypeVar

import msgspec

from protocol.admin import VERSION, Answered, Envelope, Request, line_with
from server.admin.endpoint import connect_to
from server.admin.failures import AdminFailure, FailureCode, failure

_SECONDS: Final = 60.0  # for the server to begin or to go on with an answer
_ANSWER_BYTES: Final = 64 * 1024 * 1024
_CHUNK: Final = 64 * 1024

R = TypeVar("R")


def ask(path: Path, request: Request, kind: type[R], rest: Callable[[R, BinaryIO], None] | None = None) -> R:
    """Return the answer of the server that listens at `path`; `rest` reads what follows the answer.

    Raises NoServer if there is none, AdminFailure if it does not do that, OSError if it cannot be asked.
    """
    connection, token = connect_to(path, _SECONDS)
    with connection, connection.makefile("rb") as answers:
        connection.sendall(line_with(Envelope(VERSION, request, token)))
        line = answers.readline(_ANSWER_BYTES)
        try:
            if not line.endswith(b"\n"):
                raise ConnectionResetError("the server closed the connection")
            answered = msgspec.json.decode(line, type=Answered)
            if answered.error is not None:
                raise AdminFailure(answered.error.code, answered.error.text, **answered.error.about)
            report = msgspec.convert(answered.ok, kind)
        except msgspec.DecodeError as error:
            raise failure(FailureCode.OTHER_VERSION, version="?") from error
        if rest is not None:
            rest(report, answers)
        return report


def copy_bytes(source: BinaryIO, target: BinaryIO, size: int) -> None:
    """Copy `size` bytes; raises OSError if there are fewer."""
    while size:
        chunk = source.read(min(size, _CHUNK))
        if not chunk:
            raise ConnectionResetError("the server closed the connection")
        target.write(chunk)
        size -= len(chunk)
