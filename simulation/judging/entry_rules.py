"""What may be stored of a table, and after what, as docs/protocol.md has it: who may decide what, and when.

The server's own checks are not used: each entry is judged by the model of the table before it.
"""

import copy
import random
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import takewhile
from types import MappingProxyType
from typing import Final

from engine.game import RandomChance
from engine.pieces import People
from protocol import settings
from protocol.absence import ByBot, ByVote, GameClock, MoveClock
from protocol.messages import Asked, StartGame, Wish
from server.storage import entries as e
from server.storage.entries import Entry
from server.tables.rooms import consent  # for its limits, which seeds move
from server.tables.state.persistent_state import PersistentState
from simulation.judging.table_model import TableModel, allowance, differences
from simulation.verdict import Finding, Verdict

_LONGEST: Final = 200  # letters of an entry in a finding
_SHARE: Final = 5  # of a game's clock is given as more time
# What is stored along with somebody who sits down.
_WITH_A_SEAT: Final = e.PeopleChosen | e.NoticesTo | e.Returned | e.Answered | e.SaidReady
_OF_SEATS: Final = e.Taken | e.Freed | e.BotSeated | e.PeopleChosen | e.NoticesTo | e.Answered
_OF_ONE_GAME: Final = {settings.Starting, settings.AbsenceSetting}  # or not stored as a change for the next


def check_entries(
    table: str,
    entries: Sequence[Entry],
    verdict: Verdict,
    *,
    whole: bool = True,
    bots_wanted: Container[int] | None = None,
    journal: Mapping[str, Sequence[Entry]] = MappingProxyType({}),
) -> None:
    """Judge the entries of a table; unless they are the `whole` of them, only what they mean.

    `bots_wanted` are the seats for which a host has asked that a bot play, if that is known; `journal` has
    the tables where the players go on.
    """
    model, state = TableModel(), PersistentState((), RandomChance(random.Random(0)))
    sitting = _Sitting()
    for number, entry in enumerate(entries):
        after = entries[number + 1] if number + 1 < len(entries) else None
        wrong = [*sitting.wrong_before(entry, after, model), *_wrong(entry, after, model, bots_wanted)]
        if isinstance(entry, e.Continued) and entry.code in journal:
            wrong += _wrong_in_a_rematch(model, journal[entry.code])
        if whole:
            which = f"entry {number}, {str(entry)[:_LONGEST]}"
            verdict.invented += [Finding(f"{which}: {each}", table) for each in wrong]
        sitting.note(entry, model)
        model.take(entry)
        state.fold(entry)
        if found := [*differences(model, state)]:
            text = f"after entry {number}, {type(entry).__name__}: {'; '.join(found)}"
            verdict.different.append(Finding(text, table))
            return


class _Sitting:
    """What follows when somebody sits down, or people change seats: it is stored in the same commit."""

    def __init__(self) -> None:
        self._unready: set[int] = set()  # who has to be so before anything else is stored
        self._without_bot: set[int] = set()
        self._before: TableModel | None = None  # before seats were taken, freed or exchanged

    def wrong_before(self, entry: Entry, after: Entry | None, model: TableModel) -> Iterator[str]:
        """Yield what is wrong if `entry` is what comes next."""
        if not isinstance(entry, _WITH_A_SEAT):
            if left := self._unready & model.ready:
                yield f"seats {left} are still ready"
            if left := self._without_bot & model.bots_hold:
                yield f"a bot still holds seats {left}"
            self._unready, self._without_bot = set(), set()
        if isinstance(entry, e.Hosted):
            if self._before is None or (moved := _moved(self._before, model)) is None:
                # Whoever was to be host has come meanwhile.
                if self._before is None or entry.seat not in {self._before.host, self._before.chosen_host}:
                    yield from _wrong_host(entry.seat, model)
            else:
                yield from _wrong_exchange(self._before, moved, entry, after)

    def note(self, entry: Entry, model: TableModel) -> None:
        """Take note of an entry; the model is that before it."""
        if not isinstance(entry, _OF_SEATS):
            self._before = None
        elif self._before is None:
            self._before = copy.deepcopy(model)
        match entry:
            case e.Taken(seat, name, vacant=False) if (was := model.holder(seat)) is None or was.name != name:
                if model.stage == "gathering":
                    self._unready = set(model.ready)
                self._without_bot.add(seat)
            case e.BotSeated() | e.Changed(settings.Starting() | settings.AbsenceSetting()):
                if model.stage == "gathering":
                    self._unready = set(model.ready)
            case e.SaidReady(seat):
                self._unready.discard(seat)


def _moved(before: TableModel, now: TableModel) -> dict[int, int] | None:
    """Return where those who were there before sit now, None if all who are still there have their seats."""
    seats = {each.who: seat for seat, each in now.held}
    moved = {seat: seats[each.who] for seat, each in before.held if each.who in seats}
    return None if all(seat == now for seat, now in moved.items()) else moved


def _wrong_exchange(
    before: TableModel, moved: Mapping[int, int], hosted: e.Hosted, after: Entry | None
) -> Iterator[str]:
    """The role of host, and the starting seat, move with their players."""
    if before.host is not None and moved.get(before.host, hosted.seat) != hosted.seat:
        yield f"the host was seat {before.host}, and seats have moved: {moved}"
    if before.starting is not None and before.starting in moved:
        starts = settings.Starting(moved[before.starting])
        if not isinstance(after, e.Changed) or after.setting != starts:
            yield f"seat {before.starting} was to start, and seats have moved: {moved}"


def _wrong_in_a_rematch(model: TableModel, entries: Sequence[Entry]) -> Iterator[str]:
    """All who were not removed have their seats kept, with their totals, and the next one starts."""
    opened, *others = entries
    first = [*takewhile(lambda each: not isinstance(each, e.Taken), others)]
    assert isinstance(opened, e.Opened)
    if any(isinstance(each, e.SeatsFollow) for each in others) != model.follows:
        yield "the next game has other seats"
    if model.first is None or opened.starting != (model.first + 1) % len(model.seats):
        yield f"seat {opened.starting} starts the next game"
    if opened.absence != model.absence:
        yield f"the next game has {opened.absence}"
    for seat, each in model.held:
        if each.level is not None:
            kept: Entry = e.BotSeated(seat, each.level, each.name, model.standing(seat))
        elif each.token:
            kept = e.Kept(seat, each.name, each.token, each.program, model.standing(seat))
        else:
            continue
        if kept not in first:
            yield f"the next table has no {kept}"
        if each.people is not None and e.PeopleChosen(seat, People(each.people)) not in first:
            yield f"the next table has not the people of seat {seat}"
    if [each.seat for each in first if isinstance(each, e.Hosted)] != [model.host]:
        yield f"the next table has another host than {model.host}"
    if any(isinstance(each, e.NoticesTo) for each in first):
        yield "the next table knows an address"
    changed = {type(each.setting): each.setting for each in first if isinstance(each, e.Changed)}
    if changed != {kind: each for kind, each in model.changed.items() if kind not in _OF_ONE_GAME}:
        yield f"the next table has {changed}"


def _wrong(  # noqa: PLR0915 - a case for each entry
    entry: Entry, after: Entry | None, model: TableModel, bots_wanted: Container[int] | None
) -> Iterator[str]:
    match entry:
        case e.Wished(asked) if asked is not None:
            yield from _wrong_wish(asked, model)
        case e.TookBack(seat):
            if model.taken_back >= consent.TAKE_BACKS:
                yield f"moves have been taken back {model.taken_back} times"
            yield from _not_agreed("take-back", seat, None, model)
        case e.Paused(seat, until):
            if model.stage != "playing" or model.paused is not None:
                yield "there is nothing to pause"
            if not _is_person(model, seat):
                yield "no person has asked for it"
            if model.pauses[seat] >= consent.PAUSES:
                yield f"it is pause {model.pauses[seat] + 1} of seat {seat}"
            if until is not None:
                yield from _not_agreed("pause", seat, until, model)
        case e.Unpaused() if model.paused is None:
            yield "there is no pause"
        case e.Clocked():
            yield from _wrong_clock(entry, after, model)
        case e.Voted(seat, by, agree):
            if by == seat or not _is_person(model, by) or not isinstance(model.absence, ByVote):
                yield "it is no vote"
            if agree == (by in model.votes.get(seat, ())):
                yield "it changes nothing"
        case e.GivenToBot(seat):
            yield from _wrong_bot(seat, model, bots_wanted)
        case e.StoodIn(seat, by) if by == "clock":
            if seat in model.away_since:
                yield "the time of somebody on holiday is up"
        case e.Played(seat, move):
            if seat in model.away_since and not (isinstance(after, e.OnHoliday) and not after.on):
                yield "a holiday does not end with a move"
            if isinstance(move, StartGame) and not model.study:
                yield from _wrong_start(seat, model)
            elif not entry.planned and (left := allowance(model)) is not None and entry.thought >= left:
                yield f"the time was up: {left} ms were left"
        case e.OnHoliday(seat, _, on):
            if on == (seat in model.away_since) or (on and not model.holidays_left(seat)):
                yield f"{model.holidays_left(seat)} days are left, and on holiday are {set(model.away_since)}"
            if on and not _is_person(model, seat):
                yield "it is no person's"
        case e.PeopleChosen(seat, people) if people is not None:
            if any(each.people == people for other, each in model.held if other != seat):
                yield "somebody else has chosen that people"
        case e.Changed(settings.Starting()) if model.stage != "gathering":
            yield "the game has begun"
        case e.Freed() if model.stage != "gathering":
            yield "the game has begun"
        case e.Taken(seat, _, vacant=True) if not model.study:
            if model.stage != "playing":
                yield "there is no game to leave"
            if seat in model.away_since:
                yield "somebody on holiday is removed"
        case e.Continued() if model.stage != "over":
            yield "the game is not over"
        case e.EndedByHost() if model.stage != "playing":
            yield "there is no game to end"
        case e.Taken(seat, name) | e.BotSeated(seat, _, name):
            yield from _wrong_name(seat, name, entry, model)


def _is_person(model: TableModel, seat: int) -> bool:
    holder = model.seats[seat]
    return holder is not None and holder.is_person


def _wrong_wish(asked: Asked, model: TableModel) -> Iterator[str]:
    """A request begins with one seat; then one at a time agrees, withdraws, or refuses."""
    before = model.asked if model.asked is not None and model.asked.open else None
    same = before is not None and (before.what, before.until) == (asked.what, asked.until)
    if model.stage != "playing" or model.paused is not None:
        yield "nobody can ask for anything now"
    if not all(_is_person(model, seat) for seat in asked.seats):
        yield "it is not for persons alone"
    if asked.granted:
        known = before.seats if before is not None and same else []
        if not model.people <= set(asked.seats) or len(set(asked.seats) - set(known)) > 1:
            yield f"{model.people} have to agree, after {before}"
    elif asked.refused is not None:
        if before is None or not same or not set(asked.seats) <= set(before.seats):
            yield f"nobody has asked for that: {before}"
        elif asked.refused in before.seats[1:]:
            yield "who has agreed refuses"
    elif before is None or (not same and _may_lapse(before)):
        if len(asked.seats) != 1:
            yield "more than one ask first"
    elif not same:
        yield f"something else is asked for: {before}"
    elif _may_lapse(before):  # those who have left do not count any more
        if asked.seats != [*asked.seats[:1]] and not _grows(before.seats, asked.seats):
            yield f"not one has agreed, or withdrawn: {before}"
    elif asked.seats[:-1] != before.seats and not _is_without_one(before.seats, asked.seats):
        yield f"not one has agreed, or withdrawn: {before}"


def _may_lapse(asked: Asked) -> bool:
    """Return whether a request is void while its asker is away: one for a brief pause is."""
    return asked.what == "pause" and asked.until is None


def _grows(before: Sequence[int], now: Sequence[int]) -> bool:
    """Return whether the same seat asks, and at most one more agrees."""
    return now[0] == before[0] and len(set(now) - set(before)) <= 1


def _is_without_one(before: Sequence[int], now: Sequence[int]) -> bool:
    """Return whether one who had agreed has withdrawn that."""
    return any([*before[:at], *before[at + 1 :]] == [*now] for at in range(1, len(before)))


def _not_agreed(what: Wish, seat: int, until: int | None, model: TableModel) -> Iterator[str]:
    """All other people have to agree; the last who does is not stored."""
    asked = model.asked
    if (
        asked is not None
        and asked.open
        and (asked.what, asked.until) == (what, until)
        and asked.seats[0] == seat
    ):
        left = model.people - set(asked.seats)
        if len(left) > 1:
            yield f"{left} have not agreed"
    elif not model.people <= {seat}:
        yield f"{model.people} have to agree, and {asked} was asked"


def _wrong_clock(entry: e.Clocked, after: Entry | None, model: TableModel) -> Iterator[str]:
    """A clock that is stopped has used no less than before, unless more time is given."""
    asker, given_used, given_turn = None, 0, 0
    if isinstance(after, e.Wished) and after.asked is not None and after.asked.granted:
        asker = after.asked.seats[0]
        match model.clock:
            case GameClock(seconds):
                given_used = 1000 * seconds // _SHARE
            case MoveClock(seconds):
                given_turn = 1000 * seconds
    for seat, (before, now) in enumerate(zip(model.used, entry.used, strict=True)):
        least = before - (given_used if seat == asker else 0)
        if now < least or (seat != model.turn and now != least):
            yield f"seat {seat} has used {now} ms after {before} ms, {given_used} ms given to {asker}"
    if entry.turn < model.of_turn - given_turn:
        yield f"this turn has used {entry.turn} ms after {model.of_turn} ms"
    if (list(entry.reserve) or [0] * len(model.reserve)) != model.reserve:
        yield f"the reserves were {model.reserve}"


def _wrong_host(seat: int, model: TableModel) -> Iterator[str]:
    """A host that follows another is a person, unless nobody else is there."""
    holder = model.holder(seat)
    if holder is None and not model.present:
        return  # at the beginning of a rematch, whose host comes later
    if holder is None or not holder.token:
        yield "nobody is there"
    elif not holder.is_person and any(_is_person(model, other) for other in model.present):
        yield "people come before programs"


def _wrong_bot(seat: int, model: TableModel, wanted: Container[int] | None) -> Iterator[str]:
    if model.paused is not None and wanted is not None and seat not in wanted:
        yield "no time away counts in a pause"
    if model.of_evening or isinstance(model.absence, ByBot):
        return
    if isinstance(model.absence, ByVote) and model.votes.get(seat):
        return
    if wanted is not None and seat not in wanted:
        yield f"nobody wants that, with {model.absence}"


def _wrong_start(seat: int, model: TableModel) -> Iterator[str]:
    if model.events:
        yield "the game has begun already"
    if not model.of_evening and seat != model.host:
        yield f"the host is {model.host}"
    if None in model.seats or any(each.kept for _, each in model.held):
        yield "not all have come, or a seat is left over"


def _wrong_name(seat: int, name: str, entry: Entry, model: TableModel) -> Iterator[str]:
    """Somebody new has a name of their own."""
    new = entry.token_hash if isinstance(entry, e.Taken) else name
    known = {each.token or each.name for _, each in model.held}
    if new not in known and any(each.name == name for other, each in model.held if other != seat):
        yield "somebody else has that name"
