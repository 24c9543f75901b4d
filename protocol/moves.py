"""Moves as messages and as the engine's commands: the two differ by the message's id and the seat."""

import sys
from typing import TypeAlias, assert_never

from engine.board import Field
from engine.events import Command, LayTile, Place
from engine.pieces import Piece, Seat
from protocol.messages import Lay, PlacePiece

MoveMessage: TypeAlias = Lay | PlacePiece


def move_message(id: int, command: Command) -> MoveMessage:  # noqa: A002 - the wire's own word
    """Return the message that asks for `command`."""
    match command:
        case LayTile(_, position, orientation):
            return Lay(id, position, orientation)
        case Place(_, piece, field):
            return PlacePiece(id, str(piece), field)
        case _:
            assert_never(command)


def command_of(seat: Seat, message: MoveMessage) -> Command:
    """Return the command that `message` contains."""
    match message:
        case Lay(_, position, orientation):
            return LayTile(seat, position, orientation)
        case PlacePiece(_, piece, field):
            return Place(seat, Piece(piece), Field(sys.intern(field)))  # all games share its text
        case _:
            assert_never(message)
