"""What speaks for a suggested move, in words."""

from client.language import _, counted
from engine.board import Field, has_spring, tile_of
from engine.events import Command, Place
from engine.forecast import Forecast, forecast
from engine.legal import Legal, LegalPlaces
from engine.pieces import Kind, Piece
from engine.view import View


def aim_of(command: Command, view: View) -> str:
    """Return in a few words what a placement is for: what may come of it, else what it does at once.

    A piece that a soldier takes before its hill is counted is for that soldier, or for nothing of this kind.
    """
    if not isinstance(command, Place):
        return ""
    found = forecast(view, command.seat, command.piece, command.field)
    if (soldier := found.taken_first) is not None:
        own = soldier.seat == command.seat
        return _("as prey for your soldier on {field}").format(field=soldier.field) if own else ""
    at_once = _aim_at_once(found)
    if at_once and view.remaining[command.seat] == 1:
        return at_once
    empty, springs = _empty_beside(command.field, view), _springs_near(command.field, view)
    match command.piece.kind:
        case Kind.MERCHANT if empty:
            form = counted(
                "for company on {n} empty field beside it",
                "for company on {n} empty fields beside it",
                empty,
            )
            return form.format(n=empty)
        case Kind.SOLDIER if empty:
            form = counted(
                "to capture what comes to {n} empty field beside it",
                "to capture what comes to {n} empty fields beside it",
                empty,
            )
            return form.format(n=empty)
        case Kind.FARMER if springs:
            form = counted("for {n} spring, worth 2", "for {n} springs, worth 2 each", springs)
            return form.format(n=springs)
    return at_once


def _aim_at_once(found: Forecast) -> str:
    """Return in a few words what a piece is sure to give or to capture as the board is; "" if nothing."""
    if found.gives is not None:
        form = _("for {n} influence on hill {hill}")
        return form.format(n=found.gives.least, hill=tile_of(found.field)) if found.gives.least else ""
    captives = sum(each.least for each in found.captives.values())
    form = counted("to capture {n} piece", "to capture {n} pieces", captives)
    return form.format(n=captives) if captives else ""


def reason_for(command: Command, view: View, legal: Legal) -> str:
    """Return what speaks for a move, besides what it does at once."""
    if not isinstance(command, Place) or not isinstance(legal, LegalPlaces):
        if legal.seat == view.start.starting:
            return _("Springs lie close together there: you place first, and can take the best field.")
        return _("Springs lie apart there: whoever places first has less to gain.")
    reasons, piece = [], command.piece
    taken = forecast(view, command.seat, piece, command.field).taken_first is not None
    empty = 0 if taken else _empty_beside(command.field, view)
    if piece.kind is Kind.MERCHANT and empty:
        form = counted(
            "{n} field beside it is empty: a piece placed there will add to it.",
            "{n} fields beside it are empty: pieces placed there will add to it.",
            empty,
        )
        reasons.append(form.format(n=empty))
    if piece.kind is Kind.SOLDIER and empty:
        form = counted(
            "{n} field beside it is empty: it may capture what is placed there.",
            "{n} fields beside it are empty: it may capture what is placed there.",
            empty,
        )
        reasons.append(form.format(n=empty))
    springs = 0 if taken else _springs_near(command.field, view)
    if piece.kind is Kind.FARMER and springs:
        form = counted(
            "{n} spring on or beside the field gives it 2, whatever is placed there.",
            "{n} springs on or beside the field give it 2 each, whatever is placed there.",
            springs,
        )
        reasons.append(form.format(n=springs))
    if piece.wolf and Piece(str(piece).removesuffix("*")) in legal.pieces:
        reasons.append(_("As a wolf it shows nobody what it is until the end."))
    return " ".join(reasons)


def _empty_beside(field: Field, view: View) -> int:
    return sum(beside not in view.placed for beside in view.layout.adjacent(field))


def _springs_near(field: Field, view: View) -> int:
    return sum(map(has_spring, (field, *view.layout.adjacent(field))))
