"""Commands in a copy of the source tree, which write there alone, end in time and leave no process behind.

Needs Linux: what a command leaves behind is given to this process, which ends it.
"""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

ROOT: Final = Path(__file__).parents[1]
_BETWEEN_LOOKS: Final = 0.2  # seconds
_TO_CLEAN_UP: Final = 3.0  # seconds
_PR_SET_CHILD_SUBREAPER: Final = 36


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command has ended: `code` is None if a limit was reached, or what was wanted was printed."""

    output: str
    code: int | None
    cpu: float  # seconds, of all its processes
    busiest: float  # CPU seconds of the process that had taken most and had not ended


def copy_tree(tree: Path) -> None:
    """Copy what git knows of the source tree, as it is now."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)  # noqa: S607
    for name in listed.stdout.decode().split("\0")[:-1]:
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, tree / name)


@contextmanager
def copied_tree() -> Iterator[Path]:
    """Copy the source tree into a folder that is removed at the end."""
    # The name is short, as sockets in it need it; PostgreSQL runs as another user.
    with tempfile.TemporaryDirectory(prefix="pm-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        for each, mode in (("home", 0o700), ("t", 0o1777)):
            (folder / each).mkdir()
            (folder / each).chmod(mode)
        copy_tree(folder / "tree")
        yield folder / "tree"


def limited_run(
    words: Sequence[str], tree: Path, *, cpu: float, seconds: float, wanted: str | None = None
) -> Ended:
    """Run a module of Python in a copied tree until it prints a line that matches, or reaches a limit."""
    if ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1) != 0:
        raise OSError("this system does not hand orphans over")
    folder = tree.parent
    environment = {name: value for name, value in os.environ.items() if not name.startswith("XDG_")}
    environment |= {"HOME": str(folder / "home"), "TMPDIR": str(folder / "t")}
    printed = folder / "printed"
    began, used_before, busiest = time.monotonic(), used_by_children(), 0.0
    with printed.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", *words],
            cwd=tree,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        while (code := process.poll()) is None and time.monotonic() < began + seconds:
            time.sleep(_BETWEEN_LOOKS)
            running, ended = _cpu()
            busiest = max(running, default=0.0)
            if sum(running) + sum(ended) > cpu:
                break
            if wanted is not None and re.search(wanted, printed.read_text("utf-8", "replace"), re.MULTILINE):
                time.sleep(_BETWEEN_LOOKS)  # what belongs to it follows
                break
    finally:
        _end_all(process)
    for left in (folder / "t").iterdir():
        shutil.rmtree(left, ignore_errors=True)
    return Ended(printed.read_text("utf-8", "replace"), code, used_by_children() - used_before, busiest)


def used_by_children() -> float:
    """Return the CPU seconds of all commands that have been run."""
    times = os.times()
    return times.children_user + times.children_system


def _cpu() -> tuple[list[float], list[float]]:
    """Return the CPU seconds of all processes that this one has begun, and those of their ended children."""
    running, ended = [], []
    for process in _all():
        with suppress(psutil.NoSuchProcess):
            times = process.cpu_times()
            running.append(times.user + times.system)
            ended.append(times.children_user + times.children_system)
    return running, ended


def _end_all(process: subprocess.Popen[bytes]) -> None:
    """End a command, all processes that it has begun, and those that they have left behind."""
    process.send_signal(signal.SIGSTOP)
    # A simulation then removes its folder, which is not in the tree, and ends.
    others = [each for each in _all() if each.pid != process.pid]
    _signal(others, signal.SIGPROF)
    until = time.monotonic() + _TO_CLEAN_UP
    while any(map(_runs, others)) and time.monotonic() < until:
        time.sleep(_BETWEEN_LOOKS)
    while left := _all():
        _signal(left, signal.SIGKILL)
        psutil.wait_procs(left, timeout=_TO_CLEAN_UP)
    process.wait()


def _runs(process: psutil.Process) -> bool:
    """Return whether a process has not ended; who began it may be stopped, and not know."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _all() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def _signal(processes: Sequence[psutil.Process], number: int) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
