"""A table: one task that owns its seating and game, and takes requests from a bounded queue.

Decide, store, then tell: what a client hears has been committed to the journal.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from engine.board import Field
from engine.errors import IllegalCommand
from engine.events import Command, LayTile, Place
from engine.game import Game
from engine.pieces import Piece, Seat
from protocol.absence import Wait
from protocol.codes import CloseCode, Code
from protocol.events import event_map
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
    Watching,
)
from protocol.text import unsafe
from server.absence import Instead, Steward
from server.audience import Audience, catch_up
from server.config import Limits
from server.counts import Counts
from server.entries import (
    Continued,
    Entry,
    Forgotten,
    Freed,
    Held,
    Move,
    Played,
    Returned,
    StoodIn,
    Taken,
    Voted,
)
from server.errors import JournalError
from server.journal import Journal
from server.lines import table_line, table_state
from server.logs import about
from server.names import alike, check_name
from server.opening import opening
from server.requests import (
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
)
from server.seating import Answer, Seating
from server.session import Session
from server.stand_in import StandIn
from server.tokens import new_token, token_fits, token_hash

log = logging.getLogger(__name__)

_AGAIN_SECONDS: Final = 1.0  # until something is tried again that could not be done


class Table:
    """One game, its seats and its spectators."""

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
        following: Callable[[Session, Seating], Awaitable["Table"]],
        when_changed: Callable[[], None],
    ) -> None:
        self.code = code
        self.seating = seating
        self.requests: asyncio.Queue[Request | Errand] = asyncio.Queue(limits.requests)
        self._audience = Audience()
        self._journal = journal
        self._limits = limits
        self._counts = counts
        self._when_over = when_over
        self._following = following
        self._when_changed = when_changed
        self.archived = False
        self.unattended_since: float | None = None
        self._gone_on: set[Seat] = set()
        self._loop = asyncio.get_running_loop()
        self._unattended: asyncio.TimerHandle | None = None
        self._graces: dict[Seat, asyncio.TimerHandle] = {}
        self._steward: Steward | None = None  # a table that waits for everybody needs none
        if not isinstance(seating.absence, Wait):
            self._steward = Steward(seating, self._audience.seated, stand_in, limits, self._later)
        self._watch_attendance()
        for seat, player in enumerate(seating.players):
            if player is not None:
                self._begin_grace(Seat(seat))

    async def run(self) -> None:
        """Serve the table until it is forgotten or archived."""
        while not (self.seating.forgotten or self.archived):
            request = await self.requests.get()
            if not isinstance(request, Request):
                await self._errand(request)
            elif isinstance(request.message, Rematch):
                await self._send_on(request, request.message.id)
            else:
                await self._served(request, request.message)

    async def close(self) -> None:
        """Turn away whoever is here and whoever still asks: the table has ended, and is found no more."""
        if self._steward is not None:
            self._steward.close()
        for timer in (self._unattended, *self._graces.values()):
            if timer is not None:
                timer.cancel()
        for session in list(self._audience):
            self._audience.remove(session)
            session.send(self._closed().answer())
        while True:
            await asyncio.sleep(0)  # those who waited for room in the queue put their requests now
            if self.requests.empty():
                return
            while not self.requests.empty():
                self._turn_away(self.requests.get_nowait())

    @property
    def players_here(self) -> int:
        """Return how many players are connected."""
        return len(self._audience.seated)

    @property
    def spectators_here(self) -> int:
        """Return how many spectators are connected."""
        return len(self._audience.spectators)

    def rest(self) -> None:
        """Let nothing more fall due: the server stops, and whoever goes now has not left."""
        if self._steward is not None:
            self._steward.close()
            self._steward = None

    def line(self) -> TableLine:
        """Return the table's line in the list of tables."""
        return table_line(self.code, self.seating)

    def seat_opener(self, session: Session, id: int, token: str) -> None:  # noqa: A002 - the wire's own word
        """Give seat 0 to the session that opened the table, before `run` begins."""
        self._sit(session, Seat(0), Seated(id, self.code, 0, token))

    async def _served(self, request: Request, message: AtTable | Entrance | Departed) -> None:
        try:
            match message:
                case Departed():
                    await self._depart(request.session)
                case JoinTable() | Resume() | Watch() | Arrival():
                    await self._enter(request.session, message)
                case _:
                    await self._play_or_talk(request.session, message)
        finally:
            request.settle()

    async def _enter(self, session: Session, message: Entrance) -> None:
        try:
            match message:
                case JoinTable():
                    await self._join(session, message)
                case Resume():
                    await self._resume(session, message)
                case Arrival():
                    await self._arrive(session, message)
                case Watch():
                    self._watch(session, message)
        except Refusal as refusal:
            session.send(refusal.answer(message.id))
        except JournalError as error:
            session.send(self._not_stored(error, message.id))

    async def _join(self, session: Session, message: JoinTable) -> None:
        token = new_token()
        seat = await self._take(message.seat, message.name, token_hash(token))
        self._sit(session, seat, Seated(message.id, self.code, seat, token))

    async def _take(self, wanted: int | None, name: str, token_hash: str) -> Seat:
        """Give a free seat away, the first one unless one is wanted."""
        if self.seating.stage == "over":
            text = "The game at table {table} is over. Join another table."
            raise Refusal(Code.ALREADY_STARTED, text, table=self.code)
        if self.seating.stage == "playing":
            text = "Table {table} has begun. Watch it, or join another."
            raise Refusal(Code.ALREADY_STARTED, text, table=self.code)
        free = [seat for seat, player in enumerate(self.seating.players) if player is None]
        if not free:
            text = "Table {table} is full. Watch it, or join another."
            raise Refusal(Code.TABLE_FULL, text, table=self.code)
        seat = free[0] if wanted is None else wanted
        if seat not in free:
            seats = ", ".join(map(str, free))
            text = "Seat {seat} is not free. Choose one of {free}."
            raise Refusal(Code.SEAT_TAKEN, text, seat=seat, free=seats)
        check_name(name)
        for player in self.seating.players:
            if player is not None and alike(player.name, name):
                raise Refusal(Code.NAME_TAKEN, "Somebody at this table has that name. Choose another.")
        await self._store(Taken(seat, name, token_hash))
        return Seat(seat)

    async def _resume(self, session: Session, message: Resume) -> None:
        for seat, player in enumerate(self.seating.players):
            if player is not None and token_fits(message.token, player.token_hash):
                await self._come_back(session, Seat(seat), message.id, message.after)
                self._counts.resumes += 1
                return
        raise Refusal(Code.BAD_TOKEN, "That token holds no seat at table {table}.", table=self.code)

    async def _arrive(self, session: Session, message: Arrival) -> None:
        """Give a player of the game before the seat that was kept, or a free one if it was kept no longer."""
        hashes = [player and player.token_hash for player in self.seating.players]
        if message.token_hash in hashes:
            seat = Seat(hashes.index(message.token_hash))
        else:
            seat = await self._take(None, message.name, message.token_hash)
        await self._come_back(session, seat, message.id, after=0)
        message.before.send(GoneOn(session, message.seat))

    async def _come_back(self, session: Session, seat: Seat, id: int, after: int) -> None:  # noqa: A002
        player = self.seating.players[seat]
        if player is not None and player.kept:
            await self._store(Taken(seat, player.name, player.token_hash))
        if seat in self.seating.held or seat in self.seating.votes:
            await self._store_or_log(Returned(seat))
        known = self._audience.seated.pop(seat, None)
        if known is not None:
            known.table, known.seat = None, None
            known.close(CloseCode.TAKEN_OVER, "your seat was taken over by another connection")
        self._sit(session, seat, Seated(id, self.code, seat))
        self._catch_up(session, after)
        if await self._give_to_bots():  # who comes back may have voted
            self._tell_state()

    def _watch(self, session: Session, message: Watch) -> None:
        if len(self._audience.spectators) >= self._limits.spectators:
            text = "Table {table} has no room for more spectators."
            raise Refusal(Code.TABLE_FULL, text, table=self.code)
        self._audience.spectators.add(session)
        session.table, session.seat = self, None
        session.send(Watching(message.id, self.code))
        self._tell_state()
        self._catch_up(session, message.after)

    def _sit(self, session: Session, seat: Seat, answer: Seated) -> None:
        self._audience.seated[seat] = session
        session.table, session.seat = self, seat
        log.info("took seat", extra=about(table=self.code, seat=seat, address=session.name))
        session.send(answer)
        if self._steward is not None:
            self._steward.came(seat)
        self._tell_state()

    async def _depart(self, session: Session) -> None:
        """See off a session whose connection is gone; the seat stays its player's, at least for a while."""
        seat = session.seat
        await self._away(session)
        if seat is not None:
            self._begin_grace(seat)

    async def _leave(self, session: Session) -> None:
        seat = session.seat
        if seat is not None and self.seating.stage == "gathering":
            await self._store(*self._freed(seat))
        await self._away(session)

    async def _away(self, session: Session) -> None:
        seat = session.seat
        self._audience.remove(session)
        if self._steward is not None and seat is not None:
            self._steward.went(seat)
        await self._give_to_bots()
        self._tell_state()

    def _freed(self, seat: Seat) -> list[Entry]:
        """Return what it means that a player gives the seat up: the last one closes the table."""
        others = sum(player is not None for player in self.seating.players) - 1
        return [Freed(seat)] if others else [Freed(seat), Forgotten()]

    async def _errand(self, errand: Errand) -> None:
        match errand:
            case FreeIfAway(seat):
                taken = self.seating.players[seat] is not None
                if taken and seat not in self._audience.seated and self.seating.stage == "gathering":
                    await self._store_or_log(*self._freed(seat))
                    self._tell_state()
            case PutAway():
                if not self._audience:
                    await self._put_away()
                errand.settle(ended=self.seating.forgotten or self.archived)
            case GoneOn(session, seat):
                self._gone_on.add(seat)
                if self._audience.seated.get(seat) is session:  # it sits at the next table already
                    del self._audience.seated[seat]
                self._tell_state()
            case AwayTooLong() | TimeUp() | MoveInstead() if self._steward is not None:
                await self._policy_due(self._steward, errand)

    async def _policy_due(self, steward: Steward, errand: AwayTooLong | TimeUp | MoveInstead) -> None:
        match errand:
            case AwayTooLong(seat):
                steward.away_too_long(seat)
                await self._give_to_bots()
                self._tell_state()
            case TimeUp(turn):
                steward.time_up(turn)
            case MoveInstead(turn):
                if (instead := steward.instead(turn)) is not None:
                    await self._move_instead(steward, instead)

    async def _give_to_bots(self) -> bool:
        """Let a bot hold the seats that are to be held by now, and return whether there were any."""
        if self._steward is None or not (seats := self._steward.to_hold()):
            return False
        await self._store_or_log(*map(Held, seats))
        for seat in self._steward.to_hold():  # the journal could not be written
            self._later(_AGAIN_SECONDS, AwayTooLong(seat))
        self._steward.consider()
        return True

    async def _put_away(self) -> None:
        """Archive a game, for its players to come back to; forget a table without one."""
        try:
            if self.seating.game is None:
                await self._store(Forgotten())
            else:
                await self._journal.archive(self.code)
                self.archived = True
        except JournalError as error:
            log.error("not put away", extra=about(table=self.code, reason=str(error)))  # noqa: TRY400 - one line says it
            self._watch_attendance()  # try again

    def _begin_grace(self, seat: Seat) -> None:
        """Keep the seat of a player who is away for a while, if the game has not begun."""
        if (earlier := self._graces.pop(seat, None)) is not None:
            earlier.cancel()
        if self.seating.stage == "gathering":
            player, limits = self.seating.players[seat], self._limits
            kept = player is not None and player.kept
            seconds = limits.rematch_grace_seconds if kept else limits.seat_grace_seconds
            self._graces[seat] = self._later(seconds, FreeIfAway(seat))

    def _later(self, seconds: float, errand: Errand) -> asyncio.TimerHandle:
        """Put the errand into the queue after so many seconds."""
        return self._loop.call_later(seconds, self.send, errand)

    def send(self, errand: Errand) -> None:
        """Put an errand into the queue, as soon as there is room."""
        try:
            self.requests.put_nowait(errand)
        except asyncio.QueueFull:
            self._later(_AGAIN_SECONDS, errand)

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

    async def _send_on(self, request: Request, id: int) -> None:  # noqa: A002 - the wire's own word
        """Send a player on to the table where they play again; the first one who asks opens it."""
        session = request.session
        try:
            seat = self._seat_to_play_again(session)
            player = self.seating.players[seat]
            assert player is not None  # noqa: S101 - seats are given up only before a game
            table = await self._following(session, self.seating)
            if table.code != self.seating.next:
                await self._store(Continued(table.code))
                self._tell_state()
        except Refusal as refusal:
            session.send(refusal.answer(id))
            request.settle()
        except JournalError as error:
            session.send(self._not_stored(error, id))
            request.settle()
        else:
            arrival = Arrival(id, self, seat, player.name, player.token_hash)
            await table.requests.put(Request(session, arrival, request.handled))

    def _seat_to_play_again(self, session: Session) -> Seat:
        if session.table is not self:
            raise Refusal(Code.NOT_AT_A_TABLE, "You have left the table.")
        if session.seat is None:
            raise Refusal(Code.NOT_A_PLAYER, "You are watching. Only players do that.")
        if self.seating.stage != "over":
            raise Refusal(Code.NOT_OVER, "The game is not over. Play again when it is.")
        return session.seat

    async def _play_or_talk(self, session: Session, message: AtTable) -> None:
        if session.table is not self:  # it left, or was taken over, while the message waited
            session.refuse(Code.NOT_AT_A_TABLE, "You have left the table.", message.id)
            return
        player = None if session.seat is None else self.seating.players[session.seat]
        if player is not None and (answered := player.answers.get(message.id)) is not None:
            session.send(self._repeated(message, *answered))
            return
        try:
            if isinstance(message, StartGame | Lay | PlacePiece):
                await self._play(session, message)
                return
            answer: Answer = await self._talk(session, message)
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

    def _not_stored(self, error: JournalError, id: int) -> Refused:  # noqa: A002 - the wire's own word
        """Refuse what the journal could not take; it is not remembered, and may succeed when sent again."""
        log.error("not stored", extra=about(table=self.code, reason=str(error)))
        text = "The server cannot store that, so nothing has changed. Tell the host."
        return Refused(Code.NOT_STORED, text, id)

    @staticmethod
    def _repeated(message: AtTable, asked: AtTable, answer: Answer) -> Answer:
        if message == asked:
            return answer
        text = "Id {id} was used for another message. Number your messages upward."
        return Refusal(Code.ID_REUSED, text, id=message.id).answer(message.id)

    async def _talk(self, session: Session, message: Leave | Sync | Say | Vote) -> Done:
        match message:
            case Leave():
                await self._leave(session)
            case Sync():
                self._catch_up(session, message.after)
            case Say():
                self._say(session, message)
            case Vote():
                await self._vote(session, message)
        return Done(message.id)

    def _say(self, session: Session, message: Say) -> None:
        if (why := unsafe(message.text)) is not None:
            raise Refusal(Code.BAD_TEXT, "That cannot be said: {why}.", why=why)
        self._audience.broadcast(Said(message.text, session.seat))

    async def _vote(self, session: Session, vote: Vote) -> None:
        if (voter := session.seat) is None:
            raise Refusal(Code.NOT_A_PLAYER, "You are watching. Only players do that.")
        if self._steward is None:
            raise Refusal(Code.NO_VOTE, "There is nothing to vote on at this table now.")
        seat = Seat(vote.seat)
        self._steward.check_vote(seat)
        if seat in self.seating.held:
            if not vote.agree:
                text = "A bot holds seat {seat} already. It goes when the player returns."
                raise Refusal(Code.NO_VOTE, text, seat=seat)
        elif vote.agree != (voter in self.seating.votes.get(seat, ())):
            await self._store(Voted(seat, voter, vote.agree))
            await self._give_to_bots()
            self._tell_state()

    async def _play(self, session: Session, move: Move) -> None:
        """Decide, store, tell: to the session itself the telling is the answer."""
        if (seat := session.seat) is None:
            raise Refusal(Code.NOT_A_PLAYER, "You are watching. Only players do that.")
        if self._steward is not None:
            self._steward.check_time(seat)
        game = self.seating.game
        if isinstance(move, StartGame):
            game, happened = opening(self.seating, seat)
        elif game is None:
            raise Refusal(Code.NOT_STARTED, "The game has not begun. The host starts it.")
        else:
            happened = game.decided(_command(seat, move))
        thought = 0 if self._steward is None else self._steward.thought()
        entry = Played(seat, move, [event_map(event) for event in happened], thought)
        await self._journal.append(self.code, self.seating.entries, [entry])
        self.seating.played(entry, happened)
        if self._steward is not None:
            if isinstance(move, StartGame):
                self._steward.begin()
            else:
                self._steward.next_turn()
        self._counts.moves += 1
        self._audience.publish(game, happened, entry.events, session, move.id, clock=self._clock())
        if isinstance(move, StartGame):
            self._tell_state()
        elif game.over:
            self._end(game)

    async def _move_instead(self, steward: Steward, instead: Instead) -> None:
        """Decide, store, tell, as for any move: this one is the stand-in's."""
        game = self.seating.game
        assert game is not None  # noqa: S101 - the steward has looked
        command = await instead.command
        happened = game.decided(command)
        events = [event_map(event) for event in happened]
        entry = StoodIn(command.seat, instead.by, events, steward.thought())
        try:
            await self._journal.append(self.code, self.seating.entries, [entry])
        except JournalError as error:
            log.error("not stored", extra=about(table=self.code, reason=str(error)))  # noqa: TRY400 - one line says it
            steward.next_turn()
            return
        self.seating.played(entry, happened)
        steward.next_turn()
        log.info("stand-in moved", extra=about(table=self.code, seat=command.seat, by=instead.by))
        self._counts.moves += 1
        self._audience.publish(game, happened, events, by=instead.by, clock=self._clock())
        if game.over:
            self._end(game)

    def _end(self, game: Game) -> None:
        log.info("game over", extra=about(table=self.code))
        self._when_over(self.code, game, self.seating.names)
        self._tell_state()

    def _clock(self) -> int | None:
        return None if self._steward is None else self._steward.clock()

    def _tell_state(self) -> None:
        """Tell everyone who sits where and who is here."""
        self._watch_attendance()
        self._when_changed()
        state = table_state(self.code, self.seating, self._audience, self._gone_on, self._steward)
        self._audience.broadcast(state)

    def _catch_up(self, session: Session, after: int) -> None:
        if self.seating.game is not None:
            catch_up(session, self.seating.game, after, self._clock())

    async def _store(self, *entries: Entry) -> None:
        await self._journal.append(self.code, self.seating.entries, entries)
        for entry in entries:
            self.seating.fold(entry)

    async def _store_or_log(self, *entries: Entry) -> None:
        """Store what nobody asked for; there is nobody to refuse it to."""
        try:
            await self._store(*entries)
        except JournalError as error:
            log.error("not stored", extra=about(table=self.code, reason=str(error)))  # noqa: TRY400 - one line says it


def _command(seat: Seat, move: Lay | PlacePiece) -> Command:
    match move:
        case Lay():
            return LayTile(seat, move.position, move.orientation)
        case PlacePiece():
            return Place(seat, Piece(move.piece), Field(move.field))
