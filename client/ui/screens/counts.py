"""The page that counts: what can be known of hidden hands, and the influence on every hill."""

from collections.abc import Iterable, Sequence
from typing import Final

from prompt_toolkit.utils import get_cwidth

from client.language import _, labelled
from client.ui.frame import EMPTY, Line, beside, fitted, line, paragraphs, people_style, plain
from client.ui.texts.scoring import bounds_text
from engine.board import TILES
from engine.knowledge import Holding, hill_influence, holdings
from engine.pieces import FACES, Seat
from engine.view import View

_NAME: Final = 24
_COLUMN: Final = 6
_HILL: Final = 7
_FACES: Final = (*FACES, "?*")


def counts_page(view: View, names: Sequence[str], width: int) -> list[Line]:
    """Return what everybody may still hold, and the influence on the board as it is now."""
    heads = [*_FACES, "  " + _("to place")]
    last = get_cwidth(heads[-1])
    hands = [_row(EMPTY, heads, _COLUMN, "class:faint")]
    hands += [_hand_row(each, view, names, last) for each in holdings(view)]
    hills = [_row(who, amounts, _HILL) for who, amounts in _influences(view, names)]
    if hills:
        hills.insert(0, _row(EMPTY, TILES, _HILL, "class:faint"))
    return _explained(hands, hills, width)


def short_counts(view: View, names: Sequence[str], width: int) -> list[Line]:
    """Return the same in rows that say themselves what each number counts: narrow windows have no columns."""
    hands = []
    for holding in holdings(view):
        who = f"{holding.people}"
        if _is_own(holding, view):
            to_place = _("{n} to place").format(n=view.remaining[holding.seat])
            who = f"{who} {names[holding.seat]} ({to_place})"
        hands.append(_listed(who, _FACES, _held(holding)))
    hills = [_listed(plain(who).strip(), TILES, amounts) for who, amounts in _influences(view, names)]
    return _explained(hands, hills, width)


def _explained(hands: Sequence[Line], hills: Sequence[Line], width: int) -> list[Line]:
    """Return both counts with what is to be known of them; there are no hills before all tiles lie."""
    told = _(
        "m merchant, f farmer, s soldier, * with the wolf. 1-3: at least one, at most three. "
        "?*: wolves on the board whose kind you do not know."
    )
    lines = [line(_("STILL IN HAND, AS FAR AS CAN BE KNOWN"), "class:heading"), *hands]
    lines += [EMPTY, *paragraphs([told], width, "class:faint")]
    if not hills:
        return lines
    lines += [EMPTY, line(_("INFLUENCE, IF COUNTED NOW"), "class:heading"), *hills]
    told = _("By hill, before any soldier acts. 4-6: depends on what the wolf pieces are.")
    return [*lines, EMPTY, *paragraphs([told], width, "class:faint")]


def _held(holding: Holding) -> list[str]:
    """Return how many of each face are left, and how many wolves are of unknown kind; some are empty."""
    left = {count.piece[1:]: count.left for count in holding.counts}
    return [*(bounds_text(left[face]) if face in left else "" for face in FACES), str(holding.wolves or "")]


def _is_own(holding: Holding, view: View) -> bool:
    return holding.people == view.start.peoples[holding.seat][0]


def _who(holding: Holding, view: View, names: Sequence[str]) -> Line:
    return beside(
        line(f" {holding.people} ", people_style(holding.people)),
        line(f" {names[holding.seat]}" if _is_own(holding, view) else ""),
    )


def _hand_row(holding: Holding, view: View, names: Sequence[str], last: int) -> Line:
    total = str(view.remaining[holding.seat]) if _is_own(holding, view) else ""
    return _row(_who(holding, view, names), [*_held(holding), total.rjust(last)], _COLUMN)


def _influences(view: View, names: Sequence[str]) -> list[tuple[Line, list[str]]]:
    """Return each seat and its influence on every hill; nothing before all tiles lie."""
    if None in view.tiles:
        return []
    hills = [hill_influence(view, hill) for hill in TILES]
    return [
        (
            beside(
                line(f" {view.start.peoples[seat][0]} ", people_style(view.start.peoples[seat][0])),
                line(f" {names[seat]}"),
            ),
            [bounds_text(hill.seats[seat]) for hill in hills],
        )
        for seat in map(Seat, range(view.seats))
    ]


def _listed(who: str, counted: Iterable[str], amounts: Iterable[str]) -> Line:
    told = (f"{each}={amount}" for each, amount in zip(counted, amounts, strict=True) if amount)
    return line(labelled(who, ", ".join(told)))


def _row(who: Line, words: Iterable[str], column: int, style: str = "") -> Line:
    cells = "".join(" " * (column - get_cwidth(word)) + word for word in words)
    return beside(fitted(who, _NAME), line(cells, style))
