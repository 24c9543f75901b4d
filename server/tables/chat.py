"""How much may be said: everyone at a table is sent it, so the table and the sender's address pay for it."""

from collections.abc import Callable

from protocol.codes import Code
from server.config import Limits
from server.net.rate_limits import PerMinuteLimit
from server.net.session import Session
from server.refusal import Refusal


class ChatLimits:
    """What all tables of a server have in common about chat."""

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._now = now
        self._by_table = PerMinuteLimit(limits.chat_per_table)
        self._by_address = PerMinuteLimit(limits.chat_per_address)

    def count(self, session: Session, table: str) -> None:
        """Count what the session says at a table; raises Refusal if it was too much lately.

        Spectators have a share of their own: they cannot silence the players.
        """
        now = self._now()
        share = f"{table} {'players' if session.seat is not None else 'spectators'}"
        wait = max(self._by_table.wait(share, now), self._by_address.wait(session.address, now))
        if wait > 0:
            raise Refusal(Code.TOO_MUCH_CHAT, seconds=wait)
        self._by_table.count(share, now)
        self._by_address.count(session.address, now)
