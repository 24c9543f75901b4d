"""An upgrade: a server of an earlier version stops in the middle of ten games, and today's goes on with them.

    python -m trials.upgrade [COMMIT] [--to PROGRAM] [--games N] [--kill]

The earlier version comes from the repository's history; the new one is an executable, or what is here. At
each table sit one of the earlier version's bots and one of today's clients; half way, the old server is
stopped or killed, and the new one starts with its data folder. Every game has to be played to its scoring, by
clients that came back on their own, and to leave a record that `palatinus record check` accepts.
"""

import argparse
import asyncio
import contextlib
import io
import random
import shutil
import signal
import subprocess
import tarfile
import tempfile
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from client.bots.brains import brain_named
from client.network.connection import Connection, open_connection
from client.network.transport import ConnectFailed
from client.tables.table import Closed
from engine.redaction import snapshot
from protocol.events import move_message
from protocol.messages import NEW, OpenTable, StartGame
from tests.server.process import TODAY, ServerProcess, output, program

PREVIOUS: Final = "9bcc38d2"  # the version before today's
_SECONDS: Final = 120.0  # for a start, and for all games after the upgrade


def source(commit: str, folder: Path) -> Path:
    """Unpack the source of a commit; raises CalledProcessError or OSError where it cannot be had."""
    words = (shutil.which("git") or "git", "archive", commit)
    packed = subprocess.run(words, cwd=TODAY, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(folder, filter="data")
    return folder


class UpgradedPlayer:
    """One of today's clients, which makes as many random moves as it is told to."""

    def __init__(self, connection: Connection, seed: int) -> None:
        self._connection = connection
        self._chooser = random.Random(seed)
        self._started = False

    async def make(self, moves: int) -> None:
        """Make so many moves, or fewer if the game ends before; start it when everybody is there."""
        model = self._connection.model
        while model.view is None or model.view.result is None:
            if not self._started and model.state is not None and all(seat.here for seat in model.state.seats):
                self._started = True
                await self._connection.ask(StartGame(NEW))
            if model.view is not None and model.legal is not None:
                if not moves:
                    return
                moves -= 1
                view = snapshot(model.view, model.view.eyes)
                command = brain_named("random").choose(view, model.legal, self._chooser)
                await self._connection.ask(move_message(NEW, command))
            if isinstance(update := await anext(self._connection.updates()), Closed):
                raise ConnectFailed(update.reason)


@contextlib.asynccontextmanager
async def games(tree: Path, url: str, number: int) -> AsyncIterator[list[UpgradedPlayer]]:
    """Begin games of one of today's clients and a bot of the program in `tree` each, and play them a little.

    With the end of the context they are played to their scoring.
    """
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        players = []
        for seed in range(number):
            connection = await stack.enter_async_context(open_connection(url))
            code = (await connection.ask(OpenTable(NEW, 2, "Anna", random_layout=bool(seed % 2)))).table
            tasks.create_task(output(await program(tree, "bot", "--brain", "random", url, code)))
            players.append(UpgradedPlayer(connection, seed))
        await make_moves(players, 6)
        yield players
        await make_moves(players, 100)


async def make_moves(players: Sequence[UpgradedPlayer], moves: int) -> None:
    """Have each player make so many moves."""
    async with asyncio.timeout(_SECONDS):
        await asyncio.gather(*(player.make(moves) for player in players))


async def check_records(records: Path, number: int) -> None:
    """Fail unless there is a record of each game that `palatinus record check` accepts."""
    found = [*records.glob("*")]  # noqa: ASYNC240 - nobody waits for the trial
    assert len(found) == number, f"{len(found)} records of {number} games"
    for record in found:
        await output(await program(TODAY, "record", "check", record))


async def upgrade(old: Path, number: int, folder: Path, how: signal.Signals, new: Path = TODAY) -> None:
    """Upgrade a server in the middle of games; raises AssertionError if one is lost."""
    async with ServerProcess("--data", folder / "data", "--records", folder / "records") as server:
        await server.start(old)
        async with games(old, server.url, number):
            await server.end(how)
            await server.start(new)
        await server.end(signal.SIGTERM)
    await check_records(folder / "records", number)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.upgrade", description=__doc__)
    parser.add_argument(
        "commit", nargs="?", default=PREVIOUS, help="the earlier version (default: %(default)s)"
    )
    parser.add_argument(
        "--to", type=Path, default=TODAY, metavar="PROGRAM", help="such as /usr/bin/palatinus"
    )
    parser.add_argument("--games", type=int, default=10)
    parser.add_argument("--kill", action="store_true", help="end the old server with SIGKILL")
    options = parser.parse_args()
    how = signal.SIGKILL if options.kill else signal.SIGTERM
    with tempfile.TemporaryDirectory() as folder:
        old = source(options.commit, Path(folder, "source"))
        asyncio.run(upgrade(old, options.games, Path(folder), how, options.to.absolute()))
    print(f"{options.games} games begun on {options.commit} were played to their scoring on today's server.")


if __name__ == "__main__":
    main()
