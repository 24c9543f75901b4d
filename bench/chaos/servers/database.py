"""The PostgreSQL that the nodes of a round share: restarted and killed."""

import asyncio
import contextlib
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bench.cluster.postgresql import CARELESS, Cluster

_SECONDS_TO_START: Final = 30.0
_PAUSE: Final = 0.1


class DatabaseServer:
    """A PostgreSQL server of its own, with its data in `folder`; it outlives its processes, no power cut."""

    def __init__(self, folder: Path) -> None:
        self._cluster = Cluster(folder)
        self._one_at_a_time = threading.Lock()  # a start that was cancelled still goes on in its thread

    @property
    def url(self) -> str:
        return self._cluster.url

    async def make(self) -> None:
        """Make the database, and start it."""
        await asyncio.to_thread(self._cluster.make)
        await self.start()

    async def start(self) -> None:
        """Start it; what is left of killed processes may be in the way for a moment."""
        until = time.monotonic() + _SECONDS_TO_START
        while True:
            try:
                await asyncio.to_thread(self._alone, self._cluster.start, *CARELESS)
            except subprocess.CalledProcessError:
                if time.monotonic() > until:
                    raise
                await asyncio.sleep(_PAUSE)
            else:
                return

    async def restart(self, seconds: float) -> None:
        """Stop it as its host does, and start it again after a while."""
        await asyncio.to_thread(self._alone, self._cluster.stop, "fast")
        await asyncio.sleep(seconds)
        await self.start()

    def kill(self) -> None:
        """Kill it with SIGKILL; its other processes notice that, and end."""
        os.kill(self._cluster.pid, signal.SIGKILL)

    async def stop(self) -> None:
        """End it."""
        with contextlib.suppress(subprocess.CalledProcessError, OSError):  # it may have been killed
            await asyncio.to_thread(self._alone, self._cluster.stop)

    def _alone(self, do: Callable[..., None], *options: str) -> None:
        with self._one_at_a_time:
            do(*options)
