"""Clocks in whole milliseconds, as docs/protocol.md has them, from what crossed the wire alone.

What the server sent may be heard later than it was written, never earlier; and what it was sent reached it no
earlier than it was heard. A seat's time is therefore known to lie between two bounds.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from protocol import messages as m
from protocol.absence import GameClock, LongClock, MoveClock
from simulation.verdict import Finding, Verdict
from simulation.wiretap import Heard, TappedMessage, Wiretap

_DRIFT: Final = 0.005  # more than a server's clock is ever fast or slow
_ROUNDING: Final = 5  # milliseconds
_SHARE: Final = 5  # of a game's clock is given as more time
_TOLERANCE: Final = 150  # milliseconds that a server may take to say how much time is left
_AROUND: Final = 1.0  # second by which a state may be sent late
_MOVES: Final = m.Lay | m.PlacePiece
# What a table tells those who are there. Others reach them even while it is put into the archive.
_OF_THE_TABLE: Final = m.TableState | m.Said | m.Events | m.Snapshot


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


def check_steps(table: str, taps: Sequence[Wiretap], verdict: Verdict) -> int:
    """Within a turn, a clock goes as fast as the time; return how many pairs of messages were compared.

    It stands in a pause, and jumps when all have given more time. Whoever comes back to the same turn is
    shown less than before, by the time for which somebody is known to have been there.
    """
    shown = sorted((each for tap in taps for each in _shown(table, tap)), key=lambda each: each.time)
    interrupted = [
        (tap.life_at(table), heard.time)
        for tap in taps
        for heard in tap.heard
        if heard.table == table and isinstance(heard.message, m.TableState) and _interrupts(heard.message)
    ]
    # Time may be given, and the next request be open before anybody is told that.
    interrupted += [
        (tap.life_at(table), each.time)
        for tap in taps
        for each in tap.asked_at(table)
        if isinstance(each.message, m.Ask) and each.message.what == "more-time" and each.message.on
    ]
    interrupted.sort()
    asked = _asked_by_answers(table, taps)
    compared = 0
    in_holidays: dict[tuple[object, int], int] = {}  # what clocks show, by turns and ends of holidays
    before: dict[int, _Shown] = {}  # by connections
    for at, now in enumerate(shown):
        if not now.comes and (last := before.get(now.tap.number)) is not None and last.turn == now.turn:
            compared += 1
            _compare(table, last, now, asked.get(now.time), verdict)
        for last in shown[:at] if now.comes else ():
            if (last.life, last.turn) != (now.life, now.turn) or not last.left:
                continue
            around = (now.life, last.time - _AROUND), (now.life, now.time + _AROUND)
            if bisect_left(interrupted, around[0]) == bisect_left(interrupted, around[1]):
                most = last.left - 1000 * (min(last.until, now.time) - last.time) * (1 - _DRIFT)
                if now.left > max(0.0, most) + _TOLERANCE:
                    text = f"the clock of {now.turn} showed {now.left} ms, of {most:.0f} ms"
                    verdict.different.append(Finding(text, table, now.time, now.tap.number, last.time))
        before[now.tap.number] = now
        if (until := now.holiday_until) is not None:
            left = in_holidays.setdefault((now.turn, until), now.left)
            if abs(left - now.left) > _TOLERANCE:
                text = f"the clock of {now.turn} went from {left} ms to {now.left} ms in a holiday"
                verdict.different.append(Finding(text, table, now.time, now.tap.number))
    return compared


@dataclass(slots=True)
class _Shown:
    """How much time a connection was shown that is left in a turn, which is the last event and a seat."""

    tap: Wiretap
    life: int
    time: float
    turn: tuple[int, int]
    left: int
    comes: bool  # it has just come to the table
    limited: bool  # the clock, or a limit, may begin again at any time
    state: m.TableState | None  # the table's, as it was told before ...
    states: list[tuple[float, m.TableState]] = field(default_factory=list)  # ... and after this, and when
    until: float = 0.0  # it was there for so long, as far as is known

    @property
    def holiday_until(self) -> int | None:
        """Return when the holiday ends at the latest of the player whose turn it is, None without one."""
        return None if self.state is None else self.state.seats[self.turn[1]].holiday_until


def _shown(table: str, tap: Wiretap) -> list[_Shown]:
    found: list[_Shown] = []
    comes, state = True, None
    for heard in tap.heard:
        if heard.table != table:
            comes, state = True, None
            continue
        if found and not comes and isinstance(heard.message, _OF_THE_TABLE):
            found[-1].until = heard.time
        match heard.message:
            case m.Seated() | m.Watching():
                comes = True
            case m.TableState():
                state = heard.message
                if found and not comes:
                    found[-1].states.append((heard.time, state))
            case m.Events(turn=int(turn), clock=int(left)) | m.Snapshot(turn=int(turn), clock=int(left)):
                message = heard.message
                last = message.seq + (len(message.events) - 1 if isinstance(message, m.Events) else 0)
                limited = state is None or state.turn_limit is not None
                life = tap.life_at(table)
                found.append(_Shown(tap, life, heard.time, (last, turn), left, comes, limited, state))
                found[-1].until = heard.time
                comes = False
    return found


def _interrupts(state: m.TableState) -> bool:
    """Return whether time may have been given or stopped."""
    granted = state.asked is not None and state.asked.granted
    on_holiday = any(each.holiday_until is not None for each in state.seats)
    return granted or on_holiday or state.paused is not None or state.turn_limit is not None


def _asked_by_answers(table: str, taps: Iterable[Wiretap]) -> dict[float, TappedMessage]:
    """Return the requests for what stops or changes clocks by when they were done.

    It is stored in between, and no clock is charged for that.
    """
    found: dict[float, TappedMessage] = {}
    for tap in taps:
        done = {heard.message.id: heard.time for heard in tap.heard if isinstance(heard.message, m.Done)}
        for asked in tap.asked_at(table):
            if isinstance(asked.message, m.Ask | m.AskPause | m.ChangeSetting | m.TakeHoliday):
                found[done.get(asked.message.id, 0.0)] = asked
    return found


def _compare(table: str, last: _Shown, now: _Shown, asked: TappedMessage | None, verdict: Verdict) -> None:
    """Judge what two messages show of one turn, the latter after something was `asked` for.

    The table's state is told just before what has become of the turn with it.
    """
    between = [state for time, state in last.states if time < now.time]
    with_now = [state for time, state in (*last.states, *now.states[:1]) if time >= now.time]
    known = [state for state in (last.state, *between, *with_now) if state is not None]
    if not (last.left and now.left and known) or last.limited or any(map(_is_special, known)):
        return
    first = between[0] if between else known[0]
    # Time may be given to a clock that is up, while the stand-in thinks.
    ran = 0.0 if first.paused is not None else min(1000 * (now.time - last.time), last.left)
    given = [0]
    # That it was given need not be told: before the next state, somebody may have asked again, or moved.
    asking = [each for each in known if each.asked is not None and each.asked.what == "more-time"]
    if (
        asked is not None
        and isinstance(wish := asked.message, m.Ask)
        and wish.on
        and wish.what == "more-time"
    ):
        asking.append(known[-1])
    if asking:
        after = asking[0]
        policy = after.long_clock or after.absence
        if len({each.long_clock or each.absence for each in known}) > 1:
            return
        if not isinstance(policy, MoveClock | GameClock):
            return  # it waits for the next round, and which clock runs until then is not known
        is_shown = any(seat.clock is not None for seat in after.seats)
        if is_shown != (isinstance(policy, GameClock) or bool(after.long_clock and after.long_clock.reserve)):
            return  # another clock than the one that was chosen, which waits for the next round
        given.append(_more_time(policy))
    gone = last.left - now.left
    least = min(ran, 1000 * (-_AROUND if asked is None else asked.time - last.time))
    slack = _TOLERANCE + _DRIFT * ran
    if not any(least - slack <= gone + more <= ran + slack for more in given):
        text = f"the clock of {now.turn} went from {last.left} ms to {now.left} ms in {ran:.0f} ms"
        verdict.different.append(Finding(text, table, now.time, now.tap.number, last.time))


def _is_special(state: m.TableState) -> bool:
    """Return whether the clock may stand for another reason than a pause, or start again."""
    return state.turn_limit is not None or any(each.holiday_until is not None for each in state.seats)


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
    """While the game is paused, all clocks are stopped."""
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
