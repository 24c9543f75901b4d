"""Games that are over, as their records tell of them, and what their players have reached."""

from collections.abc import Iterable

from msgspec import Struct


class PastGame(Struct, frozen=True):
    """A finished game by its record's file name; `ended` is in seconds since 1970.

    Names and points are by seat, winners are seats. A record that cannot be read has none of them.
    """

    file: str
    table: str
    ended: float
    names: tuple[str, ...] = ()
    points: tuple[int, ...] = ()
    winners: tuple[int, ...] = ()


class Totals(Struct, frozen=True):
    """What a player has reached in several games: a shared victory counts for every winner."""

    name: str
    games: int = 0
    wins: int = 0
    points: int = 0


def totals(games: Iterable[PastGame]) -> list[Totals]:
    """Return what everybody has reached, the best first; players are told apart by their names."""
    found: dict[str, Totals] = {}
    for game in games:
        for seat, (name, points) in enumerate(zip(game.names, game.points, strict=True)):
            before = found.get(name, Totals(name))
            found[name] = Totals(
                name, before.games + 1, before.wins + (seat in game.winners), before.points + points
            )
    return best_first(found.values())


def best_first(totals: Iterable[Totals]) -> list[Totals]:
    """Return the players in order: more wins come first, then more points."""
    return sorted(totals, key=lambda each: (-each.wins, -each.points, each.name))
