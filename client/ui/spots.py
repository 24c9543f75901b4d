"""What stands on each hex of the board, decided once for terminal, pictures, `--plain` and pages."""

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from msgspec import Struct

from client.language import _, labelled
from client.ui.at_table import HEX_POSITIONS
from client.ui.texts.pieces import piece_words
from engine.board import HILLS, Field, Hex, LaidTile, Layout, Tile, fields_of, has_spring, layout_of
from engine.components import LAUREL_WORTH, Laurel
from engine.events import Placed, WolfPlaced
from engine.pieces import Piece, Seat, Wolf
from engine.view import Phase, View

NOBODY: Final = "-"  # stands for the holder of a hill that nobody took
NO_FIELDS: Final[frozenset[Field]] = frozenset()


@dataclass(frozen=True, slots=True)
class Marks:
    """The marks on a drawing.

    `preview` is a tile that is not laid yet, and its position; `choices` the positions open to it. `notes`
    are short words on fields, `captives` fields whose pieces are being taken, `recent` those of the latest.
    """

    cursor: Hex | None = None
    recent: Collection[Field] = NO_FIELDS
    preview: tuple[int, LaidTile] | None = None
    choices: tuple[int, ...] = ()
    captives: frozenset[Field] = NO_FIELDS
    notes: Mapping[Field, str] = field(default_factory=dict)
    won: Mapping[Tile, str] = field(default_factory=dict)


UNMARKED: Final = Marks()


def just_placed(view: View, seat: Seat | None = None) -> list[Field]:
    """Return the fields of the pieces placed since the seat's own last one, in order.

    Without a seat, and for a player who has just moved, it is the last piece alone.
    """
    latest = list(itertools.takewhile(lambda field: view.owners[field] != seat, reversed(view.placed)))
    return latest[::-1] if latest and seat is not None else list(view.placed)[-1:]


def placed_there(view: View, field: Field) -> Placed | WolfPlaced:
    """Return the placement on a field, as the view sees it."""
    seat, piece = view.owners[field], view.placed[field]
    return Placed(seat, piece, field) if isinstance(piece, Piece) else WolfPlaced(seat, piece.people, field)


class FieldSpot(Struct, frozen=True):
    """A field and its contents; `recent` if a piece has just been placed there."""

    name: Field
    piece: Piece | Wolf | None
    spring: bool
    arrow: bool
    recent: bool
    captive: bool
    note: str
    pointed_at: bool
    on_trial: bool  # its tile is not laid yet


class HillSpot(Struct, frozen=True):
    """A hill; `winner` is the people that took its laurel, NOBODY, or None before the hill is scored."""

    tile: Tile
    laurel: Laurel | None
    winner: str | None
    pointed_at: bool
    on_trial: bool  # its tile is not laid yet

    @property
    def worth(self) -> int:
        return 0 if self.laurel is None else LAUREL_WORTH[self.laurel]


class OpenSpot(Struct, frozen=True):
    """A hex of a position without a tile, or the one in its middle; `free` if a tile may be laid now."""

    position: int
    middle: bool
    free: bool
    pointed_at: bool


Spot: TypeAlias = FieldSpot | HillSpot | OpenSpot


def shown_layout(view: View, marks: Marks) -> Layout:
    """Return the layout of the tiles with the one that is not laid yet."""
    if marks.preview is None:
        return view.layout
    position, laid = marks.preview
    return layout_of((*view.tiles[:position], laid, *view.tiles[position + 1 :]))


def spots(view: View, marks: Marks = UNMARKED) -> Mapping[Hex, Spot]:
    """Return the spot of every hex: its field or tile, piece, signs and tone."""
    layout, board = shown_layout(view, marks), view.board
    trial = None if marks.preview is None else marks.preview[0]

    def spot(cell: Hex, position: int) -> Spot:
        pointed_at, on_trial = cell == marks.cursor, position == trial
        if (laid := layout.tiles[position]) is None:
            middle, free = cell == HILLS[position], position in marks.choices
            return OpenSpot(position, middle, free, pointed_at)
        if (name := layout.fields.get(cell)) is None:
            laurel, winner = view.laurels.get(laid.tile), marks.won.get(laid.tile)
            return HillSpot(laid.tile, laurel, winner, pointed_at, on_trial)
        return FieldSpot(
            name,
            board.get(name),
            spring=has_spring(name),
            arrow=name.endswith("1") and view.phase is Phase.LAYING,  # later no tile can be turned
            recent=name in marks.recent,
            captive=name in marks.captives,
            note=marks.notes.get(name, ""),
            pointed_at=pointed_at,
            on_trial=on_trial,
        )

    return {cell: spot(cell, position) for cell, position in HEX_POSITIONS.items()}


def hills(view: View, marks: Marks = UNMARKED) -> Mapping[Tile, tuple[HillSpot, Sequence[FieldSpot]]]:
    """Return every hill with the fields around it, both in the order of their names, to be read aloud."""
    found = spots(view, marks).values()
    fields = {each.name: each for each in found if isinstance(each, FieldSpot)}
    by_tile = {each.tile: each for each in found if isinstance(each, HillSpot)}
    return {tile: (by_tile[tile], [fields[name] for name in fields_of(tile)]) for tile in sorted(by_tile)}


def describe_field(spot: FieldSpot) -> str:
    """Return a field and its contents in words: `D4, a spring: Etruscan merchant`."""
    name = _("{field}, a spring").format(field=spot.name) if spot.spring else spot.name
    return labelled(name, _("empty") if spot.piece is None else piece_words(spot.piece))
