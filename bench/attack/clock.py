"""A player who fills the table with requests when the time runs out, to move after it."""

import asyncio
import itertools
import time
from dataclasses import dataclass
from typing import Final

from bench.attack.client import Client, Groups, begun_game
from bench.attack.mode import Mode
from bench.load.wire import packed
from engine.board import FIELDS

_SECONDS: Final = 5  # of the clock, the fewest there are
_FLOOD_BEFORE: Final = 0.5  # seconds before time is up
_REQUESTS: Final = 100  # of each spectator: as many as are read without a delay
_SPECTATORS: Final = 30
_FIRST_ATTEMPTS: Final = (-0.05, 0.02)  # seconds after time is up, in turn
_BETWEEN_ATTEMPTS: Final = 0.05  # seconds


@dataclass(frozen=True)
class _Turn:
    """A move that may be made, and when time is up."""

    piece: str
    field: str
    ends: float


async def clock(clients: list[Client]) -> None:
    """Let spectators ask for the game when time is up, while the player on turn tries to move."""
    await begun_game(clients, starting=0, absence={"t": "move-clock", "seconds": _SECONDS})
    cheat, other, *spectators = clients
    others = [asyncio.ensure_future(each.read_all()) for each in spectators]
    others.append(asyncio.ensure_future(_play_at_once(other)))
    try:
        cheat.send("sync")
        for first_attempt in itertools.cycle(_FIRST_ATTEMPTS):
            if (turn := await _turn(cheat)) is None:
                return
            late = await _move_late(cheat, turn, spectators, first_attempt)
            if late is not None:
                cheat.target.saw(late)
    finally:
        for task in others:
            task.cancel()


async def _move_late(
    cheat: Client, turn: _Turn, spectators: list[Client], first_attempt: float
) -> float | None:
    """Try to move from so many seconds after time is up; return how late it was when a move was accepted."""
    attempts = asyncio.ensure_future(_attempt(cheat, turn, spectators, first_attempt))
    try:
        while (message := await cheat.received()).get("t") != "events":
            pass
        return time.monotonic() - turn.ends if "id" in message else None
    finally:
        attempts.cancel()


async def _attempt(cheat: Client, turn: _Turn, spectators: list[Client], first_attempt: float) -> None:
    await asyncio.sleep(turn.ends - _FLOOD_BEFORE - time.monotonic())
    for spectator in spectators:
        spectator.write(b"".join(packed(t="sync", id=number) for number in range(_REQUESTS)))
    await asyncio.sleep(turn.ends + first_attempt - time.monotonic())
    while True:
        cheat.send("place", piece=turn.piece, field=turn.field)
        await asyncio.sleep(_BETWEEN_ATTEMPTS)


async def _play_at_once(player: Client) -> None:
    while (turn := await _turn(player)) is not None:
        player.send("place", piece=turn.piece, field=turn.field)


async def _turn(player: Client) -> _Turn | None:
    """Wait for the player's next turn; return None when the game is over."""
    while True:
        message = await player.received()
        if message.get("t") not in {"events", "snapshot"}:
            continue
        if message.get("turn") is None:
            return None
        if (legal := message.get("legal")) is not None:
            first = (legal["fields"] & -legal["fields"]).bit_length() - 1
            ends = time.monotonic() + message["clock"] / 1000
            return _Turn(legal["pieces"][0], FIELDS[first], ends)


MODES: Final = (
    Mode(
        "clock",
        "a player on turn moves late while spectators fill the table with requests",
        Groups(clock, 2 + _SPECTATORS),
        connections=2 + _SPECTATORS,
        figure="latest move after time was up, ms",
    ),
)
