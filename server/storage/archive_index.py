"""Which games are in the archive, and which one is removed when there are too many."""

from collections import Counter
from collections.abc import Set
from dataclasses import dataclass
from typing import Final

from server.limits.networks import networks_in, shares

_MOST_AT_ONCE: Final = 20  # are removed: choosing each takes up to a millisecond, in which nobody plays


@dataclass(frozen=True, slots=True)
class ArchivedGame:
    """Facts that decide how long a game is kept: a pseudonym of its opener, and whether it was played."""

    origin: str
    played: bool


class ArchiveIndex:
    """The archived games by their codes, in order of archiving.

    A network with more than its share has to give way before all others: `share` for a single address.
    """

    def __init__(self, share: int) -> None:
        self._share = share
        self._games: dict[str, ArchivedGame] = {}
        self._by_network: Counter[tuple[str, int]] = Counter()  # and its share

    @property
    def codes(self) -> Set[str]:
        return self._games.keys()

    def add(self, code: str, game: ArchivedGame) -> None:
        """Record that a game was archived, last of all."""
        self.discard(code)
        self._games[code] = game
        self._by_network.update(self._networks(game))

    def discard(self, code: str) -> ArchivedGame | None:
        """Record that a game is no longer archived, and return it."""
        if (game := self._games.pop(code, None)) is not None:
            for network in self._networks(game):
                self._by_network[network] -= 1
                if not self._by_network[network]:
                    del self._by_network[network]
        return game

    def displaced_by(self, code: str, game: ArchivedGame, most: int) -> list[str]:
        """Return the games to remove for a game that is to be archived, so that there are at most `most`.

        That game may be one of them.
        """
        gone: list[str] = []
        if len(self._games) < most:
            return gone
        after = ArchiveIndex(self._share)
        after._games, after._by_network = self._games.copy(), self._by_network.copy()
        after.add(code, game)
        # More only after the limit was lowered: then the archive shrinks with each game that comes.
        while len(after._games) > most and len(gone) < _MOST_AT_ONCE:
            gone.append(after.least_worth())
            after.discard(gone[-1])
        return gone

    def least_worth(self) -> str:
        """Return the game to remove: the oldest that was never played, else the oldest.

        It is one of those of the network that is largest for its share, if that has more than that.
        """
        network, share = max(self._by_network, key=lambda each: self._by_network[each] / each[1])
        codes = list(self._games)
        if self._by_network[network, share] > share:
            codes = [code for code, game in self._games.items() if network in networks_in(game.origin)]
        return next((code for code in codes if not self._games[code].played), codes[0])

    def _networks(self, game: ArchivedGame) -> list[tuple[str, int]]:
        return shares(networks_in(game.origin), self._share)
