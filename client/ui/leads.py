"""Who leads on each hill while a game runs, as far as what one sees allows to say."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from client.language import _, counted, listed
from client.tables.table import TableModel
from client.ui.at_table import Selection, foreseen
from client.ui.texts.games import bounds_text, describe_forecast
from client.ui.texts.names import OwnName
from client.ui.texts.tables import names_at
from engine.board import TILES, Field, Tile, tile_of
from engine.components import LAUREL_WORTH, Laurel
from engine.forecast import Forecast, forecast
from engine.knowledge import Bounds, hill_influences
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.view import Phase, View


@dataclass(frozen=True, slots=True)
class HillLead:
    """A hill, the influence on it by seat, and who may have the most, the likeliest first."""

    hill: Tile
    laurel: Laurel
    influence: tuple[Bounds, ...]
    leaders: tuple[Seat, ...]

    @property
    def worth(self) -> int:
        return LAUREL_WORTH[self.laurel]

    @property
    def leader(self) -> Seat | None:
        """Return the seat that is certain to lead the hill alone, None if there is none."""
        if len(self.leaders) != 1 or not self.influence[self.leaders[0]].least:
            return None
        return self.leaders[0]

    @property
    def tied(self) -> bool:
        """Return whether several are certain to have the same."""
        return len(self.leaders) > 1 and all(self.influence[seat].known for seat in self.leaders)


def hill_leads(view: View) -> list[HillLead]:
    """Return the hills that have their laurels, in the order of their scoring."""
    if not view.laurels:
        return []
    influences = _influences(_Board(view))
    return [
        _lead(hill, view.laurels[hill], influence)
        for hill, influence in zip(TILES, influences, strict=True)
        if hill in view.laurels
    ]


def _lead(hill: Tile, laurel: Laurel, influence: tuple[Bounds, ...]) -> HillLead:
    sure = max(bounds.least for bounds in influence)
    may = [seat for seat, bounds in enumerate(influence) if bounds.most >= max(sure, 1)]
    order = sorted(may, key=lambda seat: (-influence[seat].most, -influence[seat].least))
    return HillLead(hill, laurel, influence, tuple(map(Seat, order)))


def describe_needed(view: View, hill: Tile, me: Seat, *, in_words: bool = False) -> list[str]:
    """Return by how much a player leads a hill, or what they need to lead, as far as it is known."""
    found = next((each.influence for each in hill_leads(view) if each.hill == hill), ())
    others = [bounds for seat, bounds in enumerate(found) if seat != me]
    if not others:
        return []
    mine = found[me]
    least, most = (
        max(amounts) for amounts in zip(*((each.least, each.most) for each in others), strict=True)
    )
    if mine.least > most:
        ahead = Bounds(mine.least - most, mine.most - least)
        return [_("You lead by {n}.").format(n=bounds_text(ahead, in_words=in_words))]
    needed = Bounds(max(least + 1 - mine.most, 0), most + 1 - mine.least)
    return [_("To lead you need {n} more.").format(n=bounds_text(needed, in_words=in_words))]


def describe_soldiers_to_act(view: View, hills: Sequence[Tile] = TILES) -> list[str]:
    """Return which of these hills soldiers may change before they are counted; [] if none."""
    may_change = _changed_by_soldiers(_Board(view)) if view.phase is Phase.PLACING else frozenset()
    found = [hill for hill in hills if hill in may_change]
    return [_("Soldiers may still change {hills}.").format(hills=listed(found))] if found else []


def describe_foreseen(chosen: Selection, model: TableModel) -> list[str]:
    """Return the effect of the chosen piece on the hex pointed at, the lead first; [] without one."""
    found = foreseen(chosen, model)
    if found is None or model.view is None or model.seat is None:
        return []
    return [*_leads_taken(model.view, model.seat, found), *describe_forecast(found, names_at(model))]


def _leads_taken(view: View, seat: Seat, found: Forecast) -> list[str]:
    """Return on which hills the player would come into the lead by placing the piece there."""
    piece, field = found.piece, found.field
    near = {tile_of(each) for each in (field, *view.layout.adjacent(field))}
    if found.taken_first is not None:
        near.remove(tile_of(field))
    then = replace(view, placed={**view.placed, field: piece}, owners={**view.owners, field: seat})
    told, before = [], [each for each in hill_leads(view) if each.hill in near]
    influences = hill_influences(then, [each.hill for each in before])
    for was, influence in zip(before, influences, strict=True):
        now = _lead(was.hill, was.laurel, influence.seats)
        led, leads = (seat in each.leaders[:1] and not each.tied for each in (was, now))
        if not leads or (led and (was.leader == seat or now.leader != seat)):
            continue
        form = _("Takes the lead on {hill}, {n} against {m}.")
        if now.leader != seat:
            form = _("May take the lead on {hill}, {n} against {m}.")
        rest = (bounds for other, bounds in enumerate(now.influence) if other != seat)
        best = max(rest, key=lambda bounds: (bounds.most, bounds.least))
        told.append(
            form.format(
                hill=now.hill,
                n=bounds_text(now.influence[seat], in_words=True),
                m=bounds_text(best, in_words=True),
            )
        )
    return told


class _Board:
    """A view, equal to any other in which the same pieces lie on the same fields, as far as it sees them."""

    __slots__ = ("_seen", "view")

    def __init__(self, view: View) -> None:
        self.view = view
        self._seen = view.tiles, view.start.peoples, len(view.placed), *view.board.items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Board) and self._seen == other._seen

    def __hash__(self) -> int:
        return hash(self._seen)


@lru_cache(maxsize=8)  # a board is drawn again with every key, and changes with every move
def _influences(board: _Board) -> tuple[tuple[Bounds, ...], ...]:
    return tuple(each.seats for each in hill_influences(board.view, TILES))


@lru_cache(maxsize=8)
def _changed_by_soldiers(board: _Board) -> frozenset[Tile]:
    """Return the hills that change if a soldier, or a piece beside it, leaves before they are counted."""
    view, found = board.view, set[Tile]()
    standing = view.board.keys()
    counted = {field for field in standing if not _is_soldier(view, field)}
    for soldier in standing - counted:
        for leaving in {soldier, *view.layout.adjacent(soldier)} & standing:
            near = {leaving, *view.layout.adjacent(leaving)} & counted
            found |= {hill for hill in map(tile_of, near) if tile_of(soldier) <= hill}
    return frozenset(found & view.laurels.keys())


def changed_hands(view: View) -> list[HillLead]:
    """Return the hills that the last piece placed has certainly given another leader.

    What a soldier is worth to the pieces beside it may be gone before its hill and later ones are counted.
    """
    *others, last = view.placed
    before = replace(view, placed={field: view.placed[field] for field in others})
    hills = [now for _was, now in new_leaders(before, view)]
    if _is_soldier(view, last):
        return [each for each in hills if each.hill < tile_of(last)]
    if _is_taken_first(before, view, last):
        return [each for each in hills if each.hill != tile_of(last)]
    return hills


def new_leaders(before: View, after: View) -> list[tuple[Seat, HillLead]]:
    """Return the hills with a new certain leader, and the likeliest leader before."""
    return [
        (was.leaders[0], now)
        for was, now in zip(hill_leads(before), hill_leads(after), strict=True)
        if now.leader is not None and was.leaders and was.leaders[0] != now.leader
    ]


def who_has_no_wolf_left(view: View) -> Seat | None:
    """Return whose last wolf the last piece placed was, None if it was none or not the last."""
    *_others, last = view.placed
    seat = view.owners[last]
    wolves = [field for field, piece in view.placed.items() if isinstance(piece, Wolf) or piece.wolf]
    dealt = sum(count for piece, count in view.start.hands[seat].items() if piece.wolf)
    return seat if last in wolves and sum(view.owners[field] == seat for field in wolves) == dealt else None


def _is_soldier(view: View, field: Field) -> bool:
    piece = view.placed.get(field)
    return isinstance(piece, Piece) and piece.kind is Kind.SOLDIER


def _is_taken_first(before: View, view: View, field: Field) -> bool:
    """Return whether a soldier is certain to capture the piece on `field` before its hill is counted."""
    piece = view.placed[field]
    if not isinstance(piece, Piece):
        return False
    return forecast(before, view.owners[field], piece, field).taken_first is not None


def sure_prey(view: View, soldier: Field) -> tuple[Field, ...]:
    """Return what a soldier would capture for certain as the board is now."""
    board = view.board
    near = {field: board[field] for field in view.layout.adjacent(soldier) if field in board}
    groups = [
        tuple(field for field, piece in near.items() if isinstance(piece, Piece) and piece.kind is kind)
        for kind in (Kind.MERCHANT, Kind.FARMER)
    ]
    fewer, more = sorted(groups, key=len)
    wolves = sum(isinstance(piece, Wolf) for piece in near.values())
    return more if len(more) - len(fewer) > wolves else ()


def preying(view: View) -> list[tuple[Field, tuple[Field, ...]]]:
    """Return the soldiers whose certain prey the last piece placed has at least doubled, and the prey now."""
    *others, last = view.placed
    before = replace(view, placed={field: view.placed[field] for field in others})
    found = []
    for field in view.layout.adjacent(last):
        if _is_soldier(before, field):
            prey = sure_prey(view, field)
            if len(prey) >= 2 * max(len(sure_prey(before, field)), 1):
                found.append((field, prey))
    return found


def describe_own_prey(view: View, prey: Sequence[Field], names: Sequence[str]) -> str:
    """Return how many of these pieces are the reader's own; "" if none is."""
    own = sum(isinstance(names[view.owners[field]], OwnName) for field in prey)
    if not own:
        return ""
    if own == len(prey):
        return counted("It is yours.", "All of them are yours.", own)
    return counted("{n} of them is yours.", "{n} of them are yours.", own).format(n=own)
