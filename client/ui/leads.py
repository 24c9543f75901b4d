"""Who leads on each hill while a game runs, as far as what one sees allows to say."""

from dataclasses import dataclass, replace
from functools import lru_cache

from engine.board import TILES, Tile
from engine.components import LAUREL_WORTH, Laurel
from engine.knowledge import Bounds, hill_influence
from engine.pieces import Seat, Wolf
from engine.view import View


@dataclass(frozen=True, slots=True)
class HillLead:
    """A hill, the influence on it by seat, and who may have the most, `certain` if it is nobody else.

    Nobody leads without influence, nor while two are certain to have the same.
    """

    hill: Tile
    laurel: Laurel
    influence: tuple[Bounds, ...]
    leader: Seat | None
    certain: bool

    @property
    def worth(self) -> int:
        return LAUREL_WORTH[self.laurel]


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
    seats = sorted(range(len(influence)), key=lambda seat: (-influence[seat].most, -influence[seat].least))
    first, second = influence[seats[0]], influence[seats[1]]
    tied = first == second and first.known
    leader = None if tied or not first.most else Seat(seats[0])
    return HillLead(hill, laurel, influence, leader, certain=first.least > second.most)


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
    return tuple(hill_influence(board.view, hill).seats for hill in TILES)


def changed_hands(view: View) -> list[HillLead]:
    """Return the hills on which the last piece placed has certainly brought somebody else into the lead."""
    *others, _last = view.placed
    before = replace(view, placed={field: view.placed[field] for field in others})
    return [
        now
        for was, now in zip(hill_leads(before), hill_leads(view), strict=True)
        if now.certain and was.leader not in {None, now.leader}
    ]


def who_has_no_wolf_left(view: View) -> Seat | None:
    """Return whose last wolf the last piece placed was, None if it was none or not the last."""
    *_others, last = view.placed
    seat = view.owners[last]
    wolves = [field for field, piece in view.placed.items() if isinstance(piece, Wolf) or piece.wolf]
    dealt = sum(count for piece, count in view.start.hands[seat].items() if piece.wolf)
    return seat if last in wolves and sum(view.owners[field] == seat for field in wolves) == dealt else None
