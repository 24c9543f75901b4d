"""A table: one task that owns its seating and game, and takes requests from a bounded queue.

It knows who may ask what when, and hands the rest on: coming and going to the usher, the game to the referee.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence

from engine.errors import IllegalCommand
from engine.game import Game
from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import (
    AtTable,
    Done,
    JoinTable,
    Lay,
    Leave,
    PlacePiece,
    Refused,
    Rematch,
    Resume,
    Said,
    Say,
    Seated,
    StartGame,
    Sync,
    TableLine,
    Vote,
    Watch,
)
from protocol.text import unsafe
from server.config import Limits
from server.counts import Counts
from server.errors import JournalError
from server.logs import about
from server.net.session import Session
from server.storage.entries import Continued, Forgotten
from server.storage.journal import Journal
from server.tables.context import AGAIN_SECONDS, Room
from server.tables.moves import Referee
from server.tables.requests import (
    Arrival,
    AwayTooLong,
    Departed,
    Entrance,
    Errand,
    FreeIfAway,
    GoneOn,
    MoveInstead,
    PutAway,
    Refusal,
    Request,
    TimeUp,
    not_stored,
    players_seat,
)
from server.tables.seat_admission import Usher
from server.tables.stand_in import StandIn
from server.tables.state import Answer, Seating
from server.tables.summaries import table_line

log = logging.getLogger(__name__)


class Table:
    """One game, its seats and its spectators.

    `following` opens or finds the table where a session's player plays again after this one.
    """

    def __init__(
        self,
        code: str,
        seating: Seating,
        journal: Journal,
        limits: Limits,
        counts: Counts,
        *,
        stand_in: StandIn,
        when_over: Callable[[str, Game, Sequence[str]], None],
        following: Callable[[Session, "Table"], Awaitable["Table"]],
        when_changed: Callable[[], None],
    ) -> None:
        self.code = code
        self.seating = seating
        self.requests: asyncio.Queue[Request | Errand] = asyncio.Queue(limits.requests)
        self.archived = False
        self.unattended_since: float | None = None
        self._limits = limits
        self._journal = journal
        self._following = following
        self._when_changed = when_changed
        self._loop = asyncio.get_running_loop()
        self._unattended: asyncio.TimerHandle | None = None
        self._room = Room(
            code, seating, journal, limits, stand_in, later=self._later, when_changed=self._changed
        )
        self._audience = self._room.audience
        self._usher = Usher(self, self._room, counts)
        self._referee = Referee(self._room, counts, when_over)
        self._watch_attendance()

    async def run(self) -> None:
        """Serve the table until it is forgotten or archived."""
        while not (self.seating.forgotten or self.archived):
            request = await self.requests.get()
            if isinstance(request, Request):
                await self._served(request)
            else:
                await self._errand(request)

    async def close(self) -> None:
        """Turn away whoever is here and whoever still asks: the table has ended, and is found no more."""
        self.rest()
        self._usher.close()
        if self._unattended is not None:
            self._unattended.cancel()
        for session in list(self._audience):
            self._audience.remove(session)
            session.send(self._closed().answer())
        while True:
            await asyncio.sleep(0)  # those who waited for room in the queue put their requests now
            if self.requests.empty():
                break
            while not self.requests.empty():
                self._turn_away(self.requests.get_nowait())
        # They know the table: without this the game would stay until Python looks for cycles.
        del self._usher, self._referee, self._room

    def rest(self) -> None:
        """Let nothing more fall due: the server stops, and whoever goes now has not left."""
        self._room.rest()

    @property
    def players_here(self) -> int:
        """Return how many players are connected."""
        return len(self._audience.seated)

    @property
    def spectators_here(self) -> int:
        """Return how many spectators are connected."""
        return len(self._audience.spectators)

    def line(self) -> TableLine:
        """Return the table's line in the list of tables."""
        return table_line(self.code, self.seating)

    def seat_opener(self, session: Session, id: int, token: str) -> None:  # noqa: A002 - the wire's own word
        """Give seat 0 to the session that opened the table, before `run` begins."""
        self._usher.sit(session, Seat(0), Seated(id, self.code, 0, token))

    def send(self, errand: Errand) -> None:
        """Put an errand into the queue, as soon as there is room."""
        try:
            self.requests.put_nowait(errand)
        except asyncio.QueueFull:
            self._later(AGAIN_SECONDS, errand)

    def _later(self, seconds: float, errand: Errand) -> asyncio.TimerHandle:
        return self._loop.call_later(seconds, self.send, errand)

    # -- requests -----------------------------------------------------------------------------------

    async def _served(self, request: Request) -> None:
        session, message = request.session, request.message
        handed_on = False
        try:
            match message:
                case Departed():
                    await self._usher.depart(session)
                case JoinTable() | Resume() | Watch() | Arrival():
                    await self._enter(session, message)
                case Rematch():
                    handed_on = await self._handed_on(request, message.id)
                case _:
                    await self._answer(session, message)
        except Exception:
            # The table has failed. `close` tells those who are here, but not who just left or never came in.
            if session.table is None and not isinstance(message, Departed):
                session.send(self._closed().answer(message.id))
            raise
        finally:
            if not handed_on:
                request.settle()

    async def _enter(self, session: Session, message: Entrance) -> None:
        try:
            await self._usher.enter(session, message)
        except Refusal as refusal:
            session.send(refusal.answer(message.id))
        except JournalError as error:
            session.send(self._not_stored(error, message.id))

    async def _answer(self, session: Session, message: AtTable) -> None:
        if session.table is not self:  # it left, or was taken over, while the message waited
            session.send(_not_here().answer(message.id))
            return
        player = None if session.seat is None else self.seating.players[session.seat]
        if player is not None and (answered := player.answers.get(message.id)) is not None:
            session.send(_repeated(message, *answered))
            return
        try:
            if isinstance(message, StartGame | Lay | PlacePiece):
                await self._referee.play(session, message)
                return
            answer: Answer = await self._done(session, message)
        except Refusal as refusal:
            answer = refusal.answer(message.id)
        except IllegalCommand as error:
            answer = Refused(error.fault, str(error), message.id, error.rule, about=error.about or None)
        except JournalError as error:
            session.send(self._not_stored(error, message.id))
            return
        if player is not None and not isinstance(message, Sync | Leave):
            player.remember(message, answer)
        session.send(answer)

    async def _done(self, session: Session, message: Leave | Sync | Say | Vote) -> Done:
        match message:
            case Leave():
                await self._usher.leave(session)
            case Sync():
                self._room.catch_up(session, message.after)
            case Say():
                self._say(session, message)
            case Vote():
                await self._referee.vote(session, message)
        return Done(message.id)

    def _say(self, session: Session, message: Say) -> None:
        if (why := unsafe(message.text)) is not None:
            raise Refusal(Code.BAD_TEXT, "That cannot be said: {why}.", why=why)
        self._audience.broadcast(Said(message.text, session.seat))

    async def _handed_on(self, request: Request, id: int) -> bool:  # noqa: A002 - the wire's own word
        """Send a player on to the table where they play again; return whether that one answers."""
        session = request.session
        try:
            seat = self._seat_to_play_again(session)
            table = await self._following(session, self)
        except Refusal as refusal:
            session.send(refusal.answer(id))
            return False
        except JournalError as error:
            session.send(self._not_stored(error, id))
            return False
        if table.code != self.seating.next:
            self.seating.fold(Continued(table.code))  # which the lobby has stored with the new table
            self._room.tell_state()
        player = self.seating.players[seat]
        assert player is not None  # noqa: S101 - seats are given up only before a game
        arrival = Arrival(id, self, seat, player.name, player.token_hash, player.program)
        await table.requests.put(Request(session, arrival, request.handled))
        return True

    def _seat_to_play_again(self, session: Session) -> Seat:
        if session.table is not self:
            raise _not_here()
        seat = players_seat(session)
        if self.seating.stage != "over":
            raise Refusal(Code.NOT_OVER, "The game is not over. Play again when it is.")
        return seat

    def _not_stored(self, error: JournalError, id: int) -> Refused:  # noqa: A002 - the wire's own word
        """Refuse what the journal could not take; it is not remembered, and may succeed when sent again."""
        self._room.log_not_stored(error)
        return not_stored().answer(id)

    # -- errands ------------------------------------------------------------------------------------

    async def _errand(self, errand: Errand) -> None:
        match errand:
            case FreeIfAway(seat):
                await self._usher.free_if_away(seat)
            case GoneOn(session, seat):
                self._usher.gone_on(session, seat)
            case AwayTooLong() | TimeUp() | MoveInstead():
                await self._referee.due(errand)
            case PutAway():
                if not self._audience:
                    await self._put_away()
                errand.settle(ended=self.seating.forgotten or self.archived)

    def _changed(self) -> None:
        self._watch_attendance()
        self._when_changed()

    def _watch_attendance(self) -> None:
        """Put the table away in good time once nobody is here."""
        if self._unattended is not None:
            self._unattended.cancel()
            self._unattended = self.unattended_since = None
        if not self._audience:
            self.unattended_since = self._loop.time()
            over = self.seating.stage == "over"
            seconds = self._limits.over_seconds if over else self._limits.unattended_seconds
            self._unattended = self._later(seconds, PutAway())

    async def _put_away(self) -> None:
        """Archive a game, for its players to come back to; forget a table without one."""
        try:
            if self.seating.game is None:
                await self._room.store(Forgotten())
            else:
                await self._journal.archive(self.code)
                self.archived = True
        except JournalError as error:
            log.error("not put away", extra=about(table=self.code, reason=str(error)))  # noqa: TRY400 - one line says it
            self._watch_attendance()  # try again

    def _turn_away(self, request: Request | Errand) -> None:
        """Answer someone who asked while the table was ending."""
        if isinstance(request, PutAway):
            request.settle(ended=True)
        elif isinstance(request, Request):
            back = self.archived and isinstance(request.message, Resume)  # who finds it in the archive then
            if not back and not isinstance(request.message, Departed):
                request.session.send(self._closed().answer(request.message.id))
            request.settle()

    def _closed(self) -> Refusal:
        return Refusal(Code.NO_SUCH_TABLE, "Table {table} is closed.", table=self.code)


def _not_here() -> Refusal:
    return Refusal(Code.NOT_AT_A_TABLE, "You have left the table.")


def _repeated(message: AtTable, asked: AtTable, answer: Answer) -> Answer:
    if message == asked:
        return answer
    text = "Id {id} was used for another message. Number your messages upward."
    return Refusal(Code.ID_REUSED, text, id=message.id).answer(message.id)
