"""Clocks in whole milliseconds, as docs/protocol.md has them, from what crossed the wire alone.

What the server sent may be heard later than it was written, never earlier; and what it was sent reached it no
earlier than it was heard. A seat's time is therefore known to lie between two bounds.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from protocol import messages as m
from protocol.absence import GameClock, LongClock, MoveClock
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, Wiretap

_DRIFT: Final = 0.005  # more than a server's clock is ever fast or slow
_ROUNDING: Final = 5  # milliseconds
_SHARE: Final = 5  # of a game's clock is given as more time
_MOVES: Final = m.Lay | m.PlacePiece


def check_clocks(table: str, taps: Sequence[Wiretap], verdict: Verdict, *, stored: bool) -> int:
    """Judge the clocks of a table with a single policy; return how many turns were measured.

    Unless all was `stored`, only pauses are judged: where the move of a stand-in or a plan is not, the turn
    begins again.
    """
    states = [
        heard.message
        for tap in taps
        for heard in tap.heard
        if heard.table == table and isinstance(heard.message, m.TableState)
    ]
    policies = {state.long_clock or state.absence for state in states if state.stage != "gathering"}
    policy = policies.pop() if len(policies) == 1 else None
    if not isinstance(policy, MoveClock | GameClock):
        return 0
    asked = _first_asked(table, taps)
    asks = sum(
        isinstance(each.message, m.Ask) and each.message.what == "more-time"
        for tap in taps
        for each in tap.asked_at(table)
    )
    wrong, turns = list[str](), 0
    for tap in taps:
        here = [heard for heard in tap.heard if heard.table == table]
        wrong += _wrong_in_a_pause(here)
        if not stored:
            continue
        wrong += _wrong_in_a_turn(here, policy, _whole_time(policy) + asks * _more_time(policy))
        if isinstance(policy, GameClock):
            for seat, least, most, charged in _turns(here, asked):
                turns += 1
                if not least <= charged <= most:
                    wrong.append(f"seat {seat} used {charged} ms in {least} to {most} ms")
    verdict.different += [Finding(f"its clocks are wrong: {each}", table) for each in wrong]
    return turns


def _first_asked(table: str, taps: Iterable[Wiretap]) -> dict[int, float]:
    """Return when each move was first asked for, by the number of its first event."""
    first: dict[tuple[int | None, m.ClientMessage], float] = {}
    for tap in taps:
        for asked in tap.asked_at(table):
            if isinstance(asked.message, _MOVES):
                move = asked.seat, asked.message
                first[move] = min(first.get(move, asked.time), asked.time)
    found: dict[int, float] = {}
    for tap in taps:
        moves = {
            asked.message.id: first[asked.seat, asked.message]
            for asked in tap.asked_at(table)
            if isinstance(asked.message, _MOVES)
        }
        for heard in tap.heard:
            message = heard.message
            if heard.table == table and isinstance(message, m.Events) and message.id in moves:
                found[message.seq] = moves[message.id]
    return found


def _wrong_in_a_turn(here: Iterable[Heard], policy: MoveClock | GameClock, most: int) -> Iterator[str]:
    """Within a turn, time is given only where all are sent the clock again, and once; at `most` so much."""
    turn: tuple[int, int | None] | None = None  # the number of its first event, and whose it is
    left = 0
    for heard in here:
        message = heard.message
        if isinstance(message, m.Seated | m.Watching) or (isinstance(message, m.Snapshot) and message.missed):
            turn = None
        if not isinstance(message, m.Events | m.Snapshot) or message.clock is None:
            continue
        is_given = isinstance(message, m.Events) and not message.events
        last = message.seq if isinstance(message, m.Snapshot) else message.seq + len(message.events) - 1
        now = last, message.turn
        if now == turn and message.clock > left + (_more_time(policy) if is_given else 0):
            yield f"seat {message.turn} had {left} ms and then {message.clock} ms"
        if message.clock > most:
            yield f"seat {message.turn} had {message.clock} ms of {most} ms"
        turn, left = now, message.clock


def _wrong_in_a_pause(here: Iterable[Heard]) -> Iterator[str]:
    """While the game is paused, all clocks stand still."""
    standing: m.TableState | None = None
    for heard in here:
        state = heard.message
        if isinstance(state, m.Seated | m.Watching):
            standing = None
        if not isinstance(state, m.TableState):
            continue
        if standing is not None and state.paused is not None:
            before, after = ([seat.clock for seat in each.seats] for each in (standing, state))
            if before != after:
                yield f"they went from {before} to {after} in a pause"
        standing = None if state.paused is None else state


def _turns(here: Sequence[Heard], asked: dict[int, float]) -> Iterator[tuple[int, int, int, int]]:
    """Yield a seat, the least and the most that it may have used in a turn, and what it has used.

    Only those are measured which nothing but moves has interrupted, up to the seat's next turn.
    """
    began: dict[int, tuple[Heard, m.Events]] = {}  # by seats: with how much time
    ended: dict[int, tuple[Heard, m.Events]] = {}  # ... and with what
    on_turn: int | None = None
    for heard in here:
        message = heard.message
        if isinstance(message, m.TableState) and message.paused is None:
            continue
        if isinstance(message, m.Seated | m.Watching | m.Snapshot | m.TableState):
            began, ended, on_turn = {}, {}, None
        if not isinstance(message, m.Events):
            continue
        if not message.events or message.clock is None or message.stood_in:
            began, ended, on_turn = {}, {}, None
            continue
        if on_turn is not None:
            ended[on_turn] = heard, message
        on_turn = message.turn
        if on_turn is None:
            continue
        if on_turn in began and on_turn in ended and message.clock:
            (first, start), (last, end) = began[on_turn], ended[on_turn]
            assert start.clock is not None
            least, most = 0, 1000 * 10**6
            if end.seq in asked:
                least = int(1000 * (asked[end.seq] - first.time) * (1 - _DRIFT)) - _ROUNDING
            if start.seq in asked:
                most = int(1000 * (last.time - asked[start.seq]) * (1 + _DRIFT)) + _ROUNDING
            yield on_turn, least, most, start.clock - message.clock
        began[on_turn] = heard, message
        ended.pop(on_turn, None)


def _whole_time(policy: MoveClock | GameClock) -> int:
    """Return the most milliseconds that a clock shows if nobody gives more."""
    reserve = policy.reserve if isinstance(policy, LongClock) else 0
    return 1000 * (policy.seconds + reserve)


def _more_time(policy: MoveClock | GameClock) -> int:
    """Return how many milliseconds all others together can give at a time."""
    return 1000 * policy.seconds // (1 if isinstance(policy, MoveClock) else _SHARE)
