"""Check that a game's draws follow from the server's seed and the players' shares."""

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from engine import events as facts
from engine.board import CENTRE, OUTER_POSITIONS, Tile
from engine.components import Laurel
from engine.draws import Bytes32, Draws, commitment_to, laurels_by_tile, outcomes
from engine.events import SeenEvent
from engine.pieces import Seat
from engine.view import View

K = TypeVar("K")
V = TypeVar("V")


class Mismatch(enum.StrEnum):
    """What does not fit: the seed its commitment, or a draw what seed and shares give."""

    SEED = "seed"
    STARTING = "starting"
    TILES = "tiles"
    ORIENTATIONS = "orientations"
    LAURELS = "laurels"


@dataclass(slots=True)
class Drawn:
    """What was drawn in a game, as far as it was seen: tiles by the order of the draws."""

    starting: Seat | None = None
    tiles: dict[int, Tile] = field(default_factory=dict)
    orientations: dict[int, int] = field(default_factory=dict)  # by position
    laurels: dict[Tile, Laurel] = field(default_factory=dict)
    laid: int = 0

    def fold(self, event: SeenEvent) -> None:
        """Take in the next event."""
        match event:
            case facts.GameStarted():
                self.starting = event.starting
            case facts.CentreTurned(tile):
                self.tiles[CENTRE] = tile
                self.laid = 1
            case facts.TileDrawn(_, tile):
                self.tiles[self.laid] = tile
            case facts.TileLaid():
                self.laid += 1
            case facts.LayoutDrawn(tiles):
                self.tiles = {position: laid.tile for position, laid in enumerate(tiles)}
                self.orientations = {at: laid.orientation for at, laid in enumerate(tiles) if at != CENTRE}
            case facts.LaurelsDealt(laurels):
                self.laurels = dict(laurels)

    def agrees(self, other: "Drawn") -> bool:
        """Return whether both can have been seen of the same game."""
        return (
            _agree(self.tiles, other.tiles)
            and _agree(self.orientations, other.orientations)
            and _agree(self.laurels, other.laurels)
        )

    def joined(self, later: "Drawn") -> "Drawn":
        """Return everything that this and a later observation of the same game have seen."""
        return Drawn(
            later.starting,
            self.tiles | later.tiles,
            self.orientations | later.orientations,
            self.laurels | later.laurels,
            later.laid,
        )


def drawn_in(view: View, *, random_layout: bool) -> Drawn:
    """Return the draws that a view shows; it does not show the order of tiles that players have laid."""
    laid = {position: each for position, each in enumerate(view.tiles) if each is not None}
    known = laid if random_layout else {at: each for at, each in laid.items() if at == CENTRE}
    tiles = {position: each.tile for position, each in known.items()}
    if view.drawn is not None:
        tiles[len(laid)] = view.drawn
    turns = {position: each.orientation for position, each in known.items() if position != CENTRE}
    return Drawn(view.start.starting, tiles, turns, dict(view.laurels), len(laid))


def _agree(seen: Mapping[K, V], later: Mapping[K, V]) -> bool:
    return all(later.get(key, value) == value for key, value in seen.items())


def mismatch(draws: Draws, seed: Bytes32 | None, drawn: Drawn) -> Mismatch | None:
    """Return the first thing that does not fit in a game that is over, None if all that was seen does."""
    if seed is None or commitment_to(seed) != draws.commitment:
        return Mismatch.SEED
    due = outcomes(seed, draws.shares)
    if draws.starting and drawn.starting != due.starting:
        return Mismatch.STARTING
    if not drawn.tiles.items() <= dict(enumerate(due.tiles)).items():
        return Mismatch.TILES
    if not drawn.orientations.items() <= dict(zip(OUTER_POSITIONS, due.orientations, strict=True)).items():
        return Mismatch.ORIENTATIONS
    if not drawn.laurels.items() <= laurels_by_tile(due.tiles[0], due.laurels).items():
        return Mismatch.LAURELS
    return None


@dataclass(frozen=True, slots=True)
class Sources:
    """The sources of a game's draws, as its events give them, and any mismatch; no seed before the end."""

    draws: Draws | None = None
    seed: Bytes32 | None = None
    mismatch: Mismatch | None = None


def sources_of(events: Iterable[SeenEvent]) -> Sources:
    """Return the sources of the draws in these `events`, checked if the seed is known."""
    drawn = Drawn()
    draws, ended = None, None
    for event in events:
        drawn.fold(event)
        if isinstance(event, facts.GameStarted):
            draws = event.draws
        elif isinstance(event, facts.GameEnded):
            ended = event
    if draws is None or ended is None:
        return Sources(draws)
    return Sources(draws, ended.seed, mismatch(draws, ended.seed, drawn))
