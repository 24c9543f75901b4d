"""What a table's entries mean, as docs/protocol.md has it: a second fold, which uses nothing of the server's.

`differences` compares the two after each entry, so that a mistake in the server's fold does not agree with
itself. What may follow what is in `entry_rules.py`, which reads this model.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, Final, TypeAlias

from engine.pieces import Seat
from protocol import settings
from protocol.absence import Absence, GameClock, LongClock, MoveClock
from protocol.messages import Asked, Condition, Standing, TableState
from protocol.settings import Setting
from server.storage import entries as e
from server.storage.entries import Entry
from server.tables.feature import Feature, Moment
from server.tables.state.persistent_state import PersistentState

_Plan: TypeAlias = tuple[str, str, Condition | None]  # a piece on a field
_DAY: Final = 86_400
_BY_LETTERS: Final = _DAY // 2  # seconds of a clock from which on a game is a correspondence game
_HOLIDAYS: Final = 7
_Clock: TypeAlias = MoveClock | GameClock


@dataclass(slots=True)
class Holder:
    """Who has a seat: a person, a program, or a bot of the server; a `vacant` seat has lost its player."""

    name: str
    token: str  # its hash
    program: bool = False
    level: str | None = None
    kept: bool = False
    vacant: bool = False
    standing: Standing = field(default_factory=Standing)
    people: str | None = None  # that the player has chosen
    plans: tuple[_Plan, ...] = ()

    @property
    def who(self) -> str:
        """Return what tells the holder from all others, in whatever seat."""
        return self.token or self.name

    @property
    def is_person(self) -> bool:
        return not self.program and self.level is None and not self.vacant


@dataclass(slots=True)
class TableModel:
    """A table after some of its entries."""

    seats: list[Holder | None] = field(default_factory=list)
    chosen_host: int | None = None
    starting: int | None = None
    changed: dict[type[Setting], Setting] = field(default_factory=dict)
    absence: Absence | None = None
    study: bool = False
    of_evening: bool = False
    least: int = 0  # seats
    follows: bool = False  # it has a seat for whoever comes, before the game
    ready: set[int] = field(default_factory=set)
    asked: Asked | None = None
    paused: int | None = None
    until: int | None = None
    taken_back: int = 0  # how often
    pauses: Counter[int] = field(default_factory=Counter)
    votes: dict[int, set[int]] = field(default_factory=dict)
    bots_hold: set[int] = field(default_factory=set)
    away_since: dict[int, int] = field(default_factory=dict)  # on holiday
    days_off: Counter[int] = field(default_factory=Counter)
    events: int = 0
    first: int | None = None  # the seat that has started the game
    turn: int | None = None
    pieces: dict[str, int] = field(default_factory=dict)  # whose is on a field
    movers: set[int] = field(default_factory=set)
    result: dict[str, Any] | None = None
    ended: bool = False
    next_table: str | None = None
    clock: _Clock | None = None  # in force
    to_come: list[_Clock | None] = field(default_factory=list)  # from the next round on
    used: list[int] = field(default_factory=list)
    reserve: list[int] = field(default_factory=list)
    of_turn: int = 0  # what this turn has used before it was stopped

    @property
    def stage(self) -> str:
        if not self.events:
            return "gathering"
        return "over" if self.result is not None or self.ended else "playing"

    @property
    def present(self) -> list[int]:
        """Return the seats whose players have come; bots of the server do not come."""
        return [seat for seat, each in self.held if each.token and not each.kept]

    @property
    def grows(self) -> bool:
        return self.follows and self.stage == "gathering"

    @property
    def starts(self) -> int | None:
        """Return the seat that starts; one that has gone leaves that to a draw."""
        return self.starting if self.starting is not None and self.starting < len(self.seats) else None

    def holder(self, seat: int) -> Holder | None:
        """Return who has the seat; None if nobody does, or there is none any more, or not yet."""
        return dict(self.held).get(seat)

    @property
    def held(self) -> list[tuple[int, Holder]]:
        return [(seat, each) for seat, each in enumerate(self.seats) if each is not None]

    @property
    def people(self) -> set[int]:
        return {seat for seat, each in self.held if each.is_person}

    @property
    def host(self) -> int | None:
        present = self.present
        return self.chosen_host if self.chosen_host in present else min(present, default=None)

    @property
    def holidays(self) -> int:
        setting = self.changed.get(settings.Holidays)
        days = setting.days if isinstance(setting, settings.Holidays) else _HOLIDAYS
        by_letters = isinstance(self.absence, _Clock) and self.absence.seconds >= _BY_LETTERS
        return days if by_letters else 0

    def holidays_left(self, seat: int) -> int:
        return max(0, self.holidays - self.days_off[seat])

    def standing(self, seat: int) -> Standing:
        holder = self.seats[seat]
        before = Standing() if holder is None else holder.standing
        if self.result is None or self.study:
            return before
        won, points = seat in self.result["winners"], self.result["tallies"][seat]["points"]
        return Standing(before.games + 1, before.wins + int(won), before.points + points)

    # -- entries ------------------------------------------------------------------------------------

    def take(self, entry: Entry) -> None:  # noqa: PLR0915 - a case for each entry
        match entry:
            case e.Opened(players, _, starting, absence):
                self.seats, self.least = [None] * players, players
                self.starting, self.absence = starting, absence
                self.clock = absence if isinstance(absence, _Clock) else None
                self.used, self.reserve = [0] * players, [0] * players
            case e.SeatsFollow():
                self.follows = True
            case e.OfEvening():
                self.of_evening = True
            case e.OfStudy():
                self.study = True
            case e.Taken(seat, name, token, program, standing, vacant):
                self._sit(seat, Holder(name, token, program, vacant=vacant, standing=standing))
                self.asked = None
            case e.Kept(seat, name, token, program, standing):
                self._sit(seat, Holder(name, token, program, kept=True, standing=standing))
            case e.BotSeated(seat, level, name, standing):
                self._sit(seat, Holder(name, "", level=level, standing=standing))
            case e.Freed(seat):
                self._sit(seat, None)
                self.ready.discard(seat)
                self.chosen_host = None if self.chosen_host == seat else self.chosen_host
            case e.TokenRevoked(seat):
                if (holder := self.seats[seat]) is not None:
                    holder.token, holder.program, holder.plans = "", True, ()
            case e.Hosted(seat):
                self.chosen_host = seat
            case e.SaidReady(seat, on):
                (self.ready.add if on else self.ready.discard)(seat)
            case e.Changed(setting):
                self._set(setting)
            case e.Voted(seat, by, agree):
                voters = self.votes.setdefault(seat, set())
                (voters.add if agree else voters.discard)(by)
            case e.GivenToBot(seat) | e.Returned(seat):
                (self.bots_hold.add if isinstance(entry, e.GivenToBot) else self.bots_hold.discard)(seat)
                self.votes.pop(seat, None)
            case e.Wished(asked):
                self.asked = asked
            case e.Paused(seat, until):
                self.asked, self.paused, self.until = None, seat, until
                self.pauses[seat] += 1
            case e.Unpaused():
                self.asked = self.paused = self.until = None
            case e.EndedByHost():
                self.ended = True
                self.asked = self.paused = self.until = None
            case e.OnHoliday(seat, at, True):
                self.away_since[seat] = at
            case e.OnHoliday(seat, at):
                if (since := self.away_since.pop(seat, None)) is not None:
                    self.days_off[seat] += max(1, math.ceil((at - since) / _DAY))
            case e.PeopleChosen(seat, people):
                if (holder := self.holder(seat)) is not None:
                    holder.people = people
            case e.PlanMade(seat, piece, place, several):
                if (holder := self.seats[seat]) is not None:
                    holder.plans = tuple((each.piece, each.field, each.condition) for each in several)
                    if piece is not None and place is not None:
                        holder.plans = ((piece, place, None),)
            case e.Clocked(used, turn, reserve):
                self.used, self.of_turn = list(used), turn
                self.reserve = list(reserve) or [0] * len(used)
            case e.Continued(code):
                self.next_table = code
            case e.Played() | e.StoodIn():
                self._move(entry)
            case e.TookBack():
                if self.turn is not None:
                    self._charge(self.turn, 0)
                self._happen(entry.events)
                self.asked = None
                self.taken_back += 1

    def _sit(self, seat: int, holder: Holder | None) -> None:
        self.away_since.pop(seat, None)
        if not self.grows:
            self.seats[seat] = holder
            return
        holders = dict(self.held) | ({} if holder is None else {seat: holder})
        if holder is None:
            holders.pop(seat, None)
        self.seats = [holders.get(at) for at in range(max([self.least, *(each + 1 for each in holders)]))]
        self.used, self.reserve = [0] * len(self.seats), [0] * len(self.seats)

    def _set(self, setting: Setting) -> None:
        self.changed[type(setting)] = setting
        match setting:
            case settings.Starting(seat):
                self.starting = seat
            case settings.AbsenceSetting(policy):
                self.absence = policy
                new = policy if isinstance(policy, _Clock) else None
                if self.events and (self.clock is not None or new is not None):
                    self.to_come = [new]  # so that it is the same for everybody
                else:
                    self.clock, self.to_come = new, []

    def _move(self, entry: e.Played | e.StoodIn) -> None:
        seat, begins = entry.seat, not self.events
        if isinstance(entry, e.Played) and not begins:
            self.movers.add(seat)
        self._charge(seat, entry.thought)
        self._happen(entry.events)
        if self.asked is not None and (self.asked.seats[0] == seat or self.result is not None):
            self.asked = None
        if (holder := self.seats[seat]) is not None:
            holder.plans = ()
        if self.turn == self.first and self.to_come:
            self.clock = self.to_come.pop()
            if self.asked is not None and self.asked.what == "more-time" and self.clock is None:
                self.asked = None

    def _charge(self, seat: int, milliseconds: int) -> None:
        if self.clock is not None:
            self.used[seat] += milliseconds
        if isinstance(self.clock, LongClock):
            over = self.of_turn + milliseconds - 1000 * self.clock.seconds
            self.reserve[seat] = max(
                self.reserve[seat], min(1000 * self.clock.reserve, self.reserve[seat] + over)
            )
        self.of_turn = 0

    def _happen(self, events: Iterable[dict[str, Any]]) -> None:
        for event in events:
            self.events += 1
            match event["t"]:
                case "started":
                    self.first, players = event["starting"], len(event["hands"])
                    if players != len(self.seats):  # in a shortened journal, who sits there can follow
                        self.seats = [self.holder(seat) for seat in range(players)]
                        self.used, self.reserve = [0] * players, [0] * players
                case "drawn":
                    self.turn = event["seat"]
                case "laurels":
                    self.turn = self.first
                case "placed":
                    self.pieces[event["field"]] = event["seat"]
                    self.turn = (event["seat"] + 1) % len(self.seats)
                case "taken-back":
                    self.turn = event["seat"]
                    for place in event["fields"]:
                        if (holder := self.seats[self.pieces.pop(place)]) is not None:
                            holder.plans = ()
                case "ended":
                    self.result, self.turn = event, None


def differences(model: TableModel, state: PersistentState) -> Iterator[str]:
    """Yield what the server's fold of the same entries has otherwise."""
    told = state.table_state("", Moment())
    consent, absent = _slice(state, "Consent"), _slice(state, "AbsentPlayers")
    asked = consent.get("asked")
    lapsed = asked is not None and asked.what == "more-time" and not state.clocks.counts
    gathering, playing = model.stage == "gathering", model.stage == "playing"
    same: list[tuple[str, object, object]] = [
        ("stage", model.stage, told.stage),
        ("host", model.host or 0, told.host),
        ("starting", model.starts, told.starting),
        ("asked", model.asked if playing else None, asked if playing and not lapsed else None),
        ("paused", model.paused if playing else None, told.paused and told.paused.seat),
        ("paused until", model.until if playing else None, told.paused and told.paused.until),
        ("next", model.next_table, told.next),
        ("ended", model.ended, told.ended),
        ("holidays", model.holidays, told.holidays),
        ("pauses", +model.pauses, +consent.get("pauses", Counter())),
        ("bots", model.bots_hold, state.bot_seats),
        ("votes", {seat: by for seat, by in model.votes.items() if by}, absent.get("votes", {})),
        ("movers", [seat for seat, _, _ in state.scores], _movers(model)),
        ("time for the turn", allowance(model), _allowance(model, state)),
        *_settings(model, told),
        ("clock", model.clock, state.clocks.policy if state.clocks.counts else None),
        ("plans", _plans(model), dict(_planned(state))),
    ]
    for seat, (holder, shown) in enumerate(zip(model.seats, told.seats, strict=True)):
        if holder is None:
            same.append((f"seat {seat}", None, shown.name))
            continue
        is_ready = gathering and (seat in model.ready or _is_program(holder))
        ends = model.away_since[seat] + _DAY * model.holidays_left(seat) if seat in model.away_since else None
        same += [
            (f"the name of seat {seat}", holder.name, shown.name),
            (f"seat {seat}, kept or vacant", (holder.kept, holder.vacant), (shown.kept, shown.vacant)),
            (f"the level of seat {seat}", holder.level, shown.level),
            (f"the standing of seat {seat}", model.standing(seat), shown.standing),
            (f"seat {seat}, ready", is_ready, shown.ready),
            (
                f"seat {seat}, people",
                holder.people if gathering else None,
                shown.people if shown.chosen else None,
            ),
            (f"the holiday of seat {seat}", ends if playing else None, shown.holiday_until),
            (f"the time left to seat {seat}", time_left(model, seat), state.clocks.left(Seat(seat))),
            (f"the reserve of seat {seat}", reserve_left(model, seat), state.clocks.reserve(Seat(seat))),
        ]
    for what, here, there in same:
        if here != there:
            yield f"{what} is {there}, and should be {here}"


def slice_of(room: Feature) -> dict[str, Any]:
    """Return what lasts of a room's part of the table."""
    names = (each.name for each in fields(room))
    return {name: getattr(room, name) for name in names if name != "facts" and name[0] != "_"}


def _slice(state: PersistentState, room: str) -> dict[str, Any]:
    """Return what a room of the table has folded."""
    return next((slice_of(each) for kind, each in state.rooms.items() if kind.__name__ == room), {})


def _planned(state: PersistentState) -> Iterator[tuple[Seat, tuple[_Plan, ...]]]:
    for seat in map(Seat, range(len(state.players))):
        if plans := state.planned(seat):
            yield seat, tuple((str(each.place.piece), each.place.field, each.condition) for each in plans)


def _allowance(model: TableModel, state: PersistentState) -> int | None:
    return None if model.turn is None or model.clock is None else state.clocks.allowance(Seat(model.turn))


def _settings(model: TableModel, told: TableState) -> Iterator[tuple[str, object, object]]:
    shown: list[tuple[Setting, Setting]] = [
        (settings.Title(""), settings.Title(told.title)),
        (settings.Private(on=False), settings.Private(told.switches.private)),
        (settings.Spectators(on=True), settings.Spectators(told.switches.spectators)),
        (settings.Hints(on=False), settings.Hints(told.switches.hints)),
        (settings.Quiet(on=False), settings.Quiet(told.switches.quiet)),
    ]
    return ((type(now).__name__, model.changed.get(type(now), usual), now) for usual, now in shown)


def _is_program(holder: Holder) -> bool:
    return (holder.program or holder.level is not None) and not holder.kept


def _movers(model: TableModel) -> list[int]:
    return [] if model.result is None else sorted(model.movers)


def _plans(model: TableModel) -> dict[int, tuple[_Plan, ...]]:
    return {seat: each.plans for seat, each in model.held if each.plans}


def time_left(model: TableModel, seat: int) -> int | None:
    """Return how many milliseconds of a game's clock a seat has, None without one."""
    return (
        max(0, 1000 * model.clock.seconds - model.used[seat]) if isinstance(model.clock, GameClock) else None
    )


def allowance(model: TableModel) -> int | None:
    """Return how many milliseconds the turn has, apart from what it has used so far; None without a clock."""
    if model.turn is None or isinstance(model.clock, GameClock):
        return None if model.turn is None else time_left(model, model.turn)
    if isinstance(model.clock, MoveClock):
        return max(0, 1000 * model.clock.seconds + reserve_left(model, model.turn) - model.of_turn)
    return None


def reserve_left(model: TableModel, seat: int) -> int:
    """Return how many milliseconds of its reserve a seat has before this turn."""
    if not isinstance(model.clock, LongClock):
        return 0
    return max(0, 1000 * model.clock.reserve - model.reserve[seat])
