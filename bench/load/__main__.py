"""The load: tables of four seats that play at once, each seat a connection of its own.

It runs in a process of its own, against one or more servers or against the floor (`bench.load.subject`), and
prints its figures as JSON. The tables play legal games drawn beforehand, so that this process does as little
as it can.
"""

import argparse
import json
import os

import psutil

from bench.load.playing import measured
from bench.load.tables import FloorTables, ServerTables, scripts


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.load", description=__doc__)
    parser.add_argument("subject", choices=("server", "floor"))
    parser.add_argument("--port", type=int, nargs="+", required=True)
    parser.add_argument("--pid", type=int, nargs="+", required=True)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--moves", type=int, default=6400)
    parser.add_argument(
        "--rate", type=float, help="moves per second over all tables (default: as many as possible)"
    )
    parser.add_argument("--core", type=int, help="run on this one alone")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    kind = ServerTables if options.subject == "server" else FloorTables
    games = scripts(7)
    tables = kind(options.port, options.tables)
    rounds = max(1, round(options.moves / (options.tables * len(games[0]))))
    figures = measured(tables, games, rounds, [psutil.Process(pid) for pid in options.pid], options.rate)
    print(json.dumps(figures.summary()))


if __name__ == "__main__":
    main()
