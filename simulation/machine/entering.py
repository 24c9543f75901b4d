"""A computer of a simulation, in the one place where the product is cut off from the real one.

Time, chance, sockets and memory are those of the simulation for everything that runs in this Python process,
which does nothing else: each seed has one of its own.
"""

import _sqlite3
import ctypes
import itertools
import os
import random
import re
import socket
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from websockets.asyncio.server import ServerConnection

from server.net.connections import connection_limits
from server.storage.sqlite import checkpoints, commit_list
from simulation.machine.disk import Disks
from simulation.machine.loop import EPOCH, Clock, Process
from simulation.machine.network import ListeningSocket, Network

NAMES_A_PIECE: Final = re.compile(r"\b([ESLMA][mf]|[ESLM]s)\b")


def since_the_beginning(moment: float) -> float:
    """Return when a moment of the system's clock was, unless that has jumped."""
    return moment - EPOCH


def _number(kind: type[object]) -> None:
    """Let the order of objects in sets be that in which they were put there first, and not of addresses."""
    numbers = itertools.count()

    def number(self: object) -> int:
        known: int = self.__dict__.setdefault("number_in_sets", next(numbers))
        return known

    kind.__hash__ = number  # type: ignore[method-assign]


class _System:
    """`os`, for the module that writes the commit list."""

    def __init__(self, disks: Disks) -> None:
        self.write = disks.write
        self.fsync = disks.fsync

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)


def enter(clock: Clock, network: Network, disks: Disks, rng: random.Random) -> None:
    """Leave the real world, for good."""

    def process() -> Process:
        running = clock.running
        assert running is not None
        return running

    def now() -> float:
        return clock.now if clock.running is None else clock.running.time()

    def wall() -> float:
        return EPOCH + clock.now if clock.running is None else clock.running.wall_time()

    real_gmtime, real_strftime = time.gmtime, time.strftime
    replaced: dict[str, Callable[..., Any]] = {
        "monotonic": now,
        "perf_counter": now,
        "process_time": now,
        "thread_time": now,
        "time": wall,
        "time_ns": lambda: int(wall() * 1e9),
        "monotonic_ns": lambda: int(now() * 1e9),
        "gmtime": lambda seconds=None: real_gmtime(wall() if seconds is None else seconds),
        "localtime": lambda seconds=None: real_gmtime(wall() if seconds is None else seconds),
        "strftime": lambda form, moment=None: real_strftime(form, moment or real_gmtime(wall())),
    }
    for name, function in replaced.items():
        setattr(time, name, function)
    random.seed(rng.getrandbits(64))
    os.urandom = rng.randbytes
    random._urandom = rng.randbytes  # type: ignore[attr-defined]
    seed = random.Random.seed

    def seed_from_ours(self: random.Random, given: Any = None, version: int = 2) -> None:
        seed(self, rng.getrandbits(64) if given is None else given, version)

    random.Random.seed = seed_from_ours  # type: ignore[method-assign,assignment]

    def create_server(address: tuple[str, int], **_options: Any) -> ListeningSocket:
        return network.listen(process(), address[1])

    socket.create_server = create_server  # type: ignore[assignment]
    _number(ServerConnection)
    disks.replace_vfs(ctypes.CDLL(_sqlite3.__file__))
    replace_file = commit_list.replace_file

    def replace_and_note(path: Path, content: bytes) -> None:
        replace_file(path, content)
        disks.replaced(path)

    commit_list.os = _System(disks)  # type: ignore[assignment,attr-defined]
    commit_list.replace_file = replace_and_note
    checkpoints.free_bytes = disks.free_bytes
    connection_limits.give_memory_back = lambda: None
