"""What keys and clicks do while a game runs: laying a tile, placing a piece, looking at the board."""

from dataclasses import replace
from typing import Final

from client.language import _
from client.tables.table import TableModel
from client.ui.update import requests
from client.ui.update.actions import Act, Action, Hold, Pick, PointAt, Way
from client.ui.update.requests import Request
from client.ui.update.state import Notice, Playing, Ui, with_table_page
from client.ui.update.table import selection
from client.ui.update.table.cursor import HEX_POSITIONS, moved
from engine.events import LayTile, Place
from engine.legal import LegalLays

_LOG_LINES: Final = 2  # no more than the smallest window shows, or some would never be seen


def acted(ui: Ui, playing: Playing, action: Action, model: TableModel) -> tuple[Ui, Request | None]:
    """Return the UI state after a key or a click, and what is asked of the server."""
    if action in {Act.PAGE_UP, Act.PAGE_DOWN}:
        return _scrolled(ui, _LOG_LINES if action is Act.PAGE_UP else -_LOG_LINES), None
    if action is Act.CANCEL and model.seat is None:
        return ui, requests.Leave()
    if isinstance(model.legal, LegalLays):
        return _laying(ui, playing, action, model.legal)
    return _placing(ui, playing, action, model)


def _scrolled(ui: Ui, by: int) -> Ui:
    """Show older or newer lines of the log."""
    return replace(ui, scroll=min(max(ui.scroll + by, 0), max(len(ui.log) - 1, 0)))


def _laying(ui: Ui, playing: Playing, action: Action, legal: LegalLays) -> tuple[Ui, Request | None]:
    aimed = selection.selected_position(playing, legal)
    match action:
        case Way():
            position = selection.next_position(playing, legal, action)
            return with_table_page(ui, replace(playing, position=position)), None
        case Act.ROTATE | Act.ROTATE_BACK:
            orientation = (playing.orientation + (1 if action is Act.ROTATE else -1)) % 6
            return with_table_page(ui, replace(playing, orientation=orientation)), None
        case Pick(number):
            return _aimed_at(ui, playing, number, legal), None
        case PointAt(cell) if HEX_POSITIONS[cell] != aimed:
            return _aimed_at(ui, playing, HEX_POSITIONS[cell], legal), None
        case Act.CONFIRM | PointAt():
            return ui, LayTile(legal.seat, aimed, playing.orientation)
        case Act.CANCEL:
            return with_table_page(ui, replace(playing, position=None, orientation=0)), None
        case _:
            return ui, None


def _aimed_at(ui: Ui, playing: Playing, position: int, legal: LegalLays) -> Ui:
    if position in legal.positions:
        return with_table_page(ui, replace(playing, position=position))
    free = ", ".join(map(str, legal.positions))
    return replace(
        ui, notice=Notice(_("The tile cannot go there. Free positions: {free}.").format(free=free))
    )


def _placing(ui: Ui, playing: Playing, action: Action, model: TableModel) -> tuple[Ui, Request | None]:
    match action:
        case Way():
            return with_table_page(ui, replace(playing, cursor=moved(playing.cursor, action))), None
        case PointAt(cell) if cell != playing.cursor:
            return with_table_page(ui, replace(playing, cursor=cell)), None
        case Act.CONFIRM | PointAt():
            return _placed(ui, playing, model)
        case Act.NEXT_PIECE | Act.LAST_PIECE:
            piece = selection.next_piece(playing, model, 1 if action is Act.NEXT_PIECE else -1)
            return with_table_page(ui, replace(playing, piece=piece)), None
        case Pick(number):
            pieces = selection.hand(model)
            return (_picked(ui, playing, pieces[number - 1]) if number <= len(pieces) else ui), None
        case Hold(piece):
            chosen = next(each for each in selection.hand(model) if each.piece == piece)
            return _picked(ui, playing, chosen), None
        case Act.CANCEL:
            return with_table_page(ui, replace(playing, piece=None)), None
        case _:
            return ui, None


def _picked(ui: Ui, playing: Playing, chosen: selection.HandPiece) -> Ui:
    if chosen.count:
        return with_table_page(ui, replace(playing, piece=chosen.piece))
    text = _("There is no {piece} left in your hand.").format(piece=chosen.piece)
    return replace(ui, notice=Notice(text))


def _placed(ui: Ui, playing: Playing, model: TableModel) -> tuple[Ui, Request | None]:
    """Ask to place the chosen piece at the cursor; the server decides whether that is legal."""
    piece, field = selection.selected_piece(playing, model), selection.field_at(model, playing.cursor)
    if model.seat is None:
        return replace(ui, notice=Notice(_("You are watching: only the players place pieces."))), None
    if piece is None:
        return replace(
            ui, notice=Notice(_("Pick a piece from your hand first: press its number, or Tab."))
        ), None
    if field is None:
        return replace(
            ui, notice=Notice(_("A hill holds no pieces. Choose one of the fields around it."))
        ), None
    return ui, Place(model.seat, piece, field)
