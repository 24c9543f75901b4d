"""One game between brains, in this process and without a server; each sees what its seat sees."""

import random
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from client.bots.arena.schedule import Pairing, Schedule
from client.bots.arena.standings import GameOutcome, SeatOutcome
from client.bots.brain import Brain
from client.bots.brains import brain_named
from client.bots.failure import BrainFailed, brain_failure, checked_command, forbidden_choice
from client.language import _, speaking
from engine.errors import IllegalCommand
from engine.events import Command, GameEnded
from engine.game import Game, GameOptions, RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.record import recorded
from engine.redaction import snapshot
from engine.view import View, eyes_of
from protocol.limits import NAME_LENGTH


class GameFailed(Exception):
    """A brain failed in game `number`; the text says which and where, and `record` is the game so far."""

    def __init__(self, number: int, text: str, record: str) -> None:
        super().__init__(number, text, record)
        self.number = number
        self.text = text
        self.record = record


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


def begun(players: int, rng: random.Random, *, random_layout: bool = False) -> Game:
    """Return a new game whose draws come from `rng`; the first seat starts."""
    return Game.new(GameOptions(players, Seat(0), random_layout), RandomChance(rng))


def played(game: Game, players: Sequence[Player]) -> GameEnded:
    """Play the game to its end, with a player for each seat, and return the result; raises BrainFailed."""
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
    return result


def play(schedule: Schedule, pairing: Pairing, language: str, records: bool) -> GameOutcome:
    """Play a game of the schedule; raises GameFailed, in this language."""
    names = [schedule.names[entrant] for entrant in pairing.seating]
    players = [
        Player(name, _choice(name), schedule.chance_of(pairing, seat)) for seat, name in enumerate(names)
    ]
    game = begun(len(players), schedule.chance(pairing), random_layout=schedule.random_layout)
    with speaking(language):
        try:
            result = played(game, players)
        except BrainFailed as error:
            raise GameFailed(pairing.number, str(error), recorded(game.events, seat_names(names))) from error
    seats = tuple(
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
    )
    return GameOutcome(pairing.number, seats, recorded(game.events, seat_names(names)) if records else None)


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
