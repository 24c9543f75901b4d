"""What docs/protocol.md lets a table do: a second, small model, which shares no code with the server.

It is written from that page, and reads only what crossed the wire. A mistake in the server's own state, or in
a rule of consent, therefore does not agree with itself here.
"""

from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from protocol import messages as m
from protocol.absence import ByVote
from protocol.settings import Starting
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, TappedMessage, Wiretap

_PAUSES: Final = 3  # of each player, without an agreed moment
_IN_A_ROW: Final = 10.0  # seconds in which no more than so many changes are surely told at once ...
_CHANGES: Final = 15
_AT_ONCE: Final = 2.0  # seconds in which a change is stored, or fails
_LONG_PAST: Final = 1_000_000_000  # as a moment until which to pause, whatever a server's clock says ...
_FAR: Final = 300 * 86_400  # ... and so many seconds in the future


@dataclass(frozen=True, slots=True)
class _Moment:
    """What a client knew of its table at a moment.

    Whose turn it was, who was there and who led is not judged: that may change twice between two states.
    """

    seat: int | None  # None for a spectator
    state: m.TableState

    @property
    def is_host(self) -> bool:
        return self.seat is not None and self.seat == self.state.host

    @property
    def paused_by(self) -> int | None:
        return None if self.state.paused is None else self.state.paused.seat

    @property
    def asked(self) -> m.Asked | None:
        """Return what somebody asks for, and the others have yet to answer."""
        asked = self.state.asked
        return asked if asked is not None and asked.open else None

    def seat_of(self, request: Any) -> m.SeatSummary:
        """Return the seat that a request is about; an empty one if there is none."""
        seats = self.state.seats
        return seats[request.seat] if request.seat is not None and request.seat < len(seats) else _NOBODY


_NOBODY: Final = m.SeatSummary()
_MOST: Final = 5  # seats of any table


def _lacks_players(state: m.TableState) -> bool:
    named = [each for each in state.seats if each.name is not None]
    return len(named) < (2 if state.grows else len(state.seats))


_Condition: TypeAlias = Callable[[_Moment, Any], bool]


# When a request is refused with a code: no sooner, and always if it is subject to that.
_REFUSED_IF: Final[Mapping[str, _Condition]] = {
    "not-a-player": lambda moment, _: moment.seat is None,
    "not-the-host": lambda moment, _: not moment.is_host,
    "already-started": lambda moment, _: moment.state.stage != "gathering",
    "not-started": lambda moment, _: moment.state.stage == "gathering",
    "not-over": lambda moment, request: moment.state.stage != "over" or _lacks_a_result(moment, request),
    "game-over": lambda moment, _: moment.state.stage == "over",
    "paused": lambda moment, _: moment.state.paused is not None,
    "no-spectators": lambda moment, _: not moment.state.switches.spectators,
    "bad-moment": lambda moment, request: (
        request.until is not None or (moment.asked is not None and moment.asked.until is not None)
    ),  # which has passed
    "pause-goes-on": lambda moment, _: moment.paused_by not in {None, moment.seat} and not moment.is_host,
    "not-paused": lambda moment, _: moment.state.paused is None,
    "nothing-asked": lambda moment, request: moment.asked is None or moment.asked.what != request.what,
    "others-asked": lambda moment, request: moment.asked is not None and not _fits(moment.asked, request),
    "no-clock": lambda moment, _: "more-time" not in moment.state.may_ask,
    "no-vote": lambda moment, _: (
        not isinstance(moment.state.absence, ByVote)
        or moment.state.stage != "playing"
        or moment.state.paused is not None
    ),
    "seats-empty": lambda moment, _: _lacks_players(moment.state),
    "seat-kept": lambda moment, _: any(each.kept for each in moment.state.seats),
    "no-free-seat": lambda moment, _: all(each.name is not None for each in moment.state.seats),
    "table-full": lambda moment, _: (
        all(each.name is not None for each in moment.state.seats)
        and not (moment.state.grows and len(moment.state.seats) < _MOST)
    ),
    "seat-taken": lambda moment, request: moment.seat_of(request).name is not None,
    "people-taken": lambda moment, request: any(
        each.chosen and each.people == request.people and seat != moment.seat
        for seat, each in enumerate(moment.state.seats)
    ),
    "nobody-there": lambda moment, request: not _has_come(moment.seat_of(request)),
    "no-holidays": lambda moment, _: moment.seat is None or not moment.state.seats[moment.seat].holidays,
}
# Of these, the opposite may have been so between two states, where those are told late.
_BRIEF: Final = {
    "pause-goes-on",
    "not-paused",
    "nothing-asked",
    "others-asked",
    "no-vote",
    "seats-empty",
    "seat-kept",
    "no-free-seat",
    "table-full",
    "seat-taken",
    "people-taken",
    "nobody-there",
}
_PLAYER: Final = ("not-a-player",)
_HOST: Final = ("not-a-player", "not-the-host")
_BEFORE: Final = ("already-started",)
_DURING: Final = ("not-started", "game-over")
_SUBJECT_TO: Final[Mapping[type[m.ClientMessage], Sequence[str]]] = {
    m.StartGame: (*_HOST, *_BEFORE, "seats-empty", "seat-kept"),
    m.SeatBot: (*_HOST, *_BEFORE),
    m.Arrange: (*_HOST, *_BEFORE),
    m.ChangeSetting: _HOST,
    m.Remove: _HOST,
    m.Dismiss: _HOST,
    m.HandOver: _HOST,
    m.SubstituteNow: (*_HOST, *_DURING),
    m.EndGame: (*_HOST, *_DURING),
    m.SayReady: (*_PLAYER, *_BEFORE),
    m.ChangeSeat: (*_PLAYER, *_BEFORE),
    m.ChoosePeople: (*_PLAYER, *_BEFORE),
    m.Lay: (*_PLAYER, *_DURING, "paused"),
    m.PlacePiece: (*_PLAYER, *_DURING, "paused"),
    m.Plan: (*_PLAYER, *_DURING),
    m.TakeHoliday: (*_PLAYER, *_DURING),
    m.Vote: (*_PLAYER, *_DURING),
    m.AskPause: (*_PLAYER, *_DURING),
    m.Ask: (*_PLAYER, *_DURING),
    m.Rematch: (*_PLAYER, "not-over"),
    m.Study: (*_PLAYER, "not-over"),
    m.Seen: (*_PLAYER, "not-over"),
    m.Show: ("not-over",),
    m.GetRecord: ("not-over",),
}


def _fits(asked: m.Asked, request: m.Ask | m.AskPause) -> bool:
    """Return whether a request agrees to what somebody asks for."""
    if isinstance(request, m.Ask):
        return asked.what == request.what
    return asked.what == "pause" and request.until in {None, asked.until}


def _has_come(seat: m.SeatSummary) -> bool:
    return seat.name is not None and not seat.kept and not seat.vacant


def _lacks_a_result(moment: _Moment, request: m.ClientMessage) -> bool:
    """Return whether a request is about the end of a game that has none, as its host has ended it."""
    return moment.state.ended and not isinstance(request, m.Rematch)


def check_granted(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> int:
    """Judge what was granted and refused by what its sender knew then; return how many answers were judged.

    A state may be sent up to half a second late, so the next one counts as known too. What is sent again may
    have been carried out before, and is left out.
    """
    judged = 0
    told = sorted(
        {
            heard.time
            for tap in taps
            for heard in tap.heard
            if heard.table == table and isinstance(heard.message, m.TableState)
        }
    )
    # Wherever: what came just when its connection was being closed may have been carried out.
    sent = Counter(asked.message for tap in taps for asked in tap.asked if type(asked.message) in _SUBJECT_TO)
    for tap in taps:
        answers = {
            answered: at
            for at, heard in enumerate(tap.heard)
            if (answered := getattr(heard.message, "id", None)) is not None
        }
        states = [
            at
            for at, heard in enumerate(tap.heard)
            if heard.table == table and isinstance(heard.message, m.TableState)
        ]
        for asked in tap.asked:
            at = answers.get(getattr(asked.message, "id", None))
            if asked.table != table or at is None or at < asked.at or type(asked.message) not in _SUBJECT_TO:
                continue
            if sent[asked.message] > 1:
                continue
            moments = list(_moments(tap, asked, at, states))
            if moments and states[-1] > at:  # otherwise what it was not told of in time is not known
                judged += 1
                until = tap.heard[at].time
                late = bisect_left(told, until) - bisect_left(told, asked.time - _IN_A_ROW) > _CHANGES
                _judge(tap, asked, tap.heard[at].message, moments, verdict, late=late)
    return judged


def _moments(tap: Wiretap, asked: TappedMessage, answered: int, states: Sequence[int]) -> Iterator[_Moment]:
    """Yield what the sender may have known when the server came to the request."""
    first = max(bisect_left(states, asked.at) - 1, 0)
    last = bisect_right(states, answered) + 1
    for at in states[first:last]:
        heard = tap.heard[at]
        assert isinstance(heard.message, m.TableState)
        yield _Moment(heard.seat, heard.message)  # the host may have given the sender another seat


def _judge(
    tap: Wiretap,
    asked: TappedMessage,
    answer: m.ServerMessage,
    moments: Sequence[_Moment],
    verdict: Verdict,
    *,
    late: bool,
) -> None:
    """Judge an answer; `late` says that so much has changed that states may have been told late."""
    request = asked.message
    who = "a spectator" if asked.seat is None else f"seat {asked.seat}"
    if isinstance(answer, m.Refused):
        if isinstance(request, m.StartGame) and answer.code == "already-started":
            return  # its draws may be under way, of which nobody is told who has no share in them
        holds = None if late and answer.code in _BRIEF else _REFUSED_IF.get(answer.code)
        if holds is not None and not any(holds(moment, request) for moment in moments):
            text = f"{who} was refused {request} with {answer.code}, wrongly"
            verdict.different.append(tap.finding(text, asked))
        return
    if isinstance(request, m.AskPause) and request.on and _is_bad(request.until, asked.time):
        verdict.invented.append(tap.finding(f"{who} was granted {request}, which is bad-moment", asked))
    for code in _subject_to(request):
        if late and code in _BRIEF:
            continue
        if all(_REFUSED_IF[code](moment, request) for moment in moments):
            verdict.invented.append(tap.finding(f"{who} was granted {request}, which is {code}", asked))


def _is_bad(until: int | None, now: float) -> bool:
    """Return whether no game can be paused until this moment."""
    return until is not None and (until <= _LONG_PAST or until > now + _FAR)


def _subject_to(request: m.ClientMessage) -> Iterator[str]:
    withdraws = isinstance(request, m.AskPause | m.Ask | m.Plan | m.Vote | m.Show) and not _wants(request)
    if not withdraws:
        yield from _SUBJECT_TO[type(request)]
    if isinstance(request, m.ChangeSetting) and isinstance(request.setting, Starting):
        yield from _BEFORE
    if isinstance(request, m.Ask | m.AskPause) and _wants(request):
        yield from ("paused", "others-asked")
    if isinstance(request, m.Ask) and request.on and request.what == "more-time":
        yield "no-clock"


def _wants(request: m.AskPause | m.Ask | m.Plan | m.Vote | m.Show) -> bool:
    """Return whether a request asks for something, rather than taking it back."""
    match request:
        case m.AskPause(on=on) | m.Ask(on=on) | m.Vote(agree=on):
            return on
        case m.Plan(piece=piece):
            return piece is not None
        case m.Show(step=step):
            return step is not None


def check_states(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """Judge every state of the table by itself, and pauses from one state to the next."""
    for tap in taps:
        pauses: defaultdict[tuple[int, str | None], int] = defaultdict(int)
        before: m.PauseSummary | None = None
        for heard in tap.heard:
            state = heard.message
            if heard.table != table:
                pauses.clear()
                before = None
                continue
            if not isinstance(state, m.TableState):
                continue
            for wrong in _wrong_in(state):
                verdict.different.append(tap.finding(f"everybody is told that {wrong}: {state}", heard))
            paused = state.paused
            if paused is not None and before is None and paused.until is None:
                key = paused.seat, state.seats[paused.seat].name
                pauses[key] += 1
                if pauses[key] > _PAUSES:
                    text = f"seat {paused.seat} pauses the game a fourth time"
                    verdict.invented.append(tap.finding(text, heard))
            before = paused


def check_granted_in_time(table: str, taps: Sequence[Wiretap], programs: set[str], verdict: Verdict) -> None:
    """What all who have a say agree to is granted, even if the others have left."""
    for tap in taps:
        since: float | None = None
        before: m.Asked | None = None
        for heard in tap.heard:
            state = heard.message
            if heard.table != table or isinstance(state, m.Seated | m.Watching):
                before = None
            if heard.table != table or not isinstance(state, m.TableState):
                continue
            if state.asked is None or not _is_agreed(state, state.asked, programs):
                before = None
            elif state.asked != before or since is None:
                before, since = state.asked, heard.time
            elif heard.time > since + _AT_ONCE:
                text = f"{state.asked} is agreed to, and not granted: {state}"
                verdict.lost.append(tap.finding(text, heard, since))


def _is_agreed(state: m.TableState, asked: m.Asked, programs: set[str]) -> bool:
    people, agree = _people_in(state, programs), set(asked.seats)
    if not asked.open:
        return False
    if asked.what != "pause" or asked.until is not None:
        return people <= agree
    return state.host in agree or {seat for seat in people if state.seats[seat].here} <= agree


def _wrong_in(state: m.TableState) -> Iterator[str]:
    people = {
        seat
        for seat, each in enumerate(state.seats)
        if each.name is not None and each.level is None and not each.vacant
    }
    for seat, each in enumerate(state.seats):
        if not all(voter != seat and voter in people and state.seats[voter].here for voter in each.votes):
            yield f"somebody who is not there votes on seat {seat}"
    if state.asked is not None and len(set(state.asked.seats)) < len(state.asked.seats):
        yield "somebody agrees twice"
    if state.paused is not None and state.stage != "playing":
        yield "a game is paused that does not run"
    if (state.next or state.shown or state.studied or state.ended) and state.stage != "over":
        yield "something follows a game that is not over"
    if not state.switches.spectators and state.watching:
        yield "a table that may not be watched is watched"
    if state.spectators != len(state.watching):
        yield "there are more spectators than it names, or fewer"


def check_hands(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> None:
    """Nobody is dealt a second hand of the same game over the same connection."""
    for tap in taps:
        seen: int | None = None  # the seat whose hand was shown
        for heard in tap.heard:
            if heard.table == table and heard.seat is not None and _shows_a_hand(heard):
                if seen is not None and heard.seat != seen:
                    text = f"who had seat {seen} was shown the hand of {heard.seat}"
                    verdict.leaked.append(tap.finding(text, heard))
                seen = heard.seat


def _shows_a_hand(heard: Heard) -> bool:
    match heard.message:
        case m.Snapshot(hand=hand):
            return hand is not None
        case m.Events(seq=1):
            return True  # the hands that the game begins with
    return False


def programs_among(taps: Iterable[Wiretap]) -> set[str]:
    """Return the names of those who have joined as programs."""
    return {
        asked.message.name
        for tap in taps
        for asked in tap.asked
        if isinstance(asked.message, m.JoinTable | m.OpenTable) and asked.message.program
    }


def check_consent(table: str, taps: Sequence[Wiretap], programs: set[str], verdict: Verdict) -> None:
    """A move is taken back when all other people in the game have said yes to that themselves."""
    yes: defaultdict[int, list[tuple[float, float]]] = defaultdict(
        list
    )  # when it came and was done, by seats
    sat_down: defaultdict[int, list[float]] = defaultdict(list)
    events: dict[int, tuple[float, dict[str, Any]]] = {}  # first heard when, by their numbers
    for tap in taps:
        done = {heard.message.id: heard.time for heard in tap.heard if isinstance(heard.message, m.Done)}
        for asked in tap.asked_at(table):
            if asked.seat is not None and isinstance(asked.message, m.Ask) and _says_yes(asked.message):
                yes[asked.seat].append((asked.time, done.get(asked.message.id, asked.time)))
        for heard in tap.heard:
            if heard.table != table:
                continue
            match heard.message:
                case m.Seated(seat=seat, taken_over=str()):
                    sat_down[seat].append(heard.time)
                case m.Events(seq, told):
                    _learn(events, heard.time, seq, told)
                case m.Snapshot(seq, missed=told):
                    _learn(events, heard.time, seq - len(told) + 1, told)
    for number, (time, event) in events.items():
        if event["t"] != "taken-back":
            continue
        asker = event["seat"]
        since = max(
            (
                when
                for other, (when, each) in events.items()
                if other < number and when <= time and _closes(each, asker)  # some hear of it late
            ),
            default=0.0,
        )
        for seat in _to_be_asked(table, taps, number, programs) - {asker}:
            from_here = max([since, *(when for when in sat_down[seat] if when <= time)])
            if not any(came <= time and from_here <= done for came, done in yes[seat]):
                text = f"event {number} takes back moves, and seat {seat} has not agreed"
                verdict.invented.append(Finding(text, table, time, since=from_here))


def _says_yes(message: m.ClientMessage) -> bool:
    return isinstance(message, m.Ask) and message.on and message.what == "take-back"


def _learn(
    events: dict[int, tuple[float, dict[str, Any]]], time: float, first: int, told: Sequence[Any]
) -> None:
    for number, event in enumerate(told, first):
        if number not in events or time < events[number][0]:
            events[number] = time, event


def _closes(event: Mapping[str, Any], asker: int) -> bool:
    """Return whether a request of `asker` that was open before an event is not open any more after it."""
    return event["t"] == "taken-back" or (event["t"] in {"placed", "wolf"} and event["seat"] == asker)


def _to_be_asked(table: str, taps: Sequence[Wiretap], number: int, programs: set[str]) -> set[int]:
    """Return the seats of people who were in the game before event `number`, and are in it after that."""
    found: set[int] | None = None
    for tap in taps:
        here = [heard for heard in tap.heard if heard.table == table]
        for at, heard in enumerate(here):
            message = heard.message
            if not isinstance(message, m.Snapshot) or not message.missed:
                continue
            if not message.seq - len(message.missed) < number <= message.seq:
                continue
            before = next(
                (each for each in reversed(here[:at]) if isinstance(each.message, m.TableState)), None
            )
            after = next((each for each in here[at:] if isinstance(each.message, m.TableState)), None)
            for each in (before, after):
                if each is not None:
                    assert isinstance(each.message, m.TableState)
                    seats = _people_in(each.message, programs)
                    found = seats if found is None else found & seats
    return found or set()


def _people_in(state: m.TableState, programs: set[str]) -> set[int]:
    return {
        seat
        for seat, each in enumerate(state.seats)
        if each.name is not None and each.level is None and not each.vacant and each.name not in programs
    }
