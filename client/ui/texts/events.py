"""Events and forecasts in sentences."""

from collections.abc import Sequence
from typing import assert_never

from client.language import _, counted, listed
from client.tables.table import TableModel
from client.ui.texts.people import PEOPLES, kind_sentence
from client.ui.texts.scoring import bounds_text, describe_hill, describe_result, describe_soldier
from client.ui.texts.set_up import describe_stage
from engine.board import tile_of
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
from engine.forecast import GROUPS, Forecast, Outcome, SoldierBeside
from engine.knowledge import Bounds
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
    """Return a tile's orientation in words."""
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


_FLIGHT = frozenset({Outcome.FLIGHT})


def describe_forecast(found: Forecast, names: Sequence[str]) -> list[str]:
    """Return what the piece would score, what soldiers would do, and the changes for other pieces."""
    return [
        _describe_gain(found, names),
        *(told for soldier in found.soldiers if (told := _describe_soldier(found, soldier, names))),
        *_describe_changes(found, names),
    ]


def describe_standing(found: Forecast, names: Sequence[str]) -> str:
    """Return the influence on the field's hill after the placement; empty if nobody has any."""
    standing = listed(
        f"{name} {bounds_text(bounds)}"
        for name, bounds in zip(names, found.hill.seats, strict=False)
        if bounds.most
    )
    if not standing:
        return ""
    return _("On {hill} that would give: {standing}.").format(hill=tile_of(found.field), standing=standing)


def describe_place(command: Place) -> str:
    return _("Hint: {piece} on {field}.").format(piece=command.piece, field=command.field)


def describe_lay(command: LayTile) -> str:
    return _("Hint: position {position}, {turned}.").format(
        position=command.position, turned=turned(command.orientation)
    )


def _describe_gain(found: Forecast, names: Sequence[str]) -> str:
    if found.gives is not None:
        form = _("{piece} here gives {amount} on {hill}.")
        return form.format(piece=found.piece, amount=bounds_text(found.gives), hill=tile_of(found.field))
    if found.acts == _FLIGHT:
        return _("{piece} here would flee.").format(piece=found.piece)
    captives = listed(_describe_captives(number, names[seat]) for seat, number in found.captives.items())
    if Outcome.FLIGHT in found.acts:
        form = _("{piece} here would flee or capture {captives}.")
    else:
        form = _("{piece} here would capture {captives}.")
    return form.format(piece=found.piece, captives=captives)


def _describe_captives(number: Bounds, name: str) -> str:
    form = counted("{n} piece from {name}", "{n} pieces from {name}", number.most)
    return form.format(n=bounds_text(number), name=name)


def _describe_soldier(found: Forecast, soldier: SoldierBeside, names: Sequence[str]) -> str:
    """Return what a soldier beside it would do to the piece, or because of it; empty if neither."""
    takes = GROUPS.get(found.piece.kind)
    if takes in soldier.after:
        if len(soldier.after) > 1:
            form = _("{soldier} may take it.")
        elif soldier.first:
            form = _("{soldier} would take it.")
        else:
            form = _("{soldier} would take it, after {hill} is counted.")
    elif soldier.after == _FLIGHT and soldier.before != _FLIGHT:
        form = _("{soldier} would flee.")
    else:
        return ""
    who = _("{name}'s soldier on {field}").format(name=names[soldier.seat], field=soldier.field)
    return form.format(soldier=who, hill=tile_of(found.field))


def _describe_changes(found: Forecast, names: Sequence[str]) -> list[str]:
    if not found.changes:
        return []
    form = _("{name} {amount} on {hill}")
    changes = (
        form.format(name=names[each.seat], amount=_signed(each.by), hill=each.hill) for each in found.changes
    )
    return [_("Other pieces: {changes}.").format(changes=", ".join(changes))]


def _signed(bounds: Bounds) -> str:
    """Return a difference as far as it is known: `+2`, or `-2 to +1`."""
    if bounds.known:
        return f"{bounds.least:+}"
    least, most = (f"{amount:+}" if amount else "0" for amount in (bounds.least, bounds.most))
    return _("{least} to {most}").format(least=least, most=most)
