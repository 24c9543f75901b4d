"""What speaks for a suggested move, in words."""

from client.language import _, counted
from engine.board import has_spring
from engine.events import Command, Place
from engine.legal import Legal, LegalPlaces
from engine.pieces import Kind, Piece
from engine.view import View


def reason_for(command: Command, view: View, legal: Legal) -> str:
    """Return what speaks for a move, besides what it does at once."""
    if not isinstance(command, Place) or not isinstance(legal, LegalPlaces):
        if legal.seat == view.start.starting:
            return _("Springs lie close together there: you place first, and can take the best field.")
        return _("Springs lie apart there: whoever places first has less to gain.")
    reasons, piece = [], command.piece
    empty = sum(field not in view.placed for field in view.layout.adjacent(command.field))
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
    springs = sum(map(has_spring, (command.field, *view.layout.adjacent(command.field))))
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
