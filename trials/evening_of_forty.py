"""An evening of forty light clients, six of which lose their connections again and again.

    python -m trials.evening_of_forty [--people N] [--rounds N] [--seed N]

They play at a real server. Everybody has to have a seat at one table in each round, at tables of three to
five; nobody may meet anybody twice if that can be avoided; and all have to be told the same standings,
with a game of each round in them.
"""

import argparse
import asyncio
import contextlib
import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

from websockets.exceptions import ConnectionClosed

from protocol import messages
from tests.server.peer import Peer, connected
from tests.server.process import TODAY, ServerProcess, output, program
from tests.server.tables.evenings import Guest

_FLAKY: Final = 6
_OFTEN: Final = 0.1  # of the moves of such a client are followed by a lost connection
_SECONDS: Final = 240.0  # for a round


class LightClient(Guest):
    """Somebody who goes where they are called and moves at random; `told` is the evening as they know it."""

    def __init__(self, name: str, seed: int, *, flaky: bool) -> None:
        super().__init__(name)
        self._chooser, self._flaky = random.Random(f"{name} {seed}"), flaky
        self.told: messages.Evening | None = None
        self.drops = 0

    async def take_part(self, port: int) -> None:
        """Take part until cancelled, in one connection after the other."""
        while True:
            with contextlib.suppress(ConnectionClosed):
                async with connected(port) as peer:
                    await self.sign_up(peer)
                    while not await self._step(peer):
                        pass
            self.drops += 1

    async def _step(self, peer: Peer) -> bool:
        """Do what there is to do; return whether the connection is lost now."""
        if evenings := peer.told(messages.Evening):
            self.told = evenings[-1]
        table = self._called_to()
        if table is not None and table.table != peer.code:
            await self.go(table)
        elif peer.legal is not None:
            await peer.done(peer.random_move(self._chooser))
            return self._flaky and self._chooser.random() < _OFTEN
        else:
            async with asyncio.timeout(_SECONDS):
                peer.take(await peer.socket.recv())
        return False

    def _called_to(self) -> messages.EveningTable | None:
        tables = () if self.told is None else self.told.tables
        return next((each for each in tables if each.stage != "over" and self.person in each.people), None)


class Met(Counter[tuple[int, int]]):
    """How often each pair of people has met."""

    def note_round(self, people: int, tables: Sequence[messages.EveningTable]) -> str:
        """Take a round in, and describe it; raises AssertionError if somebody has no seat, or two."""
        seated = [number for table in tables for number in table.people if number is not None]
        assert len(seated) == len(set(seated)) == people, f"{len(seated)} seats for {people} people"
        sizes = sorted(len(table.people) for table in tables)
        assert sizes[0] >= 3, sizes
        assert sizes[-1] <= 5, sizes
        for table in tables:
            self.update(combinations(sorted(filter(None, table.people)), 2))
        return (
            f"{len(sizes)} tables of {sizes[0]} to {sizes[-1]}, most meetings of a pair: {max(self.values())}"
        )


async def hold_evening(data: Path, people: int, rounds: int, seed: int) -> None:
    """Hold the evening; raises AssertionError if it is not as it should be."""
    clients = [
        LightClient(f"Guest {number}", seed, flaky=number <= _FLAKY) for number in range(1, people + 1)
    ]
    met = Met()
    options = ("--data", data, "--evening", "Friday", "--evening-rounds", str(rounds))
    async with ServerProcess(*options) as server, asyncio.TaskGroup() as tasks:
        await server.start()
        playing = [tasks.create_task(each.take_part(server.port)) for each in clients]
        await _until(lambda: all(each.told and len(each.told.people) == people for each in clients))
        for number in range(1, rounds + 1):
            began = time.monotonic()
            await output(await program(TODAY, "admin", "--data", data, "evening", "draw"))
            await _until(lambda: all(each.told and each.told.round == number for each in clients))  # noqa: B023
            told = clients[0].told
            assert told is not None
            print(f"round {number}: {met.note_round(people, told.tables)}", flush=True)
            await _until(lambda: all(_have_played(each.told, number) for each in clients))  # noqa: B023
            print(f"round {number}: {time.monotonic() - began:.0f} s", flush=True)
        standings = {
            str([(each.name, each.score) for each in one.told.people]) for one in clients if one.told
        }
        drops = sum(each.drops for each in clients)
        for each in playing:
            each.cancel()
    assert max(met.values()) == 1 or people < 20, met.most_common(3)
    assert len(standings) == 1, f"{len(standings)} different standings"
    print(f"{people} people have played {rounds} rounds; {drops} connections were lost")


def _have_played(told: messages.Evening | None, games: int) -> bool:
    return told is not None and all(person.games == games for person in told.people)


async def _until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(_SECONDS):
        while not condition():  # noqa: ASYNC110 - what forty clients are told
            await asyncio.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m trials.evening_of_forty", description=__doc__)
    parser.add_argument("--people", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="palatinus-forty-") as folder:
        asyncio.run(hold_evening(Path(folder), options.people, options.rounds, options.seed))


if __name__ == "__main__":
    main()
