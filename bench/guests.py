"""Guests over ssh: what each costs the door and the server, and how soon their screens answer.

python -m bench.guests [--guests 100]
"""

import argparse
import asyncio
import json
import statistics
import time
from typing import Final

import asyncssh
import psutil

from bench import Samples
from bench.load.process import cpu_of, serving
from tests.gateway.visitor import connection

_OPENING_AT_ONCE: Final = 10
_THINKING_SECONDS: Final = 0.5
_CALM_SECONDS: Final = 10.0
_KEYS: Final = 10  # by every guest, one a second
_LAST_OF_FRAME: Final = b"\x1b[?2026l"
_TIMEOUT: Final = 20.0


class _Guest:
    """A terminal at a table against a bot."""

    def __init__(self, process: asyncssh.SSHClientProcess[bytes]) -> None:
        self._process = process
        self._frames = asyncio.Event()
        self._seen = b""
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def at(cls, port: int, number: int) -> "_Guest":
        guest = await connection(port, f"guest {number}", login_timeout=120)
        return cls(await guest.create_process(term_type="xterm-256color", term_size=(120, 40), encoding=None))

    async def _read(self) -> None:
        while data := await self._process.stdout.read(65536):
            self._seen = (self._seen + data)[-65536:]
            if _LAST_OF_FRAME in data:
                self._frames.set()

    async def until(self, text: bytes) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT):
                while text not in self._seen:
                    self._frames.clear()
                    await self._frames.wait()
        except TimeoutError:
            raise RuntimeError(f"{text!r} is not shown: {self._seen!r}") from None
        self._seen = b""

    async def sit_down(self) -> None:
        """In the lobby, open a table for two and begin a game against a bot, with tiles at random."""
        for keys, answer in (
            ("2xo", b"waiting"),
            ("b", b"Plebeian"),
            ("\r", b"(plebeian)"),
            ("s", b"PLAYERS"),
        ):
            await asyncio.sleep(_THINKING_SECONDS)  # keys that come before the last answer are not heard
            self.press(keys)
            await self.until(answer)

    def press(self, keys: str) -> None:
        self._process.stdin.write(keys.encode())

    async def redrawn(self, key: str) -> float:
        """Return how many milliseconds pass from a key to the frame that answers it."""
        self._frames.clear()
        began = time.perf_counter()
        self.press(key)
        async with asyncio.timeout(_TIMEOUT):
            await self._frames.wait()
        return 1000 * (time.perf_counter() - began)


def _memory(process: psutil.Process) -> float:
    return float(process.memory_full_info().uss)


async def samples(guests: int) -> Samples:
    """Return what this many guests cost when they all play at the same time."""
    found: Samples = {}
    number = str(guests)
    limits = ("--guests-per-address", number, "--max-guests", number, "--tables-per-minute", f"{number}0")
    with serving("--ssh", "0", *limits, announced=r"ssh -p (\d+)") as served:
        server, port = served.process, served.port
        door = server.children()[0]
        await asyncio.sleep(1.0)
        memory, cpu = _memory(door), cpu_of(door)
        found["guests: memory of the door without any, MiB"] = [memory / 2**20]
        here: list[_Guest] = []
        for first in range(0, guests, _OPENING_AT_ONCE):
            numbers = range(first, min(guests, first + _OPENING_AT_ONCE))
            here += await asyncio.gather(*(_Guest.at(port, number) for number in numbers))
        for guest in here:
            await guest.until(b"A new table")
        found["guests: CPU of the door for each arrival, ms"] = [1000 * (cpu_of(door) - cpu) / guests]
        found |= await _calm(server, door, "all are in the lobby")
        for first in range(0, guests, _OPENING_AT_ONCE):
            await asyncio.gather(*(guest.sit_down() for guest in here[first : first + _OPENING_AT_ONCE]))
        await asyncio.sleep(3.0)
        found["guests: memory of the door for each, KiB"] = [(_memory(door) - memory) / guests / 2**10]
        found |= await _calm(server, door, "all think")
        found |= await _pressing(here, server, door)
    return found


async def _calm(server: psutil.Process, door: psutil.Process, doing: str) -> Samples:
    before, began = (cpu_of(door), cpu_of(server)), time.perf_counter()
    await asyncio.sleep(_CALM_SECONDS)
    seconds = time.perf_counter() - began
    return {
        f"guests: CPU of the door while {doing}, % of a core": [100 * (cpu_of(door) - before[0]) / seconds],
        f"guests: CPU of the server while {doing}, % of a core": [
            100 * (cpu_of(server) - before[1]) / seconds
        ],
    }


async def _pressing(here: list[_Guest], server: psutil.Process, door: psutil.Process) -> Samples:
    """Have everybody move the cursor once a second, each at a moment of their own."""
    before, began = (cpu_of(door), cpu_of(server)), time.perf_counter()

    async def presses(guest: _Guest, offset: float) -> list[float]:
        waits = []
        for press in range(_KEYS):
            await asyncio.sleep(max(0.0, began + offset + press - time.perf_counter()))
            waits.append(await guest.redrawn("\x1b[C" if press % 2 else "\x1b[D"))
        return waits

    each = await asyncio.gather(*(presses(guest, at / len(here)) for at, guest in enumerate(here)))
    seconds = time.perf_counter() - began
    waits = sorted(wait for mine in each for wait in mine)
    keys = len(here) * _KEYS
    return {
        "guests: CPU of the door for a key, ms": [1000 * (cpu_of(door) - before[0]) / keys],
        "guests: CPU of the server meanwhile, % of a core": [100 * (cpu_of(server) - before[1]) / seconds],
        "guests: key to redraw p50, ms": [statistics.median(waits)],
        "guests: key to redraw p95, ms": [waits[int(0.95 * len(waits))]],
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--guests", type=int, default=100)
    print(json.dumps(asyncio.run(samples(parser.parse_args().guests)), indent=1))
