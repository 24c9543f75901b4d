"""A brain that looks one move ahead: it scores the board as it expects it at the end.

That is the scoring (R5, R6) with likelihoods instead of certainties.
Empty fields are as full as the pieces still to come will make them, and another seat's wolf is a merchant as
likely as that seat's starting hand makes it. Nothing that the seat may not know is used.
"""

import functools
import itertools
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.board import FIELDS, TILES, Field, LaidTile, Layout, layout_of
from engine.components import LAUREL_WORTH
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import Kind, Piece, Seat
from engine.scoring import WORTH_TO_FARMER, WORTH_TO_MERCHANT, farmer_terms
from engine.view import View

# Measured, not derived: `palatinus arena` shows whether other values play better.
DOUBT: Final = 1.5  # how much more influence makes a safe lead, on a hill where nothing changes any more
DOUBT_PER_CHANGE: Final = 1.5  # ... and how much more of it for each placement that may still affect the hill

_NOBODY: Final = -1
_ALL_FIELDS: Final = frozenset(FIELDS)
_NUMBER: Final = {field: index for index, field in enumerate(FIELDS)}
_WORTH: Final = tuple(WORTH_TO_MERCHANT[kind] for kind in Kind)


class Odds(NamedTuple):
    """How likely a field ends up with a merchant, a farmer or a soldier; otherwise it stays empty."""

    merchant: float
    farmer: float
    soldier: float

    @property
    def worth(self) -> float:
        """Return what the field is worth to a merchant beside it (R6.2)."""
        return _WORTH[0] * self.merchant + _WORTH[1] * self.farmer + _WORTH[2] * self.soldier

    @property
    def empty(self) -> float:
        return 1.0 - self.merchant - self.farmer - self.soldier


CERTAIN: Final = {
    Kind.MERCHANT: Odds(1.0, 0.0, 0.0),
    Kind.FARMER: Odds(0.0, 1.0, 0.0),
    Kind.SOLDIER: Odds(0.0, 0.0, 1.0),
}


class _Ground(NamedTuple):
    """A layout by field numbers, 0 to 41 in name order."""

    adjacent: tuple[tuple[int, ...], ...]
    springs: tuple[float, ...]  # what they give to a farmer on the field (R6.3)
    near: tuple[tuple[int, ...], ...]  # by hill: its fields, and those adjacent to them
    hills: tuple[tuple[int, ...], ...]  # by field: the hills that it is near


def spring_influence(layout: Layout, field: Field) -> int:
    """Return what springs alone give a farmer on `field`, with no empty field beside it (R6.3)."""
    return sum([term.amount for term in farmer_terms(layout, _ALL_FIELDS, field)])


@functools.lru_cache(maxsize=16)
def _ground(tiles: tuple[LaidTile | None, ...]) -> _Ground:
    layout = layout_of(tiles)
    adjacent = tuple(tuple(_NUMBER[beside] for beside in layout.adjacent(field)) for field in FIELDS)
    springs = tuple(float(spring_influence(layout, field)) for field in FIELDS)
    own = [range(6 * hill, 6 * hill + 6) for hill in range(len(TILES))]
    near = tuple(
        tuple(sorted({*fields, *itertools.chain.from_iterable(adjacent[field] for field in fields)}))
        for fields in own
    )
    hills = tuple(
        tuple(hill for hill in range(len(TILES)) if field in near[hill]) for field in range(len(FIELDS))
    )
    return _Ground(adjacent, springs, near, hills)


@dataclass(slots=True)
class _BoardOdds:
    """The odds of a board at one moment of scoring, by field number."""

    merchants: list[float]
    farmers: list[float]
    worth: list[float]
    empty: list[float]

    def copy(self) -> "_BoardOdds":
        return _BoardOdds(self.merchants[:], self.farmers[:], self.worth[:], self.empty[:])

    def put(self, field: int, odds: Odds) -> None:
        self.merchants[field], self.farmers[field] = odds.merchant, odds.farmer
        self.worth[field], self.empty[field] = odds.worth, odds.empty

    def take(self, field: int, merchant: float, farmer: float) -> None:
        gone_merchant, gone_farmer = self.merchants[field] * merchant, self.farmers[field] * farmer
        self.merchants[field] -= gone_merchant
        self.farmers[field] -= gone_farmer
        self.worth[field] -= _WORTH[0] * gone_merchant + _WORTH[1] * gone_farmer
        self.empty[field] += gone_merchant + gone_farmer


class Outlook:
    """What the end of the game looks like to `seat`, which is to move, after each of its possible placements.

    A score is the seat's points minus the average of the others' points.
    """

    def __init__(self, view: View, seat: Seat) -> None:
        self._seat = seat
        self._others = view.seats - 1
        self._ground = _ground(view.tiles)
        self._laurels = tuple(LAUREL_WORTH[view.laurels[tile]] for tile in TILES)
        # As it will be after the placement, so that all placements are measured alike.
        left = sum(view.remaining[Seat(each)] for each in range(view.seats)) - 1
        free = len(FIELDS) - len(view.placed) - 1
        self._filling = left / free if free else 0.0
        to_come = _to_come(view, self._filling)
        self._owners = [view.owners.get(field, _NOBODY) for field in FIELDS]
        self._soldiers: set[int] = set()
        nothing = [0.0] * len(FIELDS)
        board = _BoardOdds(nothing, nothing, nothing, nothing).copy()
        for index, field in enumerate(FIELDS):
            odds = odds_of(view, field) if field in view.placed else to_come
            board.put(index, odds)
            if odds == CERTAIN[Kind.SOLDIER]:
                self._soldiers.add(index)
        spaces = [sum(self._owners[field] == _NOBODY for field in near) for near in self._ground.near]
        self._doubts = [self._doubt(each) for each in spaces]
        self._doubts_after = [self._doubt(max(0, each - 1)) for each in spaces]  # if the placement is near
        self._captives = [0.0]  # before each hill's soldiers act, and at the end
        self._hills: list[float] = []
        self._boards: list[_BoardOdds] = []  # before each hill's soldiers act
        self._settled: list[_BoardOdds] = []  # and after
        for hill in range(len(TILES)):
            self._boards.append(board.copy())
            self._captives.append(self._captives[-1] + self._settle_soldiers(board, hill))
            self._settled.append(board.copy())
            self._hills.append(self._laurel_worth(board, hill, self._doubts[hill]))

    def after(self, field: Field, kind: Kind) -> float:
        """Return the expected score if the seat places `kind` on the empty `field`."""
        index = _NUMBER[field]
        self._owners[index] = self._seat
        soldiers = self._soldiers.intersection(self._ground.adjacent[index])
        if kind is Kind.SOLDIER:
            soldiers.add(index)
        if soldiers:
            score = self._replay(index, kind, min(soldiers) // 6)
        else:
            score = self._captives[-1] + sum(self._hills) + self._difference(index, CERTAIN[kind])
        self._owners[index] = _NOBODY
        return score

    def _difference(self, index: int, odds: Odds) -> float:
        """Return what a piece without a soldier beside it changes: only the hills that it is near."""
        difference = 0.0
        for hill in self._ground.hills[index]:
            board = self._settled[hill]
            kept = board.merchants[index], board.farmers[index], board.worth[index], board.empty[index]
            board.put(index, odds)
            difference += self._laurel_worth(board, hill, self._doubts_after[hill]) - self._hills[hill]
            board.merchants[index], board.farmers[index], board.worth[index], board.empty[index] = kept
        return difference

    def _replay(self, index: int, kind: Kind, soldiers: int) -> float:
        """Return the score, scoring anew from the first hill that the piece affects."""
        near = self._ground.hills[index]
        first = min(soldiers, near[0])  # `soldiers` is the first hill with a soldier beside the piece
        board = self._boards[first].copy()
        board.put(index, CERTAIN[kind])
        if kind is Kind.SOLDIER:
            self._soldiers.add(index)
        score = self._captives[first] + sum(self._hills[:first])
        for hill in range(first, len(TILES)):
            score += self._settle_soldiers(board, hill)
            score += self._laurel_worth(
                board, hill, (self._doubts_after if hill in near else self._doubts)[hill]
            )
        if kind is Kind.SOLDIER:
            self._soldiers.remove(index)
        return score

    def _settle_soldiers(self, board: _BoardOdds, hill: int) -> float:
        """Take off the board what the hill's soldiers are expected to remove; return its worth (R5)."""
        acts = []
        # In the order of the fields: a set's own order depends on what was in it, and a sum on its order.
        for soldier in range(6 * hill, 6 * hill + 6):
            if soldier not in self._soldiers:
                continue
            beside = [
                (board.merchants[field], board.farmers[field]) for field in self._ground.adjacent[soldier]
            ]
            acts.append((soldier, _act(tuple(sorted(beside)))))
        score = 0.0
        for soldier, act in acts:
            score += act.captives if self._owners[soldier] == self._seat else -act.captives / self._others
            for field in self._ground.adjacent[soldier]:
                board.take(field, act.merchants, act.farmers)
            flees = 1.0 - act.merchants - act.farmers
            board.worth[soldier] -= _WORTH[2] * flees
            board.empty[soldier] += flees
        return score

    def _laurel_worth(self, board: _BoardOdds, hill: int, doubt: float) -> float:
        """Return what the hill's laurel is worth to the seat, given how likely it leads there (R6.5)."""
        influence = self._influence(board, hill)
        most = max(influence)
        chances = [math.exp((each - most) / doubt) for each in influence]
        chance = chances[self._seat] / sum(chances)
        return self._laurels[hill] * (chance - (1.0 - chance) / self._others)

    def _influence(self, board: _BoardOdds, hill: int) -> list[float]:
        """Return the expected influence on the hill, by seat (R6.1 to R6.4).

        It is not the scoring's own because it adds up likelihoods; where all are certain, both agree.
        """
        adjacent, worth, empty = self._ground.adjacent, board.worth, board.empty
        influence = [0.0] * (self._others + 1)
        for field in range(6 * hill, 6 * hill + 6):
            owner = self._owners[field]
            if owner == _NOBODY:
                continue
            if merchant := board.merchants[field]:
                influence[owner] += merchant * sum([worth[beside] for beside in adjacent[field]])
            if farmer := board.farmers[field]:
                spaces = sum([empty[beside] for beside in adjacent[field]])
                influence[owner] += farmer * (WORTH_TO_FARMER * spaces + self._ground.springs[field])
        return influence

    def _doubt(self, spaces: int) -> float:
        return math.sqrt(DOUBT**2 + DOUBT_PER_CHANGE**2 * spaces * self._filling)


class _Act(NamedTuple):
    """How likely a soldier captures each group, and its expected captives (R5.1 to R5.3)."""

    merchants: float
    farmers: float
    captives: float


@functools.lru_cache(maxsize=4096)
def _act(beside: tuple[tuple[float, float], ...]) -> _Act:
    """Return what a soldier does beside fields with these odds of a merchant and of a farmer."""
    likely = {(0, 0): 1.0}
    for merchant, farmer in beside:
        following: dict[tuple[int, int], float] = {}
        for (merchants, farmers), odds in likely.items():
            for outcome, share in (
                ((merchants + 1, farmers), merchant),
                ((merchants, farmers + 1), farmer),
                ((merchants, farmers), 1.0 - merchant - farmer),
            ):
                if share > 0.0:
                    following[outcome] = following.get(outcome, 0.0) + odds * share
        likely = following
    return _Act(
        sum(odds for (merchants, farmers), odds in likely.items() if merchants > farmers),
        sum(odds for (merchants, farmers), odds in likely.items() if farmers > merchants),
        sum(odds * max(counts) for counts, odds in likely.items() if counts[0] != counts[1]),
    )


def odds_of(view: View, field: Field) -> Odds:
    """Return the odds of what is on a taken field, from what `view` shows.

    Those of another seat's wolf follow from the hand that it started with, which is public (R3.5).
    """
    piece = view.placed[field]
    if isinstance(piece, Piece):
        return CERTAIN[piece.kind]
    hand = view.start.hands[view.owners[field]]
    merchants = hand.get(Piece.of(piece.people, Kind.MERCHANT, wolf=True), 0)
    farmers = hand.get(Piece.of(piece.people, Kind.FARMER, wolf=True), 0)
    return Odds(merchants / (merchants + farmers), farmers / (merchants + farmers), 0.0)


def _to_come(view: View, filling: float) -> Odds:
    """Return the odds of what an empty field gets from all hands; `filling` is how likely it gets a piece."""
    counts = dict.fromkeys(Kind, 0.0)
    for hand in view.start.hands:
        for piece, count in hand.items():
            counts[piece.kind] += count
    for field in view.placed:
        for kind, odds in zip(Kind, odds_of(view, field), strict=True):
            counts[kind] -= odds
    scale = filling / sum(counts.values())
    return Odds(*(max(0.0, counts[kind]) * scale for kind in Kind))


# What keeping a piece in hand is worth. Measured, not derived.
_KEPT: Final = {Kind.MERCHANT: 0.0, Kind.FARMER: 0.0, Kind.SOLDIER: 1.5}


def greedy(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose the move with the best expected end for the seat; `rng` breaks ties."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    kind, field = best_place(view, legal, legal.fields, legal.pieces, rng)
    # To this brain neither the wolf nor the people of a piece matters.
    return Place(legal.seat, rng.choice([piece for piece in legal.pieces if piece.kind is kind]), field)


def best_place(
    view: View, legal: LegalPlaces, fields: Sequence[Field], pieces: Sequence[Piece], rng: random.Random
) -> tuple[Kind, Field]:
    """Return which kind of some legal pieces promises most, on which of some legal fields."""
    promised = promises(view, legal.seat, fields, pieces)
    best = max(promised.values())
    return rng.choice([place for place, promise in promised.items() if promise == best])


def promises(
    view: View, seat: Seat, fields: Sequence[Field], pieces: Sequence[Piece]
) -> dict[tuple[Kind, Field], float]:
    """Return what each kind among the pieces promises to the seat on each of the fields."""
    outlook = Outlook(view, seat)
    held = {piece.kind for piece in pieces}
    kinds = [kind for kind in Kind if kind in held]
    return {
        (kind, field): outlook.after(field, kind) - _KEPT[kind]
        for kind, field in itertools.product(kinds, fields)
    }


def best_lay(view: View, legal: LegalLays, rng: random.Random) -> LayTile:
    """Lay springs together if this seat places first, and so can take the best field, else apart."""
    assert view.drawn is not None  # noqa: S101 - to lay is legal only with a tile in hand
    first = legal.seat == view.start.starting
    best: list[tuple[int, int]] = []
    best_score = -math.inf
    for position in legal.positions:
        for orientation in legal.orientations:
            tiles = list(view.tiles)
            tiles[position] = LaidTile(view.drawn, orientation)
            layout = Layout(tiles)
            # How unevenly the fields have springs within reach.
            score = sum(spring_influence(layout, field) ** 2 for field in layout.hexes) * (1 if first else -1)
            if score > best_score:
                best, best_score = [], score
            if score == best_score:
                best.append((position, orientation))
    return LayTile(legal.seat, *rng.choice(best))
