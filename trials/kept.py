"""What an earlier version leaves behind, packed for tests: a server is killed with games of every stage.

    python -m trials.kept COMMIT [FILE]

The file, in `tests/kept/`, has a data folder with journal, archive and records; a player's seats and
preferences; a dump of a PostgreSQL database if the version can use one; and what the players were told.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

import msgspec

from protocol.absence import WAIT, Absence, ByVote, GameClock
from protocol.messages import AskPause, Events, JoinTable, OpenTable, Say, SeatBot, Seated, StartGame, Welcome
from tests.postgresql import CARELESS, Cluster, programs
from tests.server.peer import Peer, connected
from tests.server.playing import peer_on_turn
from tests.server.process import TODAY, ServerProcess, environment
from trials.upgrade import source

SCHEMA: Final = "kept_schema"  # of the database
URL: Final = "ws://127.0.0.1:7733"  # where the seats are, as their files say
_NAMES: Final = ("Anna", "Ben", "Zoë", "Dora", "Emil")
_KEEP: Final = """
import sys
try:
    from client.player import preferences, seats
except ImportError:
    from client import preferences, seats
_, url, *words = sys.argv
while words:
    table, seat, name, token, *words = words
    seats.Seats(seats.seats_folder(), url).keep(table, int(seat), name, token)
known = preferences.Preferences(name, players=4, random_layout=True).joined(url)
preferences.remember(preferences.preferences_file(), known)
"""  # a player's files, as the version itself writes them


class SeatThen(msgspec.Struct, frozen=True):
    """A player's seat at a table, its token, and the events that the player was told."""

    table: str
    seat: int
    name: str
    token: str
    events: list[dict[str, Any]]


@contextlib.asynccontextmanager
async def _table(
    port: int, players: int, moves: int, absence: Absence = WAIT, *, bot: bool = False, free: int = 0
) -> AsyncIterator[list[Peer]]:
    """Open a table and play this many moves if all seats are taken; its players leave with the context."""
    async with AsyncExitStack() as stack:
        peers = [await stack.enter_async_context(connected(port)) for _ in range(players - bot - free)]
        answer = await peers[0].ask(OpenTable(1, players, _NAMES[0], players == 3, absence=absence))
        assert isinstance(answer, Seated), answer
        for peer, name in zip(peers[1:], _NAMES[1:], strict=False):
            assert isinstance(await peer.ask(JoinTable(2, peers[0].code, name)), Seated)
        if bot:
            (welcome,) = (message for message in peers[0].received if isinstance(message, Welcome))
            await peers[0].done(SeatBot(3, welcome.levels[0]))
        if not free:
            await peers[0].done(StartGame(4))
            await play(peers, moves)
        yield peers


async def play(peers: list[Peer], moves: int = 1000) -> None:
    """Play this many random moves, or fewer if the game ends before; bots of the server play as well."""
    chooser = random.Random(moves)
    while True:
        for peer in peers:
            while peer.seq < max(each.seq for each in peers):
                await peer.receive()
        view = peers[0].view
        if not moves or (view is not None and view.result is not None):
            return
        if (mover := peer_on_turn(peers)) is None:
            await next((peer for peer in peers if view and peer.seat == view.turn), peers[0]).news()
        else:
            await mover.done(mover.random_move(chooser))
            moves -= 1


async def games_of_every_stage(server: ServerProcess, *, newer: bool) -> list[SeatThen]:
    """Play on a server until it is killed, and return whose seats there are."""
    tables: list[list[Peer]] = []
    port = server.port
    for players, moves in ((2, 1000), (3, 8)):  # both go into the archive when there is no room for them
        async with _table(port, players, moves) as peers:
            tables.append(peers)
        await asyncio.sleep(0.5)  # until the server knows that they have left
    async with AsyncExitStack() as stack:
        tables += [
            await stack.enter_async_context(_table(port, 2, 1000)),
            await stack.enter_async_context(_table(port, 4, 12, GameClock(3600))),
            await stack.enter_async_context(_table(port, 5, 20, ByVote(60))),
            await stack.enter_async_context(_table(port, 3, 0, free=1)),
        ]
        await tables[3][0].done(Say(10, "Salvete!"))
        if newer:
            tables.append(await stack.enter_async_context(_table(port, 3, 6, bot=True)))
            await tables[-1][0].done(AskPause(11, on=True))
        await server.end(signal.SIGKILL)
    return [
        SeatThen(
            *(peer.code, int(peer.seat or 0), _NAMES[place], peer.token),
            [event for message in peer.received if isinstance(message, Events) for event in message.events],
        )
        for peers in tables
        for place, peer in enumerate(peers)
    ]


async def make(tree: Path, folder: Path) -> None:
    """Make the files of the version with this source."""
    newer = (tree / "server" / "storage").exists()  # than the first, which had no bots, and no database
    data = folder / "data"
    records = () if newer else ("--records", data / "records")
    async with ServerProcess("--data", data, "--max-tables", "5" if newer else "4", *records) as server:
        await server.start(tree)
        told = {"data": await games_of_every_stage(server, newer=newer)}
    if newer:
        with Cluster(folder / "postgresql").running(*CARELESS) as cluster:
            url = f"{cluster.url}&search_path={SCHEMA}"
            options = ("--database", url, "--node", "first", "--data", folder / "node", "--no-history")
            async with ServerProcess(*options, "--max-tables", "5") as server:
                await server.start(tree)
                told["database"] = await games_of_every_stage(server, newer=newer)
            (folder / "database.sql").write_text(dump_schema(url))
    (folder / "told.json").write_bytes(msgspec.json.encode(told))
    seats = [(seat.table, str(seat.seat), seat.name, seat.token) for seat in told["data"]]
    subprocess.run(  # noqa: ASYNC221 - nobody waits for it
        [sys.executable, "-c", _KEEP, URL, *(word for seat in seats for word in seat)],
        cwd=tree,
        env=environment(folder / "home"),
        check=True,
    )


def dump_schema(url: str) -> str:
    """Return the schema and its rows as SQL."""
    words = ("--schema", SCHEMA, "--inserts", "--no-owner", "--dbname", url.partition("&search_path")[0])
    text = subprocess.run([programs() / "pg_dump", *words], capture_output=True, text=True, check=True).stdout
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("\\"))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.kept", description=__doc__)
    parser.add_argument("commit")
    parser.add_argument("file", type=Path, nargs="?")
    options = parser.parse_args()
    file = options.file or TODAY / "tests" / "kept" / f"{options.commit}.tar.xz"
    with tempfile.TemporaryDirectory() as name:
        tree, folder = source(options.commit, Path(name, "source")), Path(name, "kept")
        folder.mkdir()
        asyncio.run(make(tree, folder))
        with tarfile.open(file, "w:xz") as archive:
            for path in ("data", "home", "told.json", "database.sql"):
                if (folder / path).exists():
                    archive.add(folder / path, path, filter=_without_owner)


def _without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
