"""The database of a measurement, and what servers ask of it."""

import asyncio
import contextlib
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import psutil

from bench.load.process import cpu_of
from tests.postgresql import Cluster


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
