"""What a pair of eyes knows of a game: the state that its events fold into.

The game itself is a view with every seat's eyes; players and spectators have fewer. All of them are
folded from events by the same code, and `engine.redaction` decides which events each of them gets.
"""

import enum
import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias, assert_never

from engine import events as facts
from engine.board import CENTRE, FIELDS, Field, LaidTile, Layout, Tile, layout_of
from engine.components import Laurel
from engine.events import Placed, ScoringEvent, SeenEvent
from engine.pieces import People, Piece, Seat, Wolf
from engine.scoring import removed

Eyes: TypeAlias = frozenset[Seat]  # the seats whose secrets are known

SPECTATOR: Final[Eyes] = frozenset()


@functools.cache
def eyes_of(seat: Seat) -> Eyes:
    return frozenset((seat,))


class Phase(enum.StrEnum):
    """How far a game is: laying tiles (R3), placing (R4), or scored (R5 to R7)."""

    LAYING = "laying"
    PLACING = "placing"
    OVER = "over"


LAYING, PLACING, OVER = Phase  # at hand: to Python 3.11 each use of an enum's name is a call


@dataclass(slots=True)
class View:
    """A game as some eyes see it; changed only by `fold`.

    `laid_by` has the seats that laid the `tiles`, by position, None where no player did.
    `placed` holds every placement in order, by field, and keeps what scoring takes off the board:
    `board` is what is still on it. `hands` holds the hands that these eyes know; `remaining` is how many
    pieces each seat has yet to place, which is public.
    """

    eyes: Eyes
    phase: Phase = LAYING
    turn: Seat | None = None
    started: facts.GameStarted | None = None
    tiles: tuple[LaidTile | None, ...] = (None,) * 7
    laid_by: tuple[Seat | None, ...] = (None,) * 7
    drawn: Tile | None = None
    laurels: Mapping[Tile, Laurel] = field(default_factory=dict)
    placed: dict[Field, Piece | Wolf] = field(default_factory=dict)
    owners: dict[Field, Seat] = field(default_factory=dict)
    hands: dict[Seat, dict[Piece, int]] = field(default_factory=dict)
    gone: set[Field] = field(default_factory=set)
    remaining: list[int] = field(default_factory=list)
    scoring: tuple[ScoringEvent, ...] = ()
    result: facts.GameEnded | None = None

    @property
    def start(self) -> facts.GameStarted:
        """Return how the game started; raises LookupError before it has."""
        if self.started is None:
            raise LookupError("the game has not started")
        return self.started

    @property
    def seats(self) -> int:
        return len(self.start.peoples)

    @property
    def layout(self) -> Layout:
        return layout_of(self.tiles)

    @property
    def board(self) -> dict[Field, Piece | Wolf]:
        """Return the pieces still on the board, in the order in which they were placed."""
        return {name: piece for name, piece in self.placed.items() if name not in self.gone}

    @property
    def to_place(self) -> int:
        """Return how many pieces all seats together have yet to place."""
        return sum(self.remaining)

    def since(self, seat: Seat) -> tuple[Field, ...]:
        """Return the fields of the seat's last placement and all after it, the latest first."""
        fields: list[Field] = []
        for name, owner in reversed(self.owners.items()):
            fields.append(name)
            if owner == seat:
                return tuple(fields)
        return ()

    def fold(self, event: SeenEvent) -> None:
        """Fold in the next event."""
        if isinstance(event, Placed):  # first, because most events are placements, and `match` takes longer
            self._place(event.seat, event.piece, event.field)
            if event.seat in self.hands:
                hand = self.hands[event.seat]
                hand[event.piece] -= 1
                if hand[event.piece] == 0:
                    del hand[event.piece]
            return
        match event:
            case facts.WolfPlaced(seat, people, name):
                self._place(seat, Wolf.of(people), name)
            case facts.GameStarted():
                self.started = event
                self.hands = {seat: dict(event.hands[seat]) for seat in sorted(self.eyes)}
                self.remaining = [sum(hand.values()) for hand in event.hands]
            case facts.CentreTurned(tile):
                self._lay(CENTRE, LaidTile(tile, 0))
            case facts.TileDrawn(seat, tile):
                self.turn, self.drawn = seat, tile
            case facts.TileLaid(seat, tile, position, orientation):
                self._lay(position, LaidTile(tile, orientation))
                self.laid_by = (*self.laid_by[:position], seat, *self.laid_by[position + 1 :])
                self.turn, self.drawn = None, None
            case facts.LayoutDrawn(tiles):
                self.tiles = tiles
            case facts.LaurelsDealt(laurels):
                self.laurels = laurels
                self.phase, self.turn = PLACING, self.start.starting
            case facts.TakenBack(seat, fields):
                for name in fields:
                    self._take_back(name)
                self.turn = seat
            case facts.WolvesRevealed(pieces):
                self.placed.update(pieces)
                self.phase, self.turn = OVER, None
                self.scoring += (event,)
            case facts.SoldierFled() | facts.Captured():
                self.gone.update(removed(event))
                self.scoring += (event,)
            case facts.HillScored():
                self.scoring += (event,)
            case facts.GameEnded():
                self.result = event
                self.scoring += (event,)
            case _:
                assert_never(event)

    def _lay(self, position: int, laid: LaidTile) -> None:
        self.tiles = (*self.tiles[:position], laid, *self.tiles[position + 1 :])

    def _place(self, seat: Seat, piece: Piece | Wolf, name: Field) -> None:
        self.placed[name] = piece
        self.owners[name] = seat
        self.remaining[seat] -= 1
        self.turn = Seat((seat + 1) % len(self.remaining)) if any(self.remaining) else None

    def _take_back(self, name: Field) -> None:
        piece, owner = self.placed.pop(name), self.owners.pop(name)
        self.remaining[owner] += 1
        if isinstance(piece, Piece) and owner in self.hands:
            hand = self.hands[owner]
            hand[piece] = hand.get(piece, 0) + 1


def folded(events: Iterable[SeenEvent], eyes: Eyes) -> View:
    """Return the view that `events` lead `eyes` to."""
    view = View(eyes)
    for event in events:
        view.fold(event)
    return view


def seat_of(started: facts.GameStarted, people: People) -> Seat:
    """Return the seat that plays `people`; raises LookupError if nobody does (R9.6)."""
    for seat, peoples in enumerate(started.peoples):
        if people in peoples:
            return Seat(seat)
    raise LookupError(f"nobody plays the people {people}")


def free_fields(view: View) -> tuple[Field, ...]:
    """Return the empty fields in name order (R4.1)."""
    placed = view.placed
    return tuple([name for name in FIELDS if name not in placed])
