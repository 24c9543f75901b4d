"""A full disk, for real: a server on a file system of a few MiB, with games that go on.

    python -m trials.full_disk [--ext4] [--mib N] [--moves N]

First, a long series of moves on the usual disk must leave the write-ahead log short, and a killed server must
start with it. Then, on the small file system, no move may be refused because of the log alone; while another
program takes all room, moves are refused, and the health page must say so as long as they are; a killed
server must start there; and when the other program gives the room back, moves must be accepted again without
a restart. Whatever happens, each player's game is as far as that player knows, neither more nor less.

Needs Linux and root, for mounting; says so otherwise.
"""

import argparse
import asyncio
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from protocol.codes import Code
from protocol.messages import Refused
from server.storage.sqlite.journal_file import FILE_NAME
from tests.server.peer import Peer, http_get
from tests.server.playing import all_caught_up, game, peer_on_turn
from tests.server.process import TODAY, ServerProcess, output, program
from tests.server.storage.test_journal import resumed

_INSIDE: Final = "PALATINUS_TRIAL_MOUNTS"  # in the environment: this process has mounts of its own
_TABLES: Final = 20
_MANY_TABLES: Final = 160  # which take more room than earlier games have left in the main file
_MOST_LOG: Final = 72 * 2**20  # bytes
_PAGE: Final = 4096
_AT_ONCE: Final = 8  # tables with a move in one commit, on a disk that is full
_ROOM: Final = (0, _PAGE, 2 * _PAGE, 4 * _PAGE)  # that the other program leaves, in bytes
_LOOKS: Final = 4
_SECONDS: Final = 60.0  # until moves are accepted again
_OPEN_TO_ALL: Final = (
    *("--connections-per-address", "1000", "--tables-per-minute", "10000", "--rate", "100000"),
    *("--no-history", "--no-announce"),
)


class Games:
    """Tables of two at one server, whose players make random moves."""

    def __init__(self, seed: int) -> None:
        self._chooser = random.Random(seed)
        self._stack = contextlib.AsyncExitStack()
        self.tables: list[list[Peer]] = []
        self.accepted = 0

    async def __aenter__(self) -> "Games":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def play(self, port: int, moves: int, after_each: Callable[[], None] = lambda: None) -> None:
        """Make so many moves, at one set of tables after the other; fail if any is refused."""
        while self.accepted < moves:
            before = self.accepted
            assert not await self.move_at_each(), f"a move was refused after {self.accepted}"
            after_each()
            if self.accepted == before:
                await self.open(port, _TABLES)

    async def open(self, port: int, number: int) -> None:
        """Begin so many games, in place of those that were played before."""
        await self.leave()
        for _ in range(number):
            self.tables.append(await self._stack.enter_async_context(game(port, 2)))

    async def leave(self) -> None:
        await self._stack.aclose()
        self.tables.clear()

    async def move_at_each(self) -> int:
        """Make a move at each table whose game goes on; return how many were refused for want of storage."""
        return sum(await asyncio.gather(*map(self._move_at, self.tables)))

    async def move_at_some(self) -> int:
        """Do the same at a few tables, by turns."""
        going_on = [peers for peers in self.tables if peer_on_turn(peers) is not None]
        moving = self._chooser.sample(going_on, min(_AT_ONCE, len(going_on)))
        return sum(await asyncio.gather(*map(self._move_at, moving)))

    async def _move_at(self, peers: Sequence[Peer]) -> bool:
        if (mover := peer_on_turn(peers)) is None:
            return False
        answer = await mover.ask(mover.random_move(self._chooser))
        if isinstance(answer, Refused):
            assert answer.code == Code.NOT_STORED, answer
            return True
        await all_caught_up(peers, mover.seq)
        self.accepted += 1
        return False

    async def come_back(self, port: int) -> None:
        """Come back to all tables; fail if a game is not exactly as its players know it."""
        stack = contextlib.AsyncExitStack()
        tables = []
        for peers in self.tables:
            again = await stack.enter_async_context(resumed(port, *peers))
            for known, found in zip(peers, again, strict=True):
                assert (found.seq, found.view) == (known.seq, known.view), f"{known.code} has changed"
            tables.append(again)
        await self._stack.aclose()
        self._stack, self.tables = stack, tables


class OtherProgram:
    """Takes the room of a file system, all but so many bytes."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def take(self, leave: int = 0) -> None:
        with self._path.open("ab", buffering=0) as file:
            with contextlib.suppress(OSError):
                while file.write(bytes(_PAGE)) == _PAGE:
                    pass
            if leave:
                file.truncate(max(0, file.tell() // _PAGE * _PAGE - leave))

    def give_back(self) -> None:
        self._path.unlink()


def size_of_log(data: Path) -> int:
    """Return the size of the write-ahead log, in bytes."""
    return (data / f"{FILE_NAME}-wal").stat().st_size


async def healthy(server: ServerProcess) -> bool:
    """Return what the health page says; the page for load balancers has to say the same."""
    status = {page: (await http_get(server.port, page))[0] for page in ("/healthz", "/readyz")}
    assert status["/healthz"] == status["/readyz"], status
    return status["/healthz"] == 200


async def play_steadily(data: Path, moves: int) -> None:
    """Make so many moves; fail if the log becomes long. Then kill the server, and come back."""
    sizes: list[int] = []
    async with ServerProcess("--data", data, *_OPEN_TO_ALL) as server, Games(1) as games:
        await server.start()
        await games.play(server.port, moves, lambda: sizes.append(size_of_log(data)))
        longest = max(sizes)
        print(f"{moves} moves: the log had at most {longest / 2**20:.1f} MiB", flush=True)
        assert longest <= _MOST_LOG
        await server.end()
        began = time.monotonic()
        await server.start()
        print(f"started {time.monotonic() - began:.1f} s after a kill", flush=True)
        await games.come_back(server.port)


async def fill(disk: Path, moves: int) -> None:
    """Play on a small disk that becomes full, and is free again."""
    other, data = OtherProgram(disk / "other"), disk / "data"
    async with ServerProcess("--data", data, *_OPEN_TO_ALL) as server, Games(2) as games:
        await server.start()
        await games.play(server.port, moves)
        print(f"{moves} moves on a small disk, none refused", flush=True)

        await games.open(server.port, _MANY_TABLES)  # more moves than the log has room for
        before, refused = -1, 0
        while not refused:
            assert games.accepted > before, "the games have ended, and no move was refused"
            before = games.accepted
            other.take()
            refused = await games.move_at_each()
        before = -1
        while not await games.move_at_some():  # there may be room for a few moves at once
            assert games.accepted > before, "the games have ended, and no few moves were refused"
            before = games.accepted
        for leave in (*_ROOM, 0):
            await look(server, games, other, leave)
        await server.end()
        await server.start()
        await games.come_back(server.port)
        await look(server, games, other, 0)
        print("killed and started on a full disk: nothing is lost", flush=True)

        other.give_back()
        async with asyncio.timeout(_SECONDS):
            while await games.move_at_each():
                pass
        assert await healthy(server)
        print(f"moves are accepted again, and the log has {size_of_log(data) / 2**20:.1f} MiB", flush=True)
        assert not await games.move_at_each()
        await server.end(signal.SIGTERM)
        await output(await program(TODAY, "tables", "check", "--data", data))
        await server.start()
        await games.come_back(server.port)
        assert not await games.move_at_each()


async def look(server: ServerProcess, games: Games, other: OtherProgram, leave: int) -> None:
    """Fail if the health page has said that all is well, and then all moves are refused."""
    other.take(leave)
    tried = refused = well = 0
    said = False  # what it says before the first moves is of the time before the disk was full
    for _ in range(_LOOKS):
        before = games.accepted
        found = await games.move_at_some()
        tried += found + games.accepted - before
        refused += found
        well += said and games.accepted == before
        await asyncio.sleep(1.1)  # so that the server tries it anew
        said = await healthy(server)
    print(
        f"{leave} bytes left: {refused} of {tried} moves refused, {well} times healthy nevertheless",
        flush=True,
    )
    assert not well


def system(command: str, *words: str | Path) -> None:
    """Run a program of the system; raises OSError if there is none, CalledProcessError if it fails."""
    subprocess.run([shutil.which(command) or command, *words], check=True)


def mount(folder: Path, mib: int, *, ext4: bool) -> None:
    """Mount a small file system; raises what `system` does."""
    folder.mkdir()
    if not ext4:
        system("mount", "-t", "tmpfs", "-o", f"size={mib}m", "tmpfs", folder)
        return
    image = folder.with_suffix(".ext4")
    with image.open("wb") as file:
        file.truncate(mib * 2**20)
    system("mkfs.ext4", "-q", "-m", "0", image)
    system("mount", "-o", "loop", image, folder)


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m trials.full_disk",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--ext4", action="store_true", help="in a file that is mounted, instead of tmpfs")
    parser.add_argument("--mib", type=int, default=24, help="the file system's size (default: %(default)s)")
    parser.add_argument("--moves", type=int, default=18_000, help="on each disk (default: %(default)s)")
    options = parser.parse_args()
    unshare = shutil.which("unshare")
    if sys.platform != "linux" or os.geteuid() or unshare is None:
        print("Skipped: a file system can be mounted only on Linux, as root, with unshare.")
        return 0
    if _INSIDE not in os.environ:  # mounts in a namespace of their own end with the process
        words = [unshare, "--mount", sys.executable, "-m", "trials.full_disk", *sys.argv[1:]]
        return subprocess.run(words, env=os.environ | {_INSIDE: "1"}, check=False).returncode
    with tempfile.TemporaryDirectory() as folder:
        disk = Path(folder, "disk")
        try:
            mount(disk, options.mib, ext4=options.ext4)
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"Skipped: no file system can be mounted here: {error}")
            return 0
        try:
            asyncio.run(play_steadily(Path(folder, "roomy"), options.moves))
            asyncio.run(fill(disk, options.moves))
        finally:
            system("umount", disk)
    return 0


if __name__ == "__main__":
    sys.exit(main())
