"""A downgrade: an earlier version meets a newer journal, and today's version goes on with it afterwards.

    python -m trials.downgrade [COMMIT] [--newer COMMIT] [--games N]

Three trials, with an earlier version from the repository's history:

- *refused*: today's server stops in the middle of games. The earlier version has to refuse its journal in one
  sentence and change no byte; today's then goes on with all games.
- *way back*: the earlier version's journal is upgraded in the middle of games, and moves are made. With the
  copy that the upgrade kept, the earlier version has to go on where the games were before.
- *mended*: a version whose journal the earlier one does not refuse has games that it cannot read, which it
  sets aside. Today's `palatinus tables salvage` and `restore` have to bring all of them back.

Every game is played to its scoring and has to leave a record that `palatinus record check` accepts.
"""

import argparse
import asyncio
import contextlib
import random
import re
import signal
import tempfile
from pathlib import Path
from typing import Final

import pytest

from protocol.absence import WAIT, Absence, LongClock
from protocol.messages import Ask
from server.storage.sqlite.journal_file import FILE_NAME
from tests.server.peer import Peer, connected
from tests.server.playing import game, play_on
from tests.server.process import TODAY, ServerProcess, output, program
from trials.kept import play
from trials.upgrade import check_records, games, source

EARLIER: Final = "bb6664de"  # before long clocks, and what players ask each other for
NEWER: Final = "9bcc38d2"  # with them, and with a journal of the same version
_REFUSAL: Final = "was written by a newer Palatinus"
_DAY: Final = 86_400


def files(folder: Path) -> dict[str, bytes]:
    """Return the content of each file in a folder."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def server_in(folder: Path) -> ServerProcess:
    return ServerProcess("--data", folder / "data", "--records", folder / "records")


async def refused(earlier: Path, number: int, folder: Path, today: Path = TODAY) -> None:
    """Have the earlier version start on today's journal, which it has to refuse and leave as it is."""
    async with server_in(folder) as server:
        await server.start(today)
        async with games(earlier, server.url, number):
            await server.end(signal.SIGTERM)
            before = files(folder)
            with pytest.raises(RuntimeError, match=_REFUSAL):
                await server.start(earlier)
            assert files(folder) == before, "the earlier version changed what it refused"
            await server.start(today)
        await server.end(signal.SIGTERM)
    await check_records(folder / "records", number)


async def way_back(earlier: Path, number: int, folder: Path) -> None:
    """Upgrade in the middle of games, and go back with the copy that was kept."""
    async with server_in(folder) as server:
        await server.start(earlier)
        tables = [await _begin(server.port, table) for table in range(number)]
        await server.end(signal.SIGTERM)
        await server.start(TODAY)
        for peers in tables:
            await _go_on(server.port, peers, 2)
        await server.end(signal.SIGTERM)
        (copy,) = (folder / "data").glob(f"{FILE_NAME}.v*")
        copy.replace(folder / "data" / FILE_NAME)
        await server.start(earlier)
        await asyncio.gather(*(_go_on(server.port, peers) for peers in tables))
        await server.end(signal.SIGTERM)
    assert not damage_in(server), damage_in(server)
    await check_records(folder / "records", number)


async def mended(earlier: Path, newer: Path, number: int, folder: Path) -> None:
    """Have the earlier version set games aside, and bring them back: one by one, then all others at once."""
    data = ("--data", folder / "data")
    async with server_in(folder) as server:
        await server.start(newer)
        tables = [await _begin_unreadable(server.port, table) for table in range(number)]
        await server.end(signal.SIGTERM)
        await server.start(earlier)
        await server.end(signal.SIGTERM)
        hurt = re.findall(r"table=(\w+)", "\n".join(damage_in(server)))
        assert len(hurt) == number, f"the earlier version set {len(hurt)} of {number} tables aside"
        for code in hurt[: number // 3]:
            await output(await program(TODAY, "tables", "restore", code, *data))
        await output(await program(TODAY, "tables", "salvage", *data))
        await output(await program(TODAY, "tables", "check", *data))
        seen = len(damage_in(server))
        await server.start(TODAY)
        assert not damage_in(server)[seen:], damage_in(server)[seen:]
        await asyncio.gather(*(_go_on(server.port, peers) for peers in tables))
        await server.end(signal.SIGTERM)
    await check_records(folder / "records", number)


def damage_in(server: ServerProcess) -> list[str]:
    """Return the lines in which a server has reported tables that it cannot go on with."""
    return [line for line in server.logged() if re.search(r"a (damaged )?table (is|has) ", line)]


async def _begin(port: int, number: int, absence: Absence = WAIT) -> list[Peer]:
    """Begin a game, and have its players leave in the middle of it."""
    async with game(port, 2 + number % 3, absence=absence) as peers:
        await play_on(peers, random.Random(number), moves=4 + number)
    return peers


async def _begin_unreadable(port: int, number: int) -> list[Peer]:
    """Begin a game that the earlier version cannot read: from its first entry, or from a later one."""
    if number % 2 == 0:
        return await _begin(port, number, LongClock(_DAY, _DAY))
    async with game(port, 2) as peers:
        await play_on(peers, random.Random(number), moves=4 + number)
        await peers[0].done(Ask, "take-back", on=True)
        await play_on(peers, random.Random(number), moves=2)
    return peers


async def _go_on(port: int, before: list[Peer], moves: int = 1000) -> None:
    """Have the players of a table return, find what they saw, and make so many moves or all that are left."""
    async with contextlib.AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(connected(port)) for _ in before]
        for peer, then in zip(peers, before, strict=True):
            await peer.resume(then.code, then.token)
            await peer.news()
            assert (peer.seq, peer.view) == (then.seq, then.view), f"another game at {then.code}"
        await play(peers, moves)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.downgrade", description=__doc__)
    parser.add_argument(
        "commit", nargs="?", default=EARLIER, help="the earlier version (default: %(default)s)"
    )
    parser.add_argument(
        "--newer", default=NEWER, metavar="COMMIT", help="whose games it sets aside (default: %(default)s)"
    )
    parser.add_argument("--games", type=int, default=6)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        earlier, newer = (source(commit, folder / commit) for commit in (options.commit, options.newer))
        asyncio.run(refused(earlier, options.games, folder / "refused"))
        print(f"Refused: {options.commit} left today's journal of {options.games} games as it was.")
        asyncio.run(way_back(earlier, options.games, folder / "way back"))
        print(f"Way back: {options.games} games went on where {options.commit} had left them.")
        asyncio.run(mended(earlier, newer, options.games, folder / "mended"))
        print(f"Mended: {options.games} games that {options.commit} had set aside came back.")


if __name__ == "__main__":
    main()
