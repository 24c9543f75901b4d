"""Serving the admin socket: few connections, one request on each, and time-outs on everything."""

import asyncio
import contextlib
import hmac
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, BinaryIO, Final

import msgspec

from protocol.admin import LINE_BYTES, VERSION, Answered, Failure, Request, line_with, request_in
from protocol.codec import readable
from protocol.codes import REFUSAL_TEXTS
from server.admin.endpoint import Endpoint
from server.admin.failures import AdminFailure, FailureCode, failure
from server.errors import JournalError
from server.monitoring.failures import Tasks
from server.monitoring.logs import about
from server.refusal import Refusal

log = logging.getLogger(__name__)

_CONNECTIONS: Final = 16
_SECONDS: Final = 10.0  # for a request to arrive, and for the reader of an answer to go on reading
_CHUNK: Final = 64 * 1024

# What a request is answered with: a report, and the file that follows it, if one does.
Answer = tuple[Any, BinaryIO | None]


@contextlib.asynccontextmanager
async def admin_server(
    endpoint: Endpoint, tasks: Tasks, do: Callable[[Request], Awaitable[Answer]]
) -> AsyncIterator[None]:
    """Answer requests at `endpoint` with what `do` returns, until the context ends."""
    open_now: set[asyncio.Task[None]] = set()

    def accepted(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(open_now) >= _CONNECTIONS:
            writer.write(answer_line(Answered(VERSION, error=failed(failure(FailureCode.BUSY)))))
            writer.close()
            return
        task = tasks.start(_serve(reader, writer, endpoint, do), "admin command")
        open_now.add(task)
        task.add_done_callback(open_now.discard)

    start = asyncio.start_unix_server if endpoint.token is None else asyncio.start_server
    server = await start(accepted, sock=endpoint.socket, limit=LINE_BYTES)
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
        answer, file = await _answer(reader, endpoint, do)
        with file or contextlib.nullcontext():
            await _write(writer, answer)
            while file is not None and (chunk := await asyncio.to_thread(file.read, _CHUNK)):
                await _write(writer, chunk)
        writer.close()
        async with asyncio.timeout(_SECONDS):
            await writer.wait_closed()
    except OSError:
        pass  # it has disconnected, or stalls
    except Exception:  # a mistake of ours must not end everybody's games
        log.exception("an admin command failed", extra=about(path=str(endpoint.path)))
    finally:
        # asyncio fails to abort a connection that has been closed after its last bytes were sent.
        if writer.transport.get_write_buffer_size():
            writer.transport.abort()
        writer.close()


async def _answer(
    reader: asyncio.StreamReader, endpoint: Endpoint, do: Callable[[Request], Awaitable[Answer]]
) -> tuple[bytes, BinaryIO | None]:
    """Return the line that answers the next request, and the file that follows it; raises OSError."""

    async def asked() -> Answer:
        return await carried_out(do, await _request(reader, endpoint))

    answer, file = await answered(asked, str(endpoint.path))
    return answer_line(answer), file


async def answered(asked: Callable[[], Awaitable[Answer]], path: str) -> tuple[Answered, BinaryIO | None]:
    """Return what `asked` returns, or why it fails; `path` is whence it comes. Raises OSError."""
    try:
        report, file = await asked()
    except AdminFailure as error:
        why = error
    except Refusal as refusal:
        why = AdminFailure(refusal.code, REFUSAL_TEXTS[refusal.code], **refusal.about)
    except JournalError as error:
        why = AdminFailure(FailureCode.JOURNAL, error.text, **error.about)
    except OSError:
        raise
    except Exception as error:  # a mistake of ours is the host's to report
        log.exception("an admin command failed", extra=about(path=path))
        why = failure(FailureCode.FAILED, reason=type(error).__name__)
    else:
        return Answered(VERSION, report), file
    return Answered(VERSION, error=failed(why)), None


def failed(error: AdminFailure) -> Failure:
    """Return an error as it is sent."""
    return Failure(error.code, error.text, {name: str(fact) for name, fact in error.about.items()})


def answer_line(answer: Answered) -> bytes:
    """Return the line that an answer is sent in: a report, or why there is none."""
    said = {"ok": answer.ok} if answer.error is None else {"error": answer.error}
    return line_with({"v": answer.v, **said})


async def carried_out(do: Callable[[Request], Awaitable[Answer]], request: Request) -> Answer:
    """Return what `do` returns; raises AdminFailure for an OSError."""
    try:
        return await do(request)
    except OSError as error:  # of the journal's files, not of this connection
        raise failure(FailureCode.FAILED, reason=error.strerror or error) from error


async def _write(writer: asyncio.StreamWriter, content: bytes) -> None:
    """Write `content`; raises TimeoutError if its reader stalls."""
    for start in range(0, len(content), _CHUNK):
        writer.write(content[start : start + _CHUNK])
        async with asyncio.timeout(_SECONDS):
            await writer.drain()


async def _request(reader: asyncio.StreamReader, endpoint: Endpoint) -> Request:
    """Return the next request; raises AdminFailure and OSError."""
    try:
        async with asyncio.timeout(_SECONDS):
            line = await reader.readline()
    except ValueError:
        raise failure(FailureCode.BAD_REQUEST, reason=f"it has more than {LINE_BYTES} bytes") from None
    if not line.endswith(b"\n"):
        raise ConnectionResetError("there is no whole request")
    try:
        version = msgspec.json.decode(line, type=_Versioned).v
        if version != VERSION:
            raise failure(FailureCode.OTHER_VERSION, version=VERSION)
        envelope = request_in(line)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise failure(FailureCode.BAD_REQUEST, reason=readable(error)) from error
    if endpoint.token is not None and not hmac.compare_digest(
        (envelope.token or "").encode(), endpoint.token.encode()
    ):
        log.warning("wrong admin token", extra=about(path=str(endpoint.path)))
        raise failure(FailureCode.BAD_ADMIN_TOKEN, file=endpoint.path)
    return envelope.ask


class _Versioned(msgspec.Struct):
    """As much of a request as every version has."""

    v: int
