"""Thinking time: what a table's policy gives to each turn, and what the seats have used of it."""

from engine.pieces import Seat
from protocol.absence import Absence, GameClock, MoveClock


class Clocks:
    """The clocks of a table's seats, in milliseconds; without a clock in the policy nothing is counted."""

    def __init__(self, policy: Absence, players: int) -> None:
        self._policy = policy
        self._used = [0] * players

    def charge(self, seat: Seat, milliseconds: int) -> None:
        """Count what a turn of the seat took."""
        self._used[seat] += milliseconds

    def allowance(self, seat: Seat) -> int | None:
        """Return how long the seat's next turn may take; None without a limit."""
        match self._policy:
            case MoveClock(seconds):
                return 1000 * seconds
            case GameClock():
                return self.left(seat)
            case _:
                return None

    def left(self, seat: Seat) -> int | None:
        """Return how long the seat may still think in this game; None without a clock for the game."""
        if not isinstance(self._policy, GameClock):
            return None
        return max(0, 1000 * self._policy.seconds - self._used[seat])

    def used_up(self, seat: Seat) -> bool:
        """Tell whether the seat has no time left in this game."""
        return self.left(seat) == 0
