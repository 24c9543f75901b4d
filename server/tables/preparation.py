"""What players decide before the game: who is ready, where they sit, and which people they play."""

from typing import assert_never

from engine.pieces import People, Seat
from protocol.codes import Code
from protocol.messages import ChangeSeat, ChoosePeople, PlayerRequest, SayReady
from server.net.session import Session
from server.refusal import Refusal
from server.storage.entries import PeopleChosen, SaidReady
from server.tables.context import TableContext
from server.tables.seats.seat_admission import SeatAdmission


class Preparation:
    """Does what players ask before the game; what cannot be done raises Refusal or JournalError."""

    def __init__(self, context: TableContext, admission: SeatAdmission) -> None:
        self._context = context
        self._admission = admission

    async def settle(self, session: Session, request: PlayerRequest) -> None:
        """Carry out the session's request if it is a player's and the game has not begun."""
        own = session.player_seat()
        if self._context.state.game is not None:
            raise Refusal(Code.ALREADY_STARTED)
        match request:
            case SayReady(_, on):
                await self._say_ready(own, on=on)
            case ChangeSeat(_, seat):
                await self._change_seat(own, seat)
            case ChoosePeople(_, people):
                await self._choose_people(own, None if people is None else People(people))
            case _:
                assert_never(request)

    async def _say_ready(self, own: Seat, *, on: bool) -> None:
        state = self._context.state
        if own not in state.programs and (own in state.ready) != on:
            await self._context.store(SaidReady(own, on))
            self._context.broadcast_state()

    async def _change_seat(self, own: Seat, wanted: int) -> None:
        players = self._context.state.players
        if wanted >= len(players):
            raise Refusal(Code.NO_SUCH_SEAT, seat=wanted, last_seat=len(players) - 1)
        if wanted == own:
            raise Refusal(Code.NOT_YOURSELF)
        free = [seat for seat, player in enumerate(players) if player is None]
        if not free:
            raise Refusal(Code.NO_FREE_SEAT)
        if wanted not in free:
            raise Refusal(Code.SEAT_TAKEN, seat=wanted, free_seats=", ".join(map(str, free)))
        order = [Seat(seat) for seat in range(len(players))]
        order[own], order[wanted] = Seat(wanted), own
        await self._admission.rearrange(order)

    async def _choose_people(self, own: Seat, wanted: People | None) -> None:
        """Give the player a people that nobody else has chosen, or any that is left."""
        players = self._context.state.players
        chosen = {
            player.people: player.name
            for seat, player in enumerate(players)
            if seat != own and player is not None and player.people is not None
        }
        if wanted in chosen:
            free = ", ".join(people for people in People if people not in chosen)
            raise Refusal(Code.PEOPLE_TAKEN, people=wanted, name=chosen[wanted], free_peoples=free)
        if (player := players[own]) is not None and player.people != wanted:
            await self._context.store(PeopleChosen(own, wanted))
            self._context.broadcast_state()
