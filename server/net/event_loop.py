"""The event loop of `palatinus serve`, and how many files may be open: each connection is one."""

import asyncio
import contextlib
import errno
import logging
import sys
from collections.abc import Callable
from typing import Any, Final

from server.monitoring.failures import RepeatedFailure
from server.monitoring.logs import about

log = logging.getLogger(__name__)

_OUT_OF_RESOURCES: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_BESIDE_CONNECTIONS: Final = 128  # the journal, records, and connections about to be refused


def new_loop() -> asyncio.AbstractEventLoop:
    """Return uvloop's event loop, which takes less CPU a move, if it is installed; or else Python's own."""
    loop: asyncio.AbstractEventLoop
    try:
        import uvloop  # noqa: PLC0415 - it may not be there
    except ImportError:
        loop = asyncio.new_event_loop()
    else:
        loop = uvloop.new_event_loop()
    loop.set_exception_handler(_error_log())
    return loop


def _error_log() -> Callable[[asyncio.AbstractEventLoop, dict[str, Any]], None]:
    """Return what logs the errors of an event loop.

    When no connection can be accepted, asyncio says so a thousand times a second: that would fill the disk.
    """
    failures = RepeatedFailure()

    def log_error(_loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        if not isinstance(error, OSError) or error.errno not in _OUT_OF_RESOURCES:
            # Not as asyncio does it, with the text of the error and the arguments of the callback.
            what = str(context.get("message", "")).partition(" in callback")[0]
            log.error("error in the event loop", extra=about(what=what), exc_info=error)
        elif failures.add() > 0:
            log.error("no more connections can be accepted", extra=about(reason=str(error.strerror)))

    return log_error


def make_room_for(connections: int) -> None:
    """Raise the limit on open files for this many connections; log it if the system refuses."""
    if sys.platform == "win32":  # which counts no sockets
        return
    import resource  # noqa: PLC0415 - Windows has none

    needed = connections + _BESIDE_CONNECTIONS
    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _enough(allowed, needed):
        return
    wanted = needed if _enough(most, needed) else most
    with contextlib.suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
        allowed = wanted
    if not _enough(allowed, needed):
        log.info("the limit on open files is too low", extra=about(files=allowed, needed=needed))


def _enough(limit: int, needed: int) -> bool:
    return limit >= needed or limit == -1  # RLIM_INFINITY
