"""The client's seat, kept for another time; nothing that goes wrong here ends a game."""

from collections.abc import Callable, Sequence
from typing import Final

from client.player.seats import HeldSeat, Seats
from client.tables.draws import Call
from client.ui.texts.kept import seat_damaged, seat_not_kept, seats_not_read
from protocol.codes import Code
from protocol.limits import TOKENS_SHOWN
from protocol.messages import Seated

# Why a client was sent away from its table for good; after other reasons its seat may be there again.
SEAT_LOST: Final = frozenset({Code.BAD_TOKEN, Code.CLOSED_BY_SERVER, Code.REMOVED, Code.REMOVED_BY_SERVER})


class SeatKeeper:
    """Keeps the client's seat in `seats`, if there are any, and tells the player what goes wrong.

    `reminder`, if there is one, is told at every seat that is kept.
    """

    def __init__(self, seats: Seats | None, tell: Callable[[str], None], reminder: str = "") -> None:
        self._seats = seats
        self._tell = tell
        self._reminder = reminder
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
            self._tell_once(seats_not_read(error))
            return frozenset()
        self._tell_damage(self._seats)
        return tables

    def tokens(self, name: str) -> tuple[str, ...]:
        """Return the tokens of kept seats under `name`, which prove that it is the player's own."""
        if self._seats is None:
            return ()
        try:
            return self._seats.tokens(name, TOKENS_SHOWN - 1)  # with one of the client's own
        except OSError as error:
            self._tell_once(seats_not_read(error))
            return ()

    def take(self, table: str, name: str) -> HeldSeat | None:
        """Return the seat kept at `table`, now taken; None if there is none."""
        if self._seats is None:
            return None
        try:
            self._held = self._seats.take(table, name)
        except OSError as error:
            self._tell_once(seats_not_read(error))
            return None
        self._tell_damage(self._seats)
        return self._held

    def keep(self, seated: Seated, name: str, cluster: Sequence[str]) -> None:
        """Keep a seat that one of a cluster's servers has just given."""
        if self._seats is None or seated.token is None:
            return
        try:
            self._held = self._seats.keep(seated.table, seated.seat, name, seated.token, cluster)
        except OSError as error:
            self._tell(seat_not_kept(error))
        else:
            if self._reminder:
                self._tell(self._reminder)

    def keep_call(self, call: Call | None) -> None:
        """Keep the share that the client has shown with the seat, so that it can be looked for later."""
        held = self._held
        if self._seats is None or held is None or call is None or call.shown is None or call == held.call:
            return
        try:
            self._seats.keep_call(held, call)
        except OSError as error:
            self._tell_once(seat_not_kept(error))

    def release(self) -> None:
        """Release the seat for other clients."""
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
            self._tell_once(seats_not_read(error))

    def _tell_damage(self, seats: Seats) -> None:
        for path in seats.damaged:
            self._tell_once(seat_damaged(path))

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self._tell(sentence)
