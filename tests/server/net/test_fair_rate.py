"""Connections that share an address's rate take turns, and those that send little come first."""

import asyncio
from collections import Counter
from typing import cast

from server.net.connections.address import FairRate, SharingConnection
from tests.server.peer import TIMEOUT

FRAMES = 160


class Waiting:
    """Stands in line, once or always again, and writes down whose turn it was."""

    def __init__(self, name: str, rate: FairRate, turns: list[str], *, greedy: bool, seated: bool) -> None:
        self.name = name
        self.place = 0
        self.seated = seated
        self._rate = rate
        self._turns = turns
        self._greedy = greedy
        rate.add(cast("SharingConnection", self))

    def stand_in_line(self) -> None:
        if self._rate.take(cast("SharingConnection", self)):
            self.read_in_turn()

    def read_in_turn(self) -> None:
        self._turns.append(self.name)
        if self._greedy:
            asyncio.get_running_loop().call_soon(self.stand_in_line)


async def turns_taken(turns: list[str], frames: int) -> None:
    async with asyncio.timeout(TIMEOUT):
        while len(turns) < frames:  # noqa: ASYNC110 - nothing else tells of turns
            await asyncio.sleep(0.001)


def crowded_rate(*, seated: bool = False) -> tuple[FairRate, list[str]]:
    """Return a rate at which a crowd stands in line, and the turns that are taken."""
    rate, turns = FairRate(1, 20_000.0), list[str]()
    crowd(rate, turns, seated=seated)
    return rate, turns


def crowd(rate: FairRate, turns: list[str], *, seated: bool = False) -> None:
    """Let 40 connections that never stop stand in line."""
    for each in [Waiting(f"greedy {n}", rate, turns, greedy=True, seated=seated) for n in range(40)]:
        each.stand_in_line()


async def test_a_connection_that_sends_little_comes_before_all_that_never_stop() -> None:
    """However long the others have waited; but a silence does not pay for many frames at once."""
    rate, turns = crowded_rate()
    await turns_taken(turns, FRAMES)
    newcomer = Waiting("newcomer", rate, turns, greedy=False, seated=False)
    for _ in range(2):  # hello and resume come after a turn of each of the others
        taken = len(turns)
        newcomer.stand_in_line()
        await turns_taken(turns, taken + 2 * 41)
        assert "newcomer" in turns[taken:]
    await turns_taken(turns, len(turns) + FRAMES)
    for _ in range(10):
        newcomer.stand_in_line()
    taken = len(turns)
    await turns_taken(turns, taken + 10)
    assert turns[taken] == "newcomer"
    assert turns[taken : taken + 10].count("newcomer") < 5


async def test_all_that_never_stop_get_the_same() -> None:
    """None has two turns more than another."""
    _, turns = crowded_rate(seated=True)
    await turns_taken(turns, FRAMES)
    counted = Counter(turns)
    assert len(counted) == 40
    assert max(counted.values()) - min(counted.values()) <= 1


async def test_a_player_gets_more_than_others_and_not_everything() -> None:
    """Two turns for one of each of the others."""
    rate, turns = crowded_rate()
    Waiting("player", rate, turns, greedy=True, seated=True).stand_in_line()
    await turns_taken(turns, 5 * 42)
    counted = Counter(turns)
    assert 8 <= counted.pop("player") <= 13
    assert max(counted.values()) - min(counted.values()) <= 1


async def test_new_connections_one_after_another_keep_nobody_waiting() -> None:
    """Each of them is new and comes early, and as many come as are read."""
    rate, turns = crowded_rate()
    Waiting("constant", rate, turns, greedy=True, seated=False).stand_in_line()
    for _ in range(15):
        for _ in range(20):
            Waiting("new", rate, turns, greedy=False, seated=False).stand_in_line()
        await turns_taken(turns, len(turns) + 20)
    assert turns.count("constant") >= 2


async def test_who_used_all_that_was_left_is_not_ahead_afterwards() -> None:
    """What was read while nobody had to wait counts too."""
    rate = FairRate(50, 20_000.0)
    turns: list[str] = []
    hasty = Waiting("hasty", rate, turns, greedy=False, seated=False)
    for _ in range(50):
        hasty.stand_in_line()
    crowd(rate, turns)
    hasty.stand_in_line()
    await turns_taken(turns, 91)
    assert "hasty" not in turns[50:90]


async def test_networks_inside_one_take_turns_for_its_rate() -> None:
    """Forty connections of one of them have as many turns as two of another, and none is left out."""
    around = FairRate(1, 20_000.0)
    crowded, other = (FairRate(100, 20_000.0, around) for _ in range(2))
    turns: list[str] = []
    crowd(crowded, turns)
    for name in ("first", "second"):
        Waiting(name, other, turns, greedy=True, seated=False).stand_in_line()
    await turns_taken(turns, FRAMES)
    counted = Counter(turns[:FRAMES])
    assert len(counted) == 42
    assert abs(counted["first"] + counted["second"] - FRAMES / 2) <= 4
    assert abs(counted["first"] - counted["second"]) <= 1


async def test_a_connection_that_ends_leaves_the_line() -> None:
    """Its turn is the next one's."""
    rate = FairRate(1, 200.0)
    turns: list[str] = []
    first, gone, last = (
        Waiting(name, rate, turns, greedy=False, seated=False) for name in ("first", "gone", "last")
    )
    for each in (first, gone, last):
        each.stand_in_line()
    rate.leave(cast("SharingConnection", gone))
    await turns_taken(turns, 2)
    await asyncio.sleep(0.02)
    assert turns == ["first", "last"]
