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
from server.net.session import Session
from server.tables.requests import AwayTooLong, Errand, MoveInstead, Refusal, TimeUp
from server.tables.stand_in import StandIn
from server.tables.state import Seating


def votes_needed(voters: int) -> int:
    """Return how many of the people who are here must agree that a bot takes a seat: more than half."""
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

    People who are away are the policy's; the stand-in moves for an absent program whatever the policy is.
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
            self._count_time_away(Seat(seat))
        self.next_turn()

    def next_turn(self) -> None:
        """Start the clock of whoever is on turn now."""
        self._stop()
        if (game := self._game) is None:
            self.close()
            return
        self._began = self._time()
        self._allowance = self._seating.clocks.allowance(_on_turn(game))
        self._run_clock()
        self.consider()

    def came(self, seat: Seat) -> None:
        """Take note that the seat's player is here: the bot that held it stops in the middle of its move."""
        self._overdue.discard(seat)
        if (absent := self._away.pop(seat, None)) is not None:
            absent.timer.cancel()
        self._stop_if_not_wanted()
        self.consider()

    def went(self, seat: Seat) -> None:
        """Take note that the seat's player may have gone."""
        self._count_time_away(seat)
        self.consider()

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
        return [seat for seat in free if len(self._votes(seat)) >= votes_needed(len(self._people_here))]

    def holds(self, seat: Seat) -> bool:
        """Tell whether the stand-in holds the seat for a player who is away."""
        away = self._game is not None and seat not in self._seated
        return away and (seat in self._seating.held or seat in self._seating.programs)

    def instead(self, turn: int) -> Instead | None:
        """Return the stand-in's move for this turn, if it is still to make it."""
        instead = self._instead
        if instead is None or instead.turn != turn:
            return None
        self._stop_if_not_wanted()  # everybody may have gone meanwhile
        return self._instead

    def thought(self) -> int:
        """Return how many milliseconds of its clock the turn has taken; 0 without a clock."""
        return 0 if self._allowance is None else self._allowance - (self.clock() or 0)

    def clock(self) -> int | None:
        """Return how many milliseconds are left to the seat on turn; None without a clock."""
        if self._allowance is None or self._game is None:
            return None
        if self._instead is not None and self._instead.by == "clock":
            return 0
        return max(0, self._allowance - int((self._time() - self._began) * 1000 / self._second))

    def check_time(self, seat: Seat) -> None:
        """Raise Refusal if the stand-in is about to move for the seat because its time was up."""
        instead = self._instead
        if instead is not None and instead.by == "clock" and self._game and self._game.view.turn == seat:
            raise Refusal(Code.TIME_UP, "Your time is up. Wait for the move that is made for you.")

    def check_vote(self, voter: Seat, seat: Seat) -> None:
        """Raise Refusal unless the voter may have a say on the seat."""
        if self._game is None or not isinstance(self._seating.absence, ByVote):
            raise Refusal(Code.NO_VOTE, "There is nothing to vote on at this table now.")
        if voter in self._seating.programs:
            raise Refusal(Code.NO_VOTE, "Programs have no vote. The people at the table decide.")
        if self.holds(seat):
            return
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
            return replace(line, bot=clocks.used_up(seat) or self.holds(seat), clock=clock)
        if self.holds(seat):
            return replace(line, bot=True)
        if seat not in self._away:
            return line
        if seat not in self._overdue or isinstance(self._seating.absence, ByBot):
            return replace(line, seconds_left=self._seconds_left(seat))
        needed = votes_needed(len(self._people_here))
        return replace(line, seconds_left=0, votes=sorted(self._votes(seat)), votes_needed=needed)

    # -- in between ---------------------------------------------------------------------------------

    @property
    def _game(self) -> Game | None:
        """Return the game while it runs."""
        return self._seating.game if self._seating.stage == "playing" else None

    @property
    def _people_here(self) -> set[Seat]:
        return self._seated.keys() - self._seating.programs

    def _attended(self) -> bool:
        """Tell whether somebody is here for whom the stand-in plays: a person, unless all are programs."""
        programs_only = len(self._seating.programs) == len(self._seating.players)
        return bool(self._seated if programs_only else self._people_here)

    def _substitute(self) -> Substitute | None:
        """Return why the turn is the stand-in's from its beginning, if it is."""
        if self._game is None:
            return None
        seat = _on_turn(self._game)
        if self._seating.clocks.used_up(seat):
            return "clock"
        # A bot plays with people: while nobody is here, nobody waits for it.
        return "bot" if self.holds(seat) and self._attended() else None

    def _count_time_away(self, seat: Seat) -> None:
        """Have the policy care in good time for a person who is away."""
        policy = self._seating.absence
        if self._game is None or not isinstance(policy, ByVote | ByBot):
            return
        if seat not in self._seated and seat not in self._away and seat not in self._seating.programs:
            seconds = policy.seconds * self._second
            self._away[seat] = Absent(self._time() + seconds, self._later(seconds, AwayTooLong(seat)))

    def _run_clock(self) -> None:
        """Have the turn end when what is left of its clock is used up."""
        if self._game is not None and self._allowance:
            seconds = (self.clock() or 0) / 1000 * self._second
            self._timer = self._later(seconds, TimeUp(len(self._game.events)))

    def _move_instead(self, game: Game, by: Substitute) -> None:
        """Have the stand-in think. It moves after a set time: how long it thinks might tell what it holds."""
        turn = len(game.events)
        self._stop()
        self._instead = Instead(turn, by, self._stand_in.thinks(game))
        self._timer = self._later(self._pause, MoveInstead(turn))

    def _stop_if_not_wanted(self) -> None:
        """Have a bot stop in the middle of its move if the turn is not its own any more."""
        if self._instead is not None and self._instead.by == "bot" and self._substitute() is None:
            self._stop()
            self._run_clock()

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
        return self._seating.votes.get(seat, set()) & self._people_here


def _on_turn(game: Game) -> Seat:
    assert game.view.turn is not None  # noqa: S101 - somebody is, until the game is over
    return game.view.turn
