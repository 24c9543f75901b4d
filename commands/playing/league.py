"""A league: what plays programs in any language and brains against each other on a server."""

import asyncio
import contextlib
import signal
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Final

from client.bots.arena.games import GameOutcome, Pairing, PlaySeries, Schedule
from client.bots.arena.over_the_wire import OverTheWire
from client.network.transport import ServerAccess, ServerAddress
from engine.game import RandomChance
from server.app import running
from server.config import Config, Limits

_MANY: Final = 1_000_000
# All players come from this computer, and one after the other: what limits strangers would limit the league.
_NO_LIMITS: Final = Limits(
    connections=_MANY,
    connections_per_address=_MANY,
    tables_per_connection=_MANY,
    tables_per_address=_MANY,
    rate=_MANY,
    burst_per_address=_MANY,
    rate_per_address=_MANY,
)


@contextlib.asynccontextmanager
async def playing(
    schedule: Schedule,
    programs: Mapping[str, list[str]],
    play_brains: PlaySeries,
    url: str | None,
    access: ServerAccess,
    *,
    records: bool,
) -> AsyncIterator[PlaySeries]:
    """Start what the games need, a server unless there is a `url`, and yield what plays them.

    Raises StartError. Games among brains alone are left to `play_brains`, unless there is a `url`.
    """

    def chances() -> Iterator[RandomChance]:
        while True:
            yield RandomChance(schedule.chance(wire.opening))

    if sys.platform != "win32":  # otherwise the programs would outlive the league
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, signal.raise_signal, signal.SIGINT)
    async with contextlib.AsyncExitStack() as stack:
        if url is None:
            config = Config(
                seed=schedule.seed, chances=chances(), human_pace=False, lobby_chat=False, limits=_NO_LIMITS
            )
            server = await stack.enter_async_context(running(config))
        address = ServerAddress(url or f"ws://127.0.0.1:{server.port}", "palatinus arena", access)
        wire = OverTheWire(schedule, programs, address, records=records)

        async def play(pairing: Pairing) -> list[GameOutcome]:
            if url is None and not any(schedule.names[each] in programs for each in pairing.seating):
                return await play_brains(pairing)  # brains alone, which need no server
            return await wire.play(pairing)

        yield play
