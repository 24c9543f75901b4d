"""The games of an arena, without a server: their schedule, and how they are played in processes of their own.

Every brain sits in every seat equally often, with the same chance, and sees what its seat sees.
A round has one deal, which is what chance decides: tiles, who is dealt what, laurels. Each combination of
brains plays with this deal once in every rotation of its seats, so luck favours no brain. Which brain sits
after which differs from round to round.
"""

import asyncio
import functools
import itertools
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias

from anyio import CapacityLimiter

from client.bots.brain import (
    Brain,
    BrainFailed,
    brain_after,
    brain_failure,
    checked_command,
    forbidden_choice,
)
from client.bots.brains import brain_named
from client.bots.processes import ATTEMPTS, ProcessesLost, in_process
from client.language import _, speaking, spoken
from engine.errors import IllegalCommand
from engine.events import Command, GameEnded
from engine.game import Game, GameOptions, RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import View, eyes_of
from protocol.limits import NAME_LENGTH

Entrant: TypeAlias = int  # a brain, by its place in the list of those that play
Seating: TypeAlias = tuple[Entrant, ...]  # the brains by seat

LEAST_ENTRANTS: Final = 2


@dataclass(frozen=True, slots=True)
class Pairing:
    """A series of games: `number` is that of the first, from 1; `deal` and `rotation` count from 0."""

    number: int
    deal: int
    rotation: int
    seating: Seating


@dataclass(frozen=True, slots=True)
class Schedule:
    """All games of `names`: so many rounds of games of `players`, with chance from `seed`.

    If the first brain is `alone`, it has one seat in every game, and another brain has all the others;
    otherwise every combination plays in which the seats are shared as evenly as possible. With a
    `random_layout` the tiles are laid by chance, too. The same brains play a `series` of so many
    games in a row, and can learn from each for the next.
    """

    names: tuple[str, ...]
    players: int
    rounds: int
    seed: int
    alone: bool = False
    random_layout: bool = False
    series: int = 1

    @property
    def combinations(self) -> list[Seating]:
        """Return the brains of each combination, those with several seats named as often."""
        entrants = range(len(self.names))
        if self.alone:
            return [(0,) + (other,) * (self.players - 1) for other in entrants[1:]]
        each, left = divmod(self.players, len(self.names))
        evenly = tuple(entrants) * each
        return [tuple(sorted(evenly + more)) for more in itertools.combinations(entrants, left)]

    @property
    def games(self) -> int:
        return self.rounds * len(self.combinations) * self.players * self.series

    def pairings(self) -> Iterator[Pairing]:
        numbers = itertools.count(1, self.series)
        orders = [self._orders(combination) for combination in self.combinations]
        for deal in range(self.rounds):
            for circles in orders:
                circle = circles[deal % len(circles)]
                for rotation in range(self.players):
                    seating = circle[rotation:] + circle[:rotation]
                    yield Pairing(next(numbers), deal, rotation, seating)

    def chance(self, pairing: Pairing, rematch: int = 0) -> random.Random:
        """Return what decides the draws of a game of the series: the same for all of a round."""
        return random.Random(f"{self.seed} deal {pairing.deal}" + f" rematch {rematch}" * (rematch > 0))

    def chance_of(self, pairing: Pairing, seat: int) -> random.Random:
        """Return the source of chance of the brain in a seat: the same whichever brains play, and how."""
        return random.Random(f"{self.seed} deal {pairing.deal} turned {pairing.rotation} seat {seat}")

    def _orders(self, combination: Seating) -> list[Seating]:
        """Return in which orders the brains can sit around the table, in an order that `seed` decides.

        An order that looks the same when it is turned (A, B, A, B) is left out: it would play games twice.
        """
        first, *rest = combination
        orders = sorted({(first, *others) for others in itertools.permutations(rest)})
        apart: dict[frozenset[Seating], Seating] = {}
        for order in orders:
            turned = _rotations(order)
            if len(turned) == len(order):
                apart.setdefault(turned, order)
        circles = list(apart.values())
        random.Random(f"{self.seed} orders").shuffle(circles)
        return circles


def _rotations(order: Sequence[Entrant]) -> frozenset[Seating]:
    return frozenset(tuple(order[turn:]) + tuple(order[:turn]) for turn in range(len(order)))


@dataclass(frozen=True, slots=True)
class SeatOutcome:
    """What the brain in a seat reached, its part of the victory, and how long its moves took in seconds."""

    entrant: Entrant
    share: float
    points: int
    items: int
    moves: int
    seconds: float
    longest: float

    @property
    def rank(self) -> tuple[int, int]:
        """Return what decides who is ahead of whom (R7)."""
        return self.points, self.items


@dataclass(frozen=True, slots=True)
class GameOutcome:
    """A game by its number, seat by seat, with its record if that is wanted."""

    number: int
    seats: tuple[SeatOutcome, ...]
    record: str | None = None


class GameFailed(Exception):
    """A brain failed in game `number`; the text says which and where, and `record` is the game so far.

    The games of its series before it have these outcomes.
    """

    def __init__(self, number: int, text: str, record: str) -> None:
        super().__init__(number, text, record)
        self.number, self.text, self.record = number, text, record
        self.outcomes: list[GameOutcome] = []


@dataclass(slots=True)
class Player:
    """A brain in a seat, with its own source of chance and the time that its moves have taken."""

    name: str
    choose: Brain
    rng: random.Random
    times: list[float] = field(default_factory=list)

    def command(self, view: View, legal: Legal) -> Command:
        """Return what the brain chooses; raises BrainFailed."""
        began = time.process_time()
        try:
            returned = self.choose(view, legal, self.rng)
        except (Exception, SystemExit) as error:  # whatever the brain's own code raises
            raise brain_failure(self.name, self.choose, error) from error
        self.times.append(time.process_time() - began)
        return checked_command(self.name, returned)


def begun(players: int, rng: random.Random, *, random_layout: bool = False, starting: int = 0) -> Game:
    """Return a new game whose draws come from `rng`."""
    return Game.new(GameOptions(players, Seat(starting), random_layout), RandomChance(rng))


def played(game: Game, players: Sequence[Player]) -> GameEnded:
    """Play the game to its end, with a player for each seat, and return the result; raises BrainFailed.

    The players learn from it for their next game.
    """
    while (legal := game.legal()) is not None:
        player = players[legal.seat]
        command = player.command(snapshot(game.view, eyes_of(legal.seat)), legal)
        try:
            game.apply(command)
        except IllegalCommand as error:
            reason = _(error.text).format(**error.about)
            raise forbidden_choice(player.name, command, reason) from error
    result = game.view.result
    assert result is not None  # noqa: S101 - without legal moves it is over
    for seat, player in enumerate(players):
        view = snapshot(game.view, eyes_of(Seat(seat)))
        player.choose = brain_after(player.name, player.choose, view)
    return result


def play(schedule: Schedule, pairing: Pairing, language: str, records: bool) -> list[GameOutcome]:
    """Play a series of the schedule; raises GameFailed, in this language."""
    names = [schedule.names[entrant] for entrant in pairing.seating]
    players = [
        Player(name, _choice(name), schedule.chance_of(pairing, seat)) for seat, name in enumerate(names)
    ]
    outcomes: list[GameOutcome] = []
    try:
        for rematch in range(schedule.series):
            outcome = _play(schedule, pairing, players, rematch, language=language, records=records)
            outcomes.append(outcome)
    except GameFailed as failed:
        failed.outcomes = outcomes
        raise
    return outcomes


def _play(
    schedule: Schedule,
    pairing: Pairing,
    players: Sequence[Player],
    rematch: int,
    *,
    language: str,
    records: bool,
) -> GameOutcome:
    """Play one game of a series, in which the next seat starts; the outcome begins with that seat."""
    number, names = pairing.number + rematch, seat_names([player.name for player in players])
    starting = rematch % len(players)
    chance = schedule.chance(pairing, rematch)
    game = begun(len(players), chance, random_layout=schedule.random_layout, starting=starting)
    for player in players:
        player.times = []
    with speaking(language):
        try:
            result = played(game, players)
        except BrainFailed as error:
            raise GameFailed(number, str(error), recorded(game.events, names)) from error
    seats = [
        SeatOutcome(
            entrant,
            1 / len(result.winners) if seat in result.winners else 0.0,
            tally.points,
            tally.items,
            len(player.times),
            sum(player.times),
            max(player.times),
        )
        for seat, (entrant, tally, player) in enumerate(
            zip(pairing.seating, result.tallies, players, strict=True)
        )
    ]
    record = recorded(game.events, names) if records else None
    return GameOutcome(number, (*seats[starting:], *seats[:starting]), record)


def seat_names(names: Sequence[str]) -> list[str]:
    """Return the brains' names as a record has them: not too long, and numbered if a brain has more seats."""
    seen = Counter[str]()
    told = []
    for name in names:
        seen[name] += 1
        number = f"-{seen[name]}" if names.count(name) > 1 else ""
        told.append(f"{name[: NAME_LENGTH - len(number)]}{number}")
    return told


@cache
def _choice(name: str) -> Brain:
    return brain_named(name).choose


async def play_all(
    schedule: Schedule,
    processes: int,
    finished: Callable[[GameOutcome], None],
    lost: Callable[[int], None],
    *,
    records: bool = False,
) -> None:
    """Play all games, so many at a time; `finished` is told of each, in the order in which they end.

    A game whose process ends is played again in another, and `lost` is told its number. Raises GameFailed of
    the first brain that fails, or ProcessesLost; then all games under way end, and so they do when this is
    cancelled.
    """
    pairings, limiter = schedule.pairings(), CapacityLimiter(processes)

    async def play_in_turn(pairings: Iterator[Pairing]) -> None:
        for pairing in pairings:
            try:
                outcomes = await in_process(
                    play,
                    schedule,
                    pairing,
                    spoken(),
                    records,
                    limiter=limiter,
                    lost=functools.partial(lost, pairing.number),
                )
            except GameFailed as failed:
                for outcome in failed.outcomes:
                    finished(outcome)
                raise
            except ProcessesLost as error:
                text = _("The process that played game {number} ended, {n} times in a row.")
                raise ProcessesLost(text.format(number=pairing.number, n=ATTEMPTS)) from error
            for outcome in outcomes:
                finished(outcome)

    try:
        async with asyncio.TaskGroup() as tasks:
            for _process in range(processes):
                tasks.create_task(play_in_turn(pairings))
    except ExceptionGroup as group:
        raise group.exceptions[0] from None  # one is enough to report
