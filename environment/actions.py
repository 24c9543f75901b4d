"""Actions as numbers: which command each stands for, and the mask of those that are legal.

With P pieces in a seat's starting hand, action 42 * p + c places piece p in cell c, and the 36 actions after
these lay the drawn tile: 42 * P + 6 * (position - 1) + orientation.
"""

import functools
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from engine.board import ORIENTATIONS, OUTER_POSITIONS
from engine.components import DEALS
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import People, Piece, Seat
from engine.view import View
from environment.cells import CELLS, fields_on

Mask: TypeAlias = NDArray[np.int8]

_LAYS: Final = len(OUTER_POSITIONS) * len(ORIENTATIONS)


@functools.cache
def pieces_of(peoples: tuple[People, ...], players: int) -> tuple[Piece, ...]:
    """Return what the hand of a seat with these peoples starts with, in the order of the actions."""
    deal = DEALS[players]
    own = [Piece(f"{peoples[0]}{face}") for face in deal.own]
    return (*own, *[Piece(f"{peoples[1]}{face}") for face in deal.second])


@functools.cache
def action_count(players: int) -> int:
    """Return how many actions there are, legal or not."""
    deal = DEALS[players]
    return len(CELLS) * (len(deal.own) + len(deal.second)) + _LAYS


def command_of(view: View, seat: Seat, action: int) -> Command:
    """Return the command of `seat` that an action stands for; whether it is legal is the game's business.

    Raises ValueError if there is no such action, or no tile yet where it would place a piece.
    """
    if not 0 <= action < action_count(view.seats):
        raise ValueError(f"{action} is not an action: choose 0 to {action_count(view.seats) - 1}")
    pieces = pieces_of(view.start.peoples[seat], view.seats)
    piece, cell = divmod(action, len(CELLS))
    if piece >= len(pieces):
        position, orientation = divmod(action - len(CELLS) * len(pieces), len(ORIENTATIONS))
        return LayTile(seat, OUTER_POSITIONS[position], orientation)
    field = fields_on(view.tiles).by_cell[cell]
    if field is None:
        raise ValueError(f"Action {action} places a piece where there is no tile yet. Lay the tile drawn.")
    return Place(seat, pieces[piece], field)


def action_of(view: View, command: Command) -> int:
    """Return the action that stands for a command."""
    pieces = pieces_of(view.start.peoples[command.seat], view.seats)
    if isinstance(command, Place):
        return len(CELLS) * pieces.index(command.piece) + fields_on(view.tiles).cells[command.field]
    return (
        len(CELLS) * len(pieces)
        + len(ORIENTATIONS) * OUTER_POSITIONS.index(command.position)
        + command.orientation
    )


def mask_of(view: View, legal: Legal | None) -> Mask:
    """Return which actions are legal: 1 for those, 0 for the others; None means that none is."""
    pieces = pieces_of(view.start.peoples[0 if legal is None else legal.seat], view.seats)
    mask = bytearray(len(CELLS) * len(pieces) + _LAYS)
    if isinstance(legal, LegalPlaces):
        cells = fields_on(view.tiles).cells
        free = bytearray(len(CELLS))
        for field in legal.fields:
            free[cells[field]] = 1
        for piece in legal.pieces:
            first = len(CELLS) * pieces.index(piece)
            mask[first : first + len(CELLS)] = free
    elif isinstance(legal, LegalLays):
        for command in legal.commands():
            mask[action_of(view, command)] = 1
    return np.frombuffer(mask, np.int8)  # bytes in Python are filled faster than an array
