"""Players of a correspondence game, who look in for a moment and are away for hours or days."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field
from typing import Final

from client.network.transport import ConnectFailed, RequestRefused
from client.tables.table import (
    Back,
    Closed,
    ConnectionLost,
    Refreshed,
    TableClosed,
    open_request,
)
from client.ui import at_table
from engine.view import Phase
from protocol.absence import letter_seconds
from protocol.messages import NEW, AskPause, CallMe, ConfirmCall, Ping, Plan, Remove
from simulation.people.deeds import some_plan
from simulation.people.players import End, SimulatedPlayer
from simulation.people.visitors import is_over, next_update

_HOUR: Final = 3600.0
_USUAL: Final = 4 * _HOUR  # from one visit to the next, on average
_MOVES_LATER: Final = 0.2  # of the visits on one's turn
_TAKES_IT_BACK: Final = 0.1
_PLANS: Final = 0.3  # of the visits between one's turns
_PAUSES: Final = 0.06  # of the visits end with asking for a pause of some days
_HOLIDAYS: Final = 0.06  # ... and with a holiday
_COMES_BACK: Final = 0.3  # of the visits on a holiday, though it is not one's turn
_AGREES: Final = 0.9  # to one
_STAYS: Final = 0.3  # of those who have moved, for so many seconds: it may be their turn again in that time
_STAY: Final = (90.0, 200.0)
_ASKS_WHOSE_TURN: Final = 0.3  # of the visits
_LONGEST_PAUSE: Final = 96 * _HOUR
_REMOVES: Final = 0.3  # of the visits of the host, somebody who is on holiday ...
_FAR: Final = 48 * _HOUR  # ... for so long at least: a server's clock may be wrong
_FORGETS: Final = 0.06  # the game for longer than a clock allows
_SELDOM: Final = 240 * _HOUR  # from one visit to the next without a call
_GUESSES: Final = 0.1  # of those who were sent a code
_MOST_GUESSES: Final = 6
_COMES_AT_ONCE: Final = 0.3  # of the called: the server may not know yet that the letter has arrived
_TICK: Final = 5.0
_TICKS: Final = 3  # of a visit without news


def is_called_at(table: str | None) -> bool:
    """Return whether players leave addresses at a table: at half of them, the others keep all entries."""
    return table is not None and ord(table[-1]) % 2 == 0


@dataclass(slots=True, kw_only=True)
class Correspondent(SimulatedPlayer):
    """Makes its moves on short visits; `moved` has when they sent them, by the number of events before.

    At half of the tables, they leave an address and come when they are called, all too seldom by themselves.
    """

    moved: dict[int, float] = field(default_factory=dict)
    visits: list[float] = field(default_factory=list)  # when they ended
    stays: list[tuple[float, float]] = field(default_factory=list)  # during which it was surely there
    called_since: float | None = None  # when the address was confirmed

    async def play(self) -> End:
        """Play as anybody does, and do not wait at the table for days until the others have seen the end."""
        end = await SimulatedPlayer.play(self)
        await self.disconnect()
        return end

    async def _play_here(self) -> End | None:
        connection, model = self.connection, self.connection.model
        await self._leave_address()
        for _ in range(_TICKS):
            if is_over(connection):
                return self._seen_the_end()
            if isinstance(await next_update(connection, _TICK), Closed | TableClosed) or model.table is None:
                return None
            if self._may_start(connection):
                await self._start()
            if model.legal is not None and model.view is not None:
                before = model.seq
                made, asked = self.made, asyncio.get_running_loop().time()
                if self.rng.random() >= _MOVES_LATER:
                    await self._try_move(connection)
                if self.made > made:
                    self.moved[before] = asked  # the answer may have taken long
                    await self._stay()
                break
        if is_over(connection):
            return self._seen_the_end()
        if model.legal is None and self.rng.random() < _PLANS:
            await self._plan()
        await self._agree_on_a_pause()
        await self._take_a_holiday()
        await self._try_to_remove()
        if self.rng.random() < _ASKS_WHOSE_TURN:
            await self._ask_whose_turn_it_is()
        started = model.view is not None
        self.counts["visits"] += started
        await self._open.aclose()
        now = asyncio.get_running_loop().time()
        self.visits.append(now)
        if started and self.called_since is not None:
            await self._wait_for_a_call(now)
            return None
        hours = self.rng.expovariate(1 / _USUAL)
        if started and self.rng.random() < _FORGETS:
            hours += 1.5 * letter_seconds(self.absence)
        await asyncio.sleep(hours if started else self.rng.uniform(0, _HOUR))
        return None

    async def _stay(self) -> None:
        """Stay for a while, without doing anything, even if it is one's turn again."""
        if self.rng.random() >= _STAYS:
            return
        clock = asyncio.get_running_loop().time
        since = clock()
        if not await self._is_here_for(self.rng.uniform(*_STAY)):
            return
        until = clock()
        with contextlib.suppress(ConnectFailed, RequestRefused):
            await self.connection.ask(Ping(NEW))  # the connection may be lost, and only the server know that
            if await self._is_here_for(_TICK):
                self.stays.append((since, until))

    async def _is_here_for(self, seconds: float) -> bool:
        """Take in the news for so long; return at once if the connection, or some of the news, is lost."""
        clock = asyncio.get_running_loop().time
        until = clock() + seconds
        while (left := until - clock()) > 0:
            update = await next_update(self.connection, left)
            if isinstance(update, Back | Closed | ConnectionLost | Refreshed | TableClosed):
                return False
        return self.connection.online

    def _seen_the_end(self) -> End:
        self.visits.append(asyncio.get_running_loop().time())
        return End.OVER

    def address_at(self, table: str) -> str:
        return f"{self.name}@{table}"

    @property
    def _address(self) -> str:
        return self.address_at(self.table)

    async def _leave_address(self) -> None:
        postbox, model = self.way.postbox, self.connection.model
        if postbox is None or self.called_since is not None or not is_called_at(model.table):
            return
        with contextlib.suppress(ConnectFailed, RequestRefused):
            await self.connection.ask(CallMe(NEW, self._address))
            await asyncio.sleep(_TICK)
            if (letter := postbox.latest(self._address, "confirm")) is not None:
                if self.rng.random() < _GUESSES:
                    for _ in range(_MOST_GUESSES):
                        await self.try_to(ConfirmCall(NEW, letter.notice.digits[::-1]), "codes guessed")
                await self.connection.ask(ConfirmCall(NEW, letter.notice.digits))
                self.called_since = asyncio.get_running_loop().time()

    async def _wait_for_a_call(self, since: float) -> None:
        assert self.way.postbox is not None
        until = since + self.rng.expovariate(1 / _SELDOM)
        while asyncio.get_running_loop().time() < until:
            letter = self.way.postbox.latest(self._address, "turn", "short", "resumed", "over")
            if letter is not None and letter.at > since:
                self.counts["visits of the called"] += 1
                if self.rng.random() >= _COMES_AT_ONCE:
                    await asyncio.sleep(self.rng.expovariate(1 / _USUAL))
                return
            await self.way.postbox.wait(self._address, until - asyncio.get_running_loop().time())

    async def _agree_on_a_pause(self) -> None:
        """Answer to whoever asks for a pause until a moment, or ask for one now and then."""
        model, rng = self.connection.model, self.rng
        if (state := model.state) is None or state.stage != "playing" or state.paused is not None:
            return
        request = None
        if open_request(state) is not None:
            request = at_table.request_to_answer(model, on=rng.random() < _AGREES)
        elif rng.random() < _PAUSES:
            until = int(time.time() + rng.uniform(_HOUR, _LONGEST_PAUSE))
            request = AskPause(NEW, on=True, until=until)
        if request is not None:
            await self.try_to(request, "pauses asked for or answered")

    async def _take_a_holiday(self) -> None:
        """Take a holiday now and then, and end it early at times."""
        request = at_table.holiday_request(self.connection.model)
        if request is not None and self.rng.random() < (_HOLIDAYS if request.on else _COMES_BACK):
            await self.try_to(request, "holidays begun or ended by hand")

    async def _try_to_remove(self) -> None:
        """As host, ask for the removal of somebody on holiday, which is refused."""
        state, own = self.connection.model.state, self.connection.model.seat
        if state is None or state.host != own or state.stage != "playing" or state.paused is not None:
            return
        for seat, each in enumerate(state.seats):
            far = each.holiday_until is not None and each.holiday_until > time.time() + _FAR
            if far and seat != own and self.rng.random() < _REMOVES:
                await self.try_to(Remove(NEW, seat), "removals granted")

    async def _plan(self) -> None:
        """Plan the next move, which may not fit any more when its turn comes; or plan nothing any more."""
        model, rng = self.connection.model, self.rng
        if model.view is None or model.seat is None or model.view.phase is not Phase.PLACING:
            return
        if not (hand := sorted(model.view.hands[model.seat])):
            return
        takes_back = rng.random() < _TAKES_IT_BACK
        plan = Plan(NEW) if takes_back else some_plan(rng, hand, model.view.seats)
        try:
            await self.connection.ask(plan)
        except (ConnectFailed, RequestRefused):
            self.counts["plans refused or without an answer"] += 1
        else:
            self.counts["plans"] += 1
