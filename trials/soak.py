"""A soak: many tables, watchers, pages and returns at one real server, for as many minutes as you like.

    python -m trials.soak [--minutes N] [--tables N] [--archive N] [--seed N]

Clients open tables, play random moves and leave: most at the end of their games, some before everybody has
moved. Each table has a spectator and a page in a browser, and in each game somebody comes back over a new
connection. The archive is small, so that it is soon full. At intervals, the trial looks at the server's
memory, open files, threads and asyncio tasks, at the rows of its journal, and at the size of the write-ahead
log.

It fails if any of these grows from the second quarter of the time to the last by more than stated below, if
the archive holds more games than it may, if files or tasks are left when everybody has gone, or if the server
logs a warning or sets a table aside.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import sqlite3
import stat
import sys
import tempfile
import time
from collections import Counter
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Final

import psutil

from commands.serving.running_server import back_up
from protocol.admin import ListLiveTables, ShowStatus, StatusReport, TableReport
from server.admin.client import ask
from server.admin.endpoint import SOCKET_NAME
from server.storage.sqlite.journal_file import FILE_NAME
from tests.pages.serving.viewer import viewer
from tests.server.peer import Peer, connected, exchange
from tests.server.playing import game, play_on
from tests.server.process import TODAY, ServerProcess

_MIB: Final = 2**20
_LOOKS: Final = 24  # samples, in all
_ABANDONED: Final = 0.2  # the share of games that people leave early
_SECONDS_TO_SETTLE: Final = 60.0
_MOST_LOG: Final = 200 * _MIB  # of the write-ahead log
# By how much the most of each may grow: a ratio, or a number for what is small.
_GROWTH: Final = {
    "resident": (1.15, 8 * _MIB),
    "files": (1.25, 16),
    "threads": (1.0, 4),
    "tasks": (1.25, 16),
    "entries": (1.25, 1000),
}
_LEFT: Final = {"files": 8, "tasks": 4}  # more than before anybody came, after everybody has gone
# The server's program, which says how many tasks it has when it is sent SIGUSR1.
_PROGRAM: Final = """\
#!{python}
import asyncio, os, signal, sys
def count_tasks(*_):
    unfinished = f"{counted}.unfinished"
    with open(unfinished, "w") as file:
        file.write(str(len(asyncio.all_tasks())))
    os.replace(unfinished, "{counted}")
if __name__ == "__main__":
    sys.path.insert(0, "{source}")
    signal.signal(signal.SIGUSR1, count_tasks)
    from palatinus import main
    sys.exit(main())
"""


@dataclass(frozen=True, slots=True)
class Look:
    """What the server has and keeps at a moment; `log` is the size of the write-ahead log."""

    seconds: int
    resident: int
    files: int
    threads: int
    tasks: int
    entries: int
    archived: int
    tables: int
    journal: int
    log: int


class Soak:
    """A server under steady play, and what was seen of it."""

    def __init__(self, folder: Path, archive: int, tables: int, seed: int) -> None:
        self._data, self._counted = folder / "data", folder / "tasks"
        self._archive, self._tables = archive, tables
        self._chooser = random.Random(seed)
        self._program = folder / "server"
        program = _PROGRAM.format(python=sys.executable, source=TODAY, counted=self._counted)
        self._program.write_text(program, encoding="utf-8")
        self._program.chmod(stat.S_IRWXU)
        options: list[str | Path] = ["--data", self._data, "--archive", str(archive), "--no-announce"]
        options += ["--web", "--max-tables", str(2 * tables), "--tables-per-minute", "100000"]
        # Everybody comes from one address, as fast as the machine allows.
        options += ["--rate", "10000", "--connections-per-address", "25000", "--metrics"]
        self.server = ServerProcess(*options)
        self.counts: Counter[str] = Counter()
        self.looks: list[Look] = []
        self.faults: list[str] = []

    async def run(self, seconds: float) -> None:
        """Start the server, play for so long, look at it regularly, and judge it."""
        async with self.server:
            await self.server.start(self._program)
            await exchange(self.server.port, b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")  # loads what draws
            idle = await self._look(0)
            self._began = time.monotonic()
            async with asyncio.TaskGroup() as players:
                playing = [players.create_task(self._keep_playing(number)) for number in range(self._tables)]
                while (left := self._began + seconds - time.monotonic()) > 0:
                    await asyncio.sleep(min(left, seconds / _LOOKS))
                    self.looks.append(await self._look(round(time.monotonic() - self._began)))
                    _print(self.looks[-1])
                for each in playing:
                    each.cancel()
            await self._judge_rest(idle)
            self._judge_growth()
            status = ask(self._data / SOCKET_NAME, ShowStatus(), StatusReport)
            if status.damaged:
                self.faults.append(f"{status.damaged} tables are set aside")
            await self.server.end(signal.SIGTERM)
        logged = [line for line in self.server.logged() if " WARNING " in line or " ERROR " in line]
        self.faults += [f"the server logged: {line}" for line in logged[:10]]

    async def _keep_playing(self, number: int) -> None:
        chooser = random.Random(self._chooser.random())
        await asyncio.sleep(number / self._tables)  # not all at once
        while True:
            await self._play(chooser)

    async def _play(self, chooser: random.Random) -> None:
        """Play a game with a spectator, a page and somebody who comes back; or leave it early."""
        port, players = self.server.port, chooser.choice((2, 2, 3, 5))
        async with contextlib.AsyncExitStack() as stack:
            peers = await stack.enter_async_context(game(port, players, watched=True))
            code = peers[0].code
            if chooser.random() < _ABANDONED:
                await play_on(peers, chooser, chooser.randrange(players + 2))
                self.counts["abandoned"] += 1
                return
            page = await stack.enter_async_context(viewer(port, f"/watch/{code}"))
            await page.receive()
            await play_on(peers, chooser, chooser.randrange(2, 12))
            seat = chooser.randrange(players)
            peers[seat] = await self._come_back(stack, peers[seat])
            await play_on(peers, chooser)
            for path in ("/", "/tv", "/metrics"):
                answer = await exchange(port, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
                # Pages may have a part of the processor only; on a busy machine one may come too late.
                self.counts[f"pages {answer[9:12].decode() or 'too late'}"] += 1
            self.counts["played"] += 1
            self.counts["moves"] += peers[0].seq

    async def _come_back(self, stack: contextlib.AsyncExitStack, gone: Peer) -> Peer:
        """Return a new connection at the seat of one that is lost."""
        await gone.socket.close()
        back = await stack.enter_async_context(connected(self.server.port))
        await back.resume(gone.code, gone.token)
        await back.caught_up(gone.seq)
        self.counts["returns"] += 1
        return back

    # -- looking ------------------------------------------------------------------------------------

    async def _look(self, seconds: int) -> Look:
        process = psutil.Process(self.server.pid)
        tasks = await self._tasks(process)
        entries, archived = await asyncio.to_thread(self._rows)
        tables = await asyncio.to_thread(ask, self._data / SOCKET_NAME, ListLiveTables(), list[TableReport])
        journal = self._data / FILE_NAME
        log = journal.with_name(f"{FILE_NAME}-wal")
        with process.oneshot():
            return Look(
                seconds,
                process.memory_info().rss,
                process.num_fds(),
                process.num_threads(),
                tasks,
                entries,
                archived,
                len(tables),
                journal.stat().st_size,
                log.stat().st_size if log.exists() else 0,
            )

    async def _tasks(self, process: psutil.Process) -> int:
        self._counted.unlink(missing_ok=True)
        process.send_signal(signal.SIGUSR1)
        async with asyncio.timeout(_SECONDS_TO_SETTLE):
            while not self._counted.exists():  # noqa: ASYNC110 - a file announces nothing
                await asyncio.sleep(0.05)
        return int(self._counted.read_text(encoding="utf-8"))

    def _rows(self) -> tuple[int, int]:
        """Return how many entries and archived games the journal has, in a copy that the server makes."""
        copy = self._data.with_name("copy.sqlite3")
        back_up(self._data / SOCKET_NAME, copy)
        with contextlib.closing(sqlite3.connect(copy)) as opened:
            (entries,) = opened.execute("SELECT count(*) FROM entry").fetchone()
            (archived,) = opened.execute("SELECT count(*) FROM archive").fetchone()
        copy.unlink()
        return entries, archived

    # -- judging ------------------------------------------------------------------------------------

    def _judge_growth(self) -> None:
        quarter = len(self.looks) // 4
        early, late = self.looks[quarter : 2 * quarter], self.looks[-quarter:]
        for name, (ratio, more) in _GROWTH.items():
            before, after = (max(getattr(look, name) for look in looks) for looks in (early, late))
            if after > max(ratio * before, before + more):
                self.faults.append(f"{name}: up to {after:,} in the last quarter, {before:,} in the second")
        if (most := max(look.archived for look in self.looks)) > self._archive:
            self.faults.append(f"the archive had {most} games, and may have {self._archive}")
        if most < self._archive:
            self.faults.append("the archive was not full: let it take longer, or make it smaller")
        if (log := max(look.log for look in self.looks)) > _MOST_LOG:
            self.faults.append(f"the write-ahead log had {log / _MIB:.0f} MiB")

    async def _judge_rest(self, idle: Look) -> None:
        """Wait until what people had open is closed."""
        end = time.monotonic() + _SECONDS_TO_SETTLE
        while time.monotonic() < end:
            rest = await self._look(round(time.monotonic() - self._began))
            left = {name: getattr(rest, name) - getattr(idle, name) for name in _LEFT}
            if all(left[name] <= most for name, most in _LEFT.items()):
                break
            await asyncio.sleep(1.0)
        else:
            self.faults.append(f"left when everybody had gone: {left}")
        _print(rest)


def _print(look: Look) -> None:
    shown = [f"{round(each / _MIB, 1)} MiB" if each > _MIB else f"{each}" for each in astuple(look)]
    print(
        "  ".join(f"{field.name} {text}" for field, text in zip(fields(look), shown, strict=True)), flush=True
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--tables", type=int, default=12, help="where people play at the same time")
    parser.add_argument("--archive", type=int, default=100, help="games in the server's archive, at most")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(Path(folder), options.archive, options.tables, options.seed)
        asyncio.run(soak.run(60 * options.minutes))
    print(", ".join(f"{number} {name}" for name, number in soak.counts.items()))
    for fault in soak.faults:
        print(f"FAULT: {fault}")
    sys.exit(bool(soak.faults))


if __name__ == "__main__":
    main()
