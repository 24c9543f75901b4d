"""One round: some games at once on one data folder, while the server is killed again and again."""

import asyncio
import random
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.chaos.bots import Lost, Player, Spectator
from bench.chaos.faults import End
from bench.chaos.proxy import Proxy
from bench.chaos.server_process import ServerProcess
from bench.chaos.verdict import Judge, Verdict, journal_in
from bench.chaos.wiretap import Wiretap
from client.connection import ConnectFailed, RequestRefused
from engine.components import DEALS
from protocol.messages import Events, Seated, Snapshot, Watching

_TIMEOUT: Final = 90.0  # seconds without any move, after which some game will not end
_PAUSE: Final = 0.1  # before another table is tried
_TILES_TO_LAY: Final = 6
_WATCHED: Final = 0.4  # of the games


@dataclass(frozen=True, slots=True)
class Plan:
    """What a round does; the seed decides what the network does, and who plays what."""

    seed: str
    games: int
    kills: int  # the last one after the last game
    tables: int  # at the same time
    longest_hold: float = 6.0  # the longest stall or delay in seconds; other times derive from it


@dataclass(slots=True)
class Party:
    """A game with its players and spectators."""

    players: list[Player] = field(default_factory=list)
    spectators: list[Spectator] = field(default_factory=list)
    ended: bool = False

    @property
    def table(self) -> str:
        return self.players[0].table if self.players else "no table"


class Round:
    """Plays the games of a plan and judges them; the outcome is in `verdict` and `counts`."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.verdict = Verdict()
        self._plan = plan
        self._data = folder / "data"
        self._server = ServerProcess(self._data)
        self._proxy = Proxy(plan.seed, plan.longest_hold, self._carried)
        self._rng = random.Random(plan.seed)
        self._timeouts: asyncio.Timeout | None = None  # while games are played
        self._moves_seen = 0
        self._killed = asyncio.Event()
        self._alive = asyncio.Event()
        self._parties: list[Party] = []
        layouts = [(self._rng.choice(list(DEALS)), self._rng.random() < 0.5) for _ in range(plan.games)]
        self._games = layouts
        moves = sum(_moves(players, random_layout=random_layout) for players, random_layout in layouts)
        # Each kill waits for a number of moves, and then for some pieces of data on their way.
        self._kills = sorted(
            (self._rng.randrange(moves), self._rng.randrange(40)) for _ in range(plan.kills - 1)
        )

    async def run(self) -> None:
        """Play everything to its end, kill the server a last time, and judge what is left."""
        try:
            await self._server.start()
            self._proxy.server_port = self._server.port
            self._alive.set()
            async with asyncio.TaskGroup() as tasks:
                reviver = tasks.create_task(self._revive())
                async with self._proxy.open():
                    await self._play_all()
                self._kills.clear()
                await self._alive.wait()
                reviver.cancel()
        finally:
            self._server.kill()
            await self._server.gone()
        self.counts["kills"] += 1
        await self._judge()

    # -- the server's deaths ------------------------------------------------------------------------

    def _carried(self) -> None:
        """Kill the server if it is time; called while bytes are on their way."""
        if self._timeouts is not None and self.counts["moves"] > self._moves_seen:
            self._moves_seen = self.counts["moves"]
            self._timeouts.reschedule(asyncio.get_running_loop().time() + _TIMEOUT)
        if not self._kills or self._killed.is_set():
            return
        moves, pieces = self._kills[0]
        if self.counts["moves"] < moves:
            return
        if pieces > 0:
            self._kills[0] = moves, pieces - 1
            return
        del self._kills[0]
        self._server.kill()
        self._alive.clear()
        self._killed.set()

    async def _revive(self) -> None:
        while True:
            await self._killed.wait()
            self.counts["kills"] += 1
            await self._server.gone()
            await asyncio.sleep(self._rng.choice([0.0, self._plan.longest_hold / 6]))
            await self._server.start()
            self._killed.clear()
            self._alive.set()

    # -- the games ----------------------------------------------------------------------------------

    async def _play_all(self) -> None:
        room = asyncio.Semaphore(self._plan.tables)

        async def play(number: int) -> None:
            async with room:
                await self._play(number)

        try:
            async with asyncio.timeout(_TIMEOUT) as self._timeouts, asyncio.TaskGroup() as tasks:
                for number in range(self._plan.games):
                    tasks.create_task(play(number))
        except TimeoutError:  # the verdict lists the games that have not ended
            pass
        finally:
            self._timeouts = None

    async def _play(self, number: int) -> None:
        players, random_layout = self._games[number]
        url = f"ws://127.0.0.1:{self._proxy.port}"
        party = await self._gathered(url, number, players, random_layout=random_layout)
        self._parties.append(party)
        rng = random.Random(f"{self._plan.seed} spectator {number}")
        if rng.random() < _WATCHED:
            party.spectators.append(Spectator(url, rng, self.counts))
        try:
            async with asyncio.TaskGroup() as tasks:
                for spectator in party.spectators:
                    tasks.create_task(spectator.watch(party.table))
                for player in party.players:
                    tasks.create_task(player.play(starts=player is party.players[0]))
            party.ended = True
            self.counts["games"] += 1
        except* Lost as group:
            self.verdict.lost += [f"{party.table}: {error}" for error in group.exceptions]
        finally:
            for visitor in (*party.players, *party.spectators):
                await visitor.disconnect()

    async def _gathered(self, url: str, number: int, players: int, *, random_layout: bool) -> Party:
        """Seat players at a new table, or at another one if an answer is lost meanwhile."""
        while True:
            seats = [
                Player(url, random.Random(f"{self._plan.seed} player {number} {seat}"), self.counts)
                for seat in range(players)
            ]
            try:
                table = await seats[0].open(players, random_layout=random_layout)
                for seat, player in enumerate(seats[1:], start=1):
                    await player.join(table, seat)
            except (ConnectFailed, RequestRefused):
                await asyncio.sleep(_PAUSE)
                self.counts["tables given up before the start"] += 1
                for player in seats:
                    await player.disconnect()
            else:
                return Party(seats)

    # -- the verdict --------------------------------------------------------------------------------

    async def _judge(self) -> None:
        self.counts["connections"] = self._proxy.connections
        self.counts["stalls"] = self._proxy.ends.pop(End.STALLED, 0)
        self.counts["cuts"] = self._proxy.ends.total()
        journal = await journal_in(self._data)
        taps: dict[str | None, list[Wiretap]] = defaultdict(list)
        for tap in self._proxy.taps:
            taps[tap.table].append(tap)
        for party in self._parties:
            if not party.ended:
                self.verdict.unfinished.append(f"{party.table}: the game did not end")
            if (events := journal.get(party.table)) is None:
                self.verdict.lost.append(f"{party.table}: no game in the journal")
                continue
            judge = Judge(party.table, events)
            judge.judge(party.players, party.spectators)
            for tap in taps[party.table]:
                self._count(tap)
                judge.listen(tap, {player.token for player in party.players})
            self.verdict.add(judge.verdict)
        if complaints := self._server.complaints():
            self.verdict.different.append(f"the server logged: {complaints}")

    def _count(self, tap: Wiretap) -> None:
        """Count who came back, and what they were sent to catch up."""
        messages = [message for _, _, message in tap.heard]
        came = [
            at
            for at, m in enumerate(messages)
            if isinstance(m, Watching) or (isinstance(m, Seated) and not m.token)
        ]
        for at in came:
            self.counts["resumes"] += 1
            news = next((m for m in messages[at:] if isinstance(m, Events | Snapshot)), None)
            if isinstance(news, Events):
                self.counts["gaps sent"] += 1
                self.counts["events in gaps"] += len(news.events)
            elif news is not None:
                self.counts["snapshots sent"] += 1


def _moves(players: int, *, random_layout: bool) -> int:
    deal = DEALS[players]
    hand = sum(deal.own.values()) + sum(deal.second.values())
    return players * hand + (0 if random_layout else _TILES_TO_LAY)
