"""What people at a table do beside moving, at odd moments: host powers, pauses, seats and peoples."""

import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from client.network.connection import Connection
from client.network.transport import ConnectFailed, RequestRefused
from client.ui import at_table
from engine.board import FIELDS
from engine.pieces import People, Piece
from engine.view import Phase
from protocol.absence import Absence
from protocol.messages import (
    NEW,
    Arrange,
    Ask,
    AskPause,
    AtTable,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    Condition,
    Dismiss,
    EndGame,
    GetRecord,
    HandOver,
    Leave,
    Plan,
    PlannedMove,
    Remove,
    SayReady,
    SeatBot,
    SeatSummary,
    Show,
    StartGame,
    Study,
    SubstituteNow,
    TableState,
    Vote,
    plan_fields,
)
from protocol.settings import AbsenceSetting, Hints, Private, Quiet, Spectators, Starting, Title
from simulation.people.visitors import Route

# How often something is done, of the times at which a player looks around:
_BEFORE_THE_GAME: Final = 0.4
_DURING_IT: Final = 0.12
_CONDITIONS: Final = 0.5  # of the plans
_PLANS: Final = 0.06
_ABOUT_SOMEBODY_AWAY: Final = 0.4
_ENDS_IT: Final = 0.01
_WAITS_NO_LONGER: Final = 0.002  # for somebody to take a vacant seat
_ENDS_A_PAUSE: Final = 0.15
_ANSWERS: Final = 0.5
_PAUSE_SECONDS: Final = 30  # from now to the moment until which a game is paused
_STARTS: Final = 0.3  # though it could do more before
_RESTLESS: Final = 0.1  # of the players ask for a pause again and again:
_PAUSES_AGAIN: Final = 0.1
_SLIPS: Final = 0.02  # ask for what is refused now
_WITHDRAWS: Final = 0.03  # who has asked, or agreed, does so no longer
_ASKS_OTHERWISE: Final = 0.1  # for a pause until another moment than the one that somebody has asked for
_BAD_MOMENTS: Final = (1, 400 * 86_400)  # to pause until: seconds since 1970, or from now


@dataclass(slots=True)
class Company:
    """The people at one table: who they are, and what may still be done there."""

    before: int  # how many things before the game ...
    during: int  # ... and during it
    may_end: bool  # it may be ended by its host
    policies: tuple[Absence, ...]
    quiet: bool = False  # its host keeps what spectators say from the players
    people: set[str] = field(default_factory=set)  # names of those who play there ...
    guests: set[str] = field(default_factory=set)  # ... and of programs in processes of their own


def some_plan(rng: random.Random, hand: Sequence[Piece], seats: int) -> Plan:
    """Return a plan for the next move, or several; some depend on what others do."""
    plans = list[PlannedMove]()
    for _ in range(rng.choice((1, 1, 2, 3))):
        condition = None
        if rng.random() < _CONDITIONS:
            condition = Condition(rng.choice(FIELDS), rng.choice((None, *range(seats))), rng.random() < 0.5)
        plans.append(PlannedMove(str(rng.choice(hand)), rng.choice(FIELDS), condition))
    return Plan(NEW, **plan_fields(plans))


@dataclass(slots=True)
class Deeds:
    """What one player does at its table beside moving."""

    company: Company
    rng: random.Random
    counts: Counter[str]
    way: Route
    program: bool = False
    restless: bool = field(init=False)

    def __post_init__(self) -> None:
        self.restless = not self.program and self.rng.random() < _RESTLESS

    def may_start(self) -> bool:
        """Return whether the host starts the game now that everybody is there."""
        return self.company.before <= 0 or self.rng.random() < _STARTS

    async def do_something(self, connection: Connection, name: str) -> bool:
        """Do something, or nothing; return whether the player called `name` has left for good."""
        state, own = connection.model.state, connection.model.seat
        if state is None or own is None:
            return False
        request: AtTable | GetRecord | None = self._duty(state, own) or self._wish(connection, state, own)
        if request is None and self.rng.random() < _SLIPS:
            request = self.rng.choice(list(self._slips(connection, state, own)))
        if request is None:
            return False
        if leaves := isinstance(request, Leave):
            self.company.people.discard(name)
        try:
            if isinstance(request, ChangeSetting) and isinstance(request.setting, Private):
                await self._make_private(connection, request, on=request.setting.on)
            else:
                await connection.ask(request)
            self.counts[f"asked for: {type(request).__name__}"] += 1
        except RequestRefused:
            self.counts["requests of hosts and players refused"] += 1
            if leaves:
                self.company.people.add(name)
            return False
        except ConnectFailed:
            self.counts["requests of hosts and players without an answer"] += 1
        return leaves

    def _duty(self, state: TableState, own: int) -> AtTable | None:
        """Return what somebody has to do, or the game might not go on as it should."""
        if state.paused is not None:
            ends = own in {state.paused.seat, state.host} and self.rng.random() < _ENDS_A_PAUSE
            return AskPause(NEW, on=False) if ends else None
        if state.host != own or state.stage == "over":
            return None
        for seat, summary in enumerate(state.seats):
            known = summary.name in self.company.people | self.company.guests
            # For a person who is away no bot plays with programs alone.
            waits = self._is_away(summary) or summary.kept or (self.program and summary.bot)
            if waits and not known:
                return Remove(NEW, seat)
        if self.company.quiet and not state.switches.quiet:
            return ChangeSetting(NEW, Quiet(on=True))
        return None

    def _wish(self, connection: Connection, state: TableState, own: int) -> AtTable | None:
        company, rng = self.company, self.rng
        wishes: list[AtTable] = []
        match state.stage:
            case "gathering" if company.before > 0 and rng.random() < _BEFORE_THE_GAME:
                company.before -= 1
                wishes = [*self._as_player(state, own)]
                if state.host == own:
                    wishes += [*self._settings(state), *self._as_host(connection, state, own)]
            case "playing" if state.paused is None:
                if (answers := self._answers(connection)) and rng.random() < _ANSWERS:
                    return rng.choice(answers)
                if state.host == own and company.may_end and rng.random() < _ENDS_IT:
                    return EndGame(NEW)
                vacant = [seat for seat, each in enumerate(state.seats) if each.vacant]
                if state.host == own and vacant and rng.random() < _WAITS_NO_LONGER:
                    return SubstituteNow(NEW, rng.choice(vacant))
                if self.restless and rng.random() < _PAUSES_AGAIN:
                    return AskPause(NEW, on=True)
                if company.during > 0:
                    wishes = [*self._wishes_in_the_game(state, own), *self._plans(connection)]
                    company.during -= bool(wishes)
        return rng.choice(wishes) if wishes else None

    def _answers(self, connection: Connection) -> list[AtTable]:
        """Return the answers to what another player asks for: yes more often than no."""
        yes, no = (at_table.request_to_answer(connection.model, on=on) for on in (True, False))
        if no is None or self.program:
            return []
        if yes is None:
            return [no] if self.rng.random() < _WITHDRAWS else []
        if isinstance(yes, AskPause) and self.rng.random() < _ASKS_OTHERWISE:
            return [AskPause(NEW, on=True, until=int(time.time()) + 2 * _PAUSE_SECONDS)]
        return [yes, yes, yes, yes, no]

    def _wishes_in_the_game(self, state: TableState, own: int) -> list[AtTable]:
        if state.host == own and self.rng.random() < _ABOUT_SOMEBODY_AWAY:
            for seat, summary in enumerate(state.seats):
                if self._is_away(summary) and summary.name in self.company.people:
                    return [Remove(NEW, seat), SubstituteNow(NEW, seat)]
        if self.rng.random() >= _DURING_IT:
            return []
        wishes: list[AtTable] = []
        if not self.program:
            until = self.rng.choice([None, int(time.time()) + _PAUSE_SECONDS])
            what = self.rng.choice(
                [*state.may_ask, *state.may_ask[-1:], "take-back"]
            )  # more time, if it can be
            wishes += [AskPause(NEW, on=True, until=until), *[Ask(NEW, what, on=True)] * 3]
        if state.host == own:
            wishes += [*self._settings(state), *self._handing_over(state, own)]
            wishes += [Dismiss(NEW, spectator.number) for spectator in state.watching]
        return wishes

    def _plans(self, connection: Connection) -> Iterator[AtTable]:
        """Yield a plan for the next move, which may not fit when its turn comes, now and then."""
        view, seat = connection.model.view, connection.model.seat
        if view is None or seat is None or view.phase is not Phase.PLACING or self.rng.random() >= _PLANS:
            return
        if hand := sorted(view.hands[seat]):
            yield some_plan(self.rng, hand, view.seats)

    def _slips(self, connection: Connection, state: TableState, own: int) -> Iterator[AtTable | GetRecord]:
        """Yield what the protocol refuses now, and what does no harm if it comes just when that is over."""
        if state.stage != "over":
            yield from (GetRecord(NEW), Show(NEW, 0), Study(NEW, 0))
        if state.stage == "gathering":
            yield from (Plan(NEW), Vote(NEW, own, agree=False), AskPause(NEW, on=False))
            yield Ask(NEW, "take-back", on=False)
        else:
            yield from (StartGame(NEW), SeatBot(NEW, connection.levels[0]), Arrange(NEW))
            yield from (SayReady(NEW, on=True), ChangeSeat(NEW, own), ChoosePeople(NEW, None))
            yield ChangeSetting(NEW, Starting(own))
            past, ahead = _BAD_MOMENTS
            yield from (AskPause(NEW, on=True, until=at) for at in (past, int(time.time()) + ahead))
        if state.host != own:
            yield from (Remove(NEW, state.host), SubstituteNow(NEW, state.host), Dismiss(NEW, 0))
            yield from (HandOver(NEW, own), ChangeSetting(NEW, Title("not the host's")))

    def _as_player(self, state: TableState, own: int) -> Iterator[AtTable]:
        if not self.program:
            yield SayReady(NEW, on=self.rng.random() < 0.7)
        yield ChoosePeople(NEW, self.rng.choice([*People, None]))
        yield from (ChangeSeat(NEW, seat) for seat, each in enumerate(state.seats) if each.name is None)
        others = sum(summary.here and summary.name in self.company.people for summary in state.seats) > 1
        # A guest does nothing as host: nobody could free a seat there.
        if others and (state.host != own or not self.company.guests):
            yield Leave(NEW)

    def _settings(self, state: TableState) -> Iterator[AtTable]:
        rng = self.rng
        yield ChangeSetting(NEW, Title(rng.choice(["", f"Table {rng.random():.9f}"])))
        yield ChangeSetting(NEW, Hints(on=rng.random() < 0.5))
        yield ChangeSetting(NEW, Quiet(on=rng.random() < 0.5))
        yield ChangeSetting(NEW, Spectators(on=rng.random() < 0.6))
        yield from [ChangeSetting(NEW, AbsenceSetting(rng.choice(self.company.policies)))] * 2
        yield ChangeSetting(NEW, Private(on=rng.random() < 0.6))
        if state.stage == "gathering":
            yield ChangeSetting(NEW, Starting(rng.choice([None, *range(len(state.seats))])))

    def _as_host(self, connection: Connection, state: TableState, own: int) -> Iterator[AtTable]:
        seats = list(range(len(state.seats)))
        order = tuple(self.rng.sample(seats, len(seats)))
        yield Arrange(NEW, self.rng.choice([None, order]))
        for seat, summary in enumerate(state.seats):
            if summary.name is None:
                yield SeatBot(NEW, self.rng.choice(connection.levels[:2]))
            elif seat != own and summary.name in self.company.people and not summary.kept:
                yield Remove(NEW, seat)
        yield from self._handing_over(state, own)

    def _handing_over(self, state: TableState, own: int) -> Iterator[AtTable]:
        for seat, summary in enumerate(state.seats):
            if seat != own and summary.here and summary.name in self.company.people:
                yield HandOver(NEW, seat)

    async def _make_private(self, connection: Connection, request: ChangeSetting, *, on: bool) -> None:
        table = connection.model.table
        assert table is not None
        if not on or table not in self.way.private:  # a rematch's table, too
            self.way.once_public.add(table)
        self.way.private.discard(table)  # until it is known to be so
        await connection.ask(request)
        if on:
            self.way.private.add(table)

    def _is_away(self, summary: SeatSummary) -> bool:
        """Return whether a person should be in the seat, who is not here."""
        taken = summary.name is not None and not summary.vacant and not summary.kept
        return taken and not summary.here and not summary.bot and summary.level is None
