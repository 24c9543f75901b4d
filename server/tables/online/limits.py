"""How often people may take names and talk in the lobby: everybody there is sent it."""

from collections.abc import Callable

from protocol.codes import Code
from server.config import Limits
from server.net.rate_limits import Key, PerMinuteLimit, SharedPerMinuteLimit
from server.net.session import Session
from server.refusal import Refusal

_ALL = ""  # the key of the one lobby that everybody shares


class LobbyLimits:
    """What connections, addresses, and all of them together may do in the lobby within a minute."""

    def __init__(self, limits: Limits, now: Callable[[], float]) -> None:
        self._now = now
        self._said = SharedPerMinuteLimit(limits.chat_in_lobby)
        self._said_by_connection = PerMinuteLimit(limits.chat_in_lobby_per_connection)
        self._said_by_address = PerMinuteLimit(limits.chat_in_lobby_per_address)
        self._named_by_connection = PerMinuteLimit(limits.lobby_names_per_connection)
        self._named_by_address = PerMinuteLimit(limits.lobby_names_per_address)

    def count_remark(self, session: Session) -> None:
        """Count what the session says; raises Refusal if it was too much lately."""
        now = self._now()
        own = ((self._said_by_connection, session.id), (self._said_by_address, session.address))
        _check(now, *own)
        if (wait := self._said.wait(_ALL, session.address, now)) > 0:
            raise Refusal(Code.TOO_MUCH_CHAT, seconds=wait)
        self._said.count(_ALL, session.address, now)
        _count(now, *own)

    def count_name(self, session: Session) -> None:
        """Count a name that the session wants; raises Refusal if there were too many lately."""
        now = self._now()
        own = ((self._named_by_connection, session.id), (self._named_by_address, session.address))
        _check(now, *own)
        _count(now, *own)


def _check(now: float, *limits: tuple[PerMinuteLimit, Key]) -> None:
    if (wait := max(limit.wait(key, now) for limit, key in limits)) > 0:
        raise Refusal(Code.TOO_MUCH_CHAT, seconds=wait)


def _count(now: float, *limits: tuple[PerMinuteLimit, Key]) -> None:
    for limit, key in limits:
        limit.count(key, now)
