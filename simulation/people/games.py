"""The games of a round: their players and spectators come, play to the end, and perhaps play again."""

import asyncio
import contextlib
import itertools
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from client.network.transport import ConnectFailed, RequestRefused
from protocol.messages import NEW, JoinTable, Leave, SeatBot
from simulation.machine.loop import Process
from simulation.people.correspondent import Correspondent
from simulation.people.deeds import Company, Deeds
from simulation.people.plan import Crowd, PlannedGame, games
from simulation.people.players import End, SimulatedPlayer
from simulation.people.strangers import StrangersBot
from simulation.people.visitors import NO_TABLE, Lost, NeverBegun, Route, Spectator, Stolen, Visitor
from simulation.verdict import Finding, Outcome

_PAUSE: Final = 0.1  # before another table is tried
_TRIES_A_NAME: Final = 0.2  # of the newcomers
_SECONDS_BETWEEN_TRIALS: Final = 1.0  # to take a seat that may become free


@dataclass(slots=True)
class Party:
    """The players and spectators of a game, and of its rematch; `tables` are those where they have begun.

    `former` are players who have lost their seats.
    """

    game: PlannedGame
    players: list[SimulatedPlayer] = field(default_factory=list)
    former: list[SimulatedPlayer] = field(default_factory=list)
    company: Company | None = None
    spectators: list[Spectator] = field(default_factory=list)
    guest: StrangersBot | None = None
    tables: list[str] = field(default_factory=list)
    ended: int = 0  # games
    tasks: asyncio.TaskGroup | None = None  # of all who play, or wait for a seat
    spare: int = 0  # newcomers for seats that may be nobody's: a server gave them, and nobody was told

    @property
    def everybody(self) -> list[SimulatedPlayer]:
        return [*self.players, *self.former]

    def has_seen(self, table: str) -> int:
        """Return the last event that any player has seen there."""
        return max((model.seen[table].seq for each in self.everybody for model in each.models), default=0)

    def has_result(self, table: str) -> bool:
        """Return whether any player has seen the game's result."""
        seen = [model.seen[table].view for each in self.everybody for model in each.models]
        return any(view is not None and view.result is not None for view in seen)


class Games:
    """Plays the games of a plan; `parties` are those who play.

    `between_games` is called before a rematch, and `new_process` makes those in which bots of users run.
    """

    def __init__(
        self,
        plan: Crowd,
        way: Route,
        outcome: Outcome,
        *,
        between_games: Callable[[], None] = lambda: None,
        new_process: Callable[[str], Process] | None = None,
    ) -> None:
        self.parties: list[Party] = []
        self._plan, self._games, self._way = plan, games(plan), way
        self._outcome, self._counts, self._verdict = outcome, outcome.counts, outcome.verdict
        self._between_games, self._new_process = between_games, new_process
        self._rng = random.Random(f"{plan.seed} games")
        self._newcomers, self._guests = itertools.count(1), itertools.count(1)

    async def play_all(self) -> None:
        """Play all games, as many at once as there are to be tables."""
        room = asyncio.Semaphore(self._plan.tables)

        async def play(number: int) -> None:
            async with room:
                while not await self._play(await self._gather(number)):
                    self._counts["tables given up before the start"] += 1

        async with asyncio.TaskGroup() as playing:
            for number in self._games:
                playing.create_task(play(number))

    async def wait_for_records(self, records_of: Callable[[str], Sequence[object]], seconds: float) -> None:
        """Wait until there is a record of each game with a result, but not for longer than that."""
        ended = {table: party for party in self.parties for table in party.tables[: party.ended]}
        missing = {table for table, party in ended.items() if party.has_result(table)}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while missing := {table for table in missing if not records_of(table)}:
                    await asyncio.sleep(_PAUSE)

    async def _play(self, party: Party) -> bool:
        """Play a game to its end, and its rematch; return False if its table was closed before it began."""
        self.parties.append(party)
        begun = True
        try:
            await self._play_here(party)
            if party.game.again and party.guest is None:
                await self._play_again(party)
        except* NeverBegun:
            if self._gave_way(party):
                pass
            elif party.has_seen(party.tables[-1]) and party.game.grows:
                self.parties.remove(party)  # somebody was away for so long that the others began without them
                self._counts["games of tables that grow, begun without somebody"] += 1
            elif party.has_seen(party.tables[-1]):
                self._verdict.lost.append(_finding("the table is gone, and its game had begun", party))
            else:
                self.parties.remove(party)
                begun = False
        except* Lost as group:
            if not self._gave_way(party):
                self._verdict.lost += [_finding(str(error), party) for error in group.exceptions]
        except* Stolen as group:
            self._verdict.stolen += [_finding(str(error), party) for error in group.exceptions]
        finally:
            for visitor in (*party.everybody, *party.spectators):
                await visitor.disconnect()
            if party.guest is not None:
                party.guest.end()
        return begun

    def _gave_way(self, party: Party) -> bool:
        """Return whether a party's game was to leave a full archive, and nobody need look for it any more."""
        if party.tables[-1] not in self._outcome.gave_way:
            return False
        self.parties.remove(party)
        self._counts["games that gave way before their end"] += 1
        return True

    async def _play_here(self, party: Party, newcomers: int = 0) -> None:
        """Play a game at the party's last table, where so many seats are for people who have not come yet."""
        table = party.tables[-1]
        over = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            party.tasks = tasks
            for spectator in party.spectators:
                spectator.over = over
                tasks.create_task(spectator.watch(table))
            playing = [
                tasks.create_task(self._play_seat(party, player, over)) for player in list(party.players)
            ]
            playing += [tasks.create_task(self._play_as_newcomer(party, over)) for _ in range(newcomers)]
            if party.guest is not None:
                pausing = tasks.create_task(party.guest.pause_now_and_then(self._plan.longest_hold))
                pausing.add_done_callback(lambda _: self._counts.update({"pauses of clients": 1}))
            await asyncio.wait(playing)
            over.set()
        ends = {task.result() for task in playing}
        if End.OVER not in ends:
            raise NeverBegun
        party.ended += 1
        self._counts["games"] += 1
        self._counts["games with a result"] += party.has_result(table)

    async def _play_seat(self, party: Party, player: SimulatedPlayer, over: asyncio.Event) -> End:
        """Play to the end; if the player is removed or leaves before the game, somebody else comes."""
        while (end := await player.play()) is End.REMOVED and party.company is not None:
            party.players.remove(player)
            party.former.append(player)
            await player.disconnect()
            if await player.try_to_return():
                self._have_one_more_come(party, over)
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

    async def _newcomer(self, party: Party, over: asyncio.Event) -> SimulatedPlayer | None:
        """Have somebody take a free or vacant seat, as soon as there is one; None if the game ends first."""
        table, company = party.tables[-1], party.company
        assert company is not None
        while not over.is_set():
            number = next(self._newcomers)
            name, seed = f"Newcomer {number}", f"{self._plan.seed} newcomer {number}"
            program = random.Random(f"{seed} program").random() < self._plan.programs
            player = self._player(seed, name, party.game, company, program=program)
            await self._try_name(party, player)
            company.people.add(name)
            try:
                await player.join(table)
            except BaseException as error:
                company.people.discard(name)
                await player.disconnect()
                if not isinstance(error, ConnectFailed | RequestRefused):
                    raise
                if isinstance(error, RequestRefused):
                    self._counts[f"newcomers refused: {error.code}"] += 1
                    if error.code in NO_TABLE and not party.players:  # else it may come out of the archive
                        return None
                else:  # a seat may be kept for somebody who does not know that
                    self._have_one_more_come(party, over)
                await asyncio.sleep(_SECONDS_BETWEEN_TRIALS)
            else:
                self._counts["seats taken by newcomers"] += 1
                return player
        return None

    def _have_one_more_come(self, party: Party, over: asyncio.Event) -> None:
        if party.spare < party.game.players and party.tasks is not None:
            party.spare += 1
            party.tasks.create_task(self._play_as_newcomer(party, over))

    async def _try_name(self, party: Party, newcomer: SimulatedPlayer) -> None:
        """Before a game, ask for a seat under the name of somebody who is there, now and then."""
        here = party.players[0].connection.model.state if party.players else None
        if here is None or here.stage != "gathering" or newcomer.rng.random() >= _TRIES_A_NAME:
            return
        name = next((str(each.name) for each in here.seats if each.here and each.level is None), "Bot 0")
        async with Visitor(self._way, newcomer.rng, self._counts).visiting() as thief:
            with contextlib.suppress(ConnectFailed, RequestRefused):
                await thief.ask(JoinTable(NEW, party.tables[-1], name))
                self._counts["names taken from others"] += 1
                await thief.ask(Leave(NEW))

    def _player(
        self, seed: str, name: str, game: PlannedGame, company: Company | None, *, program: bool = False
    ) -> SimulatedPlayer:
        rng = random.Random(seed)
        deeds = None
        if company is not None:
            deeds = Deeds(company, rng, self._counts, self._way, program)
        kind = Correspondent if self._plan.by_letters else SimulatedPlayer
        return kind(
            self._way,
            rng,
            self._counts,
            name,
            absence=game.absence,
            leaves_at=game.leaves_at,
            deeds=deeds,
            program=program,
        )

    async def _play_again(self, party: Party) -> None:
        """Play another game with the same players; the server may be killed while they arrive."""
        for spectator in party.spectators:
            await spectator.disconnect()
        party.spectators.clear()
        if party.company is not None:
            party.company.people = {str(player.name) for player in party.players}
        async with asyncio.TaskGroup() as tasks:
            asking = [tasks.create_task(player.play_again()) for player in party.players]
            asking[0].add_done_callback(lambda _: self._between_games())
        tables = {player.table for player in party.players}
        party.tables += sorted(tables)
        if len(tables) > 1:
            text = f"the rematch was opened twice, at {tables}"
            self._verdict.doubled.append(Finding(text, party.tables[0], time.time()))
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

    async def _gather(self, number: int) -> Party:
        """Seat players at a new table, or at another one if an answer is lost meanwhile."""
        game = self._games[number]
        attempt = 0
        while True:
            attempt += 1
            company = None
            if game.lively:
                company = Company(*game.deeds, game.may_end, self._plan.policies, self._plan.quiet)
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
                table = await host.open(
                    *((2, True) if game.grows else (game.players, False)),
                    random_layout=game.random_layout,
                    private=game.private,
                )
                for _ in range(game.bots):
                    await host.connection.ask(SeatBot(NEW, self._rng.choice(host.connection.levels[:2])))
                    self._counts["bots of the server seated"] += 1
                for at, player in enumerate(players[1:], start=1):
                    await player.join(table, game.bots + at)
                if game.guests and self._new_process is not None:
                    process = self._new_process(f"bot {(at := next(self._guests))}")
                    guest = StrangersBot(process, self._way, table, at)
                    guests.add(await guest.seated(host.connection))
            except (ConnectFailed, RequestRefused):
                await asyncio.sleep(_PAUSE)
                self._counts["tables given up before the start"] += 1
                for player in players:
                    await player.disconnect()
                if guest is not None:
                    guest.end()
            else:
                if company is not None:
                    company.people |= {str(player.name) for player in players}
                    company.guests |= guests
                party = Party(game, players, company=company, guest=guest, tables=[table])
                if game.watched:
                    rng = random.Random(f"{self._plan.seed} spectator {number}")
                    # A table is archived if there are few, or closed if all leave before the game.
                    vanishes = game.lively or self._plan.most_tables < self._plan.games
                    party.spectators.append(Spectator(self._way, rng, self._counts, may_vanish=vanishes))
                return party


def _finding(text: str, party: Party) -> Finding:
    """Return what is wrong just now at the last table of a party."""
    return Finding(text, party.tables[-1], time.time())
