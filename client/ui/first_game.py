"""What a first game explains as it happens: the goal at the beginning, and each new thing once."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from client.language import _, counted
from client.player.preferences import Explanations
from client.tables.table import TableModel
from client.ui.leads import describe_own_prey, sure_prey
from client.ui.texts.tables import names_at
from engine.board import Field, tile_of
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.view import View

_MOST: Final = 2  # sentences: with more, the smallest screens would have no room for the board


def explain(what: Explanations | None, model: TableModel, *, keys: bool = True) -> str:
    """Return an explanation of the news on this turn; "" if there is none, or it is another's turn.

    With `keys`, it names the keys of the screen.
    """
    if what is None:
        return ""
    match model.legal, model.view:
        case LegalLays(), View() if what.laying:
            return _joined(
                _("Lay the tile beside the others: pieces on fields that touch will count for each other."),
                _("Arrows choose the place, r turns the tile, Enter lays it.") if keys else "",
            )
        case LegalPlaces(seat=me), View() as view if what.wanted:
            news = list(islice(_news(view, me, names_at(model)), _MOST))
            if keys and not _placed_by(view, me):
                news.append(_("Enter places the piece."))
            return " ".join(news) or _usual(view, me, keys=keys)
    return ""


def _joined(*told: str) -> str:
    return " ".join(filter(None, told))


def _news(view: View, me: Seat, names: Sequence[str]) -> Iterator[str]:
    """Yield what there is to explain, the most important first."""
    mine = _placed_by(view, me)
    if not mine:
        yield _(
            "Most points win: the most influence on a hill takes its points, at the end. Merchants like "
            "company, farmers springs and room; soldiers take captives, a point each."
        )
        return
    yield from _deadlines(view, me)
    theirs = [field for field in view.placed if view.owners[field] != me]
    since = theirs if mine == 1 else view.since(me)[:-1]
    yield from _first_of_others(view, theirs, since, names)
    yield from _prey(view, me, since, names)


def _placed_by(view: View, seat: Seat) -> int:
    return sum(owner == seat for owner in view.owners.values())


def _deadlines(view: View, me: Seat) -> Iterator[str]:
    """Yield that soldiers are due, or soon (R4.3), and that the hand is almost empty."""
    limit, left = view.start.soldierless_at, view.remaining[me]
    soldiers = sum(count for piece, count in view.hands[me].items() if piece.kind is Kind.SOLDIER)
    if soldiers and left - soldiers <= limit:
        yield _("Now a soldier has to be placed: soldiers may not be kept to the end.")
    elif soldiers and left - soldiers == limit + 1:
        yield _("After one more piece your soldiers are due: they may not be kept to the end.")
    if left == 1:
        yield _("Your last piece. Then all wolves turn up, and the hills are scored one by one.")


def _usual(view: View, me: Seat, *, keys: bool) -> str:
    """Return what is worth knowing on the first turns on which nothing new has happened."""
    match _placed_by(view, me):
        case 1:
            panel = _(
                "The panel says what your piece would do on the field under the cursor. Tab: another piece."
            )
            command = ":explain off" if keys else "explain off"  # in text mode, each line is a command
            quiet = _("Type {command} to be told no more.").format(command=command)
            return _joined(panel if keys else "", quiet)
        case 2:
            return _("Your wolves (*) lie face down: only you know whether they are merchants or farmers.")
    return ""


def _first_of_others(
    view: View, theirs: Sequence[Field], since: Sequence[Field], names: Sequence[str]
) -> Iterator[str]:
    """Yield what the first wolf and the first soldier of the others are, if they are among the new pieces."""
    wolf = next((field for field in theirs if isinstance(view.placed[field], Wolf)), None)
    if wolf is not None and wolf in since:
        form = _("{name}'s wolf on {field} is a merchant or a farmer: which, only {name} knows.")
        yield form.format(name=names[view.owners[wolf]], field=wolf)
    soldier = next((field for field in theirs if _is_soldier(view, field)), None)
    if soldier is not None and soldier in since:
        form = _(
            "Before hill {hill} is counted, {name}'s soldier on {field} captures the merchants or the "
            "farmers beside it, whichever are more; with as many of both it flees."
        )
        yield form.format(hill=tile_of(soldier), name=names[view.owners[soldier]], field=soldier)


def _is_soldier(view: View, field: Field) -> bool:
    piece = view.placed[field]
    return isinstance(piece, Piece) and piece.kind is Kind.SOLDIER


def _prey(view: View, me: Seat, since: Sequence[Field], names: Sequence[str]) -> Iterator[str]:
    """Yield which of the player's soldiers has more to capture than before."""
    before = replace(
        view, placed={field: piece for field, piece in view.placed.items() if field not in since}
    )
    for field in before.placed:
        if view.owners[field] == me and _is_soldier(view, field):
            prey = sure_prey(view, field)
            if len(prey) > len(sure_prey(before, field)):
                form = counted(
                    "Your soldier on {field} has prey: as the board is now, it captures {n} piece.",
                    "Your soldier on {field} has prey: as the board is now, it captures {n} pieces.",
                    len(prey),
                )
                yield _joined(form.format(field=field, n=len(prey)), describe_own_prey(view, prey, names))
