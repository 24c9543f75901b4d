"""Players on the real client's connection, which remember all they did and received."""

import asyncio
import contextlib
import enum
from dataclasses import dataclass, field
from typing import Any, Final, cast

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from client.bots.brains import at_random
from client.network.connection import Connection
from client.network.transport import ConnectFailed, RequestRefused
from client.tables.table import Closed, TableClosed, open_request
from engine.legal import Legal
from protocol.absence import Absence, ByBot, ByVote, GameClock, MoveClock, Wait
from protocol.codec import decode_server, encode
from protocol.codes import Code
from protocol.events import move_message
from protocol.limits import VERSIONS
from protocol.messages import (
    NEW,
    AskTurn,
    EnterLobby,
    GetRecord,
    Hello,
    Invite,
    JoinTable,
    Leave,
    OpenTable,
    Rematch,
    Resume,
    Show,
    StartGame,
    Study,
    Turn,
    Vote,
)
from protocol.settings import ChosenSwitches
from server.net.tokens import token_hash
from simulation.people.deeds import Deeds
from simulation.people.visitors import (
    NO_TABLE,
    PAUSE,
    TIMEOUTS,
    Lost,
    NeverBegun,
    Stolen,
    Visitor,
    Witness,
    is_over,
    next_update,
)

# Of a player's turns:
_COMES_ANEW: Final = 0.03  # the terminal is closed, and another one takes the seat
_IS_LATE: Final = 0.02  # ... and a move of the old one arrives after that
_IS_AWAY: Final = 0.03  # ... after a while, unless the table just waits for its players
_IS_AWAY_FROM_BOTS: Final = 0.05  # ... more often where a bot would play
_IS_LONG_AWAY: Final = 0.002  # ... for at least so much of the longest absence
_LONG_AWAY: Final = 0.6
_THINKS_TOO_LONG: Final = 0.02  # for the move's clock
_TOO_LATE: Final = 1.2  # seconds: the stand-in moves after one
_THINKS: Final = 0.1  # with a clock
_THOUGHT: Final = 3.0  # seconds at most
_VOTES: Final = 0.2  # of the looks at a seat that a bot may get

_REMEMBERS: Final = 0.5  # of the terminals that take the seat: what the old one knew of the game
_FORGES: Final = 0.1  # ... try another token first
_ASKS_WHOSE_TURN: Final = 0.02  # of the looks around
_IS_LISTED: Final = 0.2  # of the players: they have entered the lobby, and are online wherever they are
_TRIES_ANOTHER_SEAT: Final = 0.1  # of the looks around at a vacant one
_GOES_AFTER_ASKING: Final = 0.05  # of the looks around while the others have not answered
_TRIES_A_KEPT_SEAT: Final = 0.3  # of those who come to a rematch, where nobody has a seat freed
_TRIES_TO_RETURN: Final = 0.5  # of those who were removed ...
_RETURNS: Final = 4  # ... so often
_UPDATES: Final = 20  # are enough to learn who sits at a table
_LEAVES: Final = 0.5  # of those who are away: they have said so
_ASKS_FOR_THE_RECORD: Final = 0.3  # of those who have seen the end
_LEADS: Final = 0.2  # and of the same, through the game
_LATE_ID: Final = 2_000_000_000  # far from the client's own ids, which begin below 2**30
_TICK: Final = 0.25  # seconds without news, after which a player looks around
_TO_BE_STARTED_LATER: Final = {
    Code.SEAT_KEPT,
    Code.SEATS_EMPTY,
    Code.ALREADY_STARTED,
    Code.NOT_THE_HOST,
    Code.LEFT_THE_TABLE,
    Code.NOT_AT_A_TABLE,
}
# Refusals of a move that may be made all the same, if the stand-in does not make it: what they count as.
_REFUSED_FOR_NOW: Final[dict[str, str]] = {
    Code.NOT_STORED: "moves not stored",
    Code.PAUSED: "moves refused in a pause",
    Code.TIME_UP: "moves that came too late",
}
_REMOVED: Final = {Code.REMOVED, Code.REMOVED_BY_SERVER}


class End(enum.Enum):
    """How a player's time at a table ended."""

    OVER = "the game is over"
    REMOVED = "the player was removed, or has left before the game"


@dataclass(slots=True, kw_only=True)
class SimulatedPlayer(Visitor):
    """Holds a seat and makes its moves, at random; with `deeds`, it does other things too."""

    absence: Absence = field(default_factory=Wait)
    leaves_at: int | None = None  # the event after which everybody leaves for a while
    deeds: Deeds | None = None
    program: bool = False
    table: str = ""
    token: str = field(default="", repr=False)
    made: int = 0  # moves
    late_moves: int = 0  # that were sent after the seat was lost
    lost_seat: bool = False  # it was sent away, or its token was refused
    _seated_anew: bool = False  # on another connection than before

    @property
    def who(self) -> str:
        """Return what the player is called where it went wrong."""
        return f"{self.table}: {self.name}"

    async def open(self, players: int, grows: bool, *, random_layout: bool, private: bool) -> str:
        """Open a table and return its code; raises ConnectFailed if that is not known to have happened."""
        assert self.name is not None
        await self.connect()
        await self._enter_lobby()
        seated = await self.connection.ask(
            OpenTable(
                NEW,
                players,
                self.name,
                random_layout=random_layout,
                absence=self.absence,
                program=self.program,
                switches=ChosenSwitches(private=private),
                grows=grows,
            )
        )
        self.table, self.token = seated.table, seated.token or ""
        (self.way.private if private else self.way.once_public).add(self.table)
        return self.table

    async def join(self, table: str, seat: int | None = None) -> None:
        """Take the seat; raises ConnectFailed if that is not known to have happened, or RequestRefused."""
        assert self.name is not None
        await self.connect()
        await self._enter_lobby()
        seated = await self.connection.ask(JoinTable(NEW, table, self.name, seat, program=self.program))
        self.table, self.token = seated.table, seated.token or ""

    async def play(self) -> End:
        """Play the game to its end, on as many connections as that takes, and start it as host."""
        while (end := await self._play_here()) is None:
            if not self._seated_anew and (end := await self._come_anew()) is not None:
                break
            self._seated_anew = False
        if self.deeds is not None:
            self.deeds.company.people.discard(str(self.name))
        if end is End.OVER and self.rng.random() < _ASKS_FOR_THE_RECORD:
            await self.try_to(GetRecord(NEW), "records asked for")
        if end is End.OVER and self.rng.random() < _LEADS:
            await self._lead()
        return end

    async def play_again(self) -> None:
        """Go to the table of the rematch."""
        await asyncio.sleep(self.rng.uniform(0, 2 * PAUSE))
        before = self.table
        while self.connection.model.table in {None, before}:
            try:
                await self.insist(self._ask_again)
            except RequestRefused as refusal:
                if self.connection.model.table not in {None, before}:  # an earlier request was slow
                    break
                raise Lost(f"a rematch was refused: {refusal}") from refusal
        model = self.connection.model
        assert model.table is not None
        self.table, self.leaves_at = model.table, None
        if self.deeds is None and self.rng.random() < _TRIES_A_KEPT_SEAT:
            await self._try_kept_seat()

    # -- internals ----------------------------------------------------------------------------------

    async def _enter_lobby(self) -> None:
        if self.rng.random() < _IS_LISTED:
            with contextlib.suppress(ConnectFailed, RequestRefused):
                await self.connection.ask(EnterLobby(NEW, f"Player {self.rng.randrange(10**9)}"))
                self.counts["players listed in the lobby"] += 1
                await self.connection.ask(Invite(NEW))
                self.counts["invitations"] += 1

    async def _ask_whose_turn_it_is(self) -> None:
        """Ask for that on another connection, without coming to the table."""
        question = AskTurn(NEW, self.table, token_hash(self.token))
        with contextlib.suppress(OSError, TimeoutError, WebSocketException):
            async with (
                asyncio.timeout(TIMEOUTS.answer),
                connect(self.way.url, compression=None, proxy=None, close_timeout=0.5) as line,
            ):
                await line.send(encode(Hello(list(VERSIONS), "asks", self.way.access.password)))
                await line.recv()
                await line.send(encode(question))
                answer = decode_server(cast("bytes", await line.recv()))
                self.counts["times somebody asked whose turn it is"] += isinstance(answer, Turn)

    @property
    def _policy(self) -> Absence:
        """Return the table's absence policy, which the host may have changed."""
        state = self.connection.model.state
        return self.absence if state is None else state.absence

    async def _start(self) -> None:
        """Start the game, as host."""
        try:
            await self.insist(self._resume_and_start)
        except RequestRefused as refusal:
            if self.deeds is not None and refusal.code == Code.BAD_TOKEN:
                return  # coming anew finds out why
            if refusal.code in NO_TABLE:
                if any(model.seen[self.table].seq for model in self.models):
                    return  # it has begun, and made room since: coming anew brings it back
                raise NeverBegun from refusal
            if refusal.code not in _TO_BE_STARTED_LATER:
                raise Lost(f"the host was refused: {refusal}") from refusal

    async def _resume_and_start(self) -> None:
        if self.connection.model.table is None:
            await self.connection.ask(Resume(NEW, self.table, self.token))
        await self.connection.ask(StartGame(NEW))

    async def _ask_again(self) -> None:
        if self.connection.model.table is None:
            await self.connection.ask(Resume(NEW, self.table, self.token))
        await self.connection.ask(Rematch(NEW))
        self.counts["rematches"] += 1

    async def _lead(self) -> None:
        """Lead the others through the finished game, unless somebody else does; open a study for nobody."""
        with contextlib.suppress(ConnectFailed, RequestRefused):
            for step in (self.rng.randrange(60), self.rng.randrange(60), self.rng.choice([0, None])):
                await self.connection.ask(Show(NEW, step))
                self.counts["steps shown to the others"] += 1
            await self.connection.ask(Study(NEW, self.rng.randrange(20)))
            self.counts["studies opened"] += 1

    async def _come_anew(self) -> End | None:
        """Take the seat from a new terminal, which may remember what the old one knew of the game.

        Return how it ended if there is no seat any more.
        """
        self.counts["comings anew"] += 1
        model, remembered = self.connection.model, None
        if self.rng.random() < 0.5:
            await self._open.aclose()
            if model.table == self.table and self.rng.random() < _REMEMBERS:
                assert isinstance(model, Witness)
                remembered = model
        await self.connect(remembered)
        try:
            if (
                self.rng.random() < _FORGES and self.table not in self.way.private
            ):  # else it counts as a guess
                await self._forge()
            await self.insist(self._resume)
        except RequestRefused as refusal:
            if self.deeds is not None and refusal.code == Code.BAD_TOKEN:
                self.lost_seat = True  # the verdict looks whether that was right
                return End.REMOVED
            if refusal.code in NO_TABLE and not any(model.seen[self.table].seq for model in self.models):
                raise NeverBegun from refusal
            raise Lost(f"a player was refused: {refusal}") from refusal
        return None

    async def _stay_away(self) -> End | None:
        """Return how it ended for a player who has left before the game; None if that had begun meanwhile.

        Then the seat is still the player's, who is back.
        """
        assert self.deeds is not None
        if (end := await self._come_anew()) is None:
            self.deeds.company.people.add(str(self.name))
            self._seated_anew = True
        return end

    async def _resume(self) -> None:
        await self.connection.ask(Resume(NEW, self.table, self.token, self.connection.model.seq))

    async def _forge(self) -> None:
        """Try a token that no seat has, to learn whose turn it is and to take a seat."""
        forged = self.token[::-1]
        with contextlib.suppress(ConnectFailed, RequestRefused):  # the verdict looks whether it was answered
            await self.connection.ask(cast("Any", AskTurn(NEW, self.table, token_hash(forged))))
        try:
            seated = await self.connection.ask(Resume(NEW, self.table, forged))
        except ConnectFailed:
            return
        except RequestRefused:
            self.counts["forged tokens refused"] += 1
        else:
            raise Stolen(f"seat {seated.seat} was given for another token")

    async def try_to_return(self) -> bool:
        """Ask for a seat that somebody has, from several addresses, after being sent away from one's own.

        Return whether it may have been given: a bot of the server may have had it.
        """
        if not self.lost_seat or self.rng.random() >= _TRIES_TO_RETURN:
            return False
        seated = False
        for _ in range(_RETURNS):
            async with Visitor(self.way, self.rng, self.counts).visiting() as connection:
                again = JoinTable(NEW, self.table, str(self.name), 0, program=self.program)
                try:
                    await connection.ask(again)
                except RequestRefused:
                    pass
                except ConnectFailed:
                    seated = True  # perhaps
                else:
                    seated = True
                self.counts["times somebody came back who was removed"] += 1
        return seated

    async def _try_kept_seat(self) -> None:
        """Try to join in the place of somebody for whom a seat is kept."""
        for _ in range(_UPDATES):  # it comes soon who sits where
            if (state := self.connection.model.state) is not None:
                break
            await next_update(self.connection, PAUSE)
        kept = [] if state is None else [(at, each.name) for at, each in enumerate(state.seats) if each.kept]
        if not kept or state is None:
            return
        seat, name = self.rng.choice(kept)
        async with Visitor(self.way, self.rng, self.counts).visiting() as thief:
            try:
                await thief.ask(JoinTable(NEW, state.table, str(name), seat))
            except (ConnectFailed, RequestRefused):
                self.counts["kept seats refused to others"] += 1
            else:
                raise Stolen(f"seat {seat} was given to somebody else than {name}")

    async def _try_another_seat(self, connection: Connection) -> bool:
        """Leave for a vacant seat of the same game, if there is one; return whether that was tried.

        It is asked for under a name that is taken, so that nobody gets it on a connection that has seen no
        hand: the verdict looks for what reason it was refused.
        """
        state, own = connection.model.state, connection.model.seat
        vacant = [] if state is None else [at for at, each in enumerate(state.seats) if each.vacant]
        if not vacant or own is None or self.rng.random() >= _TRIES_ANOTHER_SEAT:
            return False
        with contextlib.suppress(ConnectFailed, RequestRefused):
            await connection.ask(Leave(NEW))
            await connection.ask(JoinTable(NEW, self.table, str(self.name), self.rng.choice(vacant)))
        self.counts["second hands asked for"] += 1
        return True

    async def _play_here(self) -> End | None:
        """Play on this connection; return how the game ended, None if another connection is needed."""
        connection, moved_at = self.connection, -1
        while True:
            if is_over(connection):
                return End.OVER
            update = await next_update(connection, _TICK)
            model = connection.model
            if is_over(connection):
                return End.OVER
            if isinstance(update, TableClosed) and update.refused.code in _REMOVED:
                self.lost_seat = True
                return End.REMOVED
            if isinstance(update, Closed | TableClosed) or model.table is None:
                return None
            if self.leaves_at is not None and model.seq >= self.leaves_at:
                self.leaves_at = None
                await self._be_away(2.0)
                return None
            if self._may_start(connection):
                await self._start()
            await self._vote(connection)
            if self.deeds is not None and await self.deeds.do_something(connection, str(self.name)):
                await self.disconnect()
                return await self._stay_away()
            if self.deeds is not None and await self._try_another_seat(connection):
                return None
            if self.deeds is not None and self._has_asked(connection):
                await self._be_away(4.0)
                return None
            if self._connection is not connection:
                self._seated_anew = self.connection.model.table is not None
                return None
            while model.legal is not None and model.view is not None and model.seq != moved_at:
                at = model.seq
                if await self._do_something_else(connection, model.legal):
                    return None
                if model.legal is None or model.view is None:
                    break
                if await self._try_move(connection):
                    moved_at = at
                elif connection.closed is not None:
                    return None
            if model.seat is not None:
                await self.talk(str(self.name))
                if self.rng.random() < _ASKS_WHOSE_TURN:
                    await self._ask_whose_turn_it_is()

    def _has_asked(self, connection: Connection) -> bool:
        """Return whether the player goes away now, though the others have yet to answer."""
        state, own = connection.model.state, connection.model.seat
        request = None if state is None else open_request(state)
        return request is not None and own in request.seats and self.rng.random() < _GOES_AFTER_ASKING

    def _may_start(self, connection: Connection) -> bool:
        """Return whether this is the host, everybody has come, and the host has nothing else to do first."""
        state = connection.model.state
        if state is None or state.stage != "gathering" or state.host != connection.model.seat:
            return False
        if not state.can_start:
            return False
        return self.deeds is None or self.deeds.may_start()

    async def _do_something_else(self, connection: Connection, legal: Legal) -> bool:
        """Do something else than move, now and then; return whether this connection is no longer used."""
        chance = self.rng.random()
        if chance < _COMES_ANEW:
            return True
        chance -= _COMES_ANEW
        if chance < _IS_LATE:
            await self._move_late(connection, legal)
            return True
        chance -= _IS_LATE
        policy = self._policy
        if chance < _IS_AWAY and (self.deeds is not None or not isinstance(policy, Wait)):
            await self._be_away(4.0)
            return True
        chance -= _IS_AWAY
        if chance < _IS_LONG_AWAY and self.deeds is not None:
            await self._be_away(0.0)
            longest = self.way.longest_absence
            await asyncio.sleep(self.rng.uniform(_LONG_AWAY * longest, longest))
            return True
        chance -= _IS_LONG_AWAY
        if chance < _IS_AWAY_FROM_BOTS and isinstance(policy, ByBot | ByVote):
            await self._be_away(4.0)
            return True
        chance -= _IS_AWAY_FROM_BOTS
        if chance < _THINKS_TOO_LONG and isinstance(policy, MoveClock):
            await asyncio.sleep(policy.seconds + self.rng.uniform(0, _TOO_LATE))
        chance -= _THINKS_TOO_LONG
        if chance < _THINKS and isinstance(policy, MoveClock | GameClock):
            await asyncio.sleep(self.rng.uniform(0, _THOUGHT))
        return False

    async def _be_away(self, seconds: float) -> None:
        """Close the terminal for a while, and say so before or not."""
        self.counts["times away"] += 1
        if self.deeds is not None and self.rng.random() < _LEAVES:
            with contextlib.suppress(ConnectFailed, RequestRefused):
                await self.connection.ask(Leave(NEW))
        await self._open.aclose()
        await asyncio.sleep(self.rng.uniform(0, seconds) * self.way.scale)

    async def _move_late(self, connection: Connection, legal: Legal) -> None:
        """Take the seat from another terminal, and have a move of this one arrive after that."""
        websocket = connection._websocket
        view = connection.model.view
        if websocket is None or view is None:
            return
        self.late_moves += 1
        move = move_message(_LATE_ID + self.late_moves, at_random(view, legal, self.rng))
        release = self.way.hold((websocket.local_address[1], websocket.remote_address[1]))
        try:
            await websocket.send(encode(move))
            await self.connect()
            await self.insist(self._resume)
        except RequestRefused as refusal:
            if self.deeds is not None and refusal.code in NO_TABLE:
                return  # coming anew finds out why
            raise Lost(f"a player was refused: {refusal}") from refusal
        except ConnectionClosed:
            return
        finally:
            release()
        self._seated_anew = True
        self.counts["late moves"] += 1
        await asyncio.sleep(PAUSE)  # for the move to arrive before the next one

    async def _vote(self, connection: Connection) -> None:
        """Agree that bots play for those who are away."""
        state, own = connection.model.state, connection.model.seat
        if state is None or not isinstance(state.absence, ByVote):
            return
        for seat, summary in enumerate(state.seats):
            due = summary.seconds_left == 0 and own not in summary.votes and seat != own
            if due and self.rng.random() < _VOTES:
                with contextlib.suppress(ConnectFailed, RequestRefused):
                    await connection.ask(Vote(NEW, seat, agree=True))
                    self.counts["votes"] += 1

    async def _try_move(self, connection: Connection) -> bool:
        """Try a move; return whether there was an answer that settles it."""
        model = connection.model
        assert model.view is not None
        assert model.legal is not None
        try:
            await connection.ask(move_message(NEW, at_random(model.view, model.legal, self.rng)))
        except RequestRefused as refusal:
            if (count := _REFUSED_FOR_NOW.get(refusal.code)) is not None:
                self.counts[count] += 1
                await asyncio.sleep(PAUSE)
                return False
        except ConnectFailed:
            self.counts["moves without an answer"] += 1
            return False
        else:
            self.made += 1
            self.counts["moves"] += 1
        return True
