"""Keeps the player's seat for another time."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from client.language import N_, _, describe_reason
from client.player.seats import HeldSeat, Seats
from client.tables.draws import Call
from protocol.limits import TOKENS_SHOWN
from protocol.messages import JoinTable, Seated

_NOT_READ: Final = N_("The seats saved on this computer cannot be read ({error}).")
_NOT_KEPT: Final = N_("Your seat cannot be saved for later ({error}): stay until the game is over.")


@dataclass(frozen=True, slots=True)
class Keeping:
    """How seats are kept for another time, and what their player is told of that."""

    seats: Seats | None = None  # where they are kept, if they are
    parting: str = ""  # how to come back to the seat, if that is not by joining
    reminder: str = ""  # the same, at every seat that is taken


class SeatKeeper:
    """Keeps the client's seat, if it is to be kept, and reports failures to the player."""

    def __init__(self, keeping: Keeping, tell: Callable[[str], None]) -> None:
        self._seats, self._reminder, self._tell = keeping.seats, keeping.reminder, tell
        self._held: HeldSeat | None = None
        self._told: set[str] = set()

    @property
    def keeps(self) -> bool:
        return self._held is not None

    def tables(self) -> frozenset[str]:
        with self._reporting(_NOT_READ):
            return frozenset() if self._seats is None else self._seats.tables()
        return frozenset()

    def tokens(self, name: str) -> tuple[str, ...]:
        """Return the tokens of kept seats under `name`, which prove that it is the player's own."""
        with self._reporting(_NOT_READ):  # with one of the client's own
            return () if self._seats is None else self._seats.tokens(name, TOKENS_SHOWN - 1)
        return ()

    def take(self, table: str, name: str) -> HeldSeat | None:
        """Return the seat kept at `table`, now taken; None if there is none."""
        with self._reporting(_NOT_READ):
            self._held = None if self._seats is None else self._seats.take(table, name)
            return self._held
        return None

    def prepare(self, request: JoinTable, cluster: Sequence[str]) -> None:
        """Keep the seat that is about to be asked for with a token: the answer may never come.

        A failure is reported when the seat is there.
        """
        if self._seats is not None and request.token is not None:
            with contextlib.suppress(OSError):
                table, name, token = request.table, request.name, request.token
                self._held = self._seats.keep(table, 0, name, token, cluster, asked=True)

    def keep(self, seated: Seated, name: str, cluster: Sequence[str]) -> None:
        """Keep a seat that has been taken, unless that was prepared."""
        if self._seats is None or seated.token is None:
            return
        with self._reporting(_NOT_KEPT, again=True):
            held = self._held
            if held is not None and held.asked and held.token == seated.token:
                self._seats.keep_asked(held, seated.seat)
            else:
                self._held = self._seats.keep(seated.table, seated.seat, name, seated.token, cluster)
            if self._reminder:
                self._tell(self._reminder)

    def keep_for_later(self, seated: Seated, name: str, cluster: Sequence[str]) -> None:
        """Keep a seat in which the client does not sit yet."""
        if self._seats is not None and seated.token is not None:
            with self._reporting(_NOT_KEPT):
                self._seats.keep(seated.table, seated.seat, name, seated.token, cluster).release()

    def keep_call(self, call: Call | None) -> None:
        """Keep the share that the client has shown with the seat, so that it can be looked for later."""
        held = self._held
        if self._seats is None or held is None or call is None or call.shown is None or call == held.call:
            return
        with self._reporting(_NOT_KEPT):
            self._seats.keep_call(held, call)

    def release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def forget(self) -> None:
        if self._held is not None and self._seats is not None:
            with self._reporting(_NOT_READ):
                self._seats.forget(self._held)
        self.release()

    @contextlib.contextmanager
    def _reporting(self, form: str, *, again: bool = False) -> Iterator[None]:
        """Report each file that cannot be read once; a folder that cannot be used too, unless `again`."""
        sentences = []
        try:
            yield
        except OSError as error:
            sentences.append(_(form).format(error=describe_reason(error)))
            if again:
                self._told.discard(sentences[0])
        damaged = () if self._seats is None else self._seats.damaged
        form = _("A seat saved on this computer cannot be read and is ignored: {path}")
        sentences += [form.format(path=path) for path in damaged]
        for sentence in sentences:
            if sentence not in self._told:
                self._told.add(sentence)
                self._tell(sentence)
