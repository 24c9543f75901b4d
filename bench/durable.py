"""What safety from power cuts costs: commits, moves and latency with `--durable full` and normal.

    python -m bench.durable [FOLDER]

The journals are made in FOLDER (default: here), since its disk is what is measured; many systems keep
temporary files in memory. The variants run in turn, A B A B.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Final, get_args

from bench import Samples
from bench.load.process import subject
from protocol.messages import PlacePiece
from server.config import Durable
from server.storage.entries import Played
from server.storage.sqlite.journal import SqliteJournal

_REPEATS: Final = 3
_TABLES: Final = (1, 50)
_SECONDS: Final = 1.0  # of commits, one after another
_MOVES: Final = {1: 640, 50: 3200}
_ENTRY: Final = Played(
    0, PlacePiece(100_000, "Em*", "A1"), [{"t": "placed", "seat": 0, "piece": "Em*", "field": "A1"}]
)


async def commits(folder: Path, durable: Durable) -> tuple[float, float]:
    """Return commits a second, one after another, and the longest pause of the event loop in ms."""
    journal = SqliteJournal(folder, durable)
    longest = 0.0

    async def watch() -> None:
        nonlocal longest
        last = time.perf_counter()
        while True:
            await asyncio.sleep(0)
            now = time.perf_counter()
            longest, last = max(longest, now - last), now

    watching = asyncio.create_task(watch())
    began, number = time.perf_counter(), 0
    while time.perf_counter() - began < _SECONDS:
        await journal.append("KRTV", number, [_ENTRY])
        number += 1
    seconds = time.perf_counter() - began
    watching.cancel()
    await journal.close()
    return number / seconds, 1000 * longest


def samples(folder: Path, repeats: int = _REPEATS) -> Samples:
    """Return all samples."""
    found: Samples = defaultdict(list)
    for _ in range(repeats):
        for durable in get_args(Durable):
            with tempfile.TemporaryDirectory(prefix="palatinus-bench-", dir=folder) as data:
                rate, stall = asyncio.run(commits(Path(data), durable))
            found[f"durable {durable}: commits/s"].append(rate)
            found[f"durable {durable}: longest stall of the loop, ms"].append(stall)
        for tables in _TABLES:
            for durable in get_args(Durable):
                with (
                    tempfile.TemporaryDirectory(prefix="palatinus-bench-", dir=folder) as data,
                    subject("server", "--data", data, "--durable", durable, tree=Path.cwd()) as server,
                ):
                    seen = server.loaded("--tables", str(tables), "--moves", str(_MOVES[tables]))
                key = f"T={tables} durable {durable}"
                found[f"{key}: moves/s"].append(seen["moves_per_second"])
                for percentile in ("p50_ms", "p99_ms"):
                    found[f"{key}: latency {percentile}"].append(seen[percentile])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.durable", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path.cwd())
    print(json.dumps(samples(parser.parse_args().folder)))


if __name__ == "__main__":
    main()
