"""What systemd is told of a service that it has started with Type=notify: sd_notify(3).

Without systemd, nobody is told.
"""

import logging
import os
import socket
import time
from typing import Final

from server.monitoring.logs import about

log = logging.getLogger(__name__)

_VARIABLE: Final = "NOTIFY_SOCKET"
_SECONDS: Final = 1.0  # that systemd may take for a message


class ServiceManager:
    """The service manager that has started this process, if one has; it is told at a datagram socket."""

    def __init__(self) -> None:
        # Taken out, because the processes of guests and bots are no services.
        address = os.environ.pop(_VARIABLE, "")
        if address.startswith("@"):  # of Linux' abstract sockets, which are no files
            address = f"\0{address[1:]}"
        self._address = address

    def ready(self, status: str) -> None:
        """Say that the server accepts connections, for the first time or after `reloading`."""
        self._tell("READY=1", f"STATUS={' '.join(status.splitlines())}")  # each line is a message of its own

    def reloading(self) -> None:
        # systemd compares the time with that of its own signal (Type=notify-reload).
        self._tell("RELOADING=1", f"MONOTONIC_USEC={time.monotonic_ns() // 1000}")

    def stopping(self) -> None:
        self._tell("STOPPING=1", "STATUS=stopping")

    def _tell(self, *lines: str) -> None:
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
                sender.settimeout(_SECONDS)
                sender.sendto("\n".join(lines).encode(), self._address)
        except OSError as error:
            log.warning(
                "the service manager cannot be told", extra=about(reason=error.strerror or str(error))
            )
