"""An evening for the tests: its configuration, and guests who sign up, go to their tables and play."""

import contextlib
import random
import secrets
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

from protocol import messages
from protocol.admin import EveningPlan
from server.app import Running
from server.config import Config
from tests.server.manual_clock import FastClock
from tests.server.match import LIMITS
from tests.server.peer import Peer, all_connected
from tests.server.playing import play_on
from tests.server.tables.hosted import begun


def config(plan: EveningPlan | None, data: Path | None = None) -> Config:
    records = None if data is None else data / "records"
    return Config(data=data, records=records, evening=plan, timers=FastClock, limits=LIMITS)


class Guest:
    """Somebody at the evening, in one connection after the other."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.token = secrets.token_urlsafe(32)
        self.person = 0
        self.peer: Peer

    async def sign_up(self, peer: Peer) -> None:
        answer = await peer.answer(messages.SignedUp, messages.SignUp, self.name, self.token)
        self.peer, self.person = peer, answer.person

    async def evening(self, condition: Callable[[messages.Evening], object]) -> messages.Evening:
        """Return the evening as soon as it is so."""
        latest = self.peer.told(messages.Evening)
        while not latest or not condition(latest[-1]):
            latest.append(await self.peer.until(messages.Evening))
        return latest[-1]

    async def called(self, round_number: int) -> messages.EveningTable:
        """Return the table of this round where this person has a seat."""
        evening = await self.evening(lambda evening: self._table(evening, round_number))
        table = self._table(evening, round_number)
        assert table is not None
        return table

    def _table(self, evening: messages.Evening, number: int) -> messages.EveningTable | None:
        return next(
            (each for each in evening.tables if each.round == number and self.person in each.people), None
        )

    async def go(self, table: messages.EveningTable) -> None:
        """Leave the table of before, and take the seat at this one with the evening's token."""
        peer = self.peer
        if peer.code:
            await peer.done(messages.Leave)
        peer.view, peer.seq, peer.seen, peer.legal = None, 0, [], None
        seat = await peer.resume(table.table, self.token)
        assert table.people[seat.seat] == self.person


@contextlib.asynccontextmanager
async def signed_up(server: Running, guests: Sequence[Guest]) -> AsyncIterator[None]:
    async with all_connected(server.port, len(guests)) as peers:
        for guest, peer in zip(guests, peers, strict=True):
            await guest.sign_up(peer)
        yield


async def play_round(guests: Sequence[Guest], number: int, rng: random.Random) -> None:
    """Bring everybody to their tables, and play all games to their ends."""
    tables = [await guest.called(number) for guest in guests]
    for guest, table in zip(guests, tables, strict=True):
        await guest.go(table)
    for code in {table.table for table in tables}:
        peers = [guest.peer for guest, table in zip(guests, tables, strict=True) if table.table == code]
        await begun(*peers)
        await play_on(peers, rng)


def draw(server: Running) -> None:
    assert server.lobby.evenings.running is not None
    server.lobby.evenings.running.draw_now()
