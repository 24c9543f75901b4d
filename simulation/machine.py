"""A computer of a simulation, in the one place where the product is cut off from the real one.

Time, chance, sockets and memory are those of the simulation for everything that runs in this Python process,
which does nothing else: each seed has one of its own.
"""

import os
import random
import socket
import time
from collections.abc import Callable
from typing import Any

from server.net.connections import freed_memory
from simulation.loop import Clock, Process
from simulation.network import ListeningSocket, Network


def enter(clock: Clock, network: Network, rng: random.Random) -> None:
    """Leave the real world, for good."""

    def process() -> Process:
        running = clock.running
        assert running is not None
        return running

    def now() -> float:
        return clock.now if clock.running is None else clock.running.time()

    def wall() -> float:
        return 0.0 if clock.running is None else clock.running.wall_time()

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

    def create_server(address: tuple[str, int], **_options: Any) -> ListeningSocket:
        return network.listen(process(), address[1])

    socket.create_server = create_server  # type: ignore[assignment]
    freed_memory._malloc_trim = lambda: None
