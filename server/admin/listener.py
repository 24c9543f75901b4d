"""Serving the admin socket: few connections, one request on each, and time-outs on everything."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any, BinaryIO, Final

import msgspec

from protocol.admin import LINE_BYTES, VERSION, Envelope, FailureReport, Request, line_with
from protocol.codec import readable
from protocol.codes import REFUSAL_TEXTS
from server.admin import audit
from server.admin.endpoint import Endpoint
from server.admin.failures import AdminFailure, FailureCode, failure
from server.errors import JournalError
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.net.tokens import password_fits
from server.refusal import Refusal

log = logging.getLogger(__name__)

_CONNECTIONS: Final = 16
_SECONDS: Final = 10.0  # for a request to arrive, and for the reader of an answer to go on reading
_CHUNK: Final = 64 * 1024
_CHUNKS_PASSED_OVER: Final = 16  # of a request that is too long; what sends more is cut off

# What a request is answered with: a report, and the file that follows it, if one does.
Answer = tuple[Any, BinaryIO | None]


@contextlib.asynccontextmanager
async def admin_server(
    endpoint: Endpoint, tasks: Tasks, do: Callable[[Request], Awaitable[Answer]]
) -> AsyncIterator[None]:
    """Answer requests at `endpoint` with what `do` returns, until the context ends."""
    open_now: set[asyncio.Task[None]] = set()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(open_now) >= _CONNECTIONS:
            writer.write(error_line(failure(FailureCode.BUSY)))
            writer.close()
            return
        task = tasks.start(_serve(reader, writer, endpoint, do), "admin command")
        open_now.add(task)
        task.add_done_callback(open_now.discard)

    start = asyncio.start_unix_server if endpoint.token is None else asyncio.start_server
    server = await start(accept, sock=endpoint.socket, limit=LINE_BYTES)
    try:
        yield
    finally:
        server.close()
        for task in open_now:
            task.cancel()
        if open_now:
            await asyncio.wait(open_now)


async def _serve(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    endpoint: Endpoint,
    do: Callable[[Request], Awaitable[Answer]],
) -> None:
    """Read one request, answer it, and close the connection; whatever happens, the server plays on."""
    try:
        try:
            line = await _line(reader)
        except ValueError:
            reason = f"it is longer than {LINE_BYTES} bytes"
            await _write(writer, error_line(failure(FailureCode.BAD_REQUEST, reason=reason)))
            async with asyncio.timeout(_SECONDS):  # what is left unread would cut the answer off
                for _ in range(_CHUNKS_PASSED_OVER):
                    await reader.read(_CHUNK)
            return
        by = await audit.who_is_at(writer.get_extra_info("socket"))
        fits = None if endpoint.token is None else partial(password_fits, password=endpoint.token)
        answer, file = await answer_to(line, do, str(endpoint.path), fits, by=by)
        with file or contextlib.nullcontext():
            await _write(writer, answer)
            while file is not None and (chunk := await asyncio.to_thread(file.read, _CHUNK)):
                await _write(writer, chunk)
        writer.close()
        async with asyncio.timeout(_SECONDS):
            await writer.wait_closed()
    except OSError:
        pass  # it has disconnected, stalls, or sends too much
    except Exception:  # a mistake of ours must not end everybody's games
        log.exception("an admin command failed", extra=about(path=str(endpoint.path)))
    finally:
        # asyncio fails to abort a connection that has been closed after its last bytes were sent.
        if writer.transport.get_write_buffer_size():
            writer.transport.abort()
        writer.close()


async def answer_to(
    line: bytes,
    do: Callable[[Request], Awaitable[Answer]],
    path: str,
    fits: Callable[[str], bool] | None = None,
    *,
    by: str,
) -> tuple[bytes, BinaryIO | None]:
    """Return the line that answers the request in `line`, and the file that follows it, if one does.

    The request came from `path`, where it needs a token that `fits`; that it came, `by` whom, is logged.
    """
    request, result = None, audit.INTERRUPTED
    try:
        try:
            request = _request(line, path, fits)
        except AdminFailure as error:
            result = error.code
            return error_line(error), None
        answer, file, result = await carry_out(request, do)
        return answer, file
    finally:
        audit.record(by, request, result)


async def carry_out(
    request: Request, do: Callable[[Request], Awaitable[Answer]]
) -> tuple[bytes, BinaryIO | None, str]:
    """Return the line that answers a request, the file that follows it, if one does, and the result."""
    try:
        report, file = await do(request)
    except AdminFailure as error:
        why = error
    except Refusal as refusal:
        why = AdminFailure(refusal.code, REFUSAL_TEXTS[refusal.code], **refusal.about)
    except JournalError as error:
        why = AdminFailure(FailureCode.JOURNAL, error.text, **error.about)
    except OSError as error:  # of the journal's files, not of this connection
        why = failure(FailureCode.FAILED, reason=error.strerror or error)
    except Exception as error:  # a mistake of ours is the host's to report
        log.exception("an admin command failed", extra=about(request=audit.describe(request)))
        why = failure(FailureCode.FAILED, reason=type(error).__name__)
    else:
        return line_with({"v": VERSION, "ok": report}), file, audit.DONE
    return error_line(why), None, why.code


def error_line(error: AdminFailure) -> bytes:
    """Return the line that says why there is no report."""
    facts = {name: str(fact) for name, fact in error.about.items()}
    return line_with({"v": VERSION, "error": FailureReport(error.code, error.text, facts)})


async def _write(writer: asyncio.StreamWriter, content: bytes) -> None:
    """Write `content`; raises TimeoutError if its reader stalls."""
    for start in range(0, len(content), _CHUNK):
        writer.write(content[start : start + _CHUNK])
        async with asyncio.timeout(_SECONDS):
            await writer.drain()


async def _line(reader: asyncio.StreamReader) -> bytes:
    """Return the line with the request; raises OSError if none comes, and ValueError if it is too long."""
    async with asyncio.timeout(_SECONDS):
        line = await reader.readline()
    if not line.endswith(b"\n"):
        raise ConnectionResetError("there is no whole request")
    return line


def _request(line: bytes, path: str, fits: Callable[[str], bool] | None) -> Request:
    """Return the request in a line; raises AdminFailure."""
    try:
        version = msgspec.json.decode(line, type=_Versioned).v
        if version != VERSION:
            raise failure(FailureCode.OTHER_VERSION, version=VERSION)
        envelope = msgspec.json.decode(line, type=Envelope)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise failure(FailureCode.BAD_REQUEST, reason=readable(error)) from error
    if fits is not None and not fits(envelope.token or ""):
        log.warning("wrong admin token", extra=about(path=path))
        raise failure(FailureCode.BAD_ADMIN_TOKEN, file=path)
    return envelope.ask


class _Versioned(msgspec.Struct):
    """As much of a request as every version has."""

    v: int
