"""Requests that need the others' consent (pauses, taking a move back, more time), and the end of a pause.

A request is open until somebody refuses it or the player who asked moves. All other people must agree, here
or not, because a game may take days. But a brief pause needs only the host or everybody who is here, and
nobody without a clock: it gives no time to think then. If a restart interrupts it, it starts again. During a
pause, nobody may move, and all clocks stop.

What cannot be done raises Refusal, IllegalCommand or JournalError.
"""

import time
from typing import Final

from msgspec.structs import replace

from engine.events import TakenBack
from engine.pieces import Seat
from protocol.absence import GameClock, MoveClock
from protocol.codes import Code
from protocol.events import event_map
from protocol.limits import OTHERS_WAIT_SECONDS
from protocol.messages import Ask, Asked, AskPause, Wish
from server.errors import JournalError
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import Paused, TookBack, Unpaused, Wished
from server.tables.absence.deadlines import Due
from server.tables.context import LOOK_SECONDS, TableContext

PAUSES: Final = 3  # that each player gets in a game
LONGEST_PAUSE_DAYS: Final = 30  # until a moment that all have agreed on
TAKE_BACKS: Final = 40  # in a game: its events stay, and clients take no longer lists of them


async def ask(context: TableContext, session: Session, message: Ask | AskPause) -> None:
    """Ask for something, or agree to it; or withdraw or refuse it, or end a pause.

    A pause may be asked for `until` a moment.
    """
    own, state = session.player_seat(), context.state
    what: Wish = "pause" if isinstance(message, AskPause) else message.what
    until = message.until if isinstance(message, AskPause) else None
    state.running_game()
    if own in state.programs:
        raise Refusal(Code.PROGRAMS_DO_NOT_VOTE)
    if message.on:
        await _agree(context, own, what, until)
    elif what == "pause" and state.paused is not None:
        left = OTHERS_WAIT_SECONDS - int(context.paused_for)
        if own not in {state.paused, state.host} and left > 0:
            raise Refusal(Code.PAUSE_GOES_ON, seconds=left)
        await context.store(Unpaused())
    else:
        await _disagree(context, own, what)


async def grant_if_agreed(context: TableContext) -> None:
    """Grant what is asked for if everybody who has not agreed has left or lost their say."""
    asked = context.asked
    if asked is not None and asked.open and _is_agreed(context, asked):
        try:
            await _grant(context, asked)
            probe("a request is granted when somebody leaves")
        except JournalError as error:  # whoever asked can ask again
            probe("what all have agreed on cannot be stored")
            context.lobby.counts.journal_failed(error)


async def _agree(context: TableContext, own: Seat, what: Wish, until: int | None) -> None:
    if context.state.paused is not None:
        raise Refusal(Code.PAUSED)
    asked = context.asked
    if asked is None or not asked.open:
        _check_may_ask(context, own, what)
        asked = Asked(what, [], until=until)
    elif asked.what != what or until not in {None, asked.until}:
        probe("two players ask for different things")
        raise Refusal(Code.OTHERS_ASKED)
    if asked.until is not None and context.state.of_evening:
        raise Refusal(Code.OF_THE_EVENING)
    if asked.until is not None and not 0 < asked.until - time.time() <= LONGEST_PAUSE_DAYS * 86_400:
        raise Refusal(Code.BAD_MOMENT, most=LONGEST_PAUSE_DAYS)
    if own not in asked.seats:
        asked = replace(asked, seats=[*asked.seats, own])
    if _is_agreed(context, asked):
        await _grant(context, asked)
    elif asked != context.asked:
        await context.store(Wished(asked))


def _check_may_ask(context: TableContext, own: Seat, what: Wish) -> None:
    state, game = context.state, context.state.running_game()
    if what == "pause" and state.pauses[own] >= PAUSES:
        probe("a player has no pauses left")
        raise Refusal(Code.NO_PAUSES_LEFT, pauses=PAUSES)
    if what == "take-back":
        game.taken_back(own)
        if sum(isinstance(event, TakenBack) for event in game.events) >= TAKE_BACKS:
            probe("a game has no moves left to take back")
            raise Refusal(Code.NO_TAKE_BACKS_LEFT, most=TAKE_BACKS)
    if what == "more-time":
        if not state.clocks.counts:
            raise Refusal(Code.NO_CLOCK)
        if isinstance(state.clocks.policy, MoveClock):
            game.check_turn(own)
        if state.clocks.is_ample(own):
            probe("a player who asks for time has enough")
            raise Refusal(Code.ENOUGH_TIME)


def _is_agreed(context: TableContext, asked: Asked) -> bool:
    state, agree = context.state, {Seat(seat) for seat in asked.seats}
    if asked.what != "pause" or asked.until is not None:
        return state.people <= agree
    has_clock = isinstance(state.absence, MoveClock | GameClock)
    return not has_clock or state.host in agree or context.policy.people_here <= agree


async def _disagree(context: TableContext, own: Seat, what: Wish) -> None:
    """Refuse the request, which withdraws one's own, or take back that one agrees to another's."""
    asked = context.asked
    if asked is None or not asked.open or asked.what != what:
        raise Refusal(Code.NOT_PAUSED if what == "pause" else Code.NOTHING_ASKED)
    if own in asked.seats[1:]:
        probe("a player no longer agrees")
        await context.store(Wished(replace(asked, seats=[seat for seat in asked.seats if seat != own])))
    else:
        await context.store(Wished(replace(asked, refused=own)))


async def _grant(context: TableContext, asked: Asked) -> None:
    seat = Seat(asked.seats[0])
    match asked.what:
        case "pause":
            await context.store(*context.clock_entries(), Paused(seat, asked.until))
        case "take-back":
            await _take_back(context, seat)
        case "more-time":
            await _give_time(context, asked, seat)


async def _take_back(context: TableContext, seat: Seat) -> None:
    """Take the seat's last placement back, with all that followed it."""
    await context.store(TookBack(seat, [event_map(context.state.running_game().taken_back(seat))]))


async def _give_time(context: TableContext, asked: Asked, seat: Seat) -> None:
    (now,) = context.clock_entries()
    more = context.state.clocks.extended(seat, now)
    await context.store(more, Wished(replace(asked, granted=True)))


def await_end(context: TableContext) -> None:
    """End the pause when its time is up: one that a restart has interrupted starts again."""
    if context.state.paused is None:
        context.paused_at = None
        context.deadlines.cancel(Due.PAUSE_OVER)
    elif not context.deadlines.is_set(Due.PAUSE_OVER):
        if context.paused_at is None:
            context.paused_at = context.deadlines.time()
        context.deadlines.set(Due.PAUSE_OVER, min(context.pause_left, LOOK_SECONDS))


async def end_if_over(context: TableContext) -> None:
    if context.state.paused is None:
        return
    if context.pause_left >= 1:
        probe("a pause is not over when that is due")
        await_end(context)
    else:
        await context.store(Unpaused())
