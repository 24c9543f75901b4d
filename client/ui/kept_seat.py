"""The client's seat, kept for another time; nothing that goes wrong here ends a game."""

from collections.abc import Callable

from client.seats import HeldSeat, Seats
from client.ui.texts import sentences
from protocol.messages import Seated


class SeatKeeper:
    """Keeps the client's seat in `seats`, if there are any, and tells the player what goes wrong."""

    def __init__(self, seats: Seats | None, tell: Callable[[str], None]) -> None:
        self._seats = seats
        self._tell = tell
        self._held: HeldSeat | None = None
        self._told: set[str] = set()

    @property
    def keeps(self) -> bool:
        return self._held is not None

    def tables(self) -> frozenset[str]:
        """Return the tables with a kept seat that could be taken again."""
        if self._seats is None:
            return frozenset()
        try:
            tables = self._seats.tables()
        except OSError as error:
            self._tell_once(sentences.seats_not_read(error))
            return frozenset()
        self._tell_damage(self._seats)
        return tables

    def take(self, table: str, name: str) -> HeldSeat | None:
        """Return the seat kept at `table`, now taken; None if there is none."""
        if self._seats is None:
            return None
        try:
            self._held = self._seats.take(table, name)
        except OSError as error:
            self._tell_once(sentences.seats_not_read(error))
            return None
        self._tell_damage(self._seats)
        return self._held

    def keep(self, seated: Seated, name: str) -> None:
        """Keep a seat that the server has just given."""
        if self._seats is None or seated.token is None:
            return
        try:
            self._held = self._seats.keep(seated.table, seated.seat, name, seated.token)
        except OSError as error:
            self._tell(sentences.seat_not_kept(error))

    def release(self) -> None:
        """Let the seat be taken again by another client."""
        if self._held is not None:
            self._held.release()
            self._held = None

    def forget(self) -> None:
        """Stop keeping the seat, which is lost or no longer needed."""
        held, self._held = self._held, None
        if held is None or self._seats is None:
            return
        try:
            self._seats.forget(held)
        except OSError as error:
            held.release()
            self._tell_once(sentences.seats_not_read(error))

    def _tell_damage(self, seats: Seats) -> None:
        for path in seats.damaged:
            self._tell_once(sentences.seat_damaged(path))

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)
