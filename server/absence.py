"""A table's absence policy at work: who is away for how long, who runs out of time, who moves instead."""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from engine.events import Command
from engine.game import Game
from engine.pieces import Seat
from protocol.absence import ByBot, ByVote
from protocol.codes import Code
from protocol.messages import SeatLine, Substitute
from server.config import Limits
from server.requests import AwayTooLong, Errand, MoveInstead, Refusal, TimeUp
from server.seating import Seating
from server.session import Session
from server.stand_in import StandIn


def votes_needed(voters: int) -> int:
    """Return how many of the players who are here must agree that a bot takes a seat: more than half."""
    return voters // 2 + 1


@dataclass(frozen=True, slots=True)
class Instead:
    """A move that the stand-in makes after event `turn`, and why it is its move."""

    turn: int
    by: Substitute
    command: asyncio.Future[Command]


@dataclass(frozen=True, slots=True)
class Absent:
    """A seat whose player is away, and the time at which the policy cares."""

    until: float
    timer: asyncio.TimerHandle  # it does not tell its time on every event loop


class Steward:
    """What a table does about players who are away or slow, while its game runs.

    It tells what is due when, by errands that `later` puts into the table's queue; to do it is the table's.
    """

    def __init__(
        self,
        seating: Seating,
        seated: Mapping[Seat, Session],
        stand_in: StandIn,
        limits: Limits,
        later: Callable[[float, Errand], asyncio.TimerHandle],
    ) -> None:
        self._seating = seating
        self._seated = seated
        self._stand_in = stand_in
        self._pause = limits.stand_in_seconds
        self._second = limits.policy_second
        self._later = later
        self._time = asyncio.get_running_loop().time
        self._away: dict[Seat, Absent] = {}
        self._overdue: set[Seat] = set()  # for whom that time has come
        self._timer: asyncio.TimerHandle | None = None  # what is due in this turn
        self._instead: Instead | None = None
        self._began = self._time()
        self._allowance: int | None = None
        self.begin()

    # -- what the table tells -----------------------------------------------------------------------

    def begin(self) -> None:
        """Set out with a game that begins, or goes on after a restart."""
        for seat in range(len(self._seating.players)):
            self.went(Seat(seat))
        self.next_turn()

    def next_turn(self) -> None:
        """Start the clock of whoever is on turn now."""
        self._stop()
        if (game := self._game) is None:
            self.close()
            return
        self._began = self._time()
        self._allowance = self._seating.clocks.allowance(_on_turn(game))
        if self._allowance:
            seconds = self._allowance / 1000 * self._second
            self._timer = self._later(seconds, TimeUp(len(game.events)))
        else:
            self.consider()

    def came(self, seat: Seat) -> None:
        """Take note that the seat's player is here: the bot that held it stops in the middle of its move."""
        self._overdue.discard(seat)
        if (absent := self._away.pop(seat, None)) is not None:
            absent.timer.cancel()
        if self._instead is not None and self._substitute() is None and self._instead.by == "bot":
            self._stop()
        self.consider()

    def went(self, seat: Seat) -> None:
        """Take note that the seat's player may have gone."""
        policy = self._seating.absence
        if self._game is None or seat in self._seated or not isinstance(policy, ByVote | ByBot):
            return
        if seat not in self._away:
            seconds = policy.seconds * self._second
            self._away[seat] = Absent(self._time() + seconds, self._later(seconds, AwayTooLong(seat)))

    def away_too_long(self, seat: Seat) -> None:
        """Take note that the policy cares for the seat from now on."""
        if seat in self._away:
            self._overdue.add(seat)

    def time_up(self, turn: int) -> None:
        """Have the stand-in move for a turn whose clock has run out."""
        if self._game is not None and len(self._game.events) == turn and self._instead is None:
            self._move_instead(self._game, "clock")

    def consider(self) -> None:
        """Have the stand-in move if the turn is its own."""
        if self._game is not None and self._instead is None and (by := self._substitute()) is not None:
            self._move_instead(self._game, by)

    def close(self) -> None:
        """Let nothing more fall due."""
        self._stop()
        for absent in self._away.values():
            absent.timer.cancel()
        self._away.clear()
        self._overdue.clear()

    # -- what the table asks ------------------------------------------------------------------------

    def to_hold(self) -> list[Seat]:
        """Return the seats that a bot is to hold from now on."""
        free = sorted(self._overdue - self._seating.held)
        if isinstance(self._seating.absence, ByBot):
            return free
        return [seat for seat in free if len(self._votes(seat)) >= votes_needed(len(self._seated))]

    def instead(self, turn: int) -> Instead | None:
        """Return the stand-in's move for this turn, if it is still to make it."""
        instead = self._instead
        if instead is None or instead.turn != turn:
            return None
        if instead.by == "bot" and self._substitute() is None:  # everybody has gone meanwhile
            self._stop()
            return None
        return instead

    def thought(self) -> int:
        """Return how many milliseconds of its clock the turn has taken; 0 without a clock."""
        return 0 if self._allowance is None else self._allowance - (self.clock() or 0)

    def clock(self) -> int | None:
        """Return how many milliseconds are left to the seat on turn; None without a clock."""
        if self._allowance is None or self._game is None:
            return None
        if self._instead is not None:
            return 0
        return max(0, self._allowance - int((self._time() - self._began) * 1000 / self._second))

    def check_time(self, seat: Seat) -> None:
        """Raise Refusal if the stand-in is about to move for the seat because its time was up."""
        instead = self._instead
        if instead is not None and instead.by == "clock" and self._game and self._game.view.turn == seat:
            raise Refusal(Code.TIME_UP, "Your time is up. Wait for the move that is made for you.")

    def check_vote(self, seat: Seat) -> None:
        """Raise Refusal unless there can be a vote on the seat."""
        if self._game is None or not isinstance(self._seating.absence, ByVote):
            raise Refusal(Code.NO_VOTE, "There is nothing to vote on at this table now.")
        if seat not in self._away:
            text = "Nobody is away from seat {seat}. Vote on a seat that is shown to be away."
            raise Refusal(Code.NOT_AWAY, text, seat=seat)
        if seat not in self._overdue:
            text = "The player of seat {seat} may still come back. Vote in {seconds} s."
            raise Refusal(Code.TOO_EARLY, text, seat=seat, seconds=self._seconds_left(seat))

    def line(self, seat: Seat, line: SeatLine) -> SeatLine:
        """Return the seat's line with how the policy stands with it."""
        if self._game is None:
            return line
        clocks = self._seating.clocks
        clock = clocks.left(seat)
        if clock is not None:
            clock = self.clock() if self._game.view.turn == seat else clock
            return replace(line, bot=clocks.used_up(seat), clock=clock)
        if seat not in self._away:
            return line
        if seat in self._seating.held:
            return replace(line, bot=True)
        if seat not in self._overdue or isinstance(self._seating.absence, ByBot):
            return replace(line, seconds_left=self._seconds_left(seat))
        needed = votes_needed(len(self._seated))
        return replace(line, seconds_left=0, votes=sorted(self._votes(seat)), votes_needed=needed)

    # -- in between ---------------------------------------------------------------------------------

    @property
    def _game(self) -> Game | None:
        """Return the game while it runs."""
        return self._seating.game if self._seating.stage == "playing" else None

    def _substitute(self) -> Substitute | None:
        """Return why the turn is the stand-in's from its beginning, if it is."""
        if self._game is None:
            return None
        seat = _on_turn(self._game)
        if self._seating.clocks.used_up(seat):
            return "clock"
        # A bot plays with people: while nobody is here, nobody waits for it.
        held = seat in self._seating.held and seat not in self._seated
        return "bot" if held and self._seated else None

    def _move_instead(self, game: Game, by: Substitute) -> None:
        """Have the stand-in think. It moves after a set time: how long it thinks might tell what it holds."""
        turn = len(game.events)
        self._stop()
        self._instead = Instead(turn, by, self._stand_in.thinks(game))
        self._timer = self._later(self._pause, MoveInstead(turn))

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._instead is not None:
            self._instead.command.cancel()
            self._instead = None

    def _seconds_left(self, seat: Seat) -> int:
        return max(0, math.ceil((self._away[seat].until - self._time()) / self._second))

    def _votes(self, seat: Seat) -> set[Seat]:
        """Return who of those here agrees that a bot takes the seat."""
        return self._seating.votes.get(seat, set()) & self._seated.keys()


def _on_turn(game: Game) -> Seat:
    assert game.view.turn is not None  # noqa: S101 - somebody is, until the game is over
    return game.view.turn
