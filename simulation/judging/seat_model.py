"""Who may be removed from a seat, agree, be host, or know a hand or a plan, as docs/protocol.md says.

Like the model of requests, it shares no code with the server, and reads only what crossed the wire, and
which moves were made by plans.
"""

from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from protocol import messages as m
from protocol.absence import ByBot, ByVote, GameClock, MoveClock, letter_seconds
from server.storage.entries import Entry, Played, StoodIn, TookBack
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap

_HOST_SECONDS: Final = 60.0  # for which the host of a running game is away before somebody follows
_TO_FOLLOW: Final = 5.0  # seconds in which that is stored and told
_DRIFT: Final = 0.01  # more than a server's clock is ever fast
_A_MOMENT: Final = 0.5  # seconds that a request may wait at a table
_REMOVED_SECONDS: Final = 590.0  # for which somebody who was removed surely cannot come back
_OF_THE_SEAT: Final = ("removed-nearby", "seat-taken", "name-taken", "table-full", "game-running")
_Yes: TypeAlias = tuple[int, str, int | None]  # a seat, what it has agreed to, and until when


def check_removals(table: str, taps: Sequence[Wiretap], grace: float, verdict: Verdict) -> None:
    """Nobody is removed from a running game, or has a bot play, who was there less than `grace` seconds ago.

    Somebody who is sent news of the table is there, so the time away begins after that. What is sent again
    may have been granted before.
    """
    requests = (asked.message for tap in taps for asked in tap.asked_at(table))
    sent = Counter(request for request in requests if isinstance(request, m.Remove | m.SubstituteNow))
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
            if sent[request] > 1:
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
        and (heard.seat == seat or _tells_of(heard.message, seat))
    ]
    return max(times, default=None)


def _tells_of(message: object, seat: int) -> bool:
    """Return whether it says that somebody is in the seat, which a table that grows may not have yet."""
    return isinstance(message, m.TableState) and seat < len(message.seats) and message.seats[seat].here


def check_host(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """In a running game, somebody else becomes host if the host asks for that or is away for long."""
    wanted = {
        asked.message.seat
        for tap in taps
        for asked in tap.asked_at(table)
        if isinstance(asked.message, m.HandOver)
    }
    host: int | None = None
    here = moment = 0.0
    at_once: set[int] = set()  # who was host at this moment: each connection is told of it in its own time
    for _, heard in _in_order(table, taps):
        state = heard.message
        if not isinstance(state, m.TableState) or state.stage != "playing":
            continue
        if heard.time != moment:
            moment, at_once = heard.time, set() if host is None else {host}
        if state.host != host and state.host in at_once:
            continue
        at_once.add(state.host)
        if host is not None and state.host != host and state.host not in wanted:
            away = heard.time - here
            if away < _HOST_SECONDS * (1 - _DRIFT):
                text = f"seat {state.host} was host in place of {host}, who was there {away:.3f} s ago"
                verdict.different.append(Finding(text, table, heard.time, since=here))
        if state.seats[state.host].here:
            here = heard.time
        elif state.host != host:  # since when is unknown: a server may have died before it told anybody
            here = 0.0
        host = state.host


def check_followed(table: str, tap: Wiretap, programs: set[str], verdict: Verdict) -> None:
    """In a running game, somebody who is there becomes host once the host has been away for long."""
    since: float | None = None
    host: int | None = None
    for heard in tap.heard:
        state = heard.message
        if heard.table != table or isinstance(state, m.Seated | m.Watching):
            since = None
        if heard.table != table or not isinstance(state, m.TableState):
            continue
        waits = heard.seat is not None and state.seats[heard.seat].name not in {None, *programs}
        away = state.stage == "playing" and not state.seats[state.host].here
        if not (waits and away) or letter_seconds(state.absence):
            since = None
        elif since is None or state.host != host:
            since, host = heard.time, state.host
        elif heard.time - since > _HOST_SECONDS * (1 + _DRIFT) + _TO_FOLLOW:
            text = f"seat {host} is still host after {heard.time - since:.1f} s"
            verdict.lost.append(tap.finding(text, heard, since))


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
                (seat, what, until)
                for (seat, what, until), times in yes.items()
                if any(at <= heard.time for at in times)
            }
            for wrong in _wrong_agreement(before, state, said, programs):
                verdict.invented.append(tap.finding(f"{wrong}: {state.asked} {state.paused}", heard))
            before = state


def _agreements(table: str, taps: Iterable[Wiretap]) -> dict[_Yes, list[float]]:
    """Return when which seats asked for something, or agreed to it; for a pause until which moment."""
    yes: defaultdict[_Yes, list[float]] = defaultdict(list)
    for tap in taps:
        for asked in tap.asked_at(table):
            if asked.seat is not None:
                match asked.message:
                    case m.Ask(what=what, on=True):
                        yes[asked.seat, what, None].append(asked.time)
                    case m.AskPause(on=True, until=until):
                        yes[asked.seat, "pause", until].append(asked.time)
    return yes


def _wrong_agreement(
    before: m.TableState | None, state: m.TableState, said: set[_Yes], programs: set[str]
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
            if not said & {(seat, asked.what, None), (seat, asked.what, asked.until)}:
                yield f"seat {seat} agrees, and never said so"
            elif state.seats[seat].vacant:
                yield f"nobody is in seat {seat}, which agrees"
        if asked.granted and not people <= set(asked.seats):
            yield f"not all of {people} have agreed"
    if before is None or before.stage != "playing" or before.paused is not None or state.paused is None:
        return
    # To this pause, or to one before.
    agree = {seat for seat, what, until in said if what == "pause" and until in {None, state.paused.until}}
    if state.paused.seat not in agree:
        yield f"seat {state.paused.seat} has not asked for a pause"
    if state.paused.until is not None and not people <= agree:
        yield f"not all of {people} have agreed to a pause until a moment"
    has_clock = isinstance(state.absence, MoveClock | GameClock)
    if has_clock and state.host not in agree and not here <= agree:
        yield f"neither the host nor all of {here} have agreed to a pause"


def check_absence(
    table: str, taps: Sequence[Wiretap], programs: set[str], wanted: Container[int], verdict: Verdict
) -> None:
    """A bot takes a seat, or is voted on, when its player has been away for as long as the policy says.

    Votes count from then on. Hosts have `wanted` a bot in some seats.
    """
    states = [
        (tap.life_at(table), heard.time, tap, heard)
        for tap in taps
        for heard in tap.heard
        if heard.table == table and isinstance(heard.message, m.TableState)
    ]
    states.sort(key=lambda each: each[:2])
    votes = [
        (asked.seat, asked.message.seat, asked.time)
        for tap in taps
        for asked in tap.asked_at(table)
        if isinstance(asked.message, m.Vote) and asked.message.agree
    ]
    here: dict[int, float] = {}  # when somebody was last in a seat, or time away was counted from zero
    back: dict[int, float] = {}  # when somebody was last in a seat: votes are void from then on
    life, paused, policy = 0, False, None
    for this_life, time, tap, heard in states:
        state = heard.message
        assert isinstance(state, m.TableState)
        if this_life != life:
            here, back, life, paused, policy = {}, {}, this_life, False, state.absence
        excused = paused or state.paused is not None or state.stage != "playing"
        counted_since = time if state.absence == policy else time - _A_MOMENT  # which may be told late
        excused |= state.absence != policy
        paused, policy = state.paused is not None, state.absence
        for seat, each in enumerate(state.seats):
            gone = not each.here and each.name not in {None, *programs} and each.level is None
            if not gone:
                back[seat] = time
            if excused and each.bot:  # a bot has had the seat before
                here.pop(seat, None)
            elif excused or not gone or each.vacant:
                here[seat] = counted_since
            if excused or here.get(seat, time) == time or not isinstance(policy, ByBot | ByVote):
                continue
            due = each.bot if isinstance(policy, ByBot) else each.seconds_left == 0
            if due and seat not in wanted and time - here[seat] < policy.seconds * (1 - _DRIFT):
                text = f"seat {seat} was given up {time - here[seat]:.3f} s after it was there, with {policy}"
                verdict.invented.append(tap.finding(text, heard, since=here[seat]))
            for by in each.votes:
                cast = [at for who, whom, at in votes if (who, whom) == (by, seat) and at <= time]
                since = back.get(seat, 0.0)
                if not cast or max(cast) < since - _A_MOMENT:
                    text = f"seat {by} votes on seat {seat}, and has not since that was there"
                    verdict.invented.append(tap.finding(text, heard, since=since))


def check_programs(table: str, tap: Wiretap, programs: set[str], verdict: Verdict) -> None:
    """In a running game, a bot plays for a program the moment that is away, under every policy."""
    for heard in tap.heard:
        state = heard.message
        if heard.table != table or not isinstance(state, m.TableState) or state.stage != "playing":
            continue
        for seat, each in enumerate(state.seats):
            away = each.name in programs and not (each.here or each.vacant)
            if away and not each.bot:
                text = f"nobody plays for {each.name} in seat {seat}, a program that is away"
                verdict.lost.append(tap.finding(text, heard))


def check_bots_among_themselves(
    table: str, taps: Sequence[Wiretap], entries: Iterable[Entry], programs: set[str], verdict: Verdict
) -> None:
    """Bots play with people: of what they do while nobody is there, nobody would be sent anything.

    One move may be stored when the server dies, and be sent to nobody for that reason.
    """
    seen: set[int] = set()  # numbers of events that were sent to people as they happened
    for tap in taps:
        comes, state = True, None
        for heard in tap.heard:
            message = heard.message
            if heard.table != table or isinstance(message, m.Seated | m.Watching):
                comes = True
            elif isinstance(message, m.TableState):
                state = message
            elif isinstance(message, m.Snapshot):
                comes = False
            elif isinstance(message, m.Events):
                who = None if state is None or heard.seat is None else state.seats[heard.seat].name
                if not comes and who not in {None, *programs}:
                    seen.update(range(message.seq, message.seq + len(message.events)))
                comes = False
    number, unseen = 0, 0
    for entry in entries:
        if not isinstance(entry, Played | StoodIn | TookBack):
            continue
        number += len(entry.events)
        alone = seen and isinstance(entry, StoodIn) and entry.by == "bot" and number not in seen
        unseen = unseen + 1 if alone else 0
        if unseen > 1:
            verdict.invented.append(Finding(f"event {number} is a bot's move, and nobody was there", table))
            return


def check_returns(table: str, taps: Sequence[Wiretap], visits: Sequence[Wiretap], verdict: Verdict) -> int:
    """Who is removed before a game cannot come back for a while: nobody of that name at their address.

    The `visits` are of those who may have asked for that. Return how many did.
    """
    removed: list[tuple[int, str, str, float]] = []
    for tap in taps:
        seat, state = None, None
        for heard in tap.heard:
            if heard.table == table:
                seat = heard.seat
                state = heard.message if isinstance(heard.message, m.TableState) else state
            elif state is not None and seat is not None and _is_refused(heard.message, "removed"):
                name = str(state.seats[seat].name)
                removed.append((tap.life_at(table), tap.address, name, heard.time))
                state = None
    judged = 0
    for tap in visits:
        answers = {getattr(heard.message, "id", None): heard for heard in tap.heard}
        for asked in tap.asked:
            request = asked.message
            if not isinstance(request, m.JoinTable) or request.table != table:
                continue
            since = [
                at
                for life, address, name, at in removed
                if (life, address, name) == (tap.life, tap.address, request.name)
                and at < asked.time < at + _REMOVED_SECONDS
            ]
            if since and (answer := answers.get(request.id)) is not None:
                judged += 1
                seated = isinstance(answer.message, m.Seated)
                if seated or any(_is_refused(answer.message, code) for code in _OF_THE_SEAT):
                    text = f"{request.name} was removed, and may be back: {answer.message}"
                    verdict.stolen.append(tap.finding(text, answer, since=max(since)))
    return judged


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
    ever: list[m.Plan] = field(default_factory=list)  # all that it has sent

    @property
    def plans(self) -> list[tuple[m.PlannedMove, ...]]:
        """Return the lists of which one may be what the seat has planned."""
        plans = list(self.open.values())
        if self.plan is not None and self.stored >= self.moved:
            plans.append(self.plan)
        return [each.moves for each in plans]

    def had(self, tried: tuple[m.PlannedMove, ...]) -> bool:
        """Return whether the seat once had a list that begins like this."""
        return any(each.moves[: len(tried)] == tried for each in self.ever)

    def may_make(self, move: m.PlacePiece, board: Mapping[str, int]) -> bool:
        """Return whether this may be the first of the seat's plans that is possible."""
        return any(_may_be_first(move, plans, board) for plans in self.plans)

    def take(self, time: float, message: m.Plan | m.Done | m.Refused) -> None:
        """Take in a request, or the answer to one."""
        if isinstance(message, m.Plan):
            self.open[message.id] = message
            self.ever.append(message)
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


def check_plans(
    table: str,
    taps: Sequence[Wiretap],
    entries: Iterable[Entry],
    verdict: Verdict,
    *,
    turns: Sequence[tuple[float, m.Turn]] = (),
) -> int:
    """A plan is its seat's alone, and void once it is withdrawn or replaced, or the seat has moved.

    `turns` are answers to those who have asked from elsewhere, and when they came. Return how many of the
    moves that were made by plans, as `entries` tell, were judged.
    """
    planners: defaultdict[int | None, _Planner] = defaultdict(_Planner)
    planned, known, judged = dict(_planned(entries)), 0, 0
    asked_elsewhere = [(time, None, turn) for time, turn in turns]
    for time, seat, message in sorted(
        [*_in_order_with_plans(table, taps), *asked_elsewhere], key=lambda each: each[0]
    ):
        match message:
            case m.Plan() | m.Done() | m.Refused():
                planners[seat].take(time, message)
            case m.Planned() if message.moves and message.moves not in planners[seat].plans:
                text = f"seat {seat} was told of the plans {message.moves}, and has none"
                verdict.leaked.append(Finding(text, table, time))
            case m.Planned(played=m.PlanPlayed(tried)) if not planners[seat].had(tried):
                text = f"seat {seat} was told that of {tried} the last was played, and had no such plans"
                verdict.leaked.append(Finding(text, table, time))
            case m.Turn(seat=int(own), planned=True) if not any(planners[own].plans):
                text = f"seat {own} was told that it has a plan, and has none"
                verdict.leaked.append(Finding(text, table, time))
            case m.Events(seq, events):
                for number, event in enumerate(events, seq):
                    if number <= known or event["t"] not in {"placed", "wolf"}:
                        continue
                    known, mover = number, planners[event["seat"]]
                    if (made := planned.get(number)) is not None:
                        judged += 1
                        if not mover.may_make(*made):
                            text = f"event {number} is {made[0]}, and not what was planned then"
                            verdict.invented.append(Finding(text, table, time))
                    mover.moved = time
    return judged


def _may_be_first(move: m.PlacePiece, plans: Sequence[m.PlannedMove], board: Mapping[str, int]) -> bool:
    """Return whether the move may be the first of the plans that is possible, with these pieces on the board.

    Of another piece it is not known here whether it was there to be placed.
    """
    for plan in plans:
        if plan.condition is not None:
            owner, seat = board.get(plan.condition.field), plan.condition.seat
            happened = owner is not None if seat is None else owner == seat
            if happened == plan.condition.unless:
                continue
        if (plan.piece, plan.field) == (move.piece, move.field):
            return True
        if plan.piece == move.piece and plan.field not in board:
            return False
    return False


def _planned(entries: Iterable[Entry]) -> Iterator[tuple[int, tuple[m.PlacePiece, dict[str, int]]]]:
    """Yield the moves made by plans, by the numbers of their events, with whose pieces lay where before."""
    number, board = 1, dict[str, int]()
    for entry in entries:
        if isinstance(entry, Played) and entry.planned and isinstance(entry.move, m.PlacePiece):
            yield number, (entry.move, dict(board))
        if isinstance(entry, Played | StoodIn | TookBack):
            number += len(entry.events)
            for event in entry.events:
                if event["t"] == "placed":
                    board[event["field"]] = event["seat"]
                for back in event["fields"] if event["t"] == "taken-back" else ():
                    del board[back]


def _in_order_with_plans(
    table: str, taps: Iterable[Wiretap]
) -> list[tuple[float, int | None, m.ClientMessage | m.ServerMessage]]:
    """Return what was heard of the table, and what was planned there, each with its time."""
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
    return found
