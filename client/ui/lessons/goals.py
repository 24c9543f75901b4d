"""The goal of a lesson's page, and whether it has been reached."""

from typing import TypeAlias

from msgspec import Struct

from client.tables.table import TableModel
from client.ui.screens.playing import Playing
from client.ui.screens.scoring import Result, Scoring, step_of, steps
from client.ui.state import Screen
from engine.board import Field, Tile
from engine.errors import Fault
from engine.events import (
    Captured,
    Command,
    HillScored,
    Influence,
    LayTile,
    Place,
    SoldierFled,
    WolvesRevealed,
)
from engine.pieces import Kind, Piece
from engine.scoring import Board, influences, soldier_acts
from engine.view import View


class Read(Struct, frozen=True, tag=True):
    """Nothing but reading."""


class PointTo(Struct, frozen=True, tag=True):
    field: Field


class LayAnywhere(Struct, frozen=True, tag=True):
    """Lay the tile."""


class PlaceOne(Struct, frozen=True, tag=True):
    """Place a piece: of this kind and on this field, if that matters; with `wolf`, one that bears it.

    It has to give at least so much influence now, or to capture so many pieces and none of the pupil's.
    """

    kind: Kind | None = None
    wolf: bool = False
    field: Field | None = None
    least: int = 0


class BeRefused(Struct, frozen=True, tag=True):
    """Try a move that the rules forbid for this reason; `field` says where, if it matters."""

    fault: Fault
    field: Field | None = None


class Walk(Struct, frozen=True, tag=True):
    """Go through the scoring of this hill: the acts of its soldiers, the influence on it, or both."""

    hill: Tile
    soldiers: bool = True
    influence: bool = True


Goal: TypeAlias = Read | PointTo | LayAnywhere | PlaceOne | BeRefused | Walk


def arrived(goal: Goal, table: Screen, view: View) -> bool:
    """Return whether the pupil has reached the goal without a move, by pointing or walking there."""
    match goal, table:
        case Read(), _:
            return True
        case PointTo(field), Playing(cursor=cursor):
            return view.layout.hexes[field] == cursor
        case Walk(), Scoring() | Result():
            return step_of(table, view) >= steps_of(goal, view)[1]
        case _:
            return False


def fulfilled(goal: Goal, command: Command, model: TableModel) -> bool:
    """Return whether the move reaches the goal; `model` is the table after it."""
    match goal, command:
        case LayAnywhere(), LayTile():
            return True
        case PlaceOne(kind, wolf, field, least), Place(piece=piece):
            right = kind in {None, piece.kind} and field in {None, command.field}
            return right and (piece.wolf or not wolf) and _worth(command, model) >= least
        case _:
            return False


def _worth(move: Place, model: TableModel) -> int:
    """Return how much influence a piece gives now, or how many pieces a soldier takes from others alone."""
    if (influence := influence_of(model, move.field)) is not None:
        return influence.amount
    act = act_of(model, move.field)
    if not isinstance(act, Captured) or model.view is None:
        return 0
    caught = (*act.taken, *act.shared)
    return 0 if any(model.view.owners[each] == move.seat for each in caught) else len(caught)


def influence_of(model: TableModel, field: Field) -> Influence | None:
    """Return the influence of the piece on `field` if its hill were counted now."""
    found = () if model.view is None else influences(_board(model.view), Tile(field[0]))
    return next((each for each in found if each.field == field), None)


def act_of(model: TableModel, field: Field) -> SoldierFled | Captured | None:
    """Return the act of the soldier on `field` if its hill were scored now."""
    found = () if model.view is None else soldier_acts(_board(model.view), Tile(field[0]))
    return next((each for each in found if each.field == field), None)


def _board(view: View) -> Board:
    known = {field: piece for field, piece in view.board.items() if isinstance(piece, Piece)}
    return Board(view.layout, known, view.owners)


def steps_of(walk: Walk, view: View) -> tuple[int, int]:
    """Return the first and the last step of the walk; the first hill's begins with the wolves turned up."""
    part = [
        at
        for at, step in enumerate(steps(view))
        if step.hill == walk.hill
        and (walk.influence if isinstance(step.event, HillScored) else walk.soldiers)
    ]
    before = sum(isinstance(step.event, WolvesRevealed) for step in steps(view))
    return (0 if part[0] == before else part[0]), part[-1]
