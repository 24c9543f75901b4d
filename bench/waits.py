"""How long a move waits until it is stored: 20,000 entries of 50 tables, 2,000 a second, as a table in ms.

    python -m bench.waits

The entries that wait longest come during checkpoints. On a busy machine, give it a real-time priority
(`chrt -f 10`), or it measures the other programs. PYTHONPATH=TREE measures the journal of another tree.
"""

import asyncio
import tempfile
import time
from itertools import cycle
from pathlib import Path
from typing import Final

from bench.__main__ import table
from protocol.messages import PlacePiece
from server.storage.entries import Played
from server.storage.sqlite.journal import SqliteJournal

_ENTRIES: Final = 20_000
_TABLES: Final = 50
_RATE: Final = 2000
_ENTRY: Final = Played(
    0, PlacePiece(100_000, "Em*", "A1"), [{"t": "placed", "seat": 0, "piece": "Em*", "field": "A1"}]
)


async def waits(folder: Path) -> list[float]:
    """Return how long each entry waited, in ms, the shortest first."""
    journal = SqliteJournal(folder)
    found: list[float] = []

    async def store(code: str, number: int) -> None:
        began = time.perf_counter()
        await journal.append(code, number, [_ENTRY])
        found.append(1000 * (time.perf_counter() - began))

    start = time.perf_counter()
    async with asyncio.TaskGroup() as tasks:
        for number, name in zip(range(_ENTRIES), cycle(range(_TABLES))):
            await asyncio.sleep(max(0.0, start + number / _RATE - time.perf_counter()))
            tasks.create_task(store(f"T{name:03}", number // _TABLES))
    await journal.close()
    return sorted(found)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-", dir=Path.cwd()) as folder:
        found = asyncio.run(waits(Path(folder)))
    percentiles = {f"p{percent:g}": found[int(_ENTRIES * percent / 100)] for percent in (50, 90, 99, 99.9)}
    figures = {**percentiles, "longest": found[-1], "more than 3 ms": sum(wait > 3 for wait in found)}
    print(table({name: [value] for name, value in figures.items()}))


if __name__ == "__main__":
    main()
