"""How far a run has come, for whoever waits for it."""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final, TextIO

from simulation.people.plan import Disturbance, Plan

_SECONDS_BETWEEN: Final = 60.0  # two lines in a file ...
_SECONDS_ON_A_TERMINAL: Final = 1.0  # ... where the line is written anew
_REWRITE: Final = "\r\x1b[K"


class Progress:
    """Shows on `file` how much of the plans is done: on one line of a terminal, or on a line each minute."""

    def __init__(self, plans: Sequence[Plan], file: TextIO = sys.stderr) -> None:
        self._file = file
        self._rewrites = file.isatty()
        self._rounds = len(plans)
        self._games = sum(plan.games for plan in plans)
        self._disturbances = sum(plan.disturbances for plan in plans)
        self._began = time.monotonic()
        self._number = 0
        self._before: Counter[str] = Counter()
        self._here: Counter[str] = Counter()
        self._doing = ""

    def round_begins(self, number: int, before: Counter[str], here: Counter[str]) -> None:
        """Count from now on what round `number` adds `here` to what was counted `before`."""
        self._number, self._before, self._here = number, before, here

    def say(self, text: str) -> None:
        """Write lines that remain."""
        print(f"{_REWRITE}{text}" if self._rewrites else text, file=self._file, flush=True)

    async def show(self) -> None:
        """Show it again and again, until cancelled."""
        while True:
            await asyncio.sleep(_SECONDS_ON_A_TERMINAL if self._rewrites else _SECONDS_BETWEEN)
            if self._rewrites:
                print(_REWRITE + self.line(), end="", file=self._file, flush=True)
            else:
                self.say(self.line())

    def line(self) -> str:
        """Return how far it is: more games than planned are those that were played again."""
        games, moves = (self._before[what] + self._here[what] for what in ("games", "moves"))
        disturbances = sum(self._before[kind] + self._here[kind] for kind in Disturbance)
        seconds = round(time.monotonic() - self._began)
        return (
            f"{seconds // 60}:{seconds % 60:02}  round {self._number} of {self._rounds}, {games:,} games "
            f"({self._games:,} planned), {disturbances:,} of {self._disturbances:,} faults, {moves:,} moves"
        )
