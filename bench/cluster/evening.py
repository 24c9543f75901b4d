"""An evening: a game in two real terminals, while each of three nodes and the database go in turn.

    python -m bench.cluster.evening [--screens FOLDER]

After every few turns a node is killed with SIGKILL and started again, or PostgreSQL is restarted. What the
terminals show is written to the folder. It fails if the game does not come to its scoring.
"""

import argparse
import asyncio
import contextlib
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from bench.cluster.nodes import NodeProcess, front, running
from bench.cluster.postgresql import Cluster
from tests.client.ui.pty_terminal import Terminal
from tests.client.ui.test_journey import place_first_piece

_ROOT: Final = Path(__file__).parents[2]
_NAMES: Final = ("Ann", "Bea")
_TURNS_BETWEEN: Final = 3
_TURN: Final = r"Your turn: place"
_OVER: Final = r"step 1 of"
_PATIENCE: Final = 120.0


class Evening:
    """The terminals of an evening; what they show goes to the folder `screens`."""

    def __init__(
        self, url: str, table: str, home: Path, screens: Path, open_until: contextlib.ExitStack
    ) -> None:
        self._screens = screens
        self._shots = 0
        self._terminals = []
        for name in _NAMES:
            environment = {"HOME": str(home / name), "XDG_STATE_HOME": str(home / name / "state")}
            terminal = Terminal("join", url, table, "--name", name, environment=environment)
            self._terminals.append(open_until.enter_context(terminal))

    def shot(self, what: str) -> None:
        """Write down what both terminals show."""
        self._shots += 1
        for name, terminal in zip(_NAMES, self._terminals, strict=True):
            terminal.settle()
            path = self._screens / f"{self._shots:02}-{what}-{name}.txt"
            path.write_text(terminal.text + "\n", encoding="utf-8")

    def turn(self) -> bool:
        """Have whoever is on turn place a piece; return False when the scoring has begun."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            for terminal in self._terminals:
                terminal.settle()
                if terminal.found(_TURN):
                    place_first_piece(terminal)
                    return True
                if terminal.found(_OVER):
                    return False
            time.sleep(0.2)
        raise TimeoutError(f"nobody is on turn:\n{self._terminals[0].text}")


def _bot_with_table(url: str) -> tuple["subprocess.Popen[str]", str]:
    """Let a bot open a table for three; return its process, and the table's code."""
    command = [sys.executable, str(_ROOT / "palatinus.py"), "bot", url, "--random-layout", "--players", "3"]
    process = subprocess.Popen([*command, "--seed", "1"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().split()[1]


async def evening(screens: Path) -> None:
    """Play the game."""
    rng = random.Random(1)
    with (
        tempfile.TemporaryDirectory(prefix="palatinus-bench-") as folder,
        contextlib.ExitStack() as stack,
    ):
        cluster = Cluster(Path(folder) / "postgresql")
        cluster.make()
        cluster.start()
        stack.callback(cluster.stop)
        nodes = [NodeProcess(f"node{at}", cluster.url) for at in (1, 2, 3)]
        async with running(nodes), front(nodes, rng) as port:
            url = f"ws://127.0.0.1:{port}"
            process, table = await asyncio.to_thread(_bot_with_table, url)
            stack.callback(process.kill)
            scene = await asyncio.to_thread(Evening, url, table, Path(folder), screens, stack)

            async def restart() -> None:
                await asyncio.to_thread(cluster.stop, "fast")
                await asyncio.to_thread(scene.shot, "database-gone")
                await asyncio.to_thread(cluster.start)

            faults: list[tuple[str, Callable[[], Awaitable[object]]]] = [
                *((f"{node.name}-killed", node.end) for node in nodes),
                ("database-restarted", restart),
            ]
            turns = 0
            while await asyncio.to_thread(scene.turn):
                turns += 1
                if turns % _TURNS_BETWEEN == 0 and faults:
                    what, strike = faults.pop(0)
                    print(f"turn {turns}: {what}", flush=True)
                    await strike()
                    await asyncio.to_thread(scene.shot, what)
                    began = time.monotonic()
                    if not await asyncio.to_thread(scene.turn):
                        break
                    print(f"  the next turn is done after {time.monotonic() - began:.1f} s", flush=True)
                    await asyncio.to_thread(scene.shot, f"after-{what}")
                    for node in nodes:
                        if not node.runs:
                            await node.start()
            await asyncio.to_thread(scene.shot, "scoring")
            assert not faults, "the game was over too soon"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.evening", description=__doc__)
    parser.add_argument("--screens", type=Path, default=Path("evening"))
    options = parser.parse_args()
    options.screens.mkdir(exist_ok=True)
    asyncio.run(evening(options.screens))
    print("the game has come to its scoring")


if __name__ == "__main__":
    main()
