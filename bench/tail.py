"""Where the slowest moves spend their time: 50 tables, at a load that the server carries with ease.

    python -m bench.tail [--rate MOVES_A_SECOND] [--seconds S] [--fast]

Prints a table of what the phases of a move take, in ms, for the slowest 1 % and for all moves, and what else
the server did while they were under way.
"""

import argparse
import asyncio
import gc
import json
import os
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.load.playing import measured
from bench.load.tables import ServerTables, scripts
from bench.server import LOAD_CORE, server

_TABLES: Final = 50
_SHARE: Final = 0.01  # of all moves, the slowest
_LONG: Final = 0.001  # seconds; what is shorter slows no move that one would notice
_PHASES: Final = ("waiting", "deciding", "storing", "sending", "on the way back", "in all")
_BESIDE: Final = ("garbage collection", "a checkpoint", "the end of a game")
_NOW: Final = time.perf_counter  # the same clock in all processes of a machine

Notes = dict[str, list[Any]]


class _Move(NamedTuple):
    due: float
    heard: float
    phases: tuple[float, ...]  # in seconds, in all last


def note_phases() -> Notes:
    """Note in the server's process when each move's phases begin and end, and what else may delay it."""
    from server.monitoring import tracing  # noqa: PLC0415 - only the server's process needs it
    from server.storage.sqlite import checkpoints  # noqa: PLC0415

    notes: Notes = {"moves": [], "garbage collection": [], "a checkpoint": []}
    under_way: dict[object, list[float]] = {}
    make, began = checkpoints.checkpoint, 0.0

    @contextmanager
    def move_span(_kind: str, code: str | None) -> Iterator[None]:
        task = asyncio.current_task()
        under_way[task] = []
        yield
        notes["moves"].append((code, under_way.pop(task)))

    @contextmanager
    def span(_name: str) -> Iterator[None]:
        noted = under_way.get(asyncio.current_task(), [])  # a game begins without a move
        noted.append(_NOW())
        yield
        noted.append(_NOW())

    def note_collection(phase: str, _info: object) -> None:
        nonlocal began
        if phase == "start":
            began = _NOW()
        else:
            notes["garbage collection"].append((began, _NOW()))

    def checkpoint(*arguments: Any) -> tuple[int, int]:
        since = _NOW()
        try:
            return make(*arguments)
        finally:
            notes["a checkpoint"].append((since, _NOW()))

    gc.callbacks.append(note_collection)
    tracing.__dict__.update(_tracer=tracing, span=span, move_span=move_span)
    checkpoints.__dict__["checkpoint"] = checkpoint
    return notes


def run(rate: float, seconds: float, options: Sequence[str]) -> tuple[list[_Move], Notes]:
    """Return the moves of a run, and what the server noted."""
    games = scripts(7)
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        path = Path(folder) / "phases"
        with server(Path.cwd(), "--phases", str(path), *options) as running:
            if LOAD_CORE:
                os.sched_setaffinity(0, {int(LOAD_CORE[1])})
            tables = ServerTables([running.port], _TABLES)
            rounds = max(1, round(rate * seconds / _TABLES / len(games[0])))
            figures = measured(tables, games, rounds, [running.process], rate)
        notes: Notes = json.loads(path.read_text(encoding="ascii"))
    at_server, at_load = defaultdict(list), defaultdict(list)
    for code, times in notes["moves"]:
        at_server[code].append(times)
    for took, heard, number in figures.latencies:
        at_load[number].append((heard - took, heard))
    found = []
    for number, table in enumerate(tables.tables):
        times_there = [times for code in table.codes for times in at_server[code]]
        for (due, heard), times in zip(at_load[number], times_there, strict=True):
            decide, _decided, store, stored, _tell, told = times
            phases = (decide - due, store - decide, stored - store, told - stored, heard - told, heard - due)
            found.append(_Move(due, heard, phases))
    ends = (at_server[code][-1] for table in tables.tables for code in table.codes)
    notes["the end of a game"] = [(times[0], times[-1]) for times in ends]
    return found, notes


def table_of_phases(moves: list[_Move], notes: Notes) -> str:
    """Return what the moves' phases take, and what overlapped with them, as a Markdown table."""
    moves = sorted(moves, key=lambda move: -move.phases[-1])
    columns = (moves[: max(1, round(_SHARE * len(moves)))], moves)
    rows = [
        (
            f"{phase}, ms",
            [f"{1000 * statistics.mean(move.phases[at] for move in each):.2f}" for each in columns],
        )
        for at, phase in enumerate(_PHASES)
    ]
    for name in _BESIDE:
        spans = [(begin, end) for begin, end in notes[name] if end - begin > _LONG]
        longest = max((end - begin for begin, end in spans), default=0.0)
        beside = (
            [any(begin < move.heard and move.due < end for begin, end in spans) for move in each]
            for each in columns
        )
        rows.append(
            (
                f"beside {name} of more than 1 ms ({len(spans)}, the longest {1000 * longest:.1f} ms)",
                [f"{statistics.mean(each):.0%}" for each in beside],
            )
        )
    lines = [f"| | slowest 1 % ({len(columns[0])} moves) | all {len(moves):,} |", "|---|---:|---:|"]
    return "\n".join([*lines, *(f"| {name} | {' | '.join(shown)} |" for name, shown in rows)])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.tail", description=__doc__)
    parser.add_argument("--rate", type=float, default=1500.0)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--fast", action="store_true", help="use uvloop")
    options = parser.parse_args()
    print(table_of_phases(*run(options.rate, options.seconds, ("--fast",) if options.fast else ())))


if __name__ == "__main__":
    main()
