"""Mistakes in who may do what."""

from typing import Any

from engine.pieces import Seat
from protocol.messages import AtTable, Say
from server.net.session import Session
from server.tables.lobby import Lobby
from server.tables.seats.seat_admission import SeatAdmission
from server.tables.state import persistent_state
from server.tables.state.persistent_state import Answers, PersistentState
from simulation.broken.making import exchange, mistake


@mistake("answers-forgotten", "carries out a message that is sent again")
def _forget_answers() -> None:
    exchange(Answers, "known", lambda _right: lambda _answers, _message: None)


@mistake("said-twice", "says again what is sent again", talk=0.5)
def _say_twice() -> None:
    def remember(right: Any) -> Any:
        def wrong(answers: Answers, message: AtTable, answer: Any) -> None:
            if not isinstance(message, Say):
                right(answers, message, answer)

        return wrong

    exchange(Answers, "remember", remember)


@mistake("old-connection-moves", "takes moves from a connection whose seat was taken over")
def _leave_old_connection_its_seat() -> None:
    def come_back(right: Any) -> Any:
        async def wrong(
            admission: SeatAdmission, session: Session, seat: Seat, *args: Any, **kw: Any
        ) -> None:
            admission._context.audience.seated.pop(seat, None)
            await right(admission, session, seat, *args, **kw)

        return wrong

    exchange(SeatAdmission, "_come_back", come_back)


@mistake("any-token", "gives a seat for any token")
def _take_any_token() -> None:
    exchange(persistent_state, "hash_fits", lambda _right: lambda _given, _held: True)


@mistake("rematch-opened-twice", "opens a table for each player who wants a rematch", played_again=1.0)
def _open_every_rematch() -> None:
    def table_after(right: Any) -> Any:
        async def wrong(lobby: Lobby, session: Session, code: str, state: PersistentState) -> Any:
            state.next_table = None
            return await right(lobby, session, code, state)

        return wrong

    exchange(Lobby, "table_after", table_after)
