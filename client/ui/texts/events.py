"""Moves and other events, in one sentence each; `names` are the players' names by seat."""

from collections.abc import Sequence
from typing import assert_never

from client.language import _, counted, listed
from client.tables.table import TableModel
from client.ui.texts.pieces import PEOPLES, kind_sentence
from client.ui.texts.scoring import describe_hill, describe_result, describe_soldier
from client.ui.texts.set_up import describe_stage
from engine.events import (
    Captured,
    CentreTurned,
    GameEnded,
    GameStarted,
    HillScored,
    LaurelsDealt,
    LayoutDrawn,
    LayTile,
    Place,
    Placed,
    SeenEvent,
    SoldierFled,
    TileDrawn,
    TileLaid,
    WolfPlaced,
    WolvesRevealed,
)
from engine.legal import LegalPlaces
from engine.pieces import Kind
from engine.view import Phase


def describe_event(event: SeenEvent, names: Sequence[str]) -> str:
    """Return what happened, in one sentence."""
    match event:
        case GameStarted():
            who = listed(
                f"{names[seat]} ({listed(_(PEOPLES[people]) for people in peoples)})"
                for seat, peoples in enumerate(event.peoples)
            )
            return _("The game starts: {players}. {name} begins.").format(
                players=who, name=names[event.starting]
            )
        case CentreTurned():
            return _("Tile {tile} lies in the centre.").format(tile=event.tile)
        case TileDrawn():
            return _("{name} draws tile {tile}.").format(name=names[event.seat], tile=event.tile)
        case TileLaid():
            return _describe_laid(event, names)
        case LayoutDrawn():
            return _("The tiles were laid at random.")
        case LaurelsDealt():
            return _("Every hill has its laurel.")
        case Placed():
            return _("{name} places {piece} on {field}: {kind}.").format(
                name=names[event.seat],
                piece=event.piece,
                field=event.field,
                kind=kind_sentence(event.piece),
            )
        case WolfPlaced():
            return _("{name} places {piece} on {field}: a wolf, face down.").format(
                name=names[event.seat], piece=f"{event.people}?*", field=event.field
            )
        case WolvesRevealed():
            return _("All wolf pieces are turned up. The scoring begins.")
        case SoldierFled() | Captured():
            return describe_soldier(event, names)
        case HillScored():
            return describe_hill(event, names)
        case GameEnded():
            return describe_result(event, names)
        case _:
            assert_never(event)


def _describe_laid(event: TileLaid, names: Sequence[str]) -> str:
    form = (
        counted(
            "{name} lays tile {tile} at position {position}, turned once.",
            "{name} lays tile {tile} at position {position}, turned {turns} times.",
            event.orientation,
        )
        if event.orientation
        else _("{name} lays tile {tile} at position {position}, not turned.")
    )
    return form.format(
        name=names[event.seat], tile=event.tile, position=event.position, turns=event.orientation
    )


def turned(turns: int) -> str:
    """Return how a tile lies."""
    if not turns:
        return _("not turned")
    return counted("turned once", "turned {turns} times", turns).format(turns=turns)


def confirmation(move: LayTile | Place) -> str:
    """Return the question whether to really make the move."""
    if isinstance(move, Place):
        form = _("Place {piece} on {field}? Enter: yes, Esc: no")
        return form.format(piece=move.piece, field=move.field)
    form = _("Lay the tile at position {position}, {turned}? Enter: yes, Esc: no")
    return form.format(position=move.position, turned=turned(move.orientation))


def describe_turn(model: TableModel, names: Sequence[str]) -> str:
    """Return what the table is waiting for, before the scoring."""
    view = model.view
    if model.table is None:
        return _("the lobby")
    if view is None:
        state = model.state
        return describe_stage("gathering", full=state is not None and all(seat.name for seat in state.seats))
    if view.turn is None:
        return _("one moment")
    mine = view.turn == model.seat
    if view.phase is Phase.LAYING:
        form = _("Your turn: lay tile {tile}") if mine else _("{name}'s turn to lay tile {tile}")
        return form.format(name=names[view.turn], tile=view.drawn)
    if not mine:
        return _("{name}'s turn to place").format(name=names[view.turn])
    due = isinstance(model.legal, LegalPlaces) and all(
        piece.kind is Kind.SOLDIER for piece in model.legal.pieces
    )
    return _("Your turn: place a soldier") if due else _("Your turn: place a piece")
