"""Notices: players who are away are called when it is their turn, when its time is short, and at the end.

A notice is owed for as long as the table's state says so and no entry says that the player knows. So the
commit that brings a turn about makes its notices owed, and whichever server has the table sends them.
"""

import asyncio
import hashlib
import hmac
import logging
import secrets
from collections import Counter
from dataclasses import dataclass
from functools import partial
from typing import Final, Literal, NamedTuple

from engine.pieces import Seat
from protocol.codes import Code
from protocol.limits import NOTICE_CODE_LENGTH
from protocol.messages import CallMe, ConfirmCall
from protocol.messages import Notices as NoticesMessage
from server.config import PlayerNotice
from server.errors import JournalError
from server.monitoring.logs import about
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import Entry, Noticed, NoticesTo
from server.tables.absence.deadlines import RETRY_SECONDS, Due
from server.tables.context import TableContext
from server.tables.state.persistent_state import Player

log = logging.getLogger(__name__)

_GUESSES: Final = 5  # at a code
_RETRIES: Final = (60, 300, 1800, 7200, 21_600)  # seconds after each failure; then it is given up
_SHORTEST_CLOCK: Final = 3_600_000  # milliseconds of a turn: nobody can be called back to a shorter one
_SHORT: Final = 86_400_000  # or a quarter of the turn, if that is less


class _Owed(NamedTuple):
    kind: Literal["turn", "short", "resumed", "over"]
    number: int  # of events so far in the game, or of the pause that has ended


def notice_key(code: str, token_hash: str, kind: str, number: int) -> str:
    """Return what a notice is known by, so that its receiver can drop it if it comes twice."""
    return hashlib.sha256(f"{code} {token_hash} {kind} {number}".encode()).hexdigest()[:32]


@dataclass(slots=True)
class _Unconfirmed:
    to: NoticesTo
    digits: str
    guesses: int = 0
    unreachable: bool = False


@dataclass(eq=False, repr=False)
class Notices:
    """Calls the players of a table; all is done under the table's lock, but `finish` and the sending."""

    context: TableContext

    def __post_init__(self) -> None:
        self._unconfirmed: dict[str, _Unconfirmed] = {}  # by the seats' token hashes
        self._owed: dict[Seat, _Owed] = {}
        self._known: dict[Seat, _Owed] = {}  # which the players know of, whether it is stored or not
        self._failures: Counter[Seat] = Counter()
        self._sending: dict[Seat, asyncio.Task[None]] = {}

    # -- addresses ----------------------------------------------------------------------------------

    async def ask(self, session: Session, message: CallMe) -> None:
        """Send a code to the address that the player leaves, or forget it; raises Refusal or JournalError."""
        seat = session.player_seat()
        player = self._player(seat)
        if message.to is None:
            self._unconfirmed.pop(player.token_hash, None)
            if player.notices is not None:
                await self._store_without_trace(NoticesTo(seat, "", ""))
            self.tell(session)
            return
        postman = self.context.postman
        if postman is None:
            raise Refusal(Code.NO_NOTICES)
        postman.kind_of(message.to)
        self.context.rates.count_code_sent(session, postman.receiver(message.to))
        digits = f"{secrets.randbelow(10**NOTICE_CODE_LENGTH):0{NOTICE_CODE_LENGTH}}"
        wanted = _Unconfirmed(NoticesTo(seat, message.to, message.language), digits)
        self._unconfirmed[player.token_hash] = wanted
        self.tell(session)
        self.context.tasks.start(self._send_code(player.token_hash, wanted), "sending a code")

    async def confirm(self, session: Session, message: ConfirmCall) -> None:
        """Use the address from now on if the code is the one that was sent there; raises as `ask` does."""
        seat = session.player_seat()
        wanted = self._unconfirmed.get(token_hash := self._player(seat).token_hash)
        if wanted is None:
            raise Refusal(Code.NO_CODE)
        if not hmac.compare_digest(wanted.digits, message.digits):
            wanted.guesses += 1
            if wanted.guesses >= _GUESSES:
                del self._unconfirmed[token_hash]
                self.tell(session)
            raise Refusal(Code.WRONG_CODE)
        await self.context.store(NoticesTo(seat, wanted.to.address, wanted.to.language))
        del self._unconfirmed[token_hash]
        self.tell(session)

    def tell(self, session: Session, *, newcomer: bool = False) -> None:
        """Tell a player where notices go; a newcomer to whom none go knows that."""
        player, postman = self._player(session.player_seat()), self.context.postman
        wanted, said = self._unconfirmed.get(player.token_hash), NoticesMessage("none")
        if postman is not None and (to := player.notices if wanted is None else wanted.to) is not None:
            state: Literal["unconfirmed", "unreachable", "confirmed"] = "confirmed"
            if wanted is not None:
                state = "unreachable" if wanted.unreachable else "unconfirmed"
            said = NoticesMessage(state, "mail" if "@" in to.address else "url")
        if not newcomer or said.state != "none":
            session.send(said)

    async def _send_code(self, token_hash: str, wanted: _Unconfirmed) -> None:
        fault = await self._post(
            wanted.to, PlayerNotice("confirm", self.context.code, "", digits=wanted.digits)
        )
        if fault is not None:
            log.info("a code was not delivered", extra=about(table=self.context.code, reason=fault))
            wanted.unreachable = True
            await self.context.deadlines.carry_out(partial(self._tell_player, token_hash))

    async def _tell_player(self, token_hash: str) -> None:
        for seat, session in self.context.audience.seated.items():
            if self._player(seat).token_hash == token_hash:
                self.tell(session)

    # -- notices ------------------------------------------------------------------------------------

    def look(self) -> None:
        """Have the notices sent that are owed now, and no others: the table may have changed."""
        if self.context.postman is None:  # this is asked after every move
            return
        for number, player in enumerate(self.context.state.players):
            seat = Seat(number)
            owed = None if player is None or player.notices is None else self._owed_to(seat, player)
            if owed == self._owed.get(seat):
                continue
            del self._failures[seat]
            if owed is None:
                del self._owed[seat]
                self.context.deadlines.cancel(Due.NOTICE, seat)
            else:
                self._owed[seat] = owed
                self._set(seat, owed, self._seconds_until(seat, owed))

    @property
    def owes(self) -> bool:
        """Return whether anybody is being called, or is to be who cannot be once the table is archived."""
        return self.sending or any(owed.kind != "short" for owed in self._owed.values())

    @property
    def sending(self) -> bool:
        return bool(self._sending)

    async def finish(self) -> None:
        """Wait until all that is being sent has been, and that is stored: the table is about to move."""
        if self._sending:
            await asyncio.wait(self._sending.values())

    def _owed_to(self, seat: Seat, player: Player) -> _Owed | None:
        state = self.context.state
        if state.stage == "over":
            return _Owed("over", 0)
        game = state.game
        is_free = seat in state.bot_seats or seat in state.on_holiday
        if not self.context.may_move or game is None or is_free:
            return None
        if player.resumed < state.agreed_pause:
            return _Owed("resumed", state.agreed_pause)
        if game.view.turn != seat:
            return None
        events = len(game.events)
        if player.noticed < (events, False):
            return _Owed("turn", events)
        is_told = player.noticed >= (events, True)
        is_brief = state.clocks.whole_turn(seat) < _SHORTEST_CLOCK
        return None if is_told or is_brief else _Owed("short", events)

    def _seconds_until(self, seat: Seat, owed: _Owed) -> float:
        if owed.kind != "short":
            return self.context.limits.notice_seconds
        short = min(_SHORT, self.context.state.clocks.whole_turn(seat) // 4)
        return max(0, (self.context.policy.time_left() or 0) - short) / 1000

    def _set(self, seat: Seat, owed: _Owed, seconds: float) -> None:
        self.context.deadlines.set(Due.NOTICE, seconds, partial(self._fall_due, seat, owed), seat)

    async def _fall_due(self, seat: Seat, owed: _Owed) -> None:
        context, to = self.context, self._player(seat).notices
        if self._owed.get(seat) != owed or to is None:
            return
        if owed.kind == "short" and (wait := self._seconds_until(seat, owed)) > 0:  # its clock stood still
            self._set(seat, owed, wait)
        elif context.journal.lapsed or seat in self._sending:
            self._set(seat, owed, RETRY_SECONDS)
        elif seat in context.audience.seated or self._known.get(seat) == owed:
            await self._know(seat, owed)
        else:
            seconds = context.policy.time_left() if owed.kind in {"turn", "short"} else None
            key = notice_key(context.code, self._player(seat).token_hash, *owed)
            seconds = None if seconds is None else seconds // 1000
            notice = PlayerNotice(owed.kind, context.code, key, seconds=seconds)
            self._sending[seat] = context.tasks.start(self._send(seat, owed, to, notice), "a notice")

    async def _post(self, to: NoticesTo, notice: PlayerNotice) -> str | None:
        assert self.context.postman is not None  # noqa: S101 - else there are no notices
        return await self.context.postman.send(to.address, to.language, self.context.address, notice)

    async def _send(self, seat: Seat, owed: _Owed, to: NoticesTo, notice: PlayerNotice) -> None:
        fault = await self._post(to, notice)
        await self.context.deadlines.carry_out(lambda: self._note_outcome(seat, owed, fault))

    async def _note_outcome(self, seat: Seat, owed: _Owed, fault: str | None) -> None:
        del self._sending[seat]
        if self._owed.get(seat) != owed:
            return
        if fault is None:
            await self._know(seat, owed)
            return
        self._failures[seat] += 1
        failures = self._failures[seat]
        log.warning(
            "a notice was not delivered",
            extra=about(table=self.context.code, seat=seat, reason=fault, attempt=failures),
        )
        if failures > len(_RETRIES):
            await self._know(seat, owed)
        else:
            self._set(seat, owed, _RETRIES[failures - 1])

    async def _know(self, seat: Seat, owed: _Owed) -> None:
        """Store that the player knows, or is not to be reached; the address is gone with the game."""
        self._known[seat] = owed
        self._set(seat, owed, RETRY_SECONDS)  # for if it cannot be stored
        try:
            if owed.kind == "over":
                await self._store_without_trace(NoticesTo(seat, "", ""))
            else:
                state, known = self.context.state, (owed.number, owed.kind == "short")
                if owed.kind == "resumed":  # and so whose turn it is
                    known = (0 if state.game is None else len(state.game.events)), False
                known = max(known, self._player(seat).noticed)
                await self.context.store(Noticed(seat, *known, state.agreed_pause))
        except JournalError as error:
            self.context.counts.journal_failed(error)

    async def _store_without_trace(self, entry: Entry) -> None:
        await self.context.store(entry)
        await self.context.shorten()

    def _player(self, seat: Seat) -> Player:
        player = self.context.state.players[seat]
        assert player is not None  # noqa: S101 - somebody holds the seat
        return player
