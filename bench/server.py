"""The server under load, beside the floor: CPU a move, moves a second, latency, bytes, memory.

    python -m bench.server [--beside TREE]

The server and the load have a core each, where there are two. Where no rate is given, `server busy` should
be near 1 and `client busy` well below it; otherwise the load was the limit, and moves a second say nothing
of the server. Variants run in turn, A B A B, because machines drift; ratios are taken pair by pair. With
TREE, the server of another source tree is a variant.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from bench import Samples
from bench.load.process import Load, Subject, subject
from bench.load.tables import SEATS, FloorTables, ServerTables

_MOVES: Final = {1: 1600, 10: 6400, 50: 6400, 200: 6400}  # by the number of tables
_FLOOR_FACTOR: Final = 2  # the floor is faster, so it gets more moves for a run of the same length
_TABLES: Final = 125  # of four connections, for memory
_REPEATS: Final = 3
_SECONDS: Final = 180.0  # after which no measurement is repeated
_SHARE_OFFERED: Final = 0.1  # of the floor's moves a second at 50 tables: a load that all carry, for latency
_FIGURES: Final = {  # of a load, and how it is called
    "cpu_per_1000_moves": "CPU ms a move",
    "moves_per_second": "moves/s",
    "server_busy": "server busy",
    "client_busy": "client busy",
    "p50_ms": "p50, ms",
    "p99_ms": "p99, ms",
    "bytes_per_move": "bytes a move",
    "bytes_per_placement": "bytes a placement",
}
_AGAINST_THE_FLOOR: Final = {
    "cpu_per_1000_moves": "CPU a move against the floor's",
    "moves_per_second": "share of the floor's moves/s",
    "p99_ms": "p99 against the floor's",
}
_CORES: Final = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
SERVER_CORE: Final = ("--core", str(_CORES[0])) if len(_CORES) > 1 else ()
LOAD_CORE: Final = ("--core", str(_CORES[-1])) if len(_CORES) > 1 else ()


@contextlib.contextmanager
def server(tree: Path, *options: str, journal: bool = True) -> Iterator[Subject]:
    """Run the real server, with a journal in a temporary folder or without."""
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        data = ("--data", folder) if journal else ()
        with subject("server", *SERVER_CORE, *data, *options, tree=tree) as running:
            yield running


def run_in_turn(found: Samples, trees: dict[str, Path], tables: int, moves: int, rate: float = 0.0) -> None:
    """Add samples of every variant at so many tables, at `rate` moves a second or as fast as may be."""
    variants = {name: partial(server, tree) for name, tree in trees.items()}
    tree = trees["journal"]
    if not rate and len(trees) == 1:
        variants["memory"] = partial(server, tree, journal=False)
        if importlib.util.find_spec("uvloop") is not None:
            variants["journal on uvloop"] = partial(server, tree, "--fast")
    options = (*LOAD_CORE, *(("--rate", f"{rate:.0f}") if rate else ()), "--tables", str(tables), "--moves")
    key = "offered load" if rate else f"T={tables}"

    def note(name: str, seen: Load) -> None:
        for figure, what in _FIGURES.items():
            found[f"{key} {name}: {what}"].append(seen[figure])

    with subject("floor", *SERVER_CORE, tree=tree) as floor:
        least = floor.loaded(*options, str(moves if rate else _FLOOR_FACTOR * moves))
    note("floor", least)
    for name, variant in variants.items():
        with variant() as running:
            seen = running.loaded(*options, str(moves))
        for figure, what in _AGAINST_THE_FLOOR.items():
            found[f"{key} {name}: {what}"].append(seen[figure] / least[figure])
        note(name, seen)


def memory(tree: Path) -> Samples:
    """Return the memory of a connection on the server and the floor, and of a table without connections."""
    costs = {}
    kinds: dict[str, type[ServerTables | FloorTables]] = {"server": ServerTables, "floor": FloorTables}
    for name, kind in kinds.items():
        with subject(name, *SERVER_CORE, tree=tree) as running:
            _first = kind([running.port], 12)  # what is loaded once, for the first ones, is not counted
            before = running.resident
            tables = kind([running.port], _TABLES)
            costs[name] = (running.resident - before) / (_TABLES * SEATS) / 1024
            before = running.resident
            tables.prepare()
            costs[f"{name}'s table"] = (running.resident - before) / _TABLES / 1024
    return {
        "memory a connection, KiB": [costs["server"]],
        "floor: memory a connection, KiB": [costs["floor"]],
        "memory a connection above the floor's, KiB": [costs["server"] - costs["floor"]],
        "memory a table in play, connections left out, KiB": [costs["server's table"]],
    }


def samples(tree: Path, beside: Path | None = None) -> Samples:
    """Return all samples of the server."""
    found: Samples = defaultdict(list)
    trees = {"journal": tree} if beside is None else {"journal": tree, "the other's journal": beside}
    began = time.monotonic()
    for number in range(_REPEATS):
        if number and time.monotonic() - began > _SECONDS:
            break
        for tables, moves in _MOVES.items():
            run_in_turn(found, trees, tables, moves)
        rate = _SHARE_OFFERED * statistics.median(found["T=50 floor: moves/s"])
        run_in_turn(found, trees, 50, max(1600, int(4 * rate)), rate)
    return found | memory(tree)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m bench.server")
    parser.add_argument("--beside", type=Path, metavar="TREE")
    print(json.dumps(samples(Path.cwd(), parser.parse_args().beside)))
