"""Thinking time: how much a table's policy allows for each turn, and how much the seats have used."""

from typing import Final

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.absence import Absence, GameClock, LongClock, MoveClock
from server.storage.entries import Clocked

_CLOCKS: Final = MoveClock, GameClock
_SHARE: Final = 5
_AMPLE: Final = 10  # times what the clock gives
_LEAST_LIMIT: Final = 120  # seconds: whoever is there can move in that time, whatever the host sets


class Clocks:
    """The clocks of a table's seats, in milliseconds; without a clock in the `policy` nothing is counted."""

    __slots__ = (
        "_for_game",
        "_limited",
        "_next",
        "_reserve",
        "_turn",
        "_used",
        "_with_reserve",
        "counts",
        "policy",
    )

    def __init__(self, policy: Absence, players: int) -> None:
        self._use(policy)
        self._next: Absence | None = None  # from the next round on
        self._limited: int | None = None  # seconds that turns of this round have had at most
        self._used = [0] * players
        self._reserve = [0] * players  # used of it, where the policy gives one
        self._turn = 0  # used by the seat to move in this turn before its clock was stopped

    def set_seats(self, players: int) -> None:
        """Reset the clocks for this number of seats, before the game."""
        self._used, self._reserve = [0] * players, [0] * players

    def charge(self, seat: Seat, milliseconds: int) -> None:
        """Charge the seat for its turn since its clock was last stopped."""
        if self.counts:
            self._used[seat] += milliseconds
        if (clock := self._with_reserve) is not None:
            over = self._turn + milliseconds - 1000 * clock.seconds
            self._reserve[seat] += min(max(0, over), self.reserve(seat))
        self._turn = 0
        if self._next is not None:
            self._limited = self.limit

    def stopped(self, seat: Seat, milliseconds: int) -> Clocked:
        """Return the clocks as they are if the seat's turn is stopped after this time."""
        used = list(self._used)
        reserve = list(self._reserve) if any(self._reserve) else []
        if not self.counts:
            return Clocked(used, self._turn, reserve)
        used[seat] += milliseconds
        return Clocked(used, self._turn + milliseconds, reserve)

    def extended(self, seat: Seat, now: Clocked) -> Clocked:
        """Return the clocks that `stopped` has returned, with more time for the seat.

        It may think for as long again with a clock for each move, and for a fifth of that of a game.
        """
        match self.policy:
            case MoveClock(seconds):
                return replace(now, turn=now.turn - 1000 * seconds)
            case GameClock(seconds):
                more = 1000 * seconds // _SHARE
                return replace(now, used=[each - more * (at == seat) for at, each in enumerate(now.used)])
        return now

    def is_ample(self, seat: Seat) -> bool:
        """Return whether the seat was given so much time that it gets no more."""
        policy = self.policy
        allowed = self.allowance(seat) or 0
        return isinstance(policy, _CLOCKS) and allowed > 1000 * _AMPLE * policy.seconds

    def set(self, stopped: Clocked) -> None:
        self._used, self._turn = list(stopped.used), stopped.turn
        self._reserve = list(stopped.reserve) or [0] * len(self._used)

    def change_policy(self, policy: Absence, *, in_game: bool) -> None:
        """Switch to another policy; time already used stays used.

        In a game, a clock starts, changes or ends with the next round, so that it is the same for everybody.
        Until it starts there is a `limit`; otherwise the next round might never begin.
        """
        if in_game and (self.runs or isinstance(policy, _CLOCKS)):
            self._next = policy
        else:
            self._use(policy)
            self._next = None

    def begin_round(self) -> None:
        """Count by the policy that was waiting for this round, if there is one."""
        if self._next is not None:
            self._use(self._next)
            self._next = None
        self._limited = None

    def _use(self, policy: Absence) -> None:
        self.policy = policy
        # Looked up, because each move asks several times.
        self.counts = isinstance(policy, _CLOCKS)  # whether players have clocks: a limit is nobody's
        self._with_reserve = policy if isinstance(policy, LongClock) else None
        self._for_game = policy.seconds if isinstance(policy, GameClock) else None

    @property
    def runs(self) -> bool:
        """Return whether turns have a clock or a limit now."""
        return self.counts or self.limit is not None

    @property
    def limit(self) -> int | None:
        """Return how many seconds a turn may take as long as a clock is waiting for the next round.

        A change of the clock restarts it in the current turn, and shortens no other turn of the round.
        """
        if self.counts:
            return None
        if self._next is not None and isinstance(self._next, _CLOCKS):
            return max(_LEAST_LIMIT, self._next.seconds, self._limited or 0)
        return self._limited

    def allowance(self, seat: Seat) -> int | None:
        """Return how long the seat's next turn may take; None without a limit."""
        match self.policy:
            case MoveClock(seconds):
                return max(0, 1000 * seconds + self.reserve(seat) - self._turn)
            case GameClock():
                return self.left(seat)
            case _:
                return None if self.limit is None else 1000 * self.limit

    def whole_turn(self, seat: Seat) -> int:
        """Return the length of the current turn, time used included; 0 without a limit."""
        return (self.allowance(seat) or 0) + self._turn

    def reserve(self, seat: Seat) -> int:
        """Return how much is left of the seat's reserve, apart from this turn; 0 without one."""
        if (clock := self._with_reserve) is None:
            return 0
        return max(0, 1000 * clock.reserve - self._reserve[seat])

    def left(self, seat: Seat) -> int | None:
        """Return how long the seat may still think in this game; None without a clock for the game."""
        return None if self._for_game is None else max(0, 1000 * self._for_game - self._used[seat])

    def used_up(self, seat: Seat) -> bool:
        return self.left(seat) == 0

    def all_used_up(self) -> tuple[Seat, ...]:
        """Return the seats that have no time left in this game."""
        return tuple(filter(self.used_up, map(Seat, range(len(self._used))))) if self._for_game else ()
