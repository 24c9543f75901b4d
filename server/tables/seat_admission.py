"""Coming to a table and going from it: seats are taken, taken up again, kept for a while, and given up."""

import asyncio
import logging
from typing import TYPE_CHECKING

from engine.pieces import Seat
from protocol.codes import CloseCode, Code
from protocol.messages import JoinTable, Resume, Seated, Watch, Watching
from server.counts import Counts
from server.logs import about
from server.net.session import Session
from server.net.tokens import hash_fits, new_token, token_hash
from server.storage.entries import Entry, Forgotten, Freed, Returned, Taken
from server.tables.context import Room
from server.tables.names import alike, check_name
from server.tables.requests import Arrival, Entrance, FreeIfAway, GoneOn, Refusal
from server.tables.state import Player

if TYPE_CHECKING:
    from server.tables.table import Table

log = logging.getLogger(__name__)


class Usher:
    """Seats people at a table; what it refuses raises Refusal or JournalError and changes nothing."""

    def __init__(self, table: "Table", room: Room, counts: Counts) -> None:
        self._table = table
        self._room = room
        self._counts = counts
        self._graces: dict[Seat, asyncio.TimerHandle] = {}
        for seat, player in enumerate(room.seating.players):
            if player is not None:
                self._begin_grace(Seat(seat))

    def close(self) -> None:
        """Let no seat fall free any more."""
        for timer in self._graces.values():
            timer.cancel()

    async def enter(self, session: Session, message: Entrance) -> None:
        """Let the session in as it asks."""
        match message:
            case JoinTable():
                await self._join(session, message)
            case Resume():
                await self._resume(session, message)
            case Arrival():
                await self._arrive(session, message)
            case Watch():
                self._watch(session, message)

    def sit(self, session: Session, seat: Seat, answer: Seated) -> None:
        """Give the seat to the session, and tell it so by `answer`."""
        room = self._room
        room.audience.seated[seat] = session
        session.table, session.seat = self._table, seat
        log.info("took seat", extra=about(table=room.code, seat=seat, address=session.name))
        session.send(answer)
        if room.steward is not None:
            room.steward.came(seat)
        room.tell_state()

    async def depart(self, session: Session) -> None:
        """See off a session whose connection is gone; the seat stays its player's, at least for a while."""
        seat = session.seat
        await self._away(session)
        if seat is not None:
            self._begin_grace(seat)

    async def leave(self, session: Session) -> None:
        """See off a session that leaves: before the game, its seat is free at once."""
        seat = session.seat
        if seat is not None and self._room.seating.stage == "gathering":
            await self._room.store(*self._freed(seat))
        await self._away(session)

    async def free_if_away(self, seat: Seat) -> None:
        """Free a seat whose grace has run out, unless its player is back or the game has begun."""
        room = self._room
        taken = room.seating.players[seat] is not None
        if taken and seat not in room.audience.seated and room.seating.stage == "gathering":
            await room.store_or_log(*self._freed(seat))
            room.tell_state()

    def gone_on(self, session: Session, seat: Seat) -> None:
        """See off a player who sits at the next table already."""
        audience = self._room.audience
        audience.gone_on.add(seat)
        if audience.seated.get(seat) is session:
            del audience.seated[seat]
        self._room.tell_state()

    async def _join(self, session: Session, message: JoinTable) -> None:
        token = new_token()
        seat = await self._take(message.seat, Player(message.name, token_hash(token), message.program))
        self.sit(session, seat, Seated(message.id, self._room.code, seat, token))

    async def _take(self, wanted: int | None, newcomer: Player) -> Seat:
        """Give a free seat away, the first one unless one is wanted."""
        code, seating = self._room.code, self._room.seating
        if seating.stage == "over":
            text = "The game at table {table} is over. Join another table."
            raise Refusal(Code.ALREADY_STARTED, text, table=code)
        if seating.stage == "playing":
            text = "Table {table} has begun. Watch it, or join another."
            raise Refusal(Code.ALREADY_STARTED, text, table=code)
        free = [seat for seat, player in enumerate(seating.players) if player is None]
        if not free:
            text = "Table {table} is full. Watch it, or join another."
            raise Refusal(Code.TABLE_FULL, text, table=code)
        seat = free[0] if wanted is None else wanted
        if seat not in free:
            seats = ", ".join(map(str, free))
            text = "Seat {seat} is not free. Choose one of {free}."
            raise Refusal(Code.SEAT_TAKEN, text, seat=seat, free=seats)
        check_name(newcomer.name)
        for player in seating.players:
            if player is not None and alike(player.name, newcomer.name):
                raise Refusal(Code.NAME_TAKEN, "Somebody at this table has that name. Choose another.")
        await self._room.store(_taken(seat, newcomer))
        return Seat(seat)

    async def _resume(self, session: Session, message: Resume) -> None:
        given = token_hash(message.token)
        for seat, player in enumerate(self._room.seating.players):
            if player is not None and hash_fits(given, player.token_hash):
                await self._come_back(session, Seat(seat), message.id, message.after)
                self._counts.resumes += 1
                return
        raise Refusal(Code.BAD_TOKEN, "That token holds no seat at table {table}.", table=self._room.code)

    async def _arrive(self, session: Session, message: Arrival) -> None:
        """Give a player of the game before the seat that was kept, or a free one if it was kept no longer."""
        hashes = [player and player.token_hash for player in self._room.seating.players]
        if message.token_hash in hashes:
            seat = Seat(hashes.index(message.token_hash))
        else:
            seat = await self._take(None, Player(message.name, message.token_hash, message.program))
        await self._come_back(session, seat, message.id, after=0)
        message.before.send(GoneOn(session, message.seat))

    async def _come_back(self, session: Session, seat: Seat, id: int, after: int) -> None:  # noqa: A002 - the wire's own word
        room = self._room
        player = room.seating.players[seat]
        if player is not None and player.kept:
            await room.store(_taken(seat, player))
        if seat in room.seating.held or seat in room.seating.votes:
            await room.store_or_log(Returned(seat))
        known = room.audience.seated.pop(seat, None)
        if known is not None:
            known.table, known.seat = None, None
            known.close(CloseCode.TAKEN_OVER, "your seat was taken over by another connection")
        self.sit(session, seat, Seated(id, room.code, seat))
        room.catch_up(session, after)
        if await room.give_to_bots():  # who comes back may have voted
            room.tell_state()

    def _watch(self, session: Session, message: Watch) -> None:
        room = self._room
        if len(room.audience.spectators) >= room.limits.spectators:
            text = "Table {table} has no room for more spectators."
            raise Refusal(Code.TABLE_FULL, text, table=room.code)
        room.audience.spectators.add(session)
        session.table, session.seat = self._table, None
        session.send(Watching(message.id, room.code))
        room.tell_state()
        room.catch_up(session, message.after)

    async def _away(self, session: Session) -> None:
        room, seat = self._room, session.seat
        room.audience.remove(session)
        if room.steward is not None and seat is not None:
            room.steward.went(seat)
        await room.give_to_bots()
        room.tell_state()

    def _freed(self, seat: Seat) -> list[Entry]:
        """Return what it means that a player gives the seat up: the last one closes the table."""
        others = sum(player is not None for player in self._room.seating.players) - 1
        return [Freed(seat)] if others else [Freed(seat), Forgotten()]

    def _begin_grace(self, seat: Seat) -> None:
        """Keep the seat of a player who is away for a while, if the game has not begun."""
        if (earlier := self._graces.pop(seat, None)) is not None:
            earlier.cancel()
        if self._room.seating.stage == "gathering":
            player, limits = self._room.seating.players[seat], self._room.limits
            kept = player is not None and player.kept
            seconds = limits.rematch_grace_seconds if kept else limits.seat_grace_seconds
            self._graces[seat] = self._room.later(seconds, FreeIfAway(seat))


def _taken(seat: int, player: Player) -> Taken:
    return Taken(seat, player.name, player.token_hash, player.program)
