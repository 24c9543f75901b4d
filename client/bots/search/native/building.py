"""A view and its worlds as the arrays of a search."""

import functools
import itertools
import math
import random
from typing import Any, Final

import numpy as np

from client.bots.search import tuning
from client.bots.search.averages import PICKS, ranks
from client.bots.search.native.arrays import HAND_BITS, Position, State, Tree, Tuning, Whole
from client.bots.search.utility import DECISIVE, MARGIN, WIN
from client.bots.search.worlds import Worlds
from engine.board import FIELDS, TILES
from engine.components import LAUREL_WORTH
from engine.pieces import Kind
from engine.position import hand_of_kinds
from engine.scoring import farmer_terms
from engine.terrain import EMPTY, FARMER, NUMBERS
from engine.view import View

_DRAWS: Final = 6  # see `engine.position.Hand`
_SOLDIERS: Final = 2  # the most that a hand holds
_NUMBERS: Final = {kind: number for number, kind in enumerate(Kind)}
_POWERS: Final = 63  # of two: as many visits as a node can have

TUNING: Final = Tuning(
    tuning.WIDTH,
    tuning.KEPT,
    tuning.SORTED_FROM,
    tuning.EXPANDED_FROM,
    tuning.EXPLORATION,
    tuning.PRIOR,
    tuning.INFERRED_FROM,
    tuning.BATCH,
    tuning.REDRAWS,
    tuning.INFERENCE,
    tuning.MOST_INFERRED,
    np.array(tuning.RAVE_WEIGHTS),
    np.array([1.0, *(max(1.0, math.log(2**power + 1)) for power in range(_POWERS))]),
)


def whole(numbers: Any) -> Any:
    """Return the numbers as an array of integers."""
    return np.array(numbers, dtype=np.int64)


def position_of(view: View, worlds: Worlds) -> Position:
    """Return what stays as it is during a search from this view."""
    turn = 0 if view.turn is None else view.turn
    free = [number for number, field in enumerate(FIELDS) if field not in view.placed]
    layout, groups = view.layout, worlds.groups
    adjacent = [layout.adjacent(field) for field in FIELDS]
    springs = [
        sum(term.amount for term in farmer_terms(layout, beside, field))
        for field, beside in zip(FIELDS, adjacent, strict=True)
    ]
    ways = [way for group in groups for way in group.ways]
    kinds, draws = _hands(view.start.soldierless_at)
    return Position(
        seats=view.seats,
        win=WIN,
        margin=MARGIN,
        decisive=DECISIVE,
        order=whole([(turn + ply) % view.seats for ply in range(view.to_place)]),
        free=whole(free),
        fields=whole(free + worlds.hidden),
        ranks=whole(ranks(len(free))),
        kinds=kinds,
        draws=draws,
        adjacent=whole([sum(1 << NUMBERS[field] for field in beside) for beside in adjacent]),
        springs=whole(springs),
        laurels=whole([LAUREL_WORTH[view.laurels[tile]] for tile in TILES]),
        board=whole(worlds.board),
        hands=whole([_hand(*counts) for counts in worlds.counts]),
        group_seats=whole([group.seat for group in groups]),
        field_starts=_starts([len(group.fields) for group in groups]),
        group_fields=whole([field for group in groups for field in group.fields]),
        way_starts=_starts([len(group.ways) for group in groups]),
        way_farmers=whole([sum(farmer << each for each, farmer in enumerate(way.farmers)) for way in ways]),
        way_left=whole([_hand(way.merchants_left, way.farmers_left) for way in ways]),
        way_odds=np.array([way.odds for way in ways], dtype=np.float64),
    )


def _hand(merchants: int, farmers: int, soldiers: int = 0) -> int:
    return merchants + (farmers << HAND_BITS) + (soldiers << 2 * HAND_BITS)


@functools.cache
def _hands(soldierless_at: int) -> tuple[Whole, Whole]:
    """Return which kinds each hand may place, and what its draws are, as `engine.position.Hand` has them."""
    counts = 1 << HAND_BITS
    kinds = np.zeros(counts**3, np.int64)
    draws = np.zeros((counts**3, _DRAWS), np.int64)
    for merchants, farmers, soldiers in itertools.product(range(counts), range(counts), range(_SOLDIERS + 1)):
        number = _hand(merchants, farmers, soldiers)
        hand = hand_of_kinds(0, merchants, farmers, soldiers, soldierless_at)
        kinds[number] = sum(1 << _NUMBERS[kind] for kind in hand.after)
        if hand.draws:
            draws[number] = [found // FARMER for found, _ in hand.draws]
    return kinds, draws


def before_averages(position: Position) -> Position:
    """Return the position of the first simulations, when every free field is as good."""
    free = len(position.free)
    return position._replace(ranks=whole([pick % free for pick in range(PICKS)]))


def state_of(position: Position, worlds: Worlds, rng: random.Random, wins: list[float]) -> State:
    """Return what changes, before the first simulation."""
    _, words, _ = rng.getstate()
    seats = position.seats
    return State(
        words=whole(words[:-1]),
        counters=whole([0, 1, words[-1]]),
        wins=np.array(wins, dtype=np.float64),
        cumulative=np.array(list(itertools.chain(*worlds.cumulative)), dtype=np.float64),
        sums=np.zeros((EMPTY + 1, len(FIELDS))),
        means=np.full((EMPTY, len(FIELDS)), 0.5),
        ranked=np.tile(position.free, (EMPTY, 1)),
        board=np.empty_like(position.board),
        hands=np.empty_like(position.hands),
        path=np.empty((len(position.order), 2), np.int64),
        packed=np.empty(seats, np.int64),
        influence=np.empty(seats, np.int64),
        worth=np.empty(len(FIELDS)),
        places=np.empty(seats + 1, np.int64),
        replies=np.empty((seats + 1, seats)),
    )


def _starts(lengths: list[int]) -> Any:
    return whole([0, *itertools.accumulate(lengths)])


def new_tree(nodes: int) -> Tree:
    """Return a tree with room for so many nodes, of which there is the root."""
    width = tuning.WIDTH

    def whole_moves() -> Any:
        return np.zeros((nodes, width), np.int64)

    def float_moves() -> Any:
        return np.zeros((nodes, width))

    return Tree(
        visits=np.zeros(nodes, np.int64),
        lengths=np.zeros(nodes, np.int64),
        logs=np.zeros(nodes),
        moves=whole_moves(),
        children=whole_moves(),
        counts=whole_moves(),
        totals=float_moves(),
        rave_counts=float_moves(),
        rave_totals=float_moves(),
        values=float_moves(),
        chosen=np.zeros(width, np.int64),
        chosen_means=np.zeros(width),
        old_moves=np.zeros(width, np.int64),
        old_children=np.zeros(width, np.int64),
        old_counts=np.zeros(width, np.int64),
        old_totals=np.zeros(width),
        old_rave_counts=np.zeros(width),
        old_rave_totals=np.zeros(width),
    )


def grown(tree: Tree, nodes: int) -> Tree:
    """Return the tree with room for so many nodes."""
    twin = new_tree(nodes)
    for name in (
        "visits",
        "lengths",
        "logs",
        "moves",
        "children",
        "counts",
        "totals",
        "rave_counts",
        "rave_totals",
        "values",
    ):
        old = getattr(tree, name)
        getattr(twin, name)[: len(old)] = old
    return twin
