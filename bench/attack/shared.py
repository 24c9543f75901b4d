"""Attacks on what everybody shares, and what somebody at another address feels of them."""

import asyncio
import contextlib
import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import replace
from typing import Final

from bench.attack.client import Client, Groups, begun_game
from bench.attack.connections import Repeated, connected
from bench.attack.mode import Mode, Target
from bench.load.wire import packed
from protocol.limits import NAME_LENGTH

_SPECTATORS: Final = 32  # as many as a table lets in
_TABLES_OF_A_GROUP: Final = 90
_SLOW: Final = "\ufdf2\u33af"  # each stands for six letters, the most that a name may have
_SECONDS_BETWEEN_TRIES: Final = 4.0
_SECONDS_UNTIL_THE_NEXT: Final = 0.5  # after a failure
_SECONDS_OF_A_RATE: Final = 2.0

Messages = Callable[[Iterator[int]], Iterable[bytes]]


async def looks(clients: list[Client]) -> None:
    """Fill tables with names that are slow to compare, and go on taking others in the lobby."""
    names = _slow_names(id(clients) >> 6)
    for _ in range(_TABLES_OF_A_GROUP):
        await begun_game(clients, len(clients), names=names)
        for client in clients:
            await client.ask("leave")
    await asyncio.gather(
        *(
            client.flood(lambda ids: (packed(t="lobby", id=at, name=next(names)) for at in ids))
            for client in clients
        )
    )


def _slow_names(group: int) -> Iterator[str]:
    """Yield names that take as long to compare as any, none of them twice."""
    own = "".join(chr(0x4E00 + (group >> 12 * digit) % 4096) for digit in range(3))
    for letters in itertools.product(_SLOW, repeat=NAME_LENGTH - len(own)):
        yield own + "".join(letters)


async def comings(clients: list[Client]) -> None:
    """Let spectators with long names come and go, and look how much a player there is sent."""
    code = await begun_game(clients[:2])

    def visits(name: str) -> Messages:
        return lambda ids: (
            packed(t="watch", id=at, table=code, name=name) + packed(t="leave", id=next(ids)) for at in ids
        )

    player, *others = clients[1:]
    names = (f"{number:02}" + "\U00013000" * (NAME_LENGTH - 2) for number in itertools.count())
    await asyncio.gather(
        _look_at_rate(player),
        *(other.flood(visits(name)) for other, name in zip(others, names, strict=False)),
    )


async def _look_at_rate(player: Client) -> None:
    while True:
        began = time.perf_counter()
        size = await player.read_for(_SECONDS_OF_A_RATE)
        player.target.saw(size / 1e6 / (time.perf_counter() - began))


async def muted(clients: list[Client]) -> None:
    """Let everyone talk in the lobby; somebody from elsewhere says something now and then."""
    own = clients[0].target.source or "0"
    for number, client in enumerate(clients):
        await client.ask("lobby", name=f"{own} {number}"[-NAME_LENGTH:])
    stranger = await Client.connected(_elsewhere(clients[0].target))
    await stranger.ask("lobby", name=f"for {own}")
    await asyncio.gather(
        _try(stranger.target, lambda: stranger.ask("lobby-say", text="Hello?")),
        *(
            client.flood(lambda ids: (packed(t="lobby-say", id=at, text="x" * 200) for at in ids))
            for client in clients
        ),
    )


async def places(clients: list[Client]) -> None:
    """Take all places for spectators at a table, without end; somebody from elsewhere wants to watch."""
    code = await begun_game(clients[:2])
    stranger = await Client.connected(_elsewhere(clients[0].target))

    async def watch() -> None:
        await stranger.ask("watch", table=code)
        await stranger.ask("leave")

    await asyncio.gather(
        _try(stranger.target, watch),
        *(
            client.flood(lambda ids: (packed(t="watch", id=at, table=code) for at in ids))
            for client in clients[2:]
        ),
    )


async def _silent(target: Target) -> None:
    """Say nothing to the ssh gateway."""
    reader, _ = await connected(replace(target, port=target.ssh_port))
    await reader.read()


def door(target: Target) -> None:
    """Hold places for guests with silent connections; somebody from elsewhere wants to come in."""
    stranger = _elsewhere(replace(target, port=target.ssh_port))

    async def come() -> None:
        reader, writer = await connected(stranger)
        try:
            await reader.readexactly(len("SSH-2.0"))
        finally:
            writer.transport.abort()

    async def all_of_them() -> None:
        await asyncio.gather(_try(stranger, come), Repeated(_silent).all(target))

    asyncio.run(all_of_them())


def _elsewhere(target: Target) -> Target:
    """Return a target that is the same server, for somebody at another address."""
    number = (target.source or "127.0.0.0").rpartition(".")[2]
    return replace(target, source=None if target.source is None else f"127.0.1.{number}")


async def _try(target: Target, attempt: Callable[[], Awaitable[object]]) -> None:
    """Try something now and then, each time until it succeeds; the figure is how long it was refused."""
    while True:
        refused_at = None
        while True:
            with contextlib.suppress(OSError, EOFError):  # a refusal is one, too
                await attempt()
                break
            refused_at = refused_at or time.perf_counter()
            await asyncio.sleep(_SECONDS_UNTIL_THE_NEXT)
            target.saw(time.perf_counter() - refused_at)
        await asyncio.sleep(_SECONDS_BETWEEN_TRIES)


MODES: Final = (
    Mode(
        "looks",
        "tables full of names that are slow to compare, and others taken in the lobby",
        Groups(looks, 5),
        connections=25,
        options=("--tables-per-minute", "1000000"),
    ),
    Mode(
        "comings",
        "spectators with long names who come and go",
        Groups(comings, 2 + _SPECTATORS),
        figure="to a player there, kB/s",
    ),
    Mode("muted", "everyone talks in the lobby", Groups(muted, 240), figure="refused elsewhere, ms"),
    Mode(
        "places",
        "all places for spectators taken",
        Groups(places, 2 + _SPECTATORS),
        figure="refused elsewhere, ms",
    ),
    Mode(
        "door",
        "silent connections to the ssh gateway",
        door,
        connections=50,
        ssh=True,
        figure="refused elsewhere, ms",
    ),
)
