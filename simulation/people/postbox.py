"""Where the players of a simulation are called, and whether each notice came once."""

import asyncio
import contextlib
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from protocol.messages import NoticeKind
from server.config import PlayerNotice
from server.limits.networks import Networks
from simulation.machine.loop import Clock, Process

_FAILS: Final = 0.2
_MOST_FAILURES: Final = 5  # of one notice: after more, a server may give up
_LONGEST: Final = 3.0  # seconds until a notice arrives, and again until its sender knows


@dataclass(frozen=True, slots=True)
class Letter:
    """A notice that has arrived, when and from which process."""

    at: float
    sender: Process
    address: str
    notice: PlayerNotice


class Postbox:
    """Receives what servers send; sometimes it does not answer."""

    kinds: Sequence[NoticeKind] = ("mail",)

    def __init__(self, clock: Clock, rng: random.Random, counts: Counter[str]) -> None:
        self.letters: list[Letter] = []
        self.arrived: Callable[[], None] = lambda: None  # called before the sender knows
        self._clock = clock
        self._rng = rng
        self._failures = Counter[tuple[str, str]]()  # by addresses and keys of notices
        self._called: dict[str, asyncio.Event] = {}  # by addresses, where somebody waits
        self._counts = counts

    def kind_of(self, address: str) -> NoticeKind:
        del address
        return "mail"

    def receiver(self, address: str) -> str:
        return address

    async def send(
        self, address: str, language: str, server: str, notice: PlayerNotice, asker: Networks
    ) -> str | None:
        del language, server, asker
        sender = asyncio.get_running_loop()
        assert isinstance(sender, Process)
        await asyncio.sleep(self._rng.uniform(0, _LONGEST))
        attempt = address, notice.key
        if self._rng.random() < _FAILS and self._failures[attempt] < _MOST_FAILURES:
            self._failures[attempt] += 1
            self._counts["notices not delivered"] += 1
            return "it does not answer"
        self.letters.append(Letter(self._clock.now, sender, address, notice))
        self._counts[f"notices: {notice.kind}"] += 1
        if (called := self._called.get(address)) is not None:
            called.set()
        self.arrived()
        await asyncio.sleep(self._rng.uniform(0, _LONGEST))
        return None

    async def wait(self, address: str, seconds: float) -> None:
        """Return when a letter comes to an address, or after so long."""
        called = self._called.setdefault(address, asyncio.Event())
        called.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await called.wait()

    def latest(self, address: str, *kinds: str) -> Letter | None:
        """Return the last letter of these kinds."""
        found = (each for each in reversed(self.letters) if each.address == address)
        return next((each for each in found if each.notice.kind in kinds), None)

    def again(self) -> list[tuple[Letter, Letter]]:
        """Return the letters that came more than once, each with the one before it."""
        seen: dict[str, Letter] = {}
        twice = []
        for letter in self.letters:
            if (key := letter.notice.key) and key in seen:
                twice.append((seen[key], letter))
            seen[key] = letter
        return twice
