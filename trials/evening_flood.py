"""Strangers at an evening: one address signs up for every place, again and again, under everybody's names.

    python -m trials.evening_flood

It needs Linux, where all of 127.0.0.0/8 are addresses of this machine. It prints what the friends of the host
could do all the same, and exits with 1 if the strangers have kept anybody away.
"""

import argparse
import asyncio
import contextlib
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

from protocol import messages
from protocol.limits import EVENING_PEOPLE
from tests.program import ran
from tests.server.peer import Peer, connected_without_hello
from tests.server.process import serving
from tests.server.tables.evenings import Guest

_STRANGER: Final = "127.0.66.1"
_FRIENDS: Final = tuple(f"127.0.7.{number}" for number in range(1, 9))
_SIGN_UPS_OF_A_CONNECTION: Final = 30  # as many names as it may take within a minute
_STRANGERS_AT_TABLES: Final = 40


class Trial:
    """What was tried, and whether it held."""

    def __init__(self) -> None:
        self.failed = False

    def check(self, what: str, found: object, *, holds: bool) -> None:
        print(f"{'held' if holds else 'FAILED':7} {what}: {found}", flush=True)
        self.failed |= not holds


@contextlib.asynccontextmanager
async def _connected(port: int, source: str) -> AsyncIterator[Peer]:
    async with connected_without_hello(port, source=source) as peer:
        await peer.hello()
        yield peer


async def _sign_up(peer: Peer, name: str) -> bool:
    """Sign up as somebody new; return whether there was room."""
    guest = Guest(name)
    answer = await peer.ask(messages.SignUp, guest.name, guest.token)
    return isinstance(answer, messages.SignedUp)


async def _flood(stack: contextlib.AsyncExitStack, port: int, people: int, *, leave: bool = False) -> int:
    """Sign up so many people of one address; return for how many there was room."""
    came = 0
    for number in range(people):
        if number % _SIGN_UPS_OF_A_CONNECTION == 0:
            peer = await stack.enter_async_context(_connected(port, _STRANGER))
        came += await _sign_up(peer, f"Stranger {number}")
        if leave:
            await peer.ask(messages.TakePart, "leave")
    return came


async def _friends(stack: contextlib.AsyncExitStack, port: int, names: Sequence[str]) -> int:
    """Sign up friends, each from an address of their own; return for how many there was room."""
    return sum(
        [
            await _sign_up(await stack.enter_async_context(_connected(port, source)), name)
            for source, name in zip(_FRIENDS, names, strict=False)
        ]
    )


@contextlib.asynccontextmanager
async def _evening(data: Path) -> AsyncIterator[int]:
    options = ("--data", str(data), "--evening", "Friday", "--evening-rounds", "3")
    async with serving(*options) as server:
        yield server.port


async def _all_places(trial: Trial, data: Path) -> None:
    async with _evening(data) as port, contextlib.AsyncExitStack() as stack:
        began = time.perf_counter()
        came = await _flood(stack, port, EVENING_PEOPLE)
        seconds = time.perf_counter() - began
        friends = await _friends(stack, port, [f"Friend {number}" for number in range(8)])
        print(f"        one address took {came} places in {seconds:.2f} s")
        trial.check("friends who come later have a place", f"{friends} of 8", holds=friends == 8)


async def _who_left(trial: Trial, data: Path) -> None:
    async with _evening(data) as port, contextlib.AsyncExitStack() as stack:
        await _flood(stack, port, EVENING_PEOPLE // 2, leave=True)
        await _flood(stack, port, EVENING_PEOPLE)
        friends = await _friends(stack, port, [f"Friend {number}" for number in range(8)])
        trial.check("and after half of the strangers have left", f"{friends} of 8", holds=friends == 8)


async def _names(trial: Trial, data: Path) -> None:
    names = ["Anna", "Ben", "Cid"]
    async with _evening(data) as port, contextlib.AsyncExitStack() as stack:
        squatter = await stack.enter_async_context(_connected(port, _STRANGER))
        for name in names:
            await _sign_up(squatter, name)
        code, _, _ = await ran("admin", "--data", data, "evening", "remove", "Anna")
        await squatter.ask(messages.TakePart, "leave")  # as the last one that it has signed up
        friends = await _friends(stack, port, ["Anna", "Cid"])
        trial.check("names that were removed, or left, can be had", f"{friends} of 2", holds=friends == 2)
        trial.check("admin evening remove", f"exit code {code}", holds=code == 0)


async def _companions(trial: Trial, data: Path) -> None:
    """Draw a round for friends among strangers, who have a connection each."""
    async with _evening(data) as port, contextlib.AsyncExitStack() as stack:
        for number in range(_STRANGERS_AT_TABLES):
            peer = await stack.enter_async_context(_connected(port, _STRANGER))
            await _sign_up(peer, f"Stranger {number}")
        await _friends(stack, port, [f"Friend {number}" for number in range(8)])
        await ran("admin", "--data", data, "evening", "draw")
        watcher = await stack.enter_async_context(_connected(port, _FRIENDS[0]))
        await watcher.ask(messages.AskEvening)
        evening = watcher.told(messages.Evening)[-1]
        while not evening.tables:
            evening = await watcher.until(messages.Evening)
        friends = {each.person for each in evening.people if each.name.startswith("Friend")}
        tables = [{one for one in each.people if one is not None} for each in evening.tables]
        of_friends = [table for table in tables if table & friends]
        found = sum(len(table & friends) * (len(table & friends) - 1) for table in of_friends)
        among = sum(len(table & friends) * (len(table) - 1) for table in of_friends)
        crowded = sum(len(table - friends) > 1 for table in of_friends)
        trial.check("tables where friends meet several strangers", crowded, holds=crowded == 0)
        print(f"        {found} of {among} companions of friends are friends, at {len(tables)} tables")


async def main() -> int:
    argparse.ArgumentParser(prog="python -m trials.evening_flood", description=__doc__).parse_args()
    trial = Trial()
    for attack in (_all_places, _who_left, _names, _companions):
        with tempfile.TemporaryDirectory() as folder:
            await attack(trial, Path(folder) / "data")
    return int(trial.failed)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
