"""A table's absence policy: how long players are away, whose time is up, when the stand-in moves."""

import asyncio
import contextlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from msgspec.structs import replace

from engine.errors import IllegalCommand
from engine.events import Command, Place
from engine.game import Game
from engine.pieces import Seat
from protocol.absence import ByBot, ByVote, Wait
from protocol.codes import Code
from protocol.messages import SeatSummary, Substitute
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.tables.absence.deadlines import Deadlines, Due
from server.tables.absence.stand_in import StandIn
from server.tables.state.persistent_state import PersistentState

_SAVED_EVERY: Final = 3600.0  # seconds, which is what a restart may give to the player whose turn it is
_NOBODY: Final = frozenset[Seat]()  # made once, because an empty set takes 216 bytes of each table


@dataclass(frozen=True, slots=True, eq=False)
class SubstituteMove:
    """A move made for a player in a turn, by the stand-in or from a plan, with its reason."""

    by: Substitute | Literal["plan"]
    command: asyncio.Future[Command]


@dataclass(eq=False, repr=False)
class AbsencePolicy:
    """How a table treats players who are away or slow: absent people as the host chose.

    For absent programs the stand-in plays immediately. The server's bots move in the same way: they count as
    never present, and have no clock. Before and after a game nothing is done; during a pause all clocks stop,
    and nobody moves. The table calls the policy when something happens. It sets deadlines for what the table
    does: a player has been away too long, the stand-in moves in the turn after so many events, or the clock
    of a turn that takes long is stored.
    """

    state: PersistentState
    seated: Mapping[Seat, Session]
    stand_in: StandIn
    deadlines: Deadlines

    def __post_init__(self) -> None:
        self._away: dict[Seat, float] = {}  # until when the policy waits
        self._overdue = _NOBODY
        self._substitute_move: SubstituteMove | None = None
        self.begin()

    def begin(self) -> None:
        """Restart all counts: a game begins, pauses or resumes, or its policy was changed."""
        self.stop()
        self._turn_start = self._read_at = self.deadlines.time()
        self._allowance: int | None = None
        self._left_then: int | None = None
        self.waits = False
        if self.state.stage != "playing":
            return
        self._stopped = False
        self.waits = self._only_waits()
        for seat in self._seats:
            self._count_time_away(seat)
        self.turn_began()
        if self.deadlines.stopped:  # a game may begin even now, and its players are sent how long they have
            self.stop()

    # -- what happens at the table -----------------------------------------------------------------------

    def turn_began(self) -> None:
        """Start the clock of the seat whose turn it is."""
        if self.waits:
            return
        self._stop_turn()
        if self.state.stage != "playing" or (game := self.state.game) is None:
            self.stop()
            return
        self._turn_start = self.deadlines.time()
        seat = _on_turn(game)
        self._allowance = None if seat in self.state.bots else self.state.clocks.allowance(seat)
        self._run_clock()
        self.reconsider()

    def read_clock(self) -> int:
        """Return how many milliseconds of its clock the turn has taken, to be stored."""
        self._read_at, self._left_then = self.deadlines.time(), self.time_left()
        return self.time_taken()

    def clock_was_saved(self) -> None:
        """Continue from the time now stored for this turn, since storing it took time."""
        self._turn_start, self._allowance = self._read_at, self._left_then
        if self._substitute_move is None:
            self._run_clock()

    def player_came(self, seat: Seat) -> None:
        """Record that the seat's player is here: a bot that played for it stops, even in mid-move."""
        if seat in self._overdue:
            self._overdue -= {seat}
        self._away.pop(seat, None)
        self.deadlines.cancel(Due.AWAY_TOO_LONG, seat)
        self._stop_unwanted_move()
        self.reconsider()

    def player_went(self, seat: Seat) -> None:
        self._count_time_away(seat)
        self.reconsider()

    def mark_overdue(self, seat: Seat) -> None:
        """Record that the seat's player has been away for as long as the policy allows."""
        if seat in self._away:
            self._overdue |= {seat}

    def reconsider(self) -> None:
        """Make the stand-in move if it plays for the seat to move.

        Call it after every change of seats or attendance.
        """
        if self.waits and not self._only_waits():
            self.begin()
            return
        by = self._substitute()
        if self._stopped or self._game is None or self._substitute_move is not None:
            return
        if by != "clock" and (plan := self._fitting_plan(self._game)) is not None:
            self._prepare_plan(self._game, plan)
        elif by is not None:
            self._prepare_move(self._game, by)

    def plan_changed(self) -> None:
        """Make the planned move of the seat whose turn it is, or do not make it any more."""
        if self._substitute_move is not None and self._substitute_move.by == "plan":
            self._stop_turn()
            probe("a plan is changed just before it is carried out")
            self._run_clock()
        self.reconsider()

    def stop(self) -> None:
        self._stopped = True
        self._stop_turn()
        for seat in self._away:
            self.deadlines.cancel(Due.AWAY_TOO_LONG, seat)
        self._away.clear()
        self._overdue = _NOBODY

    # -- what the table asks ------------------------------------------------------------------------

    @property
    def absent(self) -> dict[Seat, int]:
        """Return for how many seconds the policy still waits for people who are away; 0: no longer."""
        return {seat: 0 if seat in self._overdue else max(1, self._seconds_left(seat)) for seat in self._away}

    def plays_for(self, seat: Seat) -> bool:
        """Return whether the stand-in plays for the seat while its player is away."""
        away = not self.waits and seat not in self.seated and self.state.stage == "playing"
        return away and (seat in self.state.bot_seats or seat in self.state.programs)

    def is_wanted(self, move: SubstituteMove) -> bool:
        """Return whether a due move of the stand-in is still to be made.

        A move that has not been chosen yet falls due again once it has.
        """
        if self._substitute_move is not move:
            return False
        self._stop_unwanted_move()  # everybody may have left in the meantime
        if move.command.done():
            return self._substitute_move is move
        move.command.add_done_callback(lambda _: self._make_late_move(move))
        return False

    def time_taken(self) -> int:
        """Return how many milliseconds of its clock the turn has taken; 0 without a clock."""
        return 0 if self._allowance is None else self._allowance - (self.time_left() or 0)

    def time_left(self) -> int | None:
        """Return how many milliseconds the seat whose turn it is has left; None without a clock."""
        if self._allowance is None or self.state.stage != "playing":
            return None
        if self._clock_stands:
            return self._allowance
        if self._substitute_move is not None and self._substitute_move.by == "clock":
            return 0
        return max(0, self._allowance - int((self.deadlines.time() - self._turn_start) * 1000))

    def check_time(self, seat: Seat) -> None:
        """Raise Refusal if it is the seat's turn and its time is up by now."""
        if self._allowance is None:
            return
        if self._game is not None and self._game.view.turn == seat and self.time_left() == 0:
            raise Refusal(Code.TIME_UP)

    def summary(self, seat: Seat, summary: SeatSummary) -> SeatSummary:
        """Return the summary of a seat in a running game with its clock, and whether a bot plays for it."""
        state = self.state
        if state.game is None or summary.name is None or summary.level is not None:
            return summary
        clocks = state.clocks
        clock = clocks.left(seat)
        if clock is not None:
            clock = self.time_left() if state.game.view.turn == seat else clock
            return replace(summary, bot=clocks.used_up(seat) or self.plays_for(seat), clock=clock)
        if reserve := clocks.reserve(seat):
            summary = replace(summary, clock=reserve)
        return replace(summary, bot=True) if self.plays_for(seat) else summary

    # -- internals ----------------------------------------------------------------------------------

    def _only_waits(self) -> bool:
        """Return whether nobody is replaced or has a clock, so that nothing need be done at any move."""
        state = self.state
        return isinstance(state.absence, Wait) and not (
            state.clocks.runs or state.programs or state.bot_seats or any(map(state.planned, self._seats))
        )

    @property
    def _seats(self) -> Iterator[Seat]:
        return map(Seat, range(len(self.state.players)))

    @property
    def _game(self) -> Game | None:
        state = self.state
        return state.game if state.stage == "playing" and state.paused is None else None

    def people_here(self) -> set[Seat]:
        """Return the seats of the players who are here, without programs."""
        return self.seated.keys() - self.state.programs

    @property
    def _clock_stands(self) -> bool:
        """Return whether the turn's clock does not run: the game is paused, or a room stops the clock."""
        game = self.state.game
        return self.state.paused is not None or (game is not None and game.view.turn in self.state.stopped)

    def _anybody_waits(self) -> bool:
        """Return whether anybody is here to play against: a person, unless all players are programs."""
        programs_only = len(self.state.programs) == len(self.state.players)
        return bool(self.seated if programs_only else self.people_here())

    def _substitute(self) -> Substitute | None:
        """Return why the turn is the stand-in's from its beginning, None if it is not."""
        if self._game is None:
            return None
        seat = _on_turn(self._game)
        if self.state.clocks.used_up(seat) and seat not in self.state.bots:
            return "clock"
        # A bot plays with people: while nobody is here, nobody waits for it.
        return "bot" if self.plays_for(seat) and self._anybody_waits() else None

    def _count_time_away(self, seat: Seat) -> None:
        """Start the policy's time for a person who is away."""
        policy = self.state.absence
        if self._game is None or not isinstance(policy, ByVote | ByBot):
            return
        if seat not in self.seated and seat not in self._away and seat not in self.state.programs:
            self.deadlines.set(Due.AWAY_TOO_LONG, policy.seconds, seat)
            self._away[seat] = self.deadlines.time() + policy.seconds

    def _run_clock(self) -> None:
        """Schedule the end of the turn for when its clock runs out."""
        if self._game is not None and self._allowance is not None and not self._clock_stands:
            seconds = (self.time_left() or 0) / 1000
            self.deadlines.set(Due.TIME_UP, seconds, self._turn_start)
            if seconds > _SAVED_EVERY:
                self.deadlines.set(Due.CLOCK, _SAVED_EVERY)

    def end_turn(self, since: float) -> None:
        """Make the stand-in move, unless the clock was set again since it started to run."""
        waits = not self._stopped and self._turn_start == since and self._substitute_move is None
        if waits and self._game is not None:
            self._prepare_move(self._game, "clock")

    def _prepare_move(self, game: Game, by: Substitute) -> None:
        """Start the stand-in's choice. It moves after a drawn time: thinking time might reveal its hand."""
        player = self.state.players[_on_turn(game)]
        level = None if player is None else player.level
        names = self.state.names
        series = [view for seated, view in self.state.earlier if seated == names]
        thought = self.stand_in.thinks(game, level, self.state.opened.origin, series)
        pause = self.stand_in.pace.pause(game.view, with_people=self._with_people(by))
        self._prepare(SubstituteMove(by, thought), pause)

    def _fitting_plan(self, game: Game) -> Place | None:
        """Return the first planned placement of the seat to move that is possible; else ask its player."""
        for place, _, holds in self.state.planned(_on_turn(game)):
            if not holds:
                probe("the condition of a plan does not hold when its turn comes")
                continue
            with contextlib.suppress(IllegalCommand):
                game.check_place(place)
                return place
            probe("a plan is illegal when its turn comes")
        return None

    def _prepare_plan(self, game: Game, plan: Place) -> None:
        """Make a planned move after a fixed time, in which it can still be taken away."""
        prepared: asyncio.Future[Command] = asyncio.get_running_loop().create_future()
        prepared.set_result(plan)
        pause = self.stand_in.pace.pause(game.view, with_people=False)
        self._prepare(SubstituteMove("plan", prepared), pause)

    def _prepare(self, move: SubstituteMove, seconds: float) -> None:
        self._stop_turn()
        self._substitute_move = move
        self.deadlines.set(Due.MOVE, seconds, move)

    def _with_people(self, by: str) -> bool:
        """Return whether it is a bot's move that people wait for."""
        return by == "bot" and bool(self.people_here())

    def _make_late_move(self, move: SubstituteMove) -> None:
        if self._substitute_move is move and self._game is not None:  # else it was stopped in the meantime
            probe("a stand-in has not chosen its move in time")
            # On top of what has passed: how long it thought depends on its hand, and would be seen otherwise.
            with_people = self._with_people(move.by)
            pause = self.stand_in.pace.pause(self._game.view, with_people=with_people, late=True)
            self.deadlines.set(Due.MOVE, pause, move)

    def _stop_unwanted_move(self) -> None:
        """Stop a bot in mid-move if it does not have the turn any more."""
        move = self._substitute_move
        if move is not None and move.by == "bot" and self._substitute() is None:
            probe("a player comes back while a bot is about to move")
            self._stop_turn()
            self._run_clock()

    def _stop_turn(self) -> None:
        self.deadlines.cancel(Due.TIME_UP)
        self.deadlines.cancel(Due.CLOCK)
        self.deadlines.cancel(Due.MOVE)
        if self._substitute_move is not None:
            self._substitute_move.command.cancel()
            self._substitute_move = None

    def _seconds_left(self, seat: Seat) -> int:
        return max(0, math.ceil(self._away[seat] - self.deadlines.time()))


def _on_turn(game: Game) -> Seat:
    assert game.view.turn is not None  # noqa: S101 - somebody is, until the game is over
    return game.view.turn
