"""The server under load, compared with the floor: moves per second, latency, bytes, CPU, memory.

    python -m bench.server

Variants run in turn, A B A B, because machines drift; ratios are taken pair by pair.
"""

import contextlib
import importlib.util
import json
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from bench import Samples
from bench.load.process import Load, Subject, subject
from bench.load.wire import Wire, packed

TABLES: Final = (1, 10, 50, 200)
_MOVES: Final = {1: 960, 10: 3200, 50: 6400, 200: 6400}
_FLOOR_FACTOR: Final = 2  # the floor is faster, so it gets more moves for a run of the same length
_CONNECTIONS: Final = 500
_WITH_UVLOOP: Final = 50  # the number of tables at which it is measured too
_REPEATS: Final = 3
_SECONDS: Final = 60.0  # after which no measurement is repeated
_SHARE_OFFERED: Final = 0.1  # of the floor's moves a second: a load that both can carry, for latency
_PERCENTILES: Final = ("p50_ms", "p95_ms", "p99_ms")


@contextlib.contextmanager
def server(tree: Path, *, journal: bool, fast: bool = False) -> Iterator[Subject]:
    """Run the real server, with a journal in a temporary folder or without, on uvloop or not."""
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        options = (*(("--data", folder) if journal else ()), *(("--fast",) if fast else ()))
        with subject("server", *options, tree=tree) as running:
            yield running


def repeated(times: int) -> Iterator[int]:
    """Count to `times`, or as far as time allows on a slow or busy machine."""
    began = time.monotonic()
    for number in range(times):
        if number and time.monotonic() - began > _SECONDS:
            return
        yield number


def throughput(tree: Path, repeats: int = _REPEATS) -> Samples:
    """Return samples of moves a second, CPU, latency and bytes for every number of tables."""
    samples: Samples = defaultdict(list)
    for _ in repeated(repeats):
        for tables in TABLES:
            options = ("--tables", str(tables), "--moves")
            moves = _MOVES[tables]
            with subject("floor", tree=tree) as floor:
                least = floor.loaded(*options, str(_FLOOR_FACTOR * moves))
            with server(tree, journal=True) as stored:
                seen = stored.loaded(*options, str(moves))
            with server(tree, journal=False) as unstored:
                light = unstored.loaded(*options, str(moves))
            key = f"T={tables}"
            if tables == _WITH_UVLOOP and importlib.util.find_spec("uvloop") is not None:
                with server(tree, journal=True, fast=True) as stored:
                    fast = stored.loaded(*options, str(moves))
                samples[f"{key} CPU a move on uvloop against asyncio, journal on"].append(
                    fast["cpu_per_1000_moves"] / seen["cpu_per_1000_moves"]
                )
            for name, value in figures(least, seen, light):
                samples[f"{key} {name}"].append(value)
    return samples


def figures(least: Load, seen: Load, light: Load) -> Iterator[tuple[str, float]]:
    """Yield what one round shows: `least` is the floor's load, `light` the server's without its journal."""
    both = {"journal on": seen, "journal off": light}
    yield "floor: moves/s", least["moves_per_second"]
    for journal, load in both.items():
        yield f"moves/s, {journal}", load["moves_per_second"]
    for journal, load in both.items():
        yield f"share of the floor, {journal}", load["moves_per_second"] / least["moves_per_second"]
    yield "floor: CPU ms per 1000 moves", 1000 * least["cpu_per_1000_moves"]
    for journal, load in both.items():
        yield f"CPU ms per 1000 moves, {journal}", 1000 * load["cpu_per_1000_moves"]
    share = seen["cpu_per_1000_moves"] / least["cpu_per_1000_moves"]
    yield "CPU a move against the floor's, journal on", share
    for percentile in _PERCENTILES:
        for journal, load in both.items():
            yield f"latency {percentile}, {journal}", load[percentile]
    yield "bytes a move, whole game", seen["bytes_per_move"]
    yield "bytes a move, scoring left out", seen["bytes_per_placement"]


def latency(tree: Path, floor_moves: float, repeats: int = _REPEATS) -> Samples:
    """Return samples of latency at T = 50 and a fixed offered load that both server and floor can carry."""
    rate = _SHARE_OFFERED * floor_moves
    options = ("--tables", "50", "--moves", str(max(1600, int(4 * rate))), "--rate", f"{rate:.0f}")
    samples: Samples = defaultdict(list)
    for _ in repeated(repeats):
        with subject("floor", tree=tree) as floor:
            least = floor.loaded(*options)
        with server(tree, journal=True) as stored:
            seen = stored.loaded(*options)
        samples["offered load: moves/s"].append(rate)
        for percentile in _PERCENTILES:
            samples[f"offered load: floor latency {percentile}"].append(least[percentile])
            samples[f"offered load: latency {percentile}"].append(seen[percentile])
        samples["offered load: p99 against the floor's"].append(seen["p99_ms"] / least["p99_ms"])
    return samples


def memory(tree: Path) -> Samples:
    """Return the memory of a connection on the server and the floor, and of a table without connections."""
    costs = {}
    for name in ("server", "floor"):
        with subject(name, tree=tree) as running:
            kept = greeted(running, 50)  # so that what is loaded once, for the first ones, is not counted
            before = running.resident
            kept += greeted(running, _CONNECTIONS)
            costs[name] = (running.resident - before) / _CONNECTIONS
            if name == "server":
                before = running.resident
                tables = start_games(kept)
                costs["table"] = (running.resident - before) / tables
            for wire in kept:
                wire.close()
    return {
        "memory a connection, KiB": [costs["server"] / 1024],
        "floor: memory a connection, KiB": [costs["floor"] / 1024],
        "memory a connection above the floor's, KiB": [(costs["server"] - costs["floor"]) / 1024],
        "memory a table in play, connections left out, KiB": [costs["table"] / 1024],
    }


def greeted(running: Subject, number: int) -> list[Wire]:
    """Connect to the server or the floor, and return so many connections after their handshake."""
    if running.name == "server":
        frame, answer = packed(t="hello", versions=[1], client="bench"), "welcome"
    else:
        frame, answer = packed(t="group", group=0), "grouped"
    wires = [Wire(running.port) for _ in range(number)]
    for wire in wires:
        wire.send(frame)
        wire.expect(answer)
    return wires


def start_games(wires: list[Wire]) -> int:
    """Seat the wires four to a table and start the games; return how many."""
    tables = len(wires) // 4
    for number in range(tables):
        host, *others = wires[4 * number : 4 * number + 4]
        host.send(packed(t="open", id=1, players=4, name="s0", random_layout=True))
        code = host.expect("seated")["table"]
        for seat, wire in enumerate(others, start=1):
            wire.send(packed(t="join", id=1, table=code, name=f"s{seat}"))
            wire.expect("seated")
        host.send(packed(t="start", id=2))
        host.expect("events")
    return tables


def samples(tree: Path, repeats: int = _REPEATS) -> Samples:
    """Return all samples of the server."""
    found = throughput(tree, repeats)
    found |= latency(tree, statistics.median(found["T=50 floor: moves/s"]), repeats)
    return found | memory(tree)


if __name__ == "__main__":
    print(json.dumps(samples(Path.cwd())))
