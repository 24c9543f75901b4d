"""One round: some games at once on one data folder, while the server is killed again and again."""

import asyncio
import contextlib
import random
import ssl
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final

import trustme

from bench.chaos import faults
from bench.chaos.deeds import Company, Deeds
from bench.chaos.guest import Guest
from bench.chaos.history import History
from bench.chaos.judge import Judge
from bench.chaos.operator import Operator
from bench.chaos.plan import Disturbance, Game, Plan, games
from bench.chaos.players import End, Player
from bench.chaos.power_cut import PowerCuts
from bench.chaos.proxy import Encryption, Proxy
from bench.chaos.server_process import Hosting, NotStarted, ServerProcess
from bench.chaos.verdict import Verdict, journal_in
from bench.chaos.visitors import NO_TABLE, Lost, NeverBegun, Route, Spectator, Stolen, Stroller
from bench.chaos.wire_checks import (
    catch_ups,
    check_catching_up,
    check_chat,
    check_kept_seats,
    check_lobby,
    check_quiet,
)
from bench.chaos.wiretap import Wiretap
from client.network.connection import ConnectFailed, RequestRefused
from client.network.transport import Access
from engine.components import DEALS
from server.errors import JournalError
from server.storage.entries import Entry

_SECONDS_FOR_RECORDS: Final = 15.0
_PAUSE: Final = 0.1  # before another table is tried
_TILES_TO_LAY: Final = 6


@dataclass(slots=True)
class Party:
    """The players and spectators of a game, and of its rematch; `tables` are those where they have begun.

    `former` are players who have lost their seats.
    """

    game: Game
    players: list[Player] = field(default_factory=list)
    former: list[Player] = field(default_factory=list)
    company: Company | None = None
    spectators: list[Spectator] = field(default_factory=list)
    guest: Guest | None = None
    tables: list[str] = field(default_factory=list)
    ended: int = 0  # games

    @property
    def everybody(self) -> list[Player]:
        return [*self.players, *self.former]

    @property
    def closed(self) -> bool:
        """Tell whether those who run the server have closed the table, or may have."""
        return self.company is not None and self.company.closed

    def has_seen(self, table: str) -> int:
        """Return the last event that any player has seen there."""
        return max((model.seen[table].seq for each in self.everybody for model in each.models), default=0)

    def has_result(self, table: str) -> bool:
        """Tell whether any player has seen the game's result."""
        seen = [model.seen[table].view for each in self.everybody for model in each.models]
        return any(view is not None and view.result is not None for view in seen)


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
        self._operator = Operator(self._data, random.Random(f"{plan.seed} operator"), self.counts)
        self._stroller: Stroller | None = None
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
        self._newcomers = 0
        self._kills_at_rematches = min((plan.kills - 1) // 3, sum(game.again for game in self._games))
        self._kills_at_ends = min((plan.kills - 1) // 5, plan.games)
        self._ended: set[str] = set()  # games at whose end the server was killed, or might have been
        early = self._kills_at_rematches + self._kills_at_ends
        kinds = [Disturbance.KILL] * (plan.kills - 1 - early)
        kinds += [Disturbance.PAUSE] * plan.pauses + [Disturbance.FULL_DISK] * plan.full_disks
        kinds += [Disturbance.DRAIN] * plan.drains
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
        ended = {table: party for party in self._parties for table in party.tables[: party.ended]}
        tables = {table for table, party in ended.items() if party.has_result(table) and not party.closed}
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
                case Disturbance.DRAIN:
                    await self._drain()
            self._disturbed.clear()
            self._calm.set()

    async def _drain(self) -> None:
        """Have the server stop by itself, and start it again."""
        self._server.will_log_requests = True
        if await self._operator.drain() and not await self._server.ended():
            self.verdict.unfinished.append("the server did not stop though it was drained")
        self._server.kill()
        await self._server.gone()
        await self._start_server()

    async def _operate(self) -> None:
        """Use the admin socket from time to time, while games are played."""
        self._server.will_log_requests = True
        while True:
            await asyncio.sleep(self._rng.uniform(0, 2 * self._plan.longest_hold / 6))
            await self._calm.wait()
            await self._operator.act()
            for party in list(self._parties):
                table, game = party.tables[-1], party.game
                seen = party.has_seen(table)
                if party.company is None or party.ended == len(party.tables):
                    continue
                if game.closed_at is not None and seen >= game.closed_at:
                    party.company.closed = True
                    await self._operator.close(table)
                # The last player is left alone: bots play with somebody, or not at all.
                may_rob = len(party.players) > 1 and not party.former
                if game.robbed_at is not None and seen >= game.robbed_at and may_rob:
                    await self._operator.remove(table, self._rng.randrange(game.players))

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
            async with asyncio.timeout(self._plan.patience) as self._timeouts, asyncio.TaskGroup() as around:
                tasks = [around.create_task(self._stroll())]
                if self._plan.operated:
                    tasks.append(around.create_task(self._operate()))
                async with asyncio.TaskGroup() as playing:
                    for number in range(self._plan.games):
                        playing.create_task(play(number))
                for task in tasks:
                    task.cancel()
        except TimeoutError:  # the verdict lists the games that have not ended
            pass
        finally:
            self._timeouts = None

    async def _stroll(self) -> None:
        """Look at the list of tables while games are played."""
        self._stroller = Stroller(self._way, random.Random(f"{self._plan.seed} stroller"), self.counts)
        try:
            await self._stroller.stroll()
        finally:
            await self._stroller.disconnect()

    @cached_property
    def _way(self) -> Route:
        access = Access(self._trusting()) if self._plan.tls else Access()
        scheme = "wss" if self._plan.tls else "ws"
        url = f"{scheme}://127.0.0.1:{self._proxy.port}"
        return Route(url, access, self._proxy.hold, min(1.0, self._plan.longest_hold), self._plan.talk)

    async def _play(self, number: int) -> None:
        while not await self._played(await self._gathered(number)):
            self.counts["tables given up before the start"] += 1

    async def _played(self, party: Party) -> bool:
        """Play a game to its end, and its rematch; return False if its table was closed before it began."""
        self._parties.append(party)
        begun = True
        try:
            await self._play_here(party)
            if party.game.again and party.guest is None and not party.closed:
                await self._play_again(party)
        except* NeverBegun:
            if party.has_seen(party.tables[-1]):
                self.verdict.lost.append(f"{party.tables[-1]}: the table is gone, and its game had begun")
            else:
                self._parties.remove(party)
                begun = False
        except* Lost as group:
            self.verdict.lost += [f"{party.tables[-1]}: {error}" for error in group.exceptions]
        except* Stolen as group:
            self.verdict.stolen += [f"{party.tables[-1]}: {error}" for error in group.exceptions]
        finally:
            for visitor in (*party.everybody, *party.spectators):
                await visitor.disconnect()
            if party.guest is not None:
                await party.guest.end()
        return begun

    async def _play_here(self, party: Party, newcomers: int = 0) -> None:
        """Play a game at the party's last table, where so many seats are for people who have not come yet."""
        table = party.tables[-1]
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            for spectator in party.spectators:
                spectator.over = over
                tasks.create_task(spectator.watch(table))
            playing = [
                tasks.create_task(self._play_seat(party, player, over)) for player in list(party.players)
            ]
            playing += [tasks.create_task(self._play_as_newcomer(party, over)) for _ in range(newcomers)]
            if party.guest is not None:
                pausing = tasks.create_task(party.guest.pause_now_and_then(self._plan.longest_hold))
                pausing.add_done_callback(lambda _: self.counts.update({"pauses of clients": 1}))
            await asyncio.wait(playing)
            over.set()
        ends = {task.result() for task in playing}
        if End.OVER not in ends and not party.closed:
            raise NeverBegun
        party.ended += 1
        self.counts["games"] += 1
        self.counts["games closed by operators" if party.closed else "games with a result"] += (
            party.closed or party.has_result(table)
        )

    async def _play_seat(self, party: Party, player: Player, over: asyncio.Event) -> End:
        """Play to the end; if the player is removed or leaves before the game, somebody else comes."""
        while (end := await player.play()) is End.REMOVED and party.company is not None:
            party.players.remove(player)
            party.former.append(player)
            await player.disconnect()
            newcomer = await self._newcomer(party, over)
            if newcomer is None:
                return end
            player = newcomer
            party.players.append(player)
        over.set()
        return end

    async def _play_as_newcomer(self, party: Party, over: asyncio.Event) -> End:
        if (newcomer := await self._newcomer(party, over)) is None:
            return End.REMOVED
        party.players.append(newcomer)
        return await self._play_seat(party, newcomer, over)

    async def _newcomer(self, party: Party, over: asyncio.Event) -> Player | None:
        """Have somebody take a free or vacant seat, as soon as there is one; None if the game ends first."""
        table, company = party.tables[-1], party.company
        assert company is not None
        while not over.is_set():
            number = self._newcomers = self._newcomers + 1
            player = self._player(
                f"{self._plan.seed} newcomer {number}", f"Newcomer {number}", party.game, company
            )
            company.people.add(f"Newcomer {number}")
            try:
                await player.join(table)
            except (ConnectFailed, RequestRefused) as error:
                company.people.discard(f"Newcomer {number}")
                await player.disconnect()
                if isinstance(error, RequestRefused):
                    self.counts[f"newcomers refused: {error.code}"] += 1
                    if error.code in NO_TABLE:
                        return None
                await asyncio.sleep(_PAUSE)
            else:
                self.counts["seats taken by newcomers"] += 1
                return player
        return None

    def _player(
        self, seed: str, name: str, game: Game, company: Company | None, *, program: bool = False
    ) -> Player:
        rng = random.Random(seed)
        deeds = None
        if company is not None:
            deeds = Deeds(company, rng, self.counts, self._way.private, program=program)
        return Player(
            self._way,
            rng,
            self.counts,
            name,
            absence=game.absence,
            leaves_at=game.leaves_at,
            deeds=deeds,
            program=program,
        )

    async def _play_again(self, party: Party) -> None:
        """Play another game with the same players; the server may be killed while they arrive."""
        party.spectators.clear()
        if party.company is not None:
            party.company.people = {str(player.name) for player in party.players}
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(player.play_again()) for player in party.players]
            asking[0].add_done_callback(lambda _: self._kill_at_rematch())
        tables = {player.table for player in party.players}
        party.tables += sorted(tables)
        if len(tables) > 1:
            self.verdict.doubled.append(f"{party.tables[0]}: the rematch was opened twice, at {tables}")
            return
        await self._play_here(party, self._seats_left(party))

    def _seats_left(self, party: Party) -> int:
        """Return how many seats of a rematch are nobody's: players have lost theirs meanwhile."""
        if party.company is None:
            return 0
        bots = party.game.bots
        for player in party.players:
            state = player.connection.model.state
            if state is not None and state.table == party.tables[-1]:
                bots = sum(seat.level is not None for seat in state.seats)
        return party.game.players - bots - len(party.players)

    async def _gathered(self, number: int) -> Party:
        """Seat players at a new table, or at another one if an answer is lost meanwhile."""
        game = self._games[number]
        attempt = 0
        while True:
            attempt += 1
            company = None
            if game.lively:
                company = Company(*game.deeds, game.may_end, self._plan.policies)
            players = [
                self._player(
                    f"{self._plan.seed} player {number} {at} {attempt}",
                    f"Bot {at}",
                    game,
                    company,
                    program=at in game.programs and at > 0,
                )
                for at in range(game.players - game.guests - game.bots)
            ]
            guest, guests = None, set[str]()
            try:
                host = players[0]
                table = await host.open(game.players, random_layout=game.random_layout, private=game.private)
                for _ in range(game.bots):
                    await host.connection.seat_bot(self._rng.choice(host.connection.levels[:2]))
                    self.counts["bots of the server seated"] += 1
                for at, player in enumerate(players[1:], start=1):
                    await player.join(table, game.bots + at)
                if game.guests:
                    guest = await Guest.joined(self._way.url, table, self._authority_file)
                    guests.add(await guest.seated(host.connection))
            except (ConnectFailed, RequestRefused):
                await asyncio.sleep(_PAUSE)
                self.counts["tables given up before the start"] += 1
                for player in players:
                    await player.disconnect()
                if guest is not None:
                    await guest.end()
            else:
                if company is not None:
                    company.people |= {str(player.name) for player in players}
                    company.guests |= guests
                party = Party(game, players, company=company, guest=guest, tables=[table])
                if game.watched:
                    rng = random.Random(f"{self._plan.seed} spectator {number}")
                    # A table is archived if there are few, or closed if all leave before the game.
                    vanishes = game.lively or self._plan.most_tables < self._plan.games
                    party.spectators.append(Spectator(self._way, rng, self.counts, may_vanish=vanishes))
                return party

    # -- the verdict --------------------------------------------------------------------------------

    async def _judge(self) -> None:
        self.counts["connections"] = self._proxy.connections
        self.counts["stalls"] = self._proxy.ends.pop(faults.End.STALLED, 0)
        self.counts["cuts"] = self._proxy.ends.total()
        try:
            journal = await journal_in(self._data)
        except JournalError as error:
            self.verdict.lost.append(str(error))
            return
        taps: dict[str, list[Wiretap]] = defaultdict(list)
        long = self._server.long_tables
        await self._operator.check_copies(journal, long, self.verdict)
        self._operator.check_announced(self._proxy.taps, self.verdict)
        if self._stroller is not None:
            self.verdict.leaked += [
                f"{table}: it is private, and in the list" for table in self._stroller.found
            ]
        for tap in self._proxy.taps:
            check_catching_up(tap, self.verdict)
            check_lobby(tap, self.verdict)
            self.counts.update(catch_ups(tap))
            for table in tap.tables:
                taps[table].append(tap)
        for party in self._parties:
            if party.closed:
                back = set(party.tables) & self._operator.closed & journal.keys()
                self.verdict.lost += [
                    f"{table}: it was closed for good, and is there again" for table in back
                ]
                continue
            if party.ended < len(party.tables):
                where = _where_it_stands(journal.get(party.tables[-1], []), party)
                self.verdict.unfinished.append(f"{party.tables[-1]}: the game did not end: {where}")
            for table in party.tables:
                if table in journal:
                    self._judge_table(table, party, journal[table], taps[table])
                else:
                    self.verdict.lost.append(f"{table}: no game in the journal")
        if complaints := self._server.complaints():
            self.verdict.different.append(f"the server logged: {complaints}")
        tokens = {player.token for party in self._parties for player in party.everybody if player.token}
        self.verdict.leaked += [f"the server logged: {line}" for line in self._server.secrets_logged(tokens)]

    def _judge_table(self, table: str, party: Party, entries: list[Entry], taps: list[Wiretap]) -> None:
        judge = Judge(table, entries, shortened=table in self._server.long_tables)
        if not judge.began:
            self.verdict.lost.append(f"{table}: no game in the journal")
            return
        first = table == party.tables[0]
        judge.judge(party.everybody, party.spectators if first else ())
        judge.judge_removed(party.former)
        if table in self._server.long_tables:
            self.counts["tables too long to compare what was told of them"] += 1
        else:
            judge.history.check_told(taps, judge.verdict)
        judge.check_requests(taps)
        records = self._server.records_of(table)
        self.counts["records compared"] += len(records)
        judge.check_records([record.read_text(encoding="utf-8") for record in records])
        judge.verdict.stolen += [
            stranger
            for player in party.everybody
            for model in player.models
            for stranger in model.strangers
            if stranger.startswith(table)
        ]
        for tap in taps:
            judge.listen(tap, {player.token for player in party.everybody})
            check_quiet(table, tap, judge.verdict)
        check_chat(table, taps, judge.verdict, archives=self._plan.most_tables < self._plan.games)
        check_kept_seats(table, entries, taps, judge.verdict)
        self.verdict.add(judge.verdict)


def _where_it_stands(entries: list[Entry], party: Party) -> str:
    """Return what a game that has not ended may be waiting for."""
    state = History("", entries).state
    turn = None if state.game is None else state.game.view.turn
    vacant = [seat for seat, player in enumerate(state.players) if player is not None and player.vacant]
    bots = sorted(state.bot_seats | state.bots)
    here = ", ".join(f"{player.name} at {player.models[-1].table}" for player in party.players)
    return (
        f"{state.stage}, seats {state.names}, host {state.host}, turn {turn}, paused for {state.paused}, "
        f"vacant {vacant}, bots {bots}, policy {state.absence}, private {state.private}; players: {here}"
    )


def _moves(game: Game) -> int:
    deal = DEALS[game.players]
    hand = sum(deal.own.values()) + sum(deal.second.values())
    return game.players * hand + (0 if game.random_layout else _TILES_TO_LAY)
