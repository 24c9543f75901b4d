"""A game from its record, stop by stop, as any seat saw it; and what players reached in finished games."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from msgspec import Struct

from client.language import _
from engine.events import Event, GameStarted, Placed, SeenEvent, TileLaid, WolvesRevealed
from engine.pieces import Seat
from engine.redaction import redacted
from engine.view import Eyes, View, folded
from protocol.limits import NAME_LENGTH
from protocol.messages import NEWCOMER, Standing
from protocol.text import unsafe


@dataclass(frozen=True, slots=True)
class Recording:
    """All that happened in a game, and the names of its players by seat.

    Its stops are numbered: 0 is the start, n the game after move n, a move being a tile laid or a piece
    placed. After the last move of a finished game one more stop follows: the scoring.
    """

    events: tuple[Event, ...]
    names: tuple[str, ...]
    counts: tuple[int, ...]  # how many events have happened, by stop

    @classmethod
    def of(cls, events: Sequence[Event], names: Mapping[int, str]) -> Self:
        """Return the recording of `events`; a seat without a name that can be shown is `Seat 1` and so on."""
        seats = next(len(event.peoples) for event in events if isinstance(event, GameStarted))
        cuts = [
            at for at, event in enumerate(events) if isinstance(event, TileLaid | Placed | WolvesRevealed)
        ]
        return cls(
            tuple(events),
            tuple(shown_name(names.get(seat), seat) for seat in range(seats)),
            (*cuts, len(events)),
        )

    @property
    def over(self) -> bool:
        return any(isinstance(event, WolvesRevealed) for event in self.events)

    @property
    def end(self) -> int:
        """Return the last stop."""
        return len(self.counts) - 1

    @property
    def moves(self) -> int:
        return self.end - self.over

    @property
    def seats(self) -> range:
        return range(len(self.names))

    @property
    def all_eyes(self) -> Eyes:
        return frozenset(map(Seat, self.seats))

    def seen(self, stop: int, eyes: Eyes) -> tuple[SeenEvent, ...]:
        """Return what `eyes` saw of the game up to `stop`."""
        return tuple(redacted(event, eyes) for event in self.events[: self.counts[stop]])

    def view(self, stop: int, eyes: Eyes) -> View:
        """Return the game as `eyes` see it at `stop`."""
        return folded(self.seen(stop, eyes), eyes)


def shown_name(name: str | None, seat: int) -> str:
    """Return the name if a table would accept it, for records come from strangers; else the seat's number."""
    usable = name is not None and len(name) <= NAME_LENGTH and unsafe(name) is None
    return name if usable and name else _("Seat {number}").format(number=seat + 1)


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
