"""A game over sockets from a script, on a manual clock: a few values determine all of it."""

import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from engine.board import FIELDS, Field
from engine.components import DEALS
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, random_command
from engine.pieces import Piece, Seat
from engine.view import Phase, View
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, MoveClock
from protocol.codes import Code
from protocol.events import legal_of
from protocol.messages import Ask, Lay, Ping, PlacePiece, TableState, Vote
from server.app import Running, running
from server.config import Config, Limits
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, connected
from tests.server.playing import all_caught_up, game

STAND_IN_SECONDS: Final = 1.0
LIMITS: Final = Limits(
    stand_in_seconds=STAND_IN_SECONDS, burst=1_000_000, rate=1_000_000.0, burst_per_address=1_000_000
)


@dataclass(frozen=True)
class Script:
    """The values that determine a match.

    Pieces are placed at random, or by a plan if `swapped` is a set: of seats that place wolf farmers where
    the plan has wolf merchants, and the other way round. The last `bots` seats belong to bots of the
    server.
    """

    players: int
    absence: Absence = WAIT
    programs: frozenset[int] = frozenset()
    random_layout: bool = False
    swapped: frozenset[int] | None = None
    seed: int = 1
    bots: int = 0

    @property
    def people(self) -> int:
        """Return how many of the seats clients hold: the first ones."""
        return self.players - self.bots

    def faces(self) -> list[list[str]]:
        """Return what the plan has each seat place, in order: `0 m*` is a wolf merchant of its first people.

        Soldiers come early enough for R4.3, and wolves have the same places in the order, swapped or not.
        """
        swapped = self.swapped or frozenset()
        rng = random.Random(self.seed)
        deal = DEALS[self.players]
        own = [f"0 {face}" for face, count in deal.own.items() for _ in range(count)]
        second = [f"1 {face}" for face, count in deal.second.items() for _ in range(count)]
        faces: list[list[str]] = []
        for seat in range(self.players):
            others = [face for face in own + second if face != "0 s"]
            rng.shuffle(others)
            order = [others[0], *["0 s"] * deal.own["s"], *others[1:]]
            for people in "01":
                places = [at for at, face in enumerate(order) if face[0] == people and face[-1] == "*"]
                wolves = sorted((order[at] for at in places), reverse=seat in swapped)
                for at, wolf in zip(places, wolves, strict=True):
                    order[at] = wolf
            faces.append(order)
        return faces

    def fields(self) -> list[Field]:
        """Return the fields in the order in which pieces are placed on them."""
        return random.Random(self.seed + 1).sample(FIELDS, len(FIELDS))

    def command(self, view: View, legal: Legal) -> Command:
        turn = len(view.placed)
        if self.swapped is None or isinstance(legal, LegalLays):
            return random_command(legal, random.Random(f"{self.seed} {view.tiles} {turn}"))
        face = self.faces()[legal.seat][turn // self.players]
        return Place(legal.seat, piece_of(view, legal.seat, face), self.fields()[turn])

    def config(self, data: Path | None, clock: ManualClock) -> Config:
        return Config(
            data=data,
            stand_in=lambda view, legal, _rng: self.command(view, legal),
            brains={"scripted": lambda view, legal, _rng: self.command(view, legal)},
            seed=self.seed,
            human_pace=False,
            limits=LIMITS,
            timers=lambda: clock,
            watched=True,
        )


SCRIPTS = {
    "wait": Script(3, WAIT, seed=1),
    "program": Script(2, WAIT, programs=frozenset({1}), seed=2),
    "move-clock": Script(3, MoveClock(60), seed=3),
    "game-clock": Script(2, GameClock(600), seed=4),
    "vote": Script(4, ByVote(30), seed=5),
    "bot": Script(3, ByBot(30), seed=6),
    "server's bots": Script(4, GameClock(600), seed=8, bots=2),
    "random-layout": Script(5, ByBot(30), random_layout=True, seed=7),
}


def some_scripts(*names: str) -> pytest.MarkDecorator:
    """Return what runs a test with these scripts; the others are left to `.ci/run`."""
    params = [
        pytest.param(script, id=name, marks=() if name in names else pytest.mark.slow)
        for name, script in SCRIPTS.items()
    ]
    return pytest.mark.parametrize("script", params)


def piece_of(view: View, seat: Seat, face: str) -> Piece:
    """Return the seat's piece that the plan calls `0 m*`, say."""
    number, kind = face.split()
    return Piece(view.start.peoples[seat][int(number)] + kind)


@dataclass
class Match:
    """A running match: its peers by seat, the spectator last, and the seats of absent players."""

    _script: Script
    server: Running
    _clock: ManualClock
    peers: list[Peer]
    _later: contextlib.AsyncExitStack
    away: set[int] = field(default_factory=set)
    turns: int = 0
    stand_in_moves: int = 0

    def __post_init__(self) -> None:
        self._rng = random.Random(self._script.seed + 2)

    @property
    def spectator(self) -> Peer:
        return self.peers[-1]

    @property
    def present(self) -> list[Peer]:
        return [peer for seat, peer in enumerate(self.peers) if seat not in self.away]

    @property
    def turns_left(self) -> int:
        view = self.spectator.sight
        return sum(tile is None for tile in view.tiles) + view.to_place

    async def settle(self) -> None:
        """Wait until the table has handled every request, and everybody has received the results."""
        # The table refuses this after all that came before, and only the spectator is answered.
        await self.spectator.refused(Vote, 0, agree=True)
        for peer in self.present:
            await peer.ask(Ping)

    async def turn(self) -> None:
        """Play a turn, and now and then an absence, a return, a vote or an expired clock."""
        self.turns += 1
        if self.away and self.turns % 7 == 1:
            await self._come_back(min(self.away))
        if not self.away and self.turns % 7 == 2:
            await self._go_away(self.turns // 7 % self._script.people)
        view = self.spectator.sight
        assert view.turn is not None
        seat, policy = int(view.turn), self._script.absence
        if seat >= self._script.people:
            await self._stand_in()
            return
        if seat in self.away and not self._bot_plays_for(seat):
            if isinstance(policy, MoveClock):
                await self._pass_time(policy.seconds)
            else:
                await self._come_back(seat)
        mover = self.peers[seat]
        if seat in self.away or mover.legal is None or await self._out_of_time(mover):
            await self._stand_in()
        else:
            await self._move(mover)

    async def _move(self, mover: Peer) -> None:
        other = self._rng.choice([peer for peer in self.present if peer is not mover])
        await other.refused(PlacePiece, "Em*", "A1")
        await mover.refused(self._impossible_move(mover))
        await mover.done(self._next_move(mover))
        await all_caught_up(self.present, mover.seq)
        person = mover.seat not in self._script.programs
        if person and self.turns % 9 == 3 and self.turns_left and mover.view and mover.view.placed:
            await self._take_back(mover)
            await mover.done(self._next_move(mover))
            await all_caught_up(self.present, mover.seq)
        await self.settle()

    async def _take_back(self, mover: Peer) -> None:
        """Let the mover take the move back, when those who were away have come back to agree."""
        for seat in sorted(self.away):
            await self._come_back(seat)
        seq = mover.seq
        others = [peer for peer in self.peers[: self._script.people] if peer is not mover]
        for peer in (mover, *others):
            if peer.seat not in self._script.programs:
                await peer.done(Ask, "take-back", on=True)
        await all_caught_up(self.present, seq + 1)

    async def _stand_in(self) -> None:
        seq = self.spectator.seq
        self._clock.advance(STAND_IN_SECONDS)
        while self.spectator.seq == seq:
            await self.spectator.receive()
        await all_caught_up(self.present, self.spectator.seq)
        await self.settle()
        self.stand_in_moves += 1

    async def _out_of_time(self, mover: Peer) -> bool:
        """Let time pass for the mover, now and then too much; return whether it was too much."""
        await self._pass_time(self._rng.randrange(8) / 4)
        match self._script.absence:
            case MoveClock(seconds) if self.turns % 5 == 4:
                pass
            case GameClock(seconds) if self.turns % 5 == 4 and mover.seat == 1:
                pass
            case _:
                return False
        move = self._next_move(mover)
        await self._pass_time(seconds)
        assert await mover.refusal(move) == Code.TIME_UP
        return True

    async def _pass_time(self, seconds: float) -> None:
        self._clock.advance(seconds)
        await self.settle()

    async def _go_away(self, seat: int) -> None:
        """Break a player's connection, and let the others replace the player if the policy allows it."""
        self.away.add(seat)
        await self.peers[seat].socket.close()
        await self._seen(seat, here=False)
        policy = self._script.absence
        if seat in self._script.programs or not isinstance(policy, ByVote | ByBot):
            return
        voters = [peer for peer in self.present[:-1] if peer.seat not in self._script.programs]
        for peer in voters:
            await peer.refused(Vote, seat, agree=True)  # too early, or without votes
        await self._pass_time(policy.seconds)
        if isinstance(policy, ByVote):
            hasty, *_ = voters
            if len(voters) > 1:
                await hasty.done(Vote, seat, agree=True)
                await hasty.done(Vote, seat, agree=False)
            for peer in voters:
                await peer.done(Vote, seat, agree=True)
            await self.settle()

    async def _come_back(self, seat: int) -> None:
        """Have a player return on a new connection, and catch up from the last event or from nothing."""
        gone = self.peers[seat]
        back = await self._later.enter_async_context(connected(self.server.port))
        back.id, back.seat, back.token = gone.id, gone.seat, gone.token
        back.view, back.seq = self._rng.choice([(gone.view, gone.seq), (None, 0)])
        await back.resume(gone.code, gone.token, back.seq)
        await back.news()
        back.frames[:0] = gone.frames
        self.peers[seat] = back
        self.away.discard(seat)
        await self._seen(seat, here=True)

    async def _seen(self, seat: int, *, here: bool) -> None:
        """Wait until everybody has seen the player leave or return."""
        while (await self.spectator.until(TableState)).seats[seat].here is not here:
            pass
        await self.settle()

    def _bot_plays_for(self, seat: int) -> bool:
        return self.spectator.told(TableState)[-1].seats[seat].bot

    def _impossible_move(self, mover: Peer) -> Lay | PlacePiece:
        """Return a move of the wrong kind, or one to a field that is taken."""
        view = mover.sight
        assert mover.seat is not None
        if view.phase is Phase.LAYING:
            return PlacePiece(mover.next_id(), "Em", "A1")
        if not view.placed:
            return Lay(mover.next_id(), 1, 0)
        pieces, fields = sorted(view.start.hands[mover.seat]), sorted(view.placed)
        return PlacePiece(mover.next_id(), self._rng.choice(pieces), self._rng.choice(fields))

    def _next_move(self, mover: Peer) -> Lay | PlacePiece:
        assert mover.seat is not None
        assert mover.legal is not None
        command = self._script.command(mover.sight, legal_of(mover.legal, mover.seat))
        if isinstance(command, LayTile):
            return Lay(mover.next_id(), command.position, command.orientation)
        return PlacePiece(mover.next_id(), command.piece, command.field)


@contextlib.asynccontextmanager
async def match(script: Script, data: Path | None = None) -> AsyncIterator[Match]:
    clock = ManualClock()
    async with (
        running(script.config(data, clock)) as server,
        game(
            server.port,
            script.players,
            programs=script.programs,
            bots=dict.fromkeys(range(script.people, script.players), "scripted"),
            watched=True,
            absence=script.absence,
            random_layout=script.random_layout,
            peoples={0: "A"},
        ) as peers,
        contextlib.AsyncExitStack() as later,
    ):
        for number, peer in enumerate(peers):
            peer.id = 1_000_000 * number
            peer.frames.clear()  # ids and tokens differ from match to match until here
        yield Match(script, server, clock, peers, later)
