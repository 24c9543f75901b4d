"""A table's game: moves, those that the stand-in makes instead, and the votes on that.

Decide, store, then tell: what a client hears has been committed to the journal.
"""

import logging
from collections.abc import Callable, Sequence

from engine.board import Field
from engine.events import Command, LayTile, Place
from engine.game import Game
from engine.pieces import Piece, Seat
from protocol.codes import Code
from protocol.events import event_map
from protocol.messages import Lay, PlacePiece, StartGame, Vote
from server.counts import Counts
from server.errors import JournalError
from server.logs import about
from server.net.session import Session
from server.storage.entries import Move, Played, StoodIn, Voted
from server.tables.absence import Instead, Steward
from server.tables.context import Room
from server.tables.requests import AwayTooLong, MoveInstead, Refusal, TimeUp, players_seat
from server.tables.starting import opening

log = logging.getLogger(__name__)


class Referee:
    """Plays a table's game; what it refuses raises and changes nothing.

    `when_over` is told the table's code, its finished game and the players' names by seat.
    """

    def __init__(
        self, room: Room, counts: Counts, when_over: Callable[[str, Game, Sequence[str]], None]
    ) -> None:
        self._room = room
        self._counts = counts
        self._when_over = when_over

    async def play(self, session: Session, move: Move) -> None:
        """Play a move; to the session itself the telling is the answer.

        Raises Refusal, IllegalCommand or JournalError.
        """
        room = self._room
        seating = room.seating
        seat = players_seat(session)
        if room.steward is not None:
            room.steward.check_time(seat)
        game = seating.game
        if isinstance(move, StartGame):
            game, happened = opening(seating, seat)
            room.appoint_steward()  # who plays is settled now
        elif game is None:
            raise Refusal(Code.NOT_STARTED, "The game has not begun. The host starts it.")
        else:
            happened = game.decided(_command(seat, move))
        thought = 0 if room.steward is None else room.steward.thought()
        entry = Played(seat, move, [event_map(event) for event in happened], thought)
        await room.journal.append(room.code, seating.entries, [entry])
        seating.played(entry, happened)
        if (steward := room.steward) is not None:  # unless the server has begun to stop meanwhile
            if isinstance(move, StartGame):
                steward.begin()
            else:
                steward.next_turn()
        self._counts.moves += 1
        room.audience.publish(game, happened, entry.events, session, move.id, clock=room.clock)
        if isinstance(move, StartGame):
            room.tell_state()
        elif game.over:
            self._end(game)

    async def vote(self, session: Session, vote: Vote) -> None:
        """Count a vote that a bot take a seat; raises Refusal or JournalError."""
        room, voter, seat = self._room, players_seat(session), Seat(vote.seat)
        if room.steward is None:
            raise Refusal(Code.NO_VOTE, "There is nothing to vote on at this table now.")
        room.steward.check_vote(voter, seat)
        if room.steward.holds(seat):
            if not vote.agree:
                text = "A bot holds seat {seat} already. It goes when the player returns."
                raise Refusal(Code.NO_VOTE, text, seat=seat)
        elif vote.agree != (voter in room.seating.votes.get(seat, ())):
            await room.store(Voted(seat, voter, vote.agree))
            await room.give_to_bots()
            room.tell_state()

    async def due(self, errand: AwayTooLong | TimeUp | MoveInstead) -> None:
        """Do what the table's policy has come to ask for."""
        if (steward := self._room.steward) is None:  # the server is stopping
            return
        match errand:
            case AwayTooLong(seat):
                steward.away_too_long(seat)
                await self._room.give_to_bots()
                self._room.tell_state()
            case TimeUp(turn):
                steward.time_up(turn)
            case MoveInstead(turn):
                if (instead := steward.instead(turn)) is not None:
                    await self._move_instead(steward, instead)

    async def _move_instead(self, steward: Steward, instead: Instead) -> None:
        room = self._room
        game = room.seating.game
        assert game is not None  # noqa: S101 - the steward has looked
        command = await instead.command
        happened = game.decided(command)
        events = [event_map(event) for event in happened]
        entry = StoodIn(command.seat, instead.by, events, steward.thought())
        try:
            await room.journal.append(room.code, room.seating.entries, [entry])
        except JournalError as error:
            room.log_not_stored(error)
            steward.next_turn()
            return
        room.seating.played(entry, happened)
        steward.next_turn()
        log.info("stand-in moved", extra=about(table=room.code, seat=command.seat, by=instead.by))
        self._counts.moves += 1
        room.audience.publish(game, happened, events, by=instead.by, clock=room.clock)
        if game.over:
            self._end(game)

    def _end(self, game: Game) -> None:
        log.info("game over", extra=about(table=self._room.code))
        self._when_over(self._room.code, game, self._room.seating.names)
        self._room.tell_state()


def _command(seat: Seat, move: Lay | PlacePiece) -> Command:
    match move:
        case Lay():
            return LayTile(seat, move.position, move.orientation)
        case PlacePiece():
            return Place(seat, Piece(move.piece), Field(move.field))
