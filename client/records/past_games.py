"""Games that are over, as their records tell of them, and what their players have reached."""

from collections.abc import Iterable

from msgspec import Struct

from protocol.messages import NEWCOMER, Standing


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


def standings(games: Iterable[PastGame]) -> list[tuple[str, Standing]]:
    """Return what everybody has reached, the best first; players are told apart by their names."""
    found: dict[str, Standing] = {}
    for game in games:
        for seat, (name, points) in enumerate(zip(game.names, game.points, strict=True)):
            before = found.get(name, NEWCOMER)
            found[name] = Standing(
                before.games + 1, before.wins + (seat in game.winners), before.points + points
            )
    return best_first(found.items())


def best_first(standings: Iterable[tuple[str, Standing]]) -> list[tuple[str, Standing]]:
    """Return the players in order: more wins come first, then more points."""
    return sorted(standings, key=lambda each: (-each[1].wins, -each[1].points, each[0]))
