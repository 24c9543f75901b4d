"""How many files may be open: for the system, each connection is one."""

import contextlib
import logging
import sys
from typing import Final

from server.logs import about

log = logging.getLogger(__name__)

_BESIDE_CONNECTIONS: Final = 128  # the journal, records, and connections about to be refused


def make_room_for(connections: int) -> None:
    """Raise the limit to so many open connections; log it if the system does not allow that."""
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


def is_last_file(number: int) -> bool:
    """Return whether no more files may be open than are now: the system gives each the lowest free number."""
    if sys.platform == "win32":
        return False
    import resource  # noqa: PLC0415 - Windows has none

    return number + 1 == resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def _enough(limit: int, needed: int) -> bool:
    return limit >= needed or limit == -1  # RLIM_INFINITY
