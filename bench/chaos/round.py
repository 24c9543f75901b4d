"""One round: some games at once on one data folder, while the server is killed again and again."""

import asyncio
import contextlib
import random
import ssl
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import trustme

from bench.chaos.bots import Lost, NeverBegun, Player, Route, Spectator, Stolen
from bench.chaos.faults import End
from bench.chaos.guest import Guest
from bench.chaos.plan import Disturbance, Game, Plan, games
from bench.chaos.power_cut import PowerCuts
from bench.chaos.proxy import Encryption, Proxy
from bench.chaos.server_process import Hosting, NotStarted, ServerProcess
from bench.chaos.verdict import Judge, Verdict, journal_in
from bench.chaos.wire_checks import catch_ups, check_catching_up, check_chat, check_kept_seats
from bench.chaos.wiretap import Wiretap
from client.connection import ConnectFailed, RequestRefused
from client.transport import Access
from engine.components import DEALS
from server.errors import JournalError
from server.storage.entries import Entry

_SECONDS_FOR_RECORDS: Final = 15.0
_PAUSE: Final = 0.1  # before another table is tried
_TILES_TO_LAY: Final = 6


@dataclass(slots=True)
class Party:
    """The players and spectators of a game, and of its rematch; `tables` are those where they have begun."""

    players: list[Player] = field(default_factory=list)
    spectators: list[Spectator] = field(default_factory=list)
    guest: Guest | None = None
    tables: list[str] = field(default_factory=list)
    ended: int = 0  # games


class Round:
    """Plays the games of a plan and judges them; the outcome is in `verdict` and `counts`."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.counts: Counter[str] = Counter()
        self.verdict = Verdict()
        self._plan = plan
        self._data = folder / "data"
        self._authority = trustme.CA() if plan.tls else None
        self._certificate = folder / "certificate.pem" if plan.tls else None
        self._authority_file = folder / "authority.pem" if plan.tls else None
        self._power_cuts = PowerCuts(self._data, folder, plan.seed) if plan.power_cuts else None
        hosting = Hosting(plan.durable, self._certificate, plan.most_tables, plan.broken)
        self._server = ServerProcess(self._data, hosting, self._power_cuts)
        self._proxy = Proxy(plan.seed, plan.longest_hold, self._carried, self._encryption())
        self._rng = random.Random(plan.seed)
        self._timeouts: asyncio.Timeout | None = None  # while games are played
        self._moves_seen = 0
        self._disturbed = asyncio.Event()
        self._calm = asyncio.Event()
        self._calm.set()
        self._disturbance = Disturbance.KILL
        self._parties: list[Party] = []
        self._games = games(plan)
        moves = sum(_moves(game) for game in self._games)
        # A third of the kills waits for rematches, with players on the way, and a fifth for ends of games,
        # when the server writes records.
        self._kills_at_rematches = min((plan.kills - 1) // 3, sum(game.again for game in self._games))
        self._kills_at_ends = min((plan.kills - 1) // 5, plan.games)
        self._ended: set[str] = set()  # games at whose end the server was killed, or might have been
        early = self._kills_at_rematches + self._kills_at_ends
        kinds = [Disturbance.KILL] * (plan.kills - 1 - early)
        kinds += [Disturbance.PAUSE] * plan.pauses + [Disturbance.FULL_DISK] * plan.full_disks
        # Each waits for a number of moves, and then for some pieces of data on their way.
        self._to_come = sorted((self._rng.randrange(moves), self._rng.randrange(40), kind) for kind in kinds)

    async def run(self) -> None:
        """Play everything to its end, kill the server a last time, and judge what is left."""
        try:
            await self._start_server()
            async with asyncio.TaskGroup() as tasks:
                disturbing = tasks.create_task(self._disturb())
                async with self._proxy.open():
                    await self._play_all()
                self._to_come.clear()
                await self._settled()
                disturbing.cancel()
        except* NotStarted as group:
            self.verdict.lost += map(str, group.exceptions)
        finally:
            self._server.kill()
            await self._server.gone()
        self.counts["kills"] += 1
        await self._wait_for_records()
        if self._power_cuts is not None:
            self.counts["writes undone by power cuts"] = self._power_cuts.undone
        await self._judge()

    def _encryption(self) -> Encryption | None:
        if self._authority is None or self._certificate is None or self._authority_file is None:
            return None
        self._authority.cert_pem.write_to_path(self._authority_file)
        self._authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(
            self._certificate
        )
        to_clients = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        to_clients.load_cert_chain(self._certificate)
        return Encryption(to_clients, self._trusting())

    def _trusting(self) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        assert self._authority is not None
        self._authority.configure_trust(context)
        return context

    async def _wait_for_records(self) -> None:
        """Start the server once more: it writes the records that kills and full disks have prevented."""
        tables = {table for party in self._parties for table in party.tables[: party.ended]}
        try:
            await self._server.start()
            with contextlib.suppress(TimeoutError):  # the verdict lists those that are missing
                async with asyncio.timeout(_SECONDS_FOR_RECORDS):
                    while any(not self._server.records_of(table) for table in tables):  # noqa: ASYNC110 - a folder has no event
                        await asyncio.sleep(_PAUSE)
        except NotStarted as error:
            self.verdict.lost.append(str(error))
        finally:
            self._server.kill()
            await self._server.gone()

    # -- what happens to the server -----------------------------------------------------------------

    async def _start_server(self) -> None:
        self._proxy.life += 1
        await self._server.start()
        self._proxy.server_port = self._server.port

    def _carried(self, tap: Wiretap) -> None:
        """Disturb the server if it is time; called while bytes are on their way."""
        if self._timeouts is not None and self.counts["moves"] > self._moves_seen:
            self._moves_seen = self.counts["moves"]
            self._timeouts.reschedule(asyncio.get_running_loop().time() + self._plan.patience)
        if self._disturbed.is_set():
            return
        if self._kills_at_ends and tap.ended - self._ended:
            self._ended |= tap.ended
            self._kills_at_ends -= 1
            self._begin(Disturbance.KILL)
            return
        if not self._to_come:
            return
        moves, pieces, kind = self._to_come[0]
        if self.counts["moves"] < moves:
            return
        if pieces > 0:
            self._to_come[0] = moves, pieces - 1, kind
            return
        del self._to_come[0]
        self._begin(kind)

    def _begin(self, kind: Disturbance) -> None:
        self._disturbance = kind
        if kind is Disturbance.KILL:
            self._server.kill()  # at once, between two pieces of data
        self._calm.clear()
        self._disturbed.set()

    def _kill_at_rematch(self) -> None:
        if self._kills_at_rematches and not self._disturbed.is_set():
            self._kills_at_rematches -= 1
            self._begin(Disturbance.KILL)

    async def _disturb(self) -> None:
        hold = self._plan.longest_hold
        while True:
            await self._disturbed.wait()
            self.counts[self._disturbance.value] += 1
            match self._disturbance:
                case Disturbance.KILL:
                    await self._server.gone()
                    await asyncio.sleep(self._rng.choice([0.0, hold / 6]))
                    await self._start_server()
                case Disturbance.PAUSE:
                    await self._server.pause(hold * self._rng.choice([0.05, 0.2, 0.5]))
                case Disturbance.FULL_DISK:
                    await self._server.fill_disk(hold * self._rng.choice([0.05, 0.2]))
            self._disturbed.clear()
            self._calm.set()

    async def _settled(self) -> None:
        """Wait until the server has been started again, or goes on."""
        await self._calm.wait()

    # -- the games ----------------------------------------------------------------------------------

    async def _play_all(self) -> None:
        room = asyncio.Semaphore(self._plan.tables)

        async def play(number: int) -> None:
            async with room:
                await self._play(number)

        try:
            async with asyncio.timeout(self._plan.patience) as self._timeouts, asyncio.TaskGroup() as tasks:
                for number in range(self._plan.games):
                    tasks.create_task(play(number))
        except TimeoutError:  # the verdict lists the games that have not ended
            pass
        finally:
            self._timeouts = None

    async def _play(self, number: int) -> None:
        game = self._games[number]
        access = Access(self._trusting()) if self._plan.tls else Access()
        scheme = "wss" if self._plan.tls else "ws"
        url = f"{scheme}://127.0.0.1:{self._proxy.port}"
        way = Route(url, access, self._proxy.hold, min(1.0, self._plan.longest_hold), self._plan.talk)
        while not await self._played(game, await self._gathered(way, number, game)):
            self.counts["tables given up before the start"] += 1

    async def _played(self, game: Game, party: Party) -> bool:
        """Play a game to its end, and its rematch; return False if its table was closed before it began."""
        self._parties.append(party)
        begun = True
        try:
            await self._play_here(party)
            if game.again and party.guest is None:
                await self._play_again(party)
        except* NeverBegun:
            if any(model.seen[party.tables[-1]].seq for each in party.players for model in each.models):
                self.verdict.lost.append(f"{party.tables[-1]}: the table is gone, and its game had begun")
            else:
                self._parties.remove(party)
                begun = False
        except* Lost as group:
            self.verdict.lost += [f"{party.tables[-1]}: {error}" for error in group.exceptions]
        except* Stolen as group:
            self.verdict.stolen += [f"{party.tables[-1]}: {error}" for error in group.exceptions]
        finally:
            for visitor in (*party.players, *party.spectators):
                await visitor.disconnect()
            if party.guest is not None:
                await party.guest.end()
        return begun

    async def _play_here(self, party: Party) -> None:
        table = party.players[0].table
        async with asyncio.TaskGroup() as tasks:
            for spectator in party.spectators:
                tasks.create_task(spectator.watch(table))
            for player in party.players:
                tasks.create_task(player.play(starts=player is party.players[0]))
            if party.guest is not None:
                pausing = tasks.create_task(party.guest.pause_now_and_then(self._plan.longest_hold))
                pausing.add_done_callback(lambda _: self.counts.update({"pauses of clients": 1}))
        party.ended += 1
        self.counts["games"] += 1

    async def _play_again(self, party: Party) -> None:
        """Play another game with the same players; the server may be killed while they arrive."""
        party.spectators.clear()
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(player.play_again()) for player in party.players]
            asking[0].add_done_callback(lambda _: self._kill_at_rematch())
        tables = {player.table for player in party.players}
        party.tables += sorted(tables)
        if len(tables) > 1:
            self.verdict.doubled.append(f"{party.tables[0]}: the rematch was opened twice, at {tables}")
            return
        async with asyncio.TaskGroup() as tasks:
            for player in party.players:
                tasks.create_task(player.play(starts=player is party.players[0]))
        party.ended += 1
        self.counts["games"] += 1

    async def _gathered(self, way: Route, number: int, game: Game) -> Party:
        """Seat players at a new table, or at another one if an answer is lost meanwhile."""
        attempt = 0
        while True:
            attempt += 1
            seats = game.players - game.guests
            players = [
                Player(
                    way,
                    random.Random(f"{self._plan.seed} player {number} {seat} {attempt}"),
                    self.counts,
                    seat=seat,
                    absence=game.absence,
                    leaves_at=game.leaves_at,
                )
                for seat in range(seats)
            ]
            guest = None
            try:
                table = await players[0].open(game.players, random_layout=game.random_layout)
                for player in players[1:]:
                    await player.join(table, program=player.seat in game.programs)
                if game.guests:
                    guest = await Guest.joined(way.url, table, self._authority_file)
                    await guest.wait_until_seated(players[0].connection)
            except (ConnectFailed, RequestRefused):
                await asyncio.sleep(_PAUSE)
                self.counts["tables given up before the start"] += 1
                for player in players:
                    await player.disconnect()
                if guest is not None:
                    await guest.end()
            else:
                party = Party(players, guest=guest, tables=[table])
                if game.watched:
                    rng = random.Random(f"{self._plan.seed} spectator {number}")
                    crowded = self._plan.most_tables < self._plan.games
                    party.spectators.append(Spectator(way, rng, self.counts, may_vanish=crowded))
                return party

    # -- the verdict --------------------------------------------------------------------------------

    async def _judge(self) -> None:
        self.counts["connections"] = self._proxy.connections
        self.counts["stalls"] = self._proxy.ends.pop(End.STALLED, 0)
        self.counts["cuts"] = self._proxy.ends.total()
        try:
            journal = await journal_in(self._data)
        except JournalError as error:
            self.verdict.lost.append(str(error))
            return
        taps: dict[str, list[Wiretap]] = defaultdict(list)
        for tap in self._proxy.taps:
            check_catching_up(tap, self.verdict)
            self.counts.update(catch_ups(tap))
            for table in tap.tables:
                taps[table].append(tap)
        for party in self._parties:
            if party.ended < len(party.tables):
                self.verdict.unfinished.append(f"{party.tables[-1]}: the game did not end")
            for table in party.tables:
                if table in journal:
                    self._judge_table(table, party, journal[table], taps[table])
                else:
                    self.verdict.lost.append(f"{table}: no game in the journal")
        if complaints := self._server.complaints():
            self.verdict.different.append(f"the server logged: {complaints}")

    def _judge_table(self, table: str, party: Party, entries: list[Entry], taps: list[Wiretap]) -> None:
        judge = Judge(table, entries)
        if not judge.began:
            self.verdict.lost.append(f"{table}: no game in the journal")
            return
        first = table == party.tables[0]
        judge.judge(party.players, party.spectators if first else ())
        judge.check_requests(taps)
        records = self._server.records_of(table)
        self.counts["records compared"] += len(records)
        judge.check_records([record.read_text(encoding="utf-8") for record in records])
        for tap in taps:
            judge.listen(tap, {player.token for player in party.players})
        check_chat(table, taps, judge.verdict, archives=self._plan.most_tables < self._plan.games)
        check_kept_seats(table, entries, taps, judge.verdict)
        self.verdict.add(judge.verdict)


def _moves(game: Game) -> int:
    deal = DEALS[game.players]
    hand = sum(deal.own.values()) + sum(deal.second.values())
    return game.players * hand + (0 if game.random_layout else _TILES_TO_LAY)
