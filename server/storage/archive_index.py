"""Which games are in the archive, and which one is removed when there are too many."""

from collections import Counter
from collections.abc import Iterator, Set
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArchivedGame:
    """What decides how long a game is kept: a pseudonym of its opener, and whether it was played."""

    origin: str
    played: bool


class ArchiveIndex:
    """The archived games by their codes, in order of archiving.

    An origin with more than `share` games has to give way before all others.
    """

    def __init__(self, share: int) -> None:
        self._share = share
        self._games: dict[str, ArchivedGame] = {}
        self._by_origin: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._games)

    def __iter__(self) -> Iterator[str]:
        return iter(self._games)

    @property
    def codes(self) -> Set[str]:
        return self._games.keys()

    def add(self, code: str, game: ArchivedGame) -> None:
        """Take note that a game was archived, last of all."""
        self.discard(code)
        self._games[code] = game
        self._by_origin[game.origin] += 1

    def discard(self, code: str) -> ArchivedGame | None:
        """Take note that a game is no longer archived; return what decided how long it was kept."""
        if (game := self._games.pop(code, None)) is not None:
            self._by_origin[game.origin] -= 1
            if not self._by_origin[game.origin]:
                del self._by_origin[game.origin]
        return game

    def least_worth(self) -> str:
        """Return the game to remove: the oldest that was never played, else the oldest.

        It is one of the largest origin's games if that has more than its share.
        """
        ((largest, count),) = self._by_origin.most_common(1)
        only = largest if count > self._share else None
        codes = [code for code, game in self._games.items() if only is None or game.origin == only]
        return next((code for code in codes if not self._games[code].played), codes[0])
