"""One PostgreSQL server for all test processes, started when the first one needs it.

Each of them holds a lock on a file while it runs. The program in this module, which keeps the server, waits
for that lock; so the server ends with the last of them, however that ends.
"""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path
from typing import IO

from bench.cluster.postgresql import CARELESS, Cluster

_ROOT = Path(__file__).parents[1]


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
    cluster = Cluster(folder / "postgresql")
    cluster.make()
    cluster.start(*CARELESS)
    sys.stdout.write("running\n")
    sys.stdout.close()
    with (folder / "users").open("a") as users:
        fcntl.flock(users, fcntl.LOCK_EX)
        cluster.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
