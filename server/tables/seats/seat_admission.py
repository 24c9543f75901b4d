"""Joining and leaving a table: seats are taken, resumed, kept for a while, and freed."""

import logging

from engine.pieces import Seat
from protocol.codes import CloseCode, CloseReason, Code
from protocol.messages import JoinTable, Resume, Seated, Watch, Watching
from server.logs import about
from server.net.session import AttendedTable, Session
from server.net.tokens import hash_fits, new_token, token_hash
from server.refusal import Refusal
from server.storage.entries import Entry, Forgotten, Freed, Returned, Taken, TokenRevoked
from server.tables.absence.internal_messages import FreeIfAway
from server.tables.context import RETRY_SECONDS, TableContext
from server.tables.seats.names import alike, check_name
from server.tables.state import Player
from server.timers import Timer

log = logging.getLogger(__name__)


class SeatAdmission:
    """Seats people at `table`; what cannot be done raises Refusal or JournalError and changes nothing."""

    def __init__(self, table: AttendedTable, context: TableContext) -> None:
        self._table = table
        self._context = context
        self._kept_seats: dict[Seat, Timer] = {}
        for seat, player in enumerate(context.state.players):
            if player is not None:
                self._keep_for_a_while(Seat(seat))

    def stop_timers(self) -> None:
        """Stop the timers that free seats."""
        for timer in self._kept_seats.values():
            timer.cancel()

    async def join(self, session: Session, message: JoinTable) -> None:
        """Give the session a free seat, the first one unless it names one."""
        token = new_token()
        seat = await self._take(message.seat, Player(message.name, token_hash(token), message.program))
        self.sit(session, seat, Seated(message.id, self._context.code, seat, token))

    async def resume(self, session: Session, message: Resume) -> None:
        """Give the session the seat that its token holds."""
        given = token_hash(message.token)
        for seat, player in enumerate(self._context.state.players):
            if player is not None and hash_fits(given, player.token_hash):
                await self._come_back(session, Seat(seat), message.id, message.after)
                self._context.counts.resumes += 1
                return
        raise Refusal(Code.BAD_TOKEN, table=self._context.code)

    async def arrive(self, session: Session, id: int, player: Player) -> None:  # noqa: A002 - the wire's own word
        """Give a player of the previous game the kept seat, or a free one if it is no longer kept."""
        hashes = [each and each.token_hash for each in self._context.state.players]
        if player.token_hash in hashes:
            seat = Seat(hashes.index(player.token_hash))
        else:
            seat = await self._take(
                None, Player(player.name, player.token_hash, player.program, standing=player.standing)
            )
        await self._come_back(session, seat, id, after=0)

    async def watch(self, session: Session, message: Watch) -> None:
        """Make the session a spectator."""
        context = self._context
        if len(context.audience.spectators) >= context.limits.spectators:
            raise Refusal(Code.SPECTATORS_FULL, table=context.code)
        context.audience.spectators.add(session)
        session.table, session.seat = self._table, None
        session.send(Watching(message.id, context.code))
        context.broadcast_state()
        context.catch_up(session, message.after)

    def sit(self, session: Session, seat: Seat, answer: Seated) -> None:
        """Give the seat to the session, and send it `answer`."""
        context = self._context
        context.audience.seated[seat] = session
        session.table, session.seat = self._table, seat
        log.info("took seat", extra=about(table=context.code, seat=seat, address=session.name))
        session.send(answer)
        context.policy.player_came(seat)
        context.broadcast_state()

    async def disconnected(self, session: Session) -> None:
        """Remove a session whose connection is gone; the seat stays its player's, at least for a while."""
        seat = session.seat
        await self._remove(session)
        if seat is not None:
            self._keep_for_a_while(seat)

    async def leave(self, session: Session) -> None:
        """Remove a session that leaves: before the game, its seat is free at once."""
        seat = session.seat
        if seat is not None and self._context.state.stage == "gathering":
            await self._context.store(*self._freed(seat))
        await self._remove(session)

    async def free_if_away(self, seat: Seat) -> None:
        """Free a seat that was kept for long enough, unless its player is back or the game has begun."""
        context = self._context
        taken = context.state.players[seat] is not None
        if taken and seat not in context.audience.seated and context.state.stage == "gathering":
            await context.store_or_log(*self._freed(seat))
            if context.state.players[seat] is not None:  # the journal could not be written
                self._kept_seats[seat] = context.scheduler.after(RETRY_SECONDS, FreeIfAway(seat))
            context.broadcast_state()

    async def remove_player(self, seat: Seat) -> bool:
        """Take the seat from its player: before the game it is free, later a bot plays for it to the end.

        Return False if it is free.
        """
        context = self._context
        if context.state.players[seat] is None:
            return False
        if context.state.stage == "gathering":
            await context.store(*self._freed(seat))
        else:
            await context.store(TokenRevoked(seat))
            context.begin_policy_with_programs()
        log.warning("player removed by the host", extra=about(table=context.code, seat=seat))
        if (session := context.audience.seated.get(seat)) is not None:
            session.send(Refusal(Code.REMOVED_BY_SERVER, table=context.code).message())
            await self._remove(session)
        else:
            context.policy.player_went(seat)
            context.broadcast_state()
        return True

    def gone_on(self, session: Session, seat: Seat) -> None:
        """Remove a player who is already at the next table."""
        audience = self._context.audience
        audience.gone_on.add(seat)
        if audience.seated.get(seat) is session:
            del audience.seated[seat]
        self._context.broadcast_state()

    async def _take(self, wanted: int | None, newcomer: Player) -> Seat:
        """Give a free seat away, the first one unless one is wanted."""
        code, state = self._context.code, self._context.state
        if state.stage == "over":
            raise Refusal(Code.GAME_FINISHED, table=code)
        if state.stage == "playing":
            raise Refusal(Code.GAME_RUNNING, table=code)
        free = [seat for seat, player in enumerate(state.players) if player is None]
        if not free:
            raise Refusal(Code.TABLE_FULL, table=code)
        seat = free[0] if wanted is None else wanted
        if seat not in free:
            raise Refusal(Code.SEAT_TAKEN, seat=seat, free_seats=", ".join(map(str, free)))
        check_name(newcomer.name)
        if any(player is not None and alike(player.name, newcomer.name) for player in state.players):
            raise Refusal(Code.NAME_TAKEN)
        await self._context.store(_taken(seat, newcomer))
        return Seat(seat)

    async def _come_back(self, session: Session, seat: Seat, id: int, after: int) -> None:  # noqa: A002 - the wire's own word
        context = self._context
        player = context.state.players[seat]
        if player is not None and player.kept:
            await context.store(_taken(seat, player))
        if seat in context.state.bot_seats or seat in context.state.votes:
            await context.store_or_log(Returned(seat))
        earlier = context.audience.seated.pop(seat, None)
        if earlier is not None:
            earlier.table, earlier.seat = None, None
            earlier.close(CloseCode.TAKEN_OVER, CloseReason.TAKEN_OVER)
        self.sit(session, seat, Seated(id, context.code, seat))
        context.catch_up(session, after)
        if await context.give_seats_to_bots():  # the player who comes back may have voted
            context.broadcast_state()

    async def _remove(self, session: Session) -> None:
        context, seat = self._context, session.seat
        context.audience.remove(session)
        if seat is not None:
            context.policy.player_went(seat)
        await context.give_seats_to_bots()
        context.broadcast_state()

    def _freed(self, seat: Seat) -> list[Entry]:
        """Return the entries for a player who gives the seat up: the last one closes the table."""
        others = sum(player is not None for player in self._context.state.players) - 1
        return [Freed(seat)] if others else [Freed(seat), Forgotten()]

    def _keep_for_a_while(self, seat: Seat) -> None:
        """Keep an absent player's seat for a while, if the game has not begun."""
        if (earlier := self._kept_seats.pop(seat, None)) is not None:
            earlier.cancel()
        if self._context.state.stage == "gathering":
            player, limits = self._context.state.players[seat], self._context.limits
            kept = player is not None and player.kept
            seconds = limits.rematch_grace_seconds if kept else limits.seat_grace_seconds
            self._kept_seats[seat] = self._context.scheduler.after(seconds, FreeIfAway(seat))


def _taken(seat: int, player: Player) -> Taken:
    return Taken(seat, player.name, player.token_hash, player.program, player.standing)
