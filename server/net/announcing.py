"""Having the server found on the network, without ever being in its way."""

import asyncio
import importlib
import logging
from dataclasses import KW_ONLY, dataclass
from typing import Final

from server.config import Announce
from server.monitoring.failures import Tasks
from server.monitoring.logs import about

log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS: Final = 10.0  # at the interfaces of this computer: networks come and go
_NO_NETWORK: Final = "there is no network"


@dataclass(eq=False, repr=False)
class Announcing:
    """Announces the server on the interfaces at which it is reached, `host`, while switched on.

    All of it happens in a task of its own. What fails is logged in one line, and tried again later.
    """

    announce: Announce
    tasks: Tasks
    _: KW_ONLY
    host: str
    port: int
    tls: bool

    def __post_init__(self) -> None:
        self._task: asyncio.Task[None] | None = None
        self._goodbye: asyncio.Task[None] | None = None  # the last one
        self._failure: str | None = None  # the last one that was logged

    def switch(self, *, on: bool) -> None:
        """Announce the server, or say goodbye to those who have heard of it."""
        if on and self._task is None:
            self._task = self.tasks.keep(self._run, "being found")
        elif not on and self._task is not None:
            self._task.cancel()
            self._goodbye, self._task = self._task, None

    async def _run(self) -> None:
        if self._goodbye is not None:  # until then its own name is taken, and it would get another one
            await asyncio.wait({self._goodbye})
        # In a thread: the library takes longer to load than a move may wait.
        await asyncio.to_thread(importlib.import_module, "discovery.announcer")
        while True:
            try:
                await self._announce()
            except Exception as error:  # noqa: BLE001 - no packet of a stranger may end the games
                reason = str(error) or type(error).__name__
                if self._is_news(reason):
                    log.warning("cannot be found on the network", extra=about(reason=reason))
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    async def _announce(self) -> None:
        """Announce the server until the network changes; raises whatever keeps it from that."""
        from discovery.announcer import announce  # noqa: PLC0415 - loaded before
        from discovery.interfaces import listened_on, own_interfaces  # noqa: PLC0415
        from discovery.multicast import NoMulticast  # noqa: PLC0415
        from discovery.service import Service  # noqa: PLC0415

        interfaces = listened_on(self.host, own_interfaces())
        if not interfaces:
            raise NoMulticast(_NO_NETWORK)

        def log_failure(error: OSError) -> None:
            reason = error.strerror or str(error)
            if self._is_news(reason):
                log.warning("multicast fails", extra=about(reason=reason))

        async with announce(
            Service(self.announce.name, self.port, self.tls), interfaces, log_failure
        ) as name:
            log.info("can be found on the network", extra=about(name=name, interfaces=len(interfaces)))
            self.announce.told(name)
            self._failure = None
            while listened_on(self.host, own_interfaces()) == interfaces:  # noqa: ASYNC110 - they tell nobody
                await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)

    def _is_news(self, reason: str) -> bool:
        """Return whether the log has not said so already."""
        before, self._failure = self._failure, reason
        return reason != before
