"""The page that counts: what can be known of hidden hands, and the influence on every hill."""

from collections.abc import Iterable, Sequence
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import _
from client.ui.draw.lines import EMPTY, Line, beside, fitted, line, paragraphs, people_style
from client.ui.texts.scoring import bounds_text
from engine.board import TILES
from engine.knowledge import HillInfluence, Holding, hill_influence, holdings
from engine.pieces import FACES, Seat
from engine.view import View

_NAME: Final = 24
_COLUMN: Final = 6
_HILL: Final = 7


def counts_page(view: View, names: Sequence[str], width: int) -> list[Line]:
    """Return what everybody may still hold, and the influence on the board as it is now."""
    heads = [*FACES, "?*", "  " + _("to place")]
    last = get_cwidth(heads[-1])
    lines = [line(_("STILL IN HAND, AS FAR AS CAN BE KNOWN"), "class:heading")]
    lines.append(_row(EMPTY, heads, _COLUMN, "class:faint"))
    lines += [_hand_row(each, view, names, last) for each in holdings(view)]
    lines += [
        EMPTY,
        *paragraphs(
            [
                _(
                    "m merchant, f farmer, s soldier, * with the wolf. 1-3: at least one, at most three. "
                    "?*: wolves on the board whose kind you do not know."
                )
            ],
            width,
            "class:faint",
        ),
    ]
    if None in view.tiles:
        return lines
    hills = [hill_influence(view, hill) for hill in TILES]
    lines += [EMPTY, line(_("INFLUENCE, IF COUNTED NOW"), "class:heading")]
    lines.append(_row(EMPTY, TILES, _HILL, "class:faint"))
    lines += [_influence(Seat(seat), hills, view, names) for seat in range(view.seats)]
    told = _("By hill, before any soldier acts. 4-6: depends on what the wolf pieces are.")
    return [*lines, EMPTY, *paragraphs([told], width, "class:faint")]


def _hand_row(holding: Holding, view: View, names: Sequence[str], last: int) -> Line:
    left = {count.piece[1:]: count.left for count in holding.counts}
    faces = [bounds_text(left[face]) if face in left else "" for face in FACES]
    own = holding.people == view.start.peoples[holding.seat][0]
    who = beside(
        line(f" {holding.people} ", people_style(holding.people)),
        line(f" {names[holding.seat]}" if own else ""),
    )
    total = str(view.remaining[holding.seat]) if own else ""
    return _row(who, [*faces, str(holding.wolves or ""), total.rjust(last)], _COLUMN)


def _influence(seat: Seat, hills: Sequence[HillInfluence], view: View, names: Sequence[str]) -> Line:
    people = view.start.peoples[seat][0]
    who = beside(line(f" {people} ", people_style(people)), line(f" {names[seat]}"))
    return _row(who, [bounds_text(hill.seats[seat]) for hill in hills], _HILL)


def _row(who: Line, words: Iterable[str], column: int, style: str = "") -> Line:
    cells = "".join(" " * (column - get_cwidth(word)) + word for word in words)
    return beside(fitted(who, _NAME), line(cells, style))
