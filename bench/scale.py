"""One server with thousands of tables for an hour, and how soon it is back after `kill -9`.

    python -m bench.scale [--correspondence 5000] [--live 500] [--minutes 60]

At a live table, four players are connected and one of them moves every ten seconds. At a table in
correspondence nobody is connected: now and then the player whose turn it is comes, moves and goes. Each
minute gives a line, and the end a table. The load waits between moves, so that a core is enough for both.
"""

import argparse
import heapq
import itertools
import os
import random
import selectors
import signal
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from bench import Samples
from bench.__main__ import table
from bench.load.process import Subject, cpu_of, subject
from bench.load.tables import SEATS, LoadTable, begin_game, leave, scripts
from bench.load.wire import Wire

_ROOT: Final = Path(__file__).parent.parent
_SECONDS_BETWEEN_MOVES: Final = 10.0  # at a live table
_VISITS: Final = 5.0  # a second, to all tables in correspondence together
_DAYS: Final = 3 * 86_400  # for a move
_MIB: Final = 2**20
_LOOKED_AT: Final = 200  # tables that are visited after the restart

Script = Sequence[tuple[int, bytes]]


@dataclass
class Letters:
    """A game in correspondence: where it is, the tokens of its seats, and how far it has come."""

    code: str
    tokens: Sequence[object]
    script: Script
    at: int = 0


@dataclass
class Hour:
    """The load on a server: the tables that are live, those in correspondence, and what their moves took."""

    port: int
    games: list[list[tuple[int, bytes]]]
    rng: random.Random = field(default_factory=lambda: random.Random(1))
    ids: Iterator[int] = field(default_factory=lambda: itertools.count(1))
    letters: list[Letters] = field(default_factory=list)
    live: list[LoadTable] = field(default_factory=list)
    took: list[float] = field(default_factory=list)  # seconds from when a live move was due
    visits: list[float] = field(default_factory=list)  # seconds

    def begin(self, correspondence: int, live: int) -> None:
        """Open the tables; a third of all moves are made at those in correspondence, and seen by nobody."""
        wires = [Wire.welcomed(self.port) for _ in range(SEATS)]
        for _ in range(correspondence):
            script = self.rng.choice(self.games)
            clock = {"t": "long-clock", "seconds": _DAYS}
            code, tokens = begin_game(wires, self.ids, absence=clock)
            game = Letters(code, tokens, script)
            for seat, frame in script[: len(script) // 3]:
                wires[seat].send(frame)
                for wire in wires:
                    wire.expect("events")
                game.at += 1
            leave(wires, self.ids)
            self.letters.append(game)
        for wire in wires:
            wire.close()
        for _ in range(live):
            self.live.append(self._begun(LoadTable([Wire.welcomed(self.port) for _ in range(SEATS)])))

    def _begun(self, at: LoadTable) -> LoadTable:
        begin_game(at.wires, self.ids)
        for wire in at.wires:
            wire.ask("pong", t="ping", id=next(self.ids))
        at.frames, at.at = self.rng.choice(self.games), 0
        return at

    def visit(self, game: Letters) -> None:
        """Come to a table in correspondence as the player whose turn it is, move, and go."""
        began = time.perf_counter()
        seat, frame = game.script[game.at]
        wire = Wire.welcomed(self.port)
        wire.ask("seated", t="resume", id=next(self.ids), table=game.code, token=game.tokens[seat])
        wire.expect("snapshot")
        wire.send(frame)
        wire.expect("events")
        wire.close()
        game.at += 1
        if game.at == len(game.script):
            self.letters.remove(game)
        self.visits.append(time.perf_counter() - began)

    def run(self, seconds: float) -> None:
        """Have all tables move for so long."""
        now, end = time.monotonic, time.monotonic() + seconds
        selector = selectors.DefaultSelector()
        for number, each in enumerate(self.live):
            for wire in each.wires:
                selector.register(wire.socket, selectors.EVENT_READ, (number, wire))
        due = [(now() + _SECONDS_BETWEEN_MOVES * self.rng.random(), n) for n in range(len(self.live))]
        heapq.heapify(due)
        next_visit = now()
        while now() < end:
            while due and due[0][0] <= now():
                at, number = heapq.heappop(due)
                mover = self.live[number]
                seat, frame = mover.frames[mover.at]
                mover.heard, mover.sent = 0, at
                mover.wires[seat].send(frame)
            if next_visit <= now() and self.letters:
                self.visit(self.rng.choice(self.letters))
                next_visit += 1 / _VISITS
            ended = []
            wait = min([next_visit, end, *(at for at, _ in due[:1])]) - now()
            for key, _ in selector.select(max(0.0, wait)):
                number, wire = key.data
                mover = self.live[number]
                mover.heard += wire.heard()
                if mover.heard < SEATS:
                    continue
                self.took.append(now() - mover.sent)
                mover.heard, mover.at = 0, mover.at + 1
                if mover.at == len(mover.frames):
                    ended.append(mover)
                heapq.heappush(due, (mover.sent + _SECONDS_BETWEEN_MOVES, number))
            for mover in ended:  # now that nothing waits to be read
                leave(mover.wires, self.ids)
                self._begun(mover)
        selector.close()


def size_of(folder: Path) -> float:
    """Return the MiB of all files in the folder."""
    return sum(each.stat().st_size for each in folder.rglob("*") if each.is_file()) / _MIB


def percentile(values: Sequence[float], percent: int) -> float:
    return sorted(values)[len(values) * percent // 100]


def samples(correspondence: int, live: int, minutes: int) -> Samples:
    """Run the load, kill the server and start it again; print a line a minute, and return all samples."""
    found: Samples = {}

    def note(name: str, *values: float) -> None:
        found.setdefault(name, []).extend(values)

    with tempfile.TemporaryDirectory(prefix="palatinus-bench-") as name, ExitStack() as running:
        folder, options = Path(name), ("--data", name)
        server: Subject = running.enter_context(subject("server", *options, tree=_ROOT))
        note("memory without tables, MiB", server.process.memory_info().rss / _MIB)
        hour = Hour(server.port, scripts(7))
        hour.begin(correspondence, live)
        note("memory with all tables, MiB", server.process.memory_info().rss / _MIB)
        note("files with all tables, MiB", size_of(folder))
        for minute in range(1, minutes + 1):
            hour.took.clear()
            hour.visits.clear()
            cpu = cpu_of(server.process)
            hour.run(60.0)
            note("share of a core", (cpu_of(server.process) - cpu) / 60.0)
            note("memory, MiB", server.process.memory_info().rss / _MIB)
            note("files, MiB", size_of(folder))
            note("moves a second", (len(hour.took) + len(hour.visits)) / 60.0)
            note("live moves: median, ms", 1000 * statistics.median(hour.took))
            note("live moves: p99, ms", 1000 * percentile(hour.took, 99))
            note("visits: median, ms", 1000 * statistics.median(hour.visits))
            print(minute, {name: round(values[-1], 2) for name, values in found.items()}, flush=True)
        os.kill(server.process.pid, signal.SIGKILL)
        began = time.perf_counter()
        again: Any = running.enter_context(subject("server", *options, tree=_ROOT))
        note("start after kill -9, s", time.perf_counter() - began)
        note("memory after it, MiB", again.process.memory_info().rss / _MIB)
        hour.port = again.port
        for game in hour.rng.sample(hour.letters, min(_LOOKED_AT, len(hour.letters))):
            hour.visit(game)  # fails unless the table is there, and its game as it was
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--correspondence", type=int, default=5000)
    parser.add_argument("--live", type=int, default=500)
    parser.add_argument("--minutes", type=int, default=60)
    options = parser.parse_args()
    print(table(samples(options.correspondence, options.live, options.minutes)))


if __name__ == "__main__":
    main()
