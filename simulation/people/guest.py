"""A player that is a process of its own, `palatinus bot`, and is stopped in the middle of a game."""

import asyncio
import contextlib
import signal
import sys
from asyncio.subprocess import DEVNULL, Process
from pathlib import Path
from typing import Final

from client.network.connection import Connection
from client.network.transport import ConnectFailed

_PROGRAM: Final = Path(__file__).parents[2] / "palatinus.py"
_SECONDS_TO_COME: Final = 15.0
_SECONDS_BETWEEN: Final = 2.0  # two pauses


class Guest:
    """A running `palatinus bot` at a table."""

    def __init__(self, process: Process) -> None:
        self._process = process

    @classmethod
    async def joined(cls, url: str, table: str) -> "Guest":
        """Start a bot that joins the table."""
        return cls(
            await asyncio.create_subprocess_exec(
                *(sys.executable, str(_PROGRAM), "bot", url, table, "--brain", "random"),
                stdout=DEVNULL,
                stderr=DEVNULL,
            )
        )

    async def seated(self, host: Connection) -> str:
        """Return the bot's name once it has the table's last seat; raises ConnectFailed if it gives up."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SECONDS_TO_COME):
                while self._process.returncode is None:
                    state = host.model.state
                    names = [] if state is None else [seat.name for seat in state.seats]
                    if None not in names and names and names[-1] is not None:
                        return names[-1]
                    await asyncio.sleep(0.05)
        raise ConnectFailed("the guest did not come")

    async def pause_now_and_then(self, longest: float) -> None:
        """Stop the process twice for a while, as a laptop does that is closed."""
        for share in (0.1, 0.5):
            await asyncio.sleep(_SECONDS_BETWEEN)
            self._signal(signal.SIGSTOP)
            await asyncio.sleep(longest * share)
            self._signal(signal.SIGCONT)

    async def end(self) -> None:
        """End the process."""
        self._signal(signal.SIGKILL)
        await self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._process.send_signal(number)
