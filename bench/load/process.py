"""The processes measured: start them, read their memory and CPU, put load on them, and end them."""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import psutil

_TIMEOUT: Final = 120.0
_ROOT: Final = Path(__file__).parents[2]

Load: TypeAlias = dict[str, float]  # what `bench.load` prints about a run


def cpu_of(process: psutil.Process) -> float:
    """Return the seconds of CPU that the process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)


@dataclass(frozen=True)
class Subject:
    """A running server or floor."""

    name: str
    port: int
    process: psutil.Process

    @property
    def resident(self) -> int:
        """Return the memory it holds, in bytes."""
        return int(self.process.memory_info().rss)

    @property
    def cpu(self) -> float:
        """Return the seconds of CPU it has used."""
        return cpu_of(self.process)

    def loaded(self, *options: str) -> Load:
        """Run the load against it in a process of its own; return the load's figures."""
        return loaded([self], *options)


def loaded(subjects: Sequence[Subject], *options: str) -> Load:
    """Run one load against all of them, which are alike, in a process of its own; return its figures."""
    first = subjects[0]
    command = [sys.executable, "-m", "bench.load", first.name, *options]
    command += ["--port", *(str(each.port) for each in subjects)]
    command += ["--pid", *(str(each.process.pid) for each in subjects)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False, cwd=_ROOT)
    if done.returncode != 0:
        raise RuntimeError(f"the load failed: {done.stderr.strip().splitlines()[-1:]}")
    seen: Load = json.loads(done.stdout)
    return seen


@contextlib.contextmanager
def subject(name: str, *options: str, tree: Path, under: Sequence[str] = ()) -> Iterator[Subject]:
    """Run the floor, or the `server` of the source tree `tree`, while the context lasts, `under` valgrind."""
    # This tree's own way to start it, so that two trees are measured in the same way.
    command = [*under, sys.executable, "-P", str(Path(__file__).with_name("subject.py")), name, *options]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tree,
        env={**os.environ, "PYTHONPATH": str(tree)},
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Subject(name, int(process.stdout.readline()), psutil.Process(process.pid))
        finally:
            process.stdin.close()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()


@dataclass(frozen=True)
class Served(Subject):
    """`palatinus serve`, as users start it; `port` is the one that it has announced."""

    folder: Path  # its data, and its log

    @property
    def peak(self) -> float:
        """Return the most memory that it has held, in bytes."""
        status = Path(f"/proc/{self.process.pid}/status").read_text(encoding="ascii")
        return 1024.0 * int(status.partition("VmHWM:")[2].split()[0])

    @property
    def complaints(self) -> int:
        """Return how many lines it has logged: only warnings and errors are."""
        return (self.folder / "log").read_bytes().count(b"\n")

    def stop(self) -> float:
        """Stop it by SIGTERM; return the seconds that takes."""
        began = time.monotonic()
        self.process.terminate()
        self.process.wait(_TIMEOUT)
        return time.monotonic() - began


@contextlib.contextmanager
def serving(*options: str, host: str = "127.0.0.1", announced: str = r"join \S*:(\d+)$") -> Iterator[Served]:
    """Serve while the context lasts, with limits as they are by default."""
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as name:
        folder = Path(name)
        command = [sys.executable, str(_ROOT / "palatinus.py"), "serve", "--lang", "en", "--host", host]
        command += ["--port", "0", "--data", name, "--no-config", *options]
        with (
            (folder / "log").open("wb") as log,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,
        ):
            assert process.stdout is not None
            try:
                for line in process.stdout:
                    if found := re.search(announced, line):
                        yield Served("server", int(found[1]), psutil.Process(process.pid), folder)
                        break
                else:
                    raise RuntimeError("the server did not start")
            finally:
                process.terminate()
                try:
                    process.wait(_TIMEOUT)
                except subprocess.TimeoutExpired:
                    process.kill()
