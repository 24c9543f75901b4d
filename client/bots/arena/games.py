"""The games of an arena, without a server: their schedule, and how they are played in processes of their own.

Every brain sits in every seat equally often, with the same chance, and sees what its seat sees.
A round has one deal, which is what chance decides: tiles, who is dealt what, laurels. Each combination of
brains plays with this deal once in every rotation of its seats, so luck favours no brain. Which brain sits
after which differs from round to round.
"""

import contextlib
import functools
import itertools
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias

from anyio import CapacityLimiter

from client.bots import brain
from client.bots.brains import brain_named
from client.bots.processes import ATTEMPTS, ProcessesLost, in_process, tasks_failing_alike
from client.language import _, current_language, speaking
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
    games in a row, and can learn from each for the next. A move that takes longer than `move_seconds` loses.
    """

    names: tuple[str, ...]
    players: int
    rounds: int
    seed: int
    alone: bool = False
    random_layout: bool = False
    series: int = 1
    move_seconds: float | None = None

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
        return self.rounds * self.games_per_deal

    @property
    def games_per_deal(self) -> int:
        return len(self.combinations) * self.players * self.series

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
            turned = frozenset((*order[turn:], *order[:turn]) for turn in range(len(order)))
            if len(turned) == len(order):
                apart.setdefault(turned, order)
        circles = list(apart.values())
        random.Random(f"{self.seed} orders").shuffle(circles)
        return circles


@dataclass(frozen=True, slots=True)
class SeatOutcome:
    """What the player in a seat reached, its part of the victory, and how long its moves took in seconds.

    Nobody has points in a game that was forfeited; the one who did so says how.
    """

    entrant: Entrant
    share: float
    points: int | None
    items: int
    moves: int
    seconds: float
    longest: float
    forfeit: brain.Forfeit | None = None

    @property
    def rank(self) -> tuple[int, int]:
        """Return what decides who is ahead of whom (R7); whoever forfeits is behind all others."""
        if self.points is None:
            return (0, 0) if self.forfeit is None else (-1, 0)
        return self.points, self.items


@dataclass(frozen=True, slots=True)
class PlayerFailure:
    """What a player did to forfeit a game, for people, and where in its code."""

    entrant: Entrant
    kind: brain.Forfeit
    text: str
    trace: str


@dataclass(frozen=True, slots=True)
class GameOutcome:
    """A game by its number, seat by seat; with its record if that is wanted, and what made it end early."""

    number: int
    seats: tuple[SeatOutcome, ...]
    record: str | None = None
    failure: PlayerFailure | None = None


@dataclass(slots=True)
class ArenaPlayer:
    """A brain in a seat, with its own source of chance and the time that its moves have taken."""

    name: str
    choose: brain.Brain
    rng: random.Random
    limit: float | None = None  # the longest that a move may take, in seconds
    times: list[float] = field(default_factory=list)

    def command(self, view: View, legal: Legal) -> Command:
        """Return what the brain chooses; raises BrainFailed."""
        began, processor = time.perf_counter(), time.process_time()
        try:
            with _interrupted_after(self.limit):
                returned = self.choose(view, legal, self.rng)
        except _TimeUp:
            returned = None
        except (Exception, SystemExit) as error:  # whatever the brain's own code raises
            raise brain.brain_failure(self.name, self.choose, error) from error
        if self.limit is not None and time.perf_counter() - began > self.limit:
            raise too_slow(self.name, self.limit)
        self.times.append(time.process_time() - processor)
        return brain.checked_command(self.name, returned)


class _TimeUp(BaseException):
    """A move takes too long; no Exception, so that no brain takes it for its own."""


@contextlib.contextmanager
def _interrupted_after(seconds: float | None) -> Iterator[None]:
    """Raise _TimeUp in the context after so many seconds; on Windows, the context is waited for."""
    if seconds is None or sys.platform == "win32":
        yield
        return

    def interrupt(_signal: int, _frame: object) -> None:
        raise _TimeUp

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def too_slow(name: str, seconds: float) -> brain.BrainFailed:
    """Return what ends the game of a player that took longer than so many seconds for a move."""
    text = _("{name} took longer than {seconds} s for a move.")
    return brain.BrainFailed(text.format(name=name, seconds=f"{seconds:g}"), brain.Forfeit.LATE)


def start_game(players: int, rng: random.Random, *, random_layout: bool = False, starting: int = 0) -> Game:
    """Return a new game whose draws come from `rng`."""
    return Game.new(GameOptions(players, Seat(starting), random_layout), RandomChance(rng))


def play_to_end(game: Game, players: Sequence[ArenaPlayer]) -> GameEnded:
    """Play the game to its end, with a player for each seat, and return the result.

    The players learn from it for their next game. Raises BrainFailed, with the seat of the one that failed.
    """
    seat = Seat(0)
    try:
        for seat, player in zip(map(Seat, range(len(players))), players, strict=True):
            view = snapshot(game.view, eyes_of(seat))
            player.choose = brain.brain_in_game(player.name, player.choose, view)
        while (legal := game.legal()) is not None:
            seat, player = legal.seat, players[legal.seat]
            command = player.command(snapshot(game.view, eyes_of(seat)), legal)
            try:
                game.apply(command)
            except IllegalCommand as error:
                reason = _(error.text).format(**error.about)
                raise brain.forbidden_choice(player.name, command, reason) from error
        for seat, player in zip(map(Seat, range(len(players))), players, strict=True):
            view = snapshot(game.view, eyes_of(seat))
            player.choose = brain.brain_after(player.name, player.choose, view)
    except brain.BrainFailed as error:
        error.seat = seat
        raise
    result = game.view.result
    assert result is not None  # noqa: S101 - without legal moves it is over
    return result


def play(schedule: Schedule, pairing: Pairing, language: str, records: bool) -> list[GameOutcome]:
    """Play a series of the schedule, with what brains have to be told in this language."""
    names = [schedule.names[entrant] for entrant in pairing.seating]
    players = [
        ArenaPlayer(name, _choice(name), schedule.chance_of(pairing, seat), schedule.move_seconds)
        for seat, name in enumerate(names)
    ]
    with speaking(language):
        return [
            _play(schedule, pairing, players, rematch, records=records) for rematch in range(schedule.series)
        ]


def _play(
    schedule: Schedule, pairing: Pairing, players: Sequence[ArenaPlayer], rematch: int, *, records: bool
) -> GameOutcome:
    """Play one game of a series, in which the next seat starts; the outcome begins with that seat."""
    starting = rematch % len(players)
    chance = schedule.chance(pairing, rematch)
    game = start_game(len(players), chance, random_layout=schedule.random_layout, starting=starting)
    for player in players:
        player.times = []
    result, failed = None, None
    try:
        result = play_to_end(game, players)
    except brain.BrainFailed as error:
        failed = error
    record = recorded(game.events, seat_names([player.name for player in players])) if records else None
    times = [player.times for player in players]
    return outcome_of(pairing.number + rematch, pairing.seating, times, result, failed, starting, record)


def outcome_of(  # noqa: PLR0917 - a game has these
    number: int,
    seating: Seating,
    times: Sequence[Sequence[float]],
    result: GameEnded | None,
    failed: brain.BrainFailed | None,
    starting: int = 0,
    record: str | None = None,
) -> GameOutcome:
    """Return the outcome of a game from its result, or from who has forfeited it; all by seat."""
    seats = []
    for seat, entrant in enumerate(seating):
        forfeit, points, items = None, None, 0
        if failed is not None:
            forfeit = failed.kind if seat == failed.seat else None
            share = 0.0 if seat == failed.seat else 1 / (len(seating) - 1)
        else:
            assert result is not None  # noqa: S101 - otherwise somebody failed
            share = 1 / len(result.winners) if seat in result.winners else 0.0
            points, items = result.tallies[seat].points, result.tallies[seat].items
        own = times[seat]
        longest = max(own, default=0.0)
        seats.append(SeatOutcome(entrant, share, points, items, len(own), sum(own), longest, forfeit))
    failure = None
    if failed is not None:
        failure = PlayerFailure(seating[failed.seat], failed.kind, str(failed), failed.trace)
    return GameOutcome(number, (*seats[starting:], *seats[:starting]), record, failure)


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
def _choice(name: str) -> brain.Brain:
    return brain_named(name).choose


PlaySeries: TypeAlias = Callable[[Pairing], Awaitable[list[GameOutcome]]]


class Decided(Exception):
    """No more games are needed."""


async def play_all(
    schedule: Schedule,
    at_once: int,
    finished: Callable[[GameOutcome], None],
    play_series: PlaySeries,
    already: Container[int] = (),
) -> None:
    """Play all games but those `already` played, so many `at_once`.

    `finished` is told of each, in the order in which they end, and raises Decided if that is enough. An error
    or a cancellation ends all games under way.
    """
    pairings = (each for each in schedule.pairings() if each.number + schedule.series - 1 not in already)

    async def play_in_turn() -> None:
        for pairing in pairings:
            for outcome in await play_series(pairing):
                finished(outcome)

    with contextlib.suppress(Decided):
        async with tasks_failing_alike() as tasks:
            for _one in range(at_once):
                tasks.create_task(play_in_turn())


async def play_in_process(
    schedule: Schedule, limiter: CapacityLimiter, lost: Callable[[int], None], records: bool, pairing: Pairing
) -> list[GameOutcome]:
    """Play a series of brains in a process of its own, as many at once as the limiter allows.

    One whose process ends is played again in another, and `lost` is called with the number of its first game;
    after some attempts, ProcessesLost is raised.
    """
    number, language = pairing.number, current_language()
    told = functools.partial(lost, number)
    try:
        return await in_process(play, schedule, pairing, language, records, limiter=limiter, lost=told)
    except ProcessesLost as error:
        text = _("The process that played game {number} ended, {n} times in a row.")
        raise ProcessesLost(text.format(number=number, n=ATTEMPTS)) from error
