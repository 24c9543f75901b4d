"""How long the host waits until a game has begun: with shares to draw from, and with a fixed seed, in ms.

    python -m bench.start

Server and clients are in one process, on 127.0.0.1 and without a disk. Medians of 40 games each.
"""

import asyncio
import contextlib
import statistics
import time
from typing import Final

from bench.__main__ import table
from client.network.connection import connected
from protocol.messages import NEW, JoinTable, Leave, OpenTable, StartGame
from server.app import running
from server.config import Config, Limits

_GAMES: Final = 40
_PLAYERS: Final = (2, 5)


async def starts(players: int, seed: int | None) -> float:
    """Return the median time from the host's request to the game's first events."""
    found = []
    limits = Limits(
        tables_per_address=_GAMES, tables_per_connection=_GAMES, burst=10_000, burst_per_address=100_000
    )
    async with running(Config(seed=seed, limits=limits)) as server, contextlib.AsyncExitStack() as stack:
        url = f"ws://127.0.0.1:{server.port}"
        host, *others = [await stack.enter_async_context(connected(url)) for _ in range(players)]
        for _ in range(_GAMES):
            code = (await host.ask(OpenTable(NEW, players, "Host", random_layout=True))).table
            for number, other in enumerate(others):
                await other.ask(JoinTable(NEW, code, f"Guest {number}"))
            began = time.perf_counter()
            await host.ask(StartGame(NEW))
            found.append(1000 * (time.perf_counter() - began))
            for client in (host, *others):
                await client.ask(Leave(NEW))
    return statistics.median(found)


async def figures() -> dict[str, list[float]]:
    return {
        f"{players} players, {how}": [await starts(players, seed)]
        for players in _PLAYERS
        for how, seed in (("shares", None), ("a fixed seed", 1))
    }


def main() -> None:
    print(table(asyncio.run(figures())))


if __name__ == "__main__":
    main()
