"""Who may be removed from a seat, agree, be host, or know a hand or a plan, as docs/protocol.md says.

Like the model of requests, it shares no code with the server, and reads only what crossed the wire, and
which moves were made by plans.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol import messages as m
from protocol.absence import GameClock, MoveClock
from server.storage.entries import Entry, Played, StoodIn, TookBack
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap

_HOST_SECONDS: Final = 60.0  # for which the host of a running game is away before somebody follows
_DRIFT: Final = 0.01  # more than a server's clock is ever fast


def check_removals(table: str, taps: Sequence[Wiretap], grace: float, verdict: Verdict) -> None:
    """Nobody is removed from a running game, or has a bot play, who was there less than `grace` seconds ago.

    Somebody who is sent news of the table is there, so the time away begins after that.
    """
    for tap in taps:
        answered = {heard.message.id: heard.time for heard in tap.heard if isinstance(heard.message, m.Done)}
        states = [
            (heard.time, heard.message)
            for heard in tap.heard
            if heard.table == table and isinstance(heard.message, m.TableState)
        ]
        for asked in tap.asked:
            request = asked.message
            if asked.table != table or not isinstance(request, m.Remove | m.SubstituteNow):
                continue
            done = answered.get(request.id)
            known = [state for time, state in states if time <= asked.time][-1:]
            if done is None or done < asked.time or not known or known[0].stage != "playing":
                continue
            if request.seat >= len(known[0].seats) or known[0].seats[request.seat].vacant:
                continue
            here = _last_here(table, request.seat, _same_life(tap, taps, table), done)
            if here is not None and done - here < grace * (1 - _DRIFT):
                text = f"{request} was granted {done - here:.3f} s after seat {request.seat} was there"
                verdict.invented.append(Finding(text, table, done, tap.number, since=here))


def _same_life(tap: Wiretap, taps: Iterable[Wiretap], table: str) -> list[Wiretap]:
    """Return the taps of the same process of the same server, whose clock alone counts."""
    here = tap.server, tap.life, tap.life_at(table)
    return [each for each in taps if (each.server, each.life, each.life_at(table)) == here]


def _last_here(table: str, seat: int, taps: Iterable[Wiretap], before: float) -> float | None:
    """Return when somebody in the seat was last sent news of the table, or everybody that they were here."""
    times = [
        heard.time
        for tap in taps
        for heard in tap.heard
        if heard.table == table
        and heard.time < before
        and isinstance(heard.message, m.TableState | m.Events | m.Snapshot)
        and (
            heard.seat == seat or (isinstance(heard.message, m.TableState) and heard.message.seats[seat].here)
        )
    ]
    return max(times, default=None)


def check_host(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """In a running game, somebody else becomes host if the host asks for that or is away for long."""
    wanted = {
        asked.message.seat
        for tap in taps
        for asked in tap.asked_at(table)
        if isinstance(asked.message, m.HandOver)
    }
    host: int | None = None
    here = 0.0
    for _, heard in _in_order(table, taps):
        state = heard.message
        if not isinstance(state, m.TableState) or state.stage != "playing":
            continue
        if host is not None and state.host != host and state.host not in wanted:
            away = heard.time - here
            if away < _HOST_SECONDS * (1 - _DRIFT):
                text = f"seat {state.host} was host in place of {host}, who was there {away:.3f} s ago"
                verdict.different.append(Finding(text, table, heard.time, since=here))
        if state.host != host or state.seats[state.host].here:
            here = heard.time
        host = state.host


def _in_order(table: str, taps: Iterable[Wiretap]) -> list[tuple[int, Heard]]:
    """Return what everybody heard of the table, from one life of it to the next."""
    found = [(tap.life_at(table), heard) for tap in taps for heard in tap.heard if heard.table == table]
    return sorted(found, key=lambda each: (each[0], each[1].time))


def check_agreement(table: str, taps: Sequence[Wiretap], programs: set[str], verdict: Verdict) -> None:
    """Who is said to agree has said so, and is still in the seat; and as many have as the request needs."""
    yes = _agreements(table, taps)
    for tap in taps:
        before: m.TableState | None = None
        for heard in tap.heard:
            state = heard.message
            if heard.table != table or isinstance(state, m.Seated | m.Watching):
                before = None
            if heard.table != table or not isinstance(state, m.TableState):
                continue
            said = {
                (seat, what) for (seat, what), times in yes.items() if any(at <= heard.time for at in times)
            }
            for wrong in _wrong_agreement(before, state, said, programs):
                verdict.invented.append(tap.finding(f"{wrong}: {state.asked} {state.paused}", heard))
            before = state


def _agreements(table: str, taps: Iterable[Wiretap]) -> dict[tuple[int, str], list[float]]:
    """Return when which seats asked for something, or agreed to it."""
    yes: defaultdict[tuple[int, str], list[float]] = defaultdict(list)
    for tap in taps:
        for asked in tap.asked_at(table):
            if asked.seat is not None:
                match asked.message:
                    case m.Ask(what=what, on=True):
                        yes[asked.seat, what].append(asked.time)
                    case m.AskPause(on=True):
                        yes[asked.seat, "pause"].append(asked.time)
    return yes


def _wrong_agreement(
    before: m.TableState | None, state: m.TableState, said: set[tuple[int, str]], programs: set[str]
) -> Iterator[str]:
    """Yield what is wrong with a state, if those have `said` yes to something who are named."""
    people = {
        seat
        for seat, each in enumerate(state.seats)
        if each.name not in {None, *programs} and each.level is None and not each.vacant
    }
    here = {seat for seat in people if state.seats[seat].here}
    for seat, each in enumerate(state.seats):
        if each.votes_needed and each.votes_needed != len(here - {seat}) // 2 + 1:
            yield f"{each.votes_needed} of {here} are to vote on seat {seat}"
    if (asked := state.asked) is not None:
        for seat in asked.seats:
            if (seat, asked.what) not in said:
                yield f"seat {seat} agrees, and never said so"
            elif state.seats[seat].vacant:
                yield f"nobody is in seat {seat}, which agrees"
        if asked.granted and not people <= set(asked.seats):
            yield f"not all of {people} have agreed"
    if before is None or before.stage != "playing" or before.paused is not None or state.paused is None:
        return
    agree = {seat for seat, what in said if what == "pause"}  # to this pause, or to one before
    if state.paused.seat not in agree:
        yield f"seat {state.paused.seat} has not asked for a pause"
    if state.paused.until is not None and not people <= agree:
        yield f"not all of {people} have agreed to a pause until a moment"
    has_clock = isinstance(state.absence, MoveClock | GameClock)
    if has_clock and state.host not in agree and not here <= agree:
        yield f"neither the host nor all of {here} have agreed to a pause"


def check_shown_hands(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """A hand that is shown is what its seat began with, without what it has placed."""
    for tap in taps:
        for heard in tap.heard:
            shown = heard.message
            if heard.table != table or not isinstance(shown, m.Snapshot):
                continue
            left = None
            if heard.seat is not None:
                placed = Counter(piece for seat, piece, _ in shown.placed if seat == heard.seat)
                left = Counter(shown.started["hands"][heard.seat]) - placed
            if shown.hand != left and shown.phase != "over":
                text = f"seat {heard.seat} was shown the hand {shown.hand}, not {left}"
                verdict.leaked.append(tap.finding(text, heard))


@dataclass(slots=True)
class _Planner:
    """What a seat may have planned, as far as its requests and their answers tell."""

    plan: m.Plan | None = None  # the last one that was answered with yes ...
    stored: float = 0.0  # ... by this time
    open: dict[int, m.Plan] = field(default_factory=dict)  # may be stored at any time, by their ids
    moved: float = 0.0  # when it made its last move

    def may_have(self, piece: str | None, place: str | None) -> bool:
        """Return whether this may be what the seat has planned."""
        plans = list(self.open.values())
        if self.plan is not None and self.stored >= self.moved:
            plans.append(self.plan)
        return any((plan.piece, plan.field) == (piece, place) for plan in plans)

    def take(self, time: float, message: m.Plan | m.Done | m.Refused) -> None:
        """Take in a request, or the answer to one."""
        if isinstance(message, m.Plan):
            self.open[message.id] = message
        elif (plan := self.open.pop(message.id or 0, None)) is not None and isinstance(message, m.Done):
            self.plan, self.stored = plan, time


def check_second_hands(table: str, tap: Wiretap, verdict: Verdict) -> int:
    """Who has seen a hand of the running game is refused any other seat, for that reason if all else fits.

    Return how many asked for another seat over the same connection.
    """
    answers = {getattr(heard.message, "id", None): heard for heard in tap.heard}
    seen: int | None = None
    judged = 0
    for asked in tap.asked:
        message = asked.message
        if isinstance(message, m.Leave) and asked.table == table and asked.seat is not None:
            seen = asked.seat
        if not isinstance(message, m.JoinTable) or message.table != table or message.seat in {None, seen}:
            continue
        answer = answers.get(message.id)
        if seen is None or answer is None:
            continue
        judged += 1
        if isinstance(answer.message, m.Seated) or _is_refused(answer.message, "name-taken"):
            text = f"who had seat {seen} might have had seat {message.seat}: {answer.message}"
            verdict.leaked.append(tap.finding(text, answer))
    return judged


def _is_refused(message: m.ServerMessage, code: str) -> bool:
    return isinstance(message, m.Refused) and message.code == code


def check_plans(table: str, taps: Sequence[Wiretap], entries: Iterable[Entry], verdict: Verdict) -> int:
    """A plan is its seat's alone, and void once it is withdrawn or replaced, or the seat has moved.

    Return how many of the moves that were made by plans, as `entries` tell, were judged.
    """
    planners: defaultdict[int | None, _Planner] = defaultdict(_Planner)
    planned, known, judged = dict(_planned(entries)), 0, 0
    for time, seat, message in _in_order_with_plans(table, taps):
        match message:
            case m.Plan() | m.Done() | m.Refused():
                planners[seat].take(time, message)
            case m.Planned(str() as piece, place) if not planners[seat].may_have(piece, place):
                text = f"seat {seat} was told of the plan {piece} on {place}, and has none"
                verdict.leaked.append(Finding(text, table, time))
            case m.Events(seq, events):
                for number, event in enumerate(events, seq):
                    if number <= known or event["t"] not in {"placed", "wolf"}:
                        continue
                    known, mover = number, planners[event["seat"]]
                    if (move := planned.get(number)) is not None:
                        judged += 1
                        if not mover.may_have(move.piece, move.field):
                            text = f"event {number} is {move}, and no longer planned"
                            verdict.invented.append(Finding(text, table, time))
                    mover.moved = time
    return judged


def _planned(entries: Iterable[Entry]) -> Iterator[tuple[int, m.PlacePiece]]:
    """Yield the moves that were made by plans, with the numbers of their events."""
    number = 1
    for entry in entries:
        if isinstance(entry, Played) and entry.planned and isinstance(entry.move, m.PlacePiece):
            yield number, entry.move
        if isinstance(entry, Played | StoodIn | TookBack):
            number += len(entry.events)


def _in_order_with_plans(
    table: str, taps: Iterable[Wiretap]
) -> list[tuple[float, int | None, m.ClientMessage | m.ServerMessage]]:
    """Return what was heard of the table, and what was planned there, in the order of time."""
    found: list[tuple[float, int | None, m.ClientMessage | m.ServerMessage]] = []
    for tap in taps:
        plans = [asked for asked in tap.asked_at(table) if isinstance(asked.message, m.Plan)]
        comes = False  # it is not known when that was made which a client catches up with
        for at, heard in enumerate(tap.heard):
            while plans and plans[0].at <= at:
                found.append((plans[0].time, plans[0].seat, plans.pop(0).message))
            comes |= isinstance(heard.message, m.Seated | m.Watching)
            if heard.table == table and not (comes and isinstance(heard.message, m.Events)):
                found.append((heard.time, heard.seat, heard.message))
            comes &= not isinstance(heard.message, m.Events | m.Snapshot)
        found += [(asked.time, asked.seat, asked.message) for asked in plans]
    return sorted(found, key=lambda each: each[0])
