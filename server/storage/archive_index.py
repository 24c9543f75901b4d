"""Which games are in the archive, and which one is removed when there are too many."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass

from server.networks import networks_in, shares


@dataclass(frozen=True, slots=True)
class ArchivedGame:
    """What decides how long a game is kept: a pseudonym of its opener, and whether it was played."""

    origin: str
    played: bool


@dataclass(frozen=True, slots=True)
class Archived:
    """A game in the archive, and its place in the order of archiving."""

    place: int
    game: ArchivedGame


class ArchiveIndex:
    """The archived games by their codes, in order of archiving.

    A network with more than its share has to give way before all others: `share` for a single address.
    """

    def __init__(self, share: int) -> None:
        self._share = share
        self._games: dict[str, Archived] = {}
        self._by_network: Counter[tuple[str, int]] = Counter()  # and its share
        self._last = 0

    def __len__(self) -> int:
        return len(self._games)

    def __iter__(self) -> Iterator[str]:
        return iter(self._games)

    @property
    def codes(self) -> Set[str]:
        return self._games.keys()

    def add(self, code: str, game: ArchivedGame) -> None:
        """Record that a game was archived, last of all."""
        self.discard(code)
        self._last += 1
        self._add(code, Archived(self._last, game))

    def discard(self, code: str) -> Archived | None:
        """Record that a game is no longer archived; return what `put_back` needs."""
        if (found := self._games.pop(code, None)) is not None:
            for network in self._networks(found.game):
                self._by_network[network] -= 1
                if not self._by_network[network]:
                    del self._by_network[network]
        return found

    def put_back(self, games: Mapping[str, Archived]) -> None:
        """Record that games are archived after all, in the order of before."""
        for code, archived in games.items():
            self._add(code, archived)
        if games:
            self._games = dict(sorted(self._games.items(), key=lambda item: item[1].place))

    def make_room(self, code: str, game: ArchivedGame, most: int) -> dict[str, Archived]:
        """Record that a game is archived, and return those that go because there are more than `most`."""
        self.add(code, game)
        removed = {}
        while len(self) > most:
            least = self.least_worth()
            removed[least] = self._games[least]
            self.discard(least)
        return removed

    def least_worth(self) -> str:
        """Return the game to remove: the oldest that was never played, else the oldest.

        It is one of those of the network that is largest for its share, if that has more than that.
        """
        largest = max(self._by_network, key=lambda each: self._by_network[each] / each[1])
        codes: Iterable[str] = self._games
        if self._by_network[largest] > largest[1]:
            codes = (
                code for code, each in self._games.items() if largest[0] in networks_in(each.game.origin)
            )
        codes = list(codes)
        return next((code for code in codes if not self._games[code].game.played), codes[0])

    def _add(self, code: str, archived: Archived) -> None:
        self._games[code] = archived
        self._by_network.update(self._networks(archived.game))

    def _networks(self, game: ArchivedGame) -> list[tuple[str, int]]:
        return shares(networks_in(game.origin), self._share)
