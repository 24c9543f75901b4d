"""What the wolves turn out to be, and what they had looked like to everybody else."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Final

from msgspec import Struct

from client.language import N_, _
from client.ui.texts.names import by
from engine import events
from engine.board import Field
from engine.pieces import Kind, People, Piece
from engine.scoring import WORTH_TO_MERCHANT, farmer_terms
from engine.view import View

_SURPRISING: Final = 0.6  # how likely the other kind had to seem
_A_WOLF_TO_MERCHANT: Final = (WORTH_TO_MERCHANT[Kind.MERCHANT] + WORTH_TO_MERCHANT[Kind.FARMER]) / 2


class Unmasked(Struct, frozen=True):
    """A wolf that has turned up, the kind that had seemed likelier, and how likely that had seemed."""

    field: Field
    piece: Piece
    guess: Kind
    chance: float

    @property
    def surprising(self) -> bool:
        return self.guess is not self.piece.kind and self.chance >= _SURPRISING


def unmasked(view: View) -> dict[Field, Unmasked]:
    """Return the wolves of a finished game, with the kind that the public would have guessed.

    The public knows how many of a people's wolves are farmers, and the score of each as either kind; a kind
    is the likelier, the higher its score.
    """
    revealed = next((each for each in view.scoring if isinstance(each, events.WolvesRevealed)), None)
    wolves = {} if revealed is None else revealed.pieces
    by_people: dict[People, list[Field]] = defaultdict(list)
    for field, piece in wolves.items():
        by_people[piece.people].append(field)
    found = {}
    for fields in by_people.values():
        farmers = _chances_of_farmers(view, wolves, fields)
        for field in fields:
            chance = farmers[field]
            guess = Kind.FARMER if chance > 1 / 2 else Kind.MERCHANT
            found[field] = Unmasked(field, wolves[field], guess, max(chance, 1 - chance))
    return {field: found[field] for field in wolves}


def _chances_of_farmers(
    view: View, wolves: Mapping[Field, Piece], fields: Sequence[Field]
) -> dict[Field, float]:
    """Return how likely each of a people's wolves seemed to be a farmer, so many of them being some."""
    farmers = sum(wolves[field].kind is Kind.FARMER for field in fields)
    odds = {
        field: _worth_as_farmer(view, field) / _worth_as_merchant(view, wolves, field) for field in fields
    }
    weights = {chosen: prod(odds[field] for field in chosen) for chosen in combinations(fields, farmers)}
    total = sum(weights.values())
    return {
        field: sum(weight for chosen, weight in weights.items() if field in chosen) / total
        for field in fields
    }


def _worth_as_farmer(view: View, field: Field) -> int:
    return 1 + sum(term.amount for term in farmer_terms(view.layout, view.placed, field))


def _worth_as_merchant(view: View, wolves: Mapping[Field, Piece], field: Field) -> float:
    """Return what a merchant there seemed to count, with each wolf beside it being of either kind."""
    beside = [each for each in view.layout.adjacent(field) if each in view.placed]
    known = (view.placed[each] for each in beside if each not in wolves)
    others = sum(WORTH_TO_MERCHANT[piece.kind] for piece in known if isinstance(piece, Piece))
    return 1 + others + _A_WOLF_TO_MERCHANT * sum(each in wolves for each in beside)


_LOOKED: Final = {
    Kind.FARMER: N_("The wolf on {field} is a farmer, and looked like a merchant ({chance})."),
    Kind.MERCHANT: N_("The wolf on {field} is a merchant, and looked like a farmer ({chance})."),
}
_BEST: Final = {
    Kind.FARMER: N_("Best bluff: {name}'s wolf on {field}, a farmer that looked like a merchant ({chance})."),
    Kind.MERCHANT: N_(
        "Best bluff: {name}'s wolf on {field}, a merchant that looked like a farmer ({chance})."
    ),
}
_OWN_BEST: Final = {
    Kind.FARMER: N_("Best bluff: your wolf on {field}, a farmer that looked like a merchant ({chance})."),
    Kind.MERCHANT: N_("Best bluff: your wolf on {field}, a merchant that looked like a farmer ({chance})."),
}


def describe_bluff(wolves: Iterable[Unmasked]) -> str:
    """Return which of these wolves is the greatest surprise; "" if none is one."""
    best = _best(wolves)
    if best is None:
        return ""
    return _(_LOOKED[best.piece.kind]).format(field=best.field, chance=f"{best.chance:.0%}")


def best_bluff(view: View, names: Sequence[str]) -> str:
    """Return whose wolf was the greatest surprise of a finished game; "" if none was one."""
    best = _best(unmasked(view).values())
    if best is None:
        return ""
    name = names[view.owners[best.field]]
    form = by(name, _BEST[best.piece.kind], _OWN_BEST[best.piece.kind])
    return _(form).format(name=name, field=best.field, chance=f"{best.chance:.0%}")


def _best(wolves: Iterable[Unmasked]) -> Unmasked | None:
    return max((each for each in wolves if each.surprising), key=lambda each: each.chance, default=None)
