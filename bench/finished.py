"""What the server keeps in memory of finished games, while their players are there and after they left.

    python -m bench.finished [TREE]

It runs `palatinus serve --memory` of a source tree (default: here) with 200 tables of four seats, plays a
game at each, lets everybody leave, and repeats that with new tables. With their players there, tables are
compared with the server before the first of them; tables that were left with those of the round before,
because memory that was used before is used again first.
"""

import argparse
import itertools
import json
import random
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import psutil

from bench import Samples
from bench.idle import allow_many_files
from bench.load.playing import Figures, play
from bench.load.tables import ServerTables, scripts

_TABLES: Final = 200
_TO_WARM_UP: Final = 20
_ROUNDS: Final = 4
_OPTIONS: Final = (
    *("serve", "--memory", "--host", "127.0.0.1", "--port", "0"),
    *("--max-connections", "9000", "--connections-per-address", "9000"),
    *("--max-tables", "9000", "--tables-per-minute", "9000", "--rate", "9000"),
)


def samples(tree: Path) -> Samples:
    """Return what one finished table more takes, in KiB of the server's resident memory."""
    allow_many_files()
    command = [sys.executable, str(tree / "palatinus.py"), *_OPTIONS]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tree
    ) as serving:
        try:
            assert serving.stdout is not None
            port = next(int(found[1]) for line in serving.stdout if (found := re.search(r":(\d+)$", line)))
            with_players, left = _measured(port, psutil.Process(serving.pid))
        finally:
            serving.terminate()
    return {
        "finished: memory of a table with its players, connections left out, KiB": [with_players],
        "finished: memory of a table that they have left, KiB": left,
    }


def _measured(port: int, server: psutil.Process) -> tuple[float, list[float]]:
    chooser = random.Random(1)
    _play(ServerTables([port], _TO_WARM_UP), chooser)
    tables = ServerTables([port], _TABLES)
    empty = _resident(server)
    found = []
    for _ in range(_ROUNDS):
        _play(tables, chooser)
        held = _resident(server)
        tables.tidy()
        found.append((held, _resident(server)))
    left = [(now - before) / _TABLES for (_, before), (_, now) in itertools.pairwise(found)]
    return (found[0][0] - empty) / _TABLES, left


def _play(tables: ServerTables, chooser: random.Random) -> None:
    """Play a game at each of new tables."""
    games = scripts(7)
    tables.prepare()
    for table in tables.tables:
        table.frames, table.at = chooser.choice(games), 0
    play(tables.tables, Figures(), None, chooser)


def _resident(server: psutil.Process) -> float:
    """Return its resident memory in KiB."""
    return float(server.memory_info().rss) / 1024


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.finished", description=__doc__)
    parser.add_argument("tree", nargs="?", type=Path, default=Path.cwd())
    print(json.dumps(samples(parser.parse_args().tree)))


if __name__ == "__main__":
    main()
