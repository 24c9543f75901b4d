"""Notices: players who are away are notified of their turn, of running out of time, and of the end.

A notice is owed as long as the table's state calls for it and no entry records that the player knows. So
the commit that begins a turn also makes its notices due, and whichever server has the table sends them.
"""

import asyncio
import hashlib
import hmac
import logging
import secrets
from typing import Final, Literal

from engine.pieces import Seat
from protocol.codes import Code
from protocol.limits import NOTICE_CODE_LENGTH
from protocol.messages import CallMe, ConfirmCall
from protocol.messages import Notices as NoticesMessage
from server.config import PlayerNotice
from server.errors import JournalError
from server.limits.networks import Networks, networks_in
from server.monitoring.logs import about
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import Noticed, NoticesTo
from server.tables.absence.deadlines import RETRY_SECONDS, Due
from server.tables.context import Owed, TableContext, Unconfirmed
from server.tables.state.persistent_state import Player

log = logging.getLogger(__name__)

_GUESSES: Final = 5  # at a code
_RETRIES: Final = (60, 300, 1800, 7200, 21_600)  # seconds after each failure; then it is given up
_SHORTEST_CLOCK: Final = 3_600_000  # milliseconds of a turn: nobody can be called back to a shorter one
_SHORT: Final = 86_400_000  # or a quarter of the turn, if that is less


def notice_key(code: str, token_hash: str, kind: str, number: int) -> str:
    """Return the key of a notice, by which its receiver can drop a duplicate."""
    return hashlib.sha256(f"{code} {token_hash} {kind} {number}".encode()).hexdigest()[:32]


async def ask(context: TableContext, session: Session, message: CallMe) -> None:
    """Send a code to the address that the player leaves, or forget it; raises Refusal or JournalError."""
    seat = session.player_seat()
    player = _player(context, seat)
    if message.to is None:
        context.calls.unconfirmed.pop(player.token_hash, None)
        if player.notices is not None:
            await context.store(NoticesTo(seat, "", ""))
            probe("a player forgets an address")
        tell(context, session)
        return
    postman = context.lobby.config.postman
    if postman is None:
        raise Refusal(Code.NO_NOTICES)
    kind = postman.kind_of(message.to)
    context.lobby.rates.count_code_sent(session, kind, postman.receiver(message.to))
    digits = f"{secrets.randbelow(10**NOTICE_CODE_LENGTH):0{NOTICE_CODE_LENGTH}}"
    wanted = Unconfirmed(NoticesTo(seat, message.to, message.language), digits)
    context.calls.unconfirmed[player.token_hash] = wanted
    tell(context, session)
    context.lobby.tasks.start(
        _send_code(context, player.token_hash, wanted, session.address), "sending a code"
    )


async def confirm(context: TableContext, session: Session, message: ConfirmCall) -> None:
    """Use the address from now on if the code is the one that was sent there; raises as `ask` does."""
    seat = session.player_seat()
    wanted = context.calls.unconfirmed.get(token_hash := _player(context, seat).token_hash)
    if wanted is None:
        raise Refusal(Code.NO_CODE)
    if not hmac.compare_digest(wanted.digits, message.digits):
        wanted.guesses += 1
        if wanted.guesses >= _GUESSES:
            probe("a code for an address is guessed too often")
            del context.calls.unconfirmed[token_hash]
            tell(context, session)
        raise Refusal(Code.WRONG_CODE)
    await context.store(NoticesTo(seat, wanted.to.address, wanted.to.language))
    del context.calls.unconfirmed[token_hash]
    tell(context, session)


def tell(context: TableContext, session: Session, *, newcomer: bool = False) -> None:
    """Send a player where notices go; a newcomer is sent nothing if there is no such place."""
    player, postman = _player(context, session.player_seat()), context.lobby.config.postman
    wanted, said = context.calls.unconfirmed.get(player.token_hash), NoticesMessage("none")
    if postman is not None and (to := player.notices if wanted is None else wanted.to) is not None:
        state: Literal["unconfirmed", "unreachable", "confirmed"] = "confirmed"
        if wanted is not None:
            state = "unreachable" if wanted.unreachable else "unconfirmed"
        said = NoticesMessage(state, "mail" if "@" in to.address else "url")
    if not newcomer or said.state != "none":
        session.send(said)


async def _send_code(context: TableContext, token_hash: str, wanted: Unconfirmed, asker: Networks) -> None:
    code = PlayerNotice("confirm", context.code, "", digits=wanted.digits)
    fault = await _post(context, wanted.to, code, asker)
    if fault is not None:
        probe("a code for an address is not delivered")
        log.info("a code was not delivered", extra=about(table=context.code, reason=fault))
        wanted.unreachable = True
        await context.deadlines.carry_out(Due.CODE_REFUSED, token_hash)


async def tell_player(context: TableContext, token_hash: str) -> None:
    for seat, session in context.audience.seated.items():
        if _player(context, seat).token_hash == token_hash:
            tell(context, session)


def look(context: TableContext) -> None:
    """Schedule the notices that are owed now, and cancel all others: the table may have changed."""
    if context.lobby.config.postman is None:  # this is asked after every move
        return
    for number, player in enumerate(context.state.players):
        seat = Seat(number)
        owed = None if player is None or player.notices is None else _owed_to(context, seat, player)
        if owed == context.calls.owed.get(seat):
            continue
        del context.calls.failures[seat]
        if owed is None:
            del context.calls.owed[seat]
            context.deadlines.cancel(Due.NOTICE, seat)
        else:
            context.calls.owed[seat] = owed
            _set(context, seat, owed, _seconds_until(context, seat, owed))


def owes(context: TableContext) -> bool:
    """Return whether anybody is being called, or is to be who cannot be once the table is archived."""
    return bool(context.calls.sending) or any(owed.kind != "short" for owed in context.calls.owed.values())


async def finish(context: TableContext) -> None:
    """Wait until all that is being sent has been, and that is stored: the table is about to move."""
    if context.calls.sending:
        await asyncio.wait(context.calls.sending.values())


def _owed_to(context: TableContext, seat: Seat, player: Player) -> Owed | None:
    state = context.state
    if state.stage == "over":
        return Owed("over", 0)
    game = state.game
    is_free = seat in state.bot_seats or seat in state.stopped
    if not context.may_move or game is None or is_free:
        return None
    if player.resumed < state.agreed_pause:
        return Owed("resumed", state.agreed_pause)
    if game.view.turn != seat:
        return None
    events = len(game.events)
    if player.noticed < (events, False):
        return Owed("turn", events)
    is_told = player.noticed >= (events, True)
    is_brief = state.clocks.whole_turn(seat) < _SHORTEST_CLOCK
    return None if is_told or is_brief else Owed("short", events)


def _seconds_until(context: TableContext, seat: Seat, owed: Owed) -> float:
    if owed.kind != "short":
        return context.limits.notice_seconds
    short = min(_SHORT, context.state.clocks.whole_turn(seat) // 4)
    return max(0, (context.policy.time_left() or 0) - short) / 1000


def _set(context: TableContext, seat: Seat, owed: Owed, seconds: float) -> None:
    context.deadlines.set(Due.NOTICE, seconds, seat, owed)


async def fall_due(context: TableContext, seat: Seat, owed: Owed) -> None:
    to = _player(context, seat).notices
    if context.calls.owed.get(seat) != owed or to is None:
        return
    if owed.kind == "short" and (wait := _seconds_until(context, seat, owed)) > 0:  # its clock stood still
        probe("a notice that time is short waits because the clock stopped")
        _set(context, seat, owed, wait)
    elif context.lobby.journal.lapsed or seat in context.calls.sending:
        probe("a notice waits for another one or for the lease")
        _set(context, seat, owed, RETRY_SECONDS)
    elif seat in context.audience.seated or context.calls.known.get(seat) == owed:
        await _know(context, seat, owed)
    else:
        seconds = context.policy.time_left() if owed.kind in {"turn", "short"} else None
        key = notice_key(context.code, _player(context, seat).token_hash, *owed)
        seconds = None if seconds is None else seconds // 1000
        sending = _send(context, seat, owed, to, PlayerNotice(owed.kind, context.code, key, seconds=seconds))
        context.calls.sending[seat] = context.lobby.tasks.start(sending, "a notice")


async def _post(context: TableContext, to: NoticesTo, notice: PlayerNotice, asker: Networks) -> str | None:
    config = context.lobby.config
    assert config.postman is not None  # noqa: S101 - else there are no notices
    return await config.postman.send(to.address, to.language, config.address, notice, asker)


async def _send(context: TableContext, seat: Seat, owed: Owed, to: NoticesTo, notice: PlayerNotice) -> None:
    opener = networks_in(context.state.opened.origin or context.code)  # who is called may be anywhere
    fault = await _post(context, to, notice, opener)
    await context.deadlines.carry_out(Due.NOTICE_SENT, seat, owed, notice.key, fault)


async def note_outcome(context: TableContext, seat: Seat, owed: Owed, key: str, fault: str | None) -> None:
    del context.calls.sending[seat]
    if context.calls.owed.get(seat) != owed:
        probe("a notice is out of date when it arrives")
        if fault is None:
            await _note_arrival(context, seat, owed, key)
        return
    if fault is None:
        await _know(context, seat, owed)
        return
    context.calls.failures[seat] += 1
    probe("a notice is not delivered")
    failures = context.calls.failures[seat]
    log.warning(
        "a notice was not delivered",
        extra=about(table=context.code, seat=seat, reason=fault, attempt=failures),
    )
    if failures > len(_RETRIES):
        probe("a notice is given up")
        await _know(context, seat, owed)
    else:
        _set(context, seat, owed, _RETRIES[failures - 1])


async def _know(context: TableContext, seat: Seat, owed: Owed) -> None:
    """Store that the player knows or cannot be reached; when the game is over, drop the address."""
    context.calls.known[seat] = owed
    _set(context, seat, owed, RETRY_SECONDS)  # in case it cannot be stored
    try:
        if owed.kind == "over":
            await context.store(NoticesTo(seat, "", ""))
        else:
            state, known = context.state, (owed.number, owed.kind == "short")
            if owed.kind == "resumed":  # and so whose turn it is
                known = (0 if state.game is None else len(state.game.events)), False
            known = max(known, _player(context, seat).noticed)
            await context.store(Noticed(seat, *known, state.agreed_pause))
    except JournalError as error:
        probe("a notice was sent, and that cannot be stored")
        context.lobby.counts.journal_failed(error)


async def _note_arrival(context: TableContext, seat: Seat, owed: Owed, key: str) -> None:
    """Store that a notice has arrived which is not owed now, but may be again after a holiday or a pause."""
    state, player = context.state, context.state.players[seat]
    if state.stage != "playing" or state.game is None or player is None:
        return
    if notice_key(context.code, player.token_hash, *owed) != key:
        return  # somebody else has the seat
    context.calls.known[seat] = owed  # in case it cannot be stored
    known, pauses = player.noticed, player.resumed
    if owed.kind == "resumed":
        pauses = max(pauses, owed.number)
    elif owed.number == len(state.game.events):
        known = max(known, (owed.number, owed.kind == "short"))
    if (known, pauses) != (player.noticed, player.resumed):
        await context.store_or_log(Noticed(seat, *known, pauses))


def _player(context: TableContext, seat: Seat) -> Player:
    player = context.state.players[seat]
    assert player is not None  # noqa: S101 - somebody holds the seat
    return player
