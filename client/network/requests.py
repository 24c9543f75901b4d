"""What may be asked of a server, each as a method."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from client.network.waiting import A, RequestMessage
from engine.events import Command
from engine.pieces import People
from protocol.absence import WAIT, Absence
from protocol.messages import (
    Arrange,
    AskPause,
    ChangeSeat,
    ChangeSetting,
    ChoosePeople,
    Dismiss,
    Done,
    EndGame,
    GetRecord,
    HandOver,
    JoinTable,
    Leave,
    ListTables,
    OpenTable,
    Ping,
    Pong,
    Record,
    Rematch,
    Remove,
    Say,
    SayInLobby,
    SayReady,
    SeatBot,
    Seated,
    StartGame,
    SubstituteNow,
    Tables,
    TableSummary,
    Vote,
)
from protocol.moves import move_message
from protocol.settings import Setting


class Requests(ABC):
    """The requests; they raise RequestRefused if the server says no, and ConnectFailed if it says nothing."""

    @abstractmethod
    def _next_id(self) -> int:
        """Return the id of another request."""

    @property
    @abstractmethod
    def _pledge(self) -> str:
        """Return the hash of the share for the next draw."""

    @abstractmethod
    async def _asked(self, message: RequestMessage, kind: type[A]) -> A:
        """Send a request and return its answer."""

    async def list_tables(self) -> list[TableSummary]:
        """Return the tables that can be joined or watched, newest first."""
        return (await self._asked(ListTables(self._next_id()), Tables)).tables

    async def say_in_lobby(self, text: str) -> None:
        """Say something to everybody who hears the lobby."""
        await self._asked(SayInLobby(self._next_id(), text), Done)

    async def open_table(
        self,
        players: int,
        name: str,
        *,
        random_layout: bool = False,
        starting: int | None = None,
        absence: Absence = WAIT,
        program: bool = False,
        private: bool = False,
        hints: bool = False,
    ) -> Seated:
        """Open a table and take its seat 0, as a person or as a `program`."""
        message = OpenTable(
            self._next_id(),
            players,
            name,
            random_layout,
            starting,
            absence,
            program,
            private,
            hints,
            self._pledge,
        )
        return await self._asked(message, Seated)

    async def join(self, table: str, name: str, seat: int | None = None, *, program: bool = False) -> Seated:
        """Take a free seat at a table, the first one if none is named, as a person or as a `program`."""
        return await self._asked(JoinTable(self._next_id(), table, name, seat, program, self._pledge), Seated)

    async def start(self) -> None:
        """Start the game (host only)."""
        await self._asked(StartGame(self._next_id()), Done)

    async def play(self, command: Command) -> None:
        """Lay the tile that was drawn, or place a piece from the hand."""
        await self._asked(move_message(self._next_id(), command), Done)

    async def say(self, text: str) -> None:
        """Say something to everybody at the table."""
        await self._asked(Say(self._next_id(), text), Done)

    async def vote(self, seat: int, *, agree: bool) -> None:
        """Agree, or no longer agree, that a bot plays for an absent player."""
        await self._asked(Vote(self._next_id(), seat, agree), Done)

    async def say_ready(self, *, on: bool) -> None:
        """Say before the game that this player is ready, or take that back."""
        await self._asked(SayReady(self._next_id(), on), Done)

    async def change_seat(self, seat: int) -> None:
        """Move to a free seat before the game."""
        await self._asked(ChangeSeat(self._next_id(), seat), Done)

    async def choose_people(self, people: People | None) -> None:
        """Choose the people that this player plays, before the game; None for one that is left."""
        await self._asked(ChoosePeople(self._next_id(), people), Done)

    async def ask_pause(self, *, on: bool) -> None:
        """Ask for a pause of the game, or agree to one; or end it, or take that back."""
        await self._asked(AskPause(self._next_id(), on), Done)

    async def change(self, setting: Setting) -> None:
        """Change a setting of the table (host only, as all that follows)."""
        await self._asked(ChangeSetting(self._next_id(), setting), Done)

    async def seat_bot(self, level: str) -> None:
        """Give a free seat to a bot of the server, before the game."""
        await self._asked(SeatBot(self._next_id(), level), Done)

    async def remove(self, seat: int) -> None:
        """Remove the player of a seat, or a bot; in a running game a player who is away."""
        await self._asked(Remove(self._next_id(), seat), Done)

    async def dismiss(self, spectator: int) -> None:
        """Remove the spectator with this number."""
        await self._asked(Dismiss(self._next_id(), spectator), Done)

    async def hand_over(self, seat: int) -> None:
        """Make the player of a seat the host."""
        await self._asked(HandOver(self._next_id(), seat), Done)

    async def arrange(self, order: Sequence[int] | None) -> None:
        """Give each seat to the player of the seat in `order`; None shuffles them."""
        await self._asked(Arrange(self._next_id(), None if order is None else list(order)), Done)

    async def substitute(self, seat: int) -> None:
        """Make the stand-in play immediately for a player who is away."""
        await self._asked(SubstituteNow(self._next_id(), seat), Done)

    async def end_game(self) -> None:
        """End the running game without a result."""
        await self._asked(EndGame(self._next_id()), Done)

    async def rematch(self) -> Seated:
        """Play again with the same players after a game: at another table, in the same seat."""
        return await self._asked(Rematch(self._next_id(), self._pledge), Seated)

    async def record(self) -> str:
        """Return the record of the table's finished game."""
        lines = (await self._asked(GetRecord(self._next_id()), Record)).lines
        return "".join(f"{line}\n" for line in lines)

    async def leave(self) -> None:
        """Leave the table."""
        await self._asked(Leave(self._next_id()), Done)

    async def ping(self) -> None:
        """Ask whether the server is there."""
        await self._asked(Ping(self._next_id()), Pong)
