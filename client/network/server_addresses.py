"""The servers of a cluster: the addresses that a client knows, and which of them it tries next."""

from collections.abc import Sequence
from typing import Final

from client.network.transport import Address, ConnectFailed, Elsewhere, may_follow
from protocol.limits import ADDRESSES_TOLD

AT_ONCE: Final = 0.0
WITHIN_A_ROUND: Final = 0.5
NEXT_ROUND: Final = 1.0
_MOST_AT_ONCE: Final = 2  # as when a client comes for a table, and the table moves
_MOST_FOLLOWED: Final = 3  # in a row: then servers send clients in circles
_MOST_KNOWN: Final = ADDRESSES_TOLD + 1


class ServerAddresses:
    """The addresses of a cluster, of which `given` is the one that the client was started with.

    `at` is where the client is, or tries to be. While a connection is lost, all addresses are tried in turn,
    round after round; those that have shown to be of no use are left out until there is a connection again.
    """

    def __init__(self, given: Address) -> None:
        self.given = given
        self.at = given
        self._last = given.url  # where the client was, or was sent
        self._others: tuple[str, ...] = ()
        self._useless: set[str] = set()
        self._left: list[str] = []  # of this round
        self._followed = 0  # times that the client has just been sent on, and followed at once

    @property
    def known(self) -> tuple[str, ...]:
        """Return the addresses of the cluster that are known."""
        return tuple(dict.fromkeys((self.given.url, self.at.url, *self._others)))

    def learn(self, others: Sequence[str]) -> None:
        """Record the other servers' addresses, if this one sends any; it does not send its own."""
        told = [url for url in others if may_follow(url, self.given)]
        if told:
            # Servers that were there before may be there again: they come last.
            known = dict.fromkeys((self.at.url, *told, *self._others))
            self._others = tuple(known)[:_MOST_KNOWN]

    def arrived(self) -> None:
        """Record that the client is back where it wants to be."""
        self._last = self.at.url
        self._useless.clear()
        self._left.clear()

    def settled(self) -> None:
        """Record that it has stayed there for a while."""
        self._followed = 0

    def turn(self, failure: ConnectFailed) -> float:
        """Go to the next address after a failure at this one; return how much of a pause to make before.

        Raises the failure if there is no use in going on.
        """
        if failure.final:
            if not failure.only_here:
                raise failure
            self._useless.add(self.at.url)
        is_circle = self._followed >= _MOST_FOLLOWED
        if isinstance(failure, Elsewhere) and not is_circle and failure.url not in self._useless:
            self._go(failure.url)
            self._last = failure.url
            self._followed += 1
            return AT_ONCE if self._followed <= _MOST_AT_ONCE else NEXT_ROUND
        self._followed = 0
        pause = WITHIN_A_ROUND
        if not self._left:
            pause = NEXT_ROUND
            known = dict.fromkeys((self._last, self.given.url, *self._others))
            self._left = [url for url in known if url not in self._useless]
        if not self._left:
            raise failure
        self._go(self._left[0])
        return pause

    def _go(self, url: str) -> None:
        self.at = self.given if url == self.given.url else self.given.at(url)
        self._left = [each for each in self._left if each != url]
