"""How many tables a client may open, and how many codes it may try, within a minute."""

from collections.abc import Callable

from protocol.codes import Code
from server.config import Limits
from server.net.rate_limits import PerMinuteLimit
from server.net.session import Session
from server.networks import Networks
from server.refusal import Refusal


class OpeningLimits:
    """How many tables may be opened or brought back by one connection, and from one address."""

    def __init__(self, limits: Limits, time: Callable[[], float]) -> None:
        self._time = time
        self._by_connection = PerMinuteLimit(limits.tables_per_connection)
        self._by_address = PerMinuteLimit(limits.tables_per_address)

    def count(self, session: Session) -> None:
        """Count a table that the session opens or brings back; raise Refusal if it is one too many."""
        now = self._time()
        wait = max(self._by_connection.wait(session.id, now), self._by_address.wait(session.address, now))
        if wait > 0:
            raise Refusal(Code.TOO_SOON, seconds=wait)
        self._by_connection.count(session.id, now)
        self._by_address.count(session.address, now)


class GuessLimit:
    """How many codes that are no use may be tried from one address, by whatever message or page."""

    def __init__(self, limits: Limits, time: Callable[[], float]) -> None:
        self._time = time
        self._guesses = PerMinuteLimit(limits.wrong_codes_per_address)

    def check(self, address: Networks) -> None:
        """Raise Refusal if there were too many wrong codes from what an address counts as lately."""
        if (wait := self._guesses.wait(address, self._time())) > 0:
            raise Refusal(Code.TOO_MANY_GUESSES, seconds=wait)

    def count(self, address: Networks) -> None:
        """Count a code that is wrong, or that nobody there has business with; raise Refusal as `check`."""
        self.check(address)
        self._guesses.count(address, self._time())
