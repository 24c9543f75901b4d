"""The terminal client in a real terminal: time to start, time to answer a key, and what a game costs.

python -m bench.client
"""

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pexpect
import psutil

from bench import Samples
from bench.load.process import subject

_STARTS: Final = 7
_KEYS: Final = 200
_GAMES: Final = 3
_DRAWN: Final = b"\x1b[?2026l"  # ends each redraw
_TIMEOUT: Final = 20


def samples(tree: Path) -> Samples:
    """Return seconds to the first screens, milliseconds from key to redraw, and a watched game's CPU."""
    return measure_starts(tree) | measure_keys(tree) | measure_watching(tree)


def _let_settle(screen: pexpect.spawn) -> None:
    """Wait until drawing has stopped."""
    while screen.expect_exact([_DRAWN, pexpect.TIMEOUT], timeout=1) == 0:
        pass


def terminal(tree: Path, *arguments: str) -> pexpect.spawn:
    """Run `palatinus` in a pty of 120x40."""
    screen = pexpect.spawn(
        sys.executable,
        [str(tree / "palatinus.py"), *arguments],
        dimensions=(40, 120),
        timeout=_TIMEOUT,
        cwd=str(tree),
    )
    screen.delaybeforesend = None  # it waits 50 ms by default, for password prompts
    return screen


def _cpu_seconds(screen: pexpect.spawn) -> float:
    times = psutil.Process(screen.pid).cpu_times()
    return float(times.user + times.system)


def measure_starts(tree: Path) -> Samples:
    """Return how long it takes until the start screen and the board of a new game are shown, and the CPU."""
    samples: dict[str, list[float]] = {}
    for screen, arguments, text in (
        ("start screen", (), "Past games"),
        ("board", ("play", "--random-layout", "--name", "bench"), "YOUR HAND"),
    ):
        found, busy = [], []
        for _ in range(1 + _STARTS):
            began = time.perf_counter()
            shown = terminal(tree, *arguments)
            shown.expect_exact(text)
            shown.expect_exact(_DRAWN)
            found.append(time.perf_counter() - began)
            busy.append(_cpu_seconds(shown))
            shown.close(force=True)
        samples[f"client: start to the {screen}, s"] = found[1:]  # the first run compiles for the others
        samples[f"client: CPU to the {screen}, s"] = busy[1:]
    return samples


@contextlib.contextmanager
def own_folders() -> Iterator[None]:
    """Keep what child processes compile and save for as long as they are measured, apart from the user's."""
    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder:
        for name in ("PYTHONPYCACHEPREFIX", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"):
            os.environ[name] = folder
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        yield


def measure_keys(tree: Path) -> Samples:
    """Return how long after a key that moves the cursor the screen is complete again."""
    screen = terminal(tree, "play", "--random-layout", "--players", "2", "--name", "bench")
    screen.expect_exact("Your turn")
    screen.expect_exact(_DRAWN)
    _let_settle(screen)
    took = []
    for number in range(_KEYS):
        began = time.perf_counter()
        screen.send("hl"[number % 2])
        screen.expect_exact(_DRAWN)
        took.append(1000 * (time.perf_counter() - began))
    screen.close(force=True)
    took.sort()
    return {
        "client: key to redraw p50, ms": [took[_KEYS // 2]],
        "client: key to redraw p95, ms": [took[int(_KEYS * 0.95)]],
    }


def measure_watching(tree: Path) -> Samples:
    """Return the CPU that a client takes, its start included, to watch four bots play a whole game."""
    found = []
    bots = [sys.executable, "palatinus.py", "bot"]
    with subject("server", tree=tree) as server:
        url = f"ws://127.0.0.1:{server.port}"
        for _ in range(_GAMES):
            playing = subprocess.Popen(
                [*bots, url, "--players", "4", "--seats", "3", "--random-layout", "--brain", "random"],
                stdout=subprocess.PIPE,
                text=True,
                cwd=tree,
            )
            assert playing.stdout is not None
            table = playing.stdout.readline().split()[-1]
            screen = terminal(tree, "join", url, table, "--watch", "--name", "bench")
            screen.expect_exact(_DRAWN)
            subprocess.run(
                [*bots, url, table, "--brain", "random"], check=True, cwd=tree, stdout=subprocess.DEVNULL
            )
            _let_settle(screen)
            found.append(_cpu_seconds(screen))
            screen.close(force=True)
            playing.communicate()
    return {"client: CPU of watching a whole game, s": found}


if __name__ == "__main__":
    with own_folders():
        print(json.dumps(samples(Path.cwd())))
