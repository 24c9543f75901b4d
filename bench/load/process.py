"""The processes measured: start them, read their memory and CPU, put load on them, and end them."""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

import psutil

_TIMEOUT: Final = 120.0

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
    here = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT, check=False, cwd=here)
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
