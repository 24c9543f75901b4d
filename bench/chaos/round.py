"""One round: some games at once, while their servers are killed again and again."""

import asyncio
import random
from collections import Counter, defaultdict
from pathlib import Path

from bench.chaos.disturber import Disturber
from bench.chaos.network import fates
from bench.chaos.servers.nodes import Nodes
from bench.chaos.servers.one_server import OneServer
from bench.chaos.servers.server_process import NotStarted
from bench.chaos.servers.servers import Servers
from server.errors import JournalError
from simulation.judging.tables import Tables
from simulation.judging.trace import trace
from simulation.judging.wire_checks import catch_ups, check_catching_up, check_lobby
from simulation.people.games import Games
from simulation.people.operator import Operator
from simulation.people.plan import Disturbance, Plan, games
from simulation.people.visitors import Route, Stroller
from simulation.verdict import Verdict
from simulation.wiretap import Wiretap


class Round:
    """Plays the games of a plan and judges them; the outcome is in `verdict` and `counts`.

    `traces` tell what happened at tables where something is wrong. If it was `interrupted`, only games that
    had ended are judged.
    """

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.verdict = Verdict()
        self.traces: dict[str, str] = {}
        self.interrupted = False
        self.plan = plan
        kind = Nodes if plan.nodes > 1 else OneServer
        self._servers: Servers = kind(plan, folder, self._carried, self.counts)
        self._drawn = games(plan)
        self._disturber = Disturber(plan, self._drawn, self.counts, self.verdict)
        self._games: Games | None = None
        self._stroller: Stroller | None = None
        self._timeout: asyncio.Timeout | None = None  # while games are played
        self._moves_seen = 0

    async def run(self) -> None:
        """Play everything to its end, kill the servers a last time, and judge what is left."""
        try:
            try:
                async with self._servers.running(), asyncio.TaskGroup() as tasks:
                    disturbing = tasks.create_task(self._disturber.disturb(self._servers))
                    await self._play_all()
                    await self._disturber.end()
                    disturbing.cancel()
            except* NotStarted as group:
                self.verdict.lost += map(str, group.exceptions)
            self.counts["kills"] += 1
            await self._wait_for_records()
            self.counts.update(self._servers.count())
            await self._judge()
        finally:
            await self._servers.close()

    @property
    def disturbances(self) -> int:
        """Return how many things have happened to the servers."""
        return sum(self.counts[kind] for kind in Disturbance)

    def interrupt(self) -> None:
        """Play no more; the servers are ended as they always are, and what has ended is judged."""
        self.interrupted = True
        self._play_on(0.0)

    def _play_on(self, seconds: float) -> None:
        if self._timeout is not None and not self._timeout.expired():
            self._timeout.reschedule(asyncio.get_running_loop().time() + seconds)

    def _carried(self, tap: Wiretap) -> None:
        if self.counts["moves"] > self._moves_seen and not self.interrupted:
            self._moves_seen = self.counts["moves"]
            self._play_on(self.plan.patience)
        self._disturber.carried(tap)

    async def _wait_for_records(self) -> None:
        """Have the servers write the records that kills and full disks have prevented."""
        parties = [] if self._games is None else self._games.parties
        ended = {table: party for party in parties for table in party.tables[: party.ended]}
        try:
            await self._servers.wait_for_records(
                {table for table, party in ended.items() if party.has_result(table) and not party.closed}
            )
        except* NotStarted as group:
            self.verdict.lost += map(str, group.exceptions)

    # -- the games ----------------------------------------------------------------------------------

    async def _play_all(self) -> None:
        plan, operator = self.plan, self._servers.operator
        way = Route(
            self._servers.url,
            self._servers.access,
            self._servers.proxy.hold,
            min(1.0, plan.longest_hold),
            plan.talk,
        )
        self._games = Games(
            plan,
            self._drawn,
            way,
            self.counts,
            self.verdict,
            between_games=self._disturber.at_rematch,
            authority=self._servers.authority,
        )
        try:
            patience = 0.0 if self.interrupted else plan.patience
            async with asyncio.timeout(patience) as self._timeout, asyncio.TaskGroup() as around:
                tasks = [around.create_task(self._stroll(way))]
                if plan.operated and operator is not None:
                    tasks.append(around.create_task(self._operate(operator, self._games)))
                await self._games.play_all()
                for task in tasks:
                    task.cancel()
        except TimeoutError:  # the verdict lists the games that have not ended, or leaves them out
            pass
        finally:
            self._timeout = None

    async def _stroll(self, way: Route) -> None:
        """Look at the list of tables while games are played."""
        self._stroller = Stroller(way, random.Random(f"{self.plan.seed} stroller"), self.counts)
        try:
            await self._stroller.stroll()
        finally:
            await self._stroller.disconnect()

    async def _operate(self, operator: Operator, games: Games) -> None:
        """Use the admin socket from time to time, while games are played."""
        rng = random.Random(f"{self.plan.seed} operating")
        while True:
            await asyncio.sleep(rng.uniform(0, 2 * self.plan.longest_hold / 6))
            await self._disturber.calm.wait()
            await operator.act()
            for party in list(games.parties):
                table, game = party.tables[-1], party.game
                seen = party.has_seen(table)
                if party.company is None or party.ended == len(party.tables):
                    continue
                if game.closed_at is not None and seen >= game.closed_at:
                    party.company.closed = True
                    await operator.close(table)
                # The last player is left alone: bots play with somebody, or not at all.
                may_rob = len(party.players) > 1 and not party.former
                if game.robbed_at is not None and seen >= game.robbed_at and may_rob:
                    await operator.remove(table, rng.randrange(game.players))

    # -- the verdict --------------------------------------------------------------------------------

    async def _judge(self) -> None:
        servers, verdict = self._servers, self.verdict
        every_tap = servers.proxy.taps
        self.counts["connections"] = servers.proxy.connections
        self.counts["stalls"] = servers.proxy.ends.pop(fates.End.STALLED, 0)
        self.counts["cuts"] = servers.proxy.ends.total()
        try:
            journal = await servers.journal()
        except JournalError as error:
            verdict.lost.append(str(error))
            return
        ownership = await servers.ownership()
        if servers.operator is not None:
            await servers.operator.check_copies(journal, servers.long_tables, verdict)
            servers.operator.check_announced(every_tap, verdict)
        if self._stroller is not None:
            # Nodes hear of each other's tables a moment later: what was public may still be in a list.
            late = self._stroller.way.once_public if self.plan.nodes > 1 else set()
            verdict.leaked += [
                f"{table}: it is private, and in the list"
                for table in self._stroller.found
                if table not in late
            ]
        taps: dict[str, list[Wiretap]] = defaultdict(list)
        for tap in every_tap:
            check_catching_up(tap, verdict)
            check_lobby(tap, verdict)
            verdict.different += [f"the server sent what is no message: {what}" for what in tap.damaged]
            self.counts.update(catch_ups(tap))
            for table in tap.tables:
                taps[table].append(tap)
        parties = [] if self._games is None else self._games.parties
        tables = Tables(self.plan, servers, journal, ownership, counts=self.counts, verdict=verdict)
        for party in parties:
            await asyncio.sleep(0)  # so that signals are heard, and progress is shown
            judged = party.tables
            if self.interrupted:
                judged = judged[: party.ended]
                self.counts["games that were interrupted"] += len(party.tables) - party.ended
            tables.judge(party, judged, taps)
            for table in judged:
                if verdict.concerns(table):
                    self.traces[table] = trace(table, journal.get(table, []), taps[table], ownership)
        verdict.different += [f"the network of this program failed: {why}" for why in servers.proxy.failures]
        if complaints := servers.complaints():
            verdict.different.append(f"the server logged: {complaints}")
        tokens = {player.token for party in parties for player in party.everybody if player.token}
        verdict.leaked += [f"the server logged: {line}" for line in servers.secrets_logged(tokens)]
