"""A search as arrays: what the compiled functions work on."""

from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Whole: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]

HAND_BITS: Final = 3  # of a hand are its merchants, the next its farmers, and the next its soldiers


class Tuning(NamedTuple):
    """`client.bots.search.tuning`, and tables that are worked out once."""

    width: int
    kept: int
    sorted_from: int
    expanded_from: int
    exploration: float
    prior: float
    inferred_from: int
    batch: int
    redraws: int
    inference: float
    most_inferred: float
    rave_weights: Floats
    logs: Floats  # of a node's visits + 1, at the powers of two at which its moves are chosen


class Position(NamedTuple):
    """What stays as it is during a search."""

    seats: int
    win: float
    margin: float
    decisive: int
    order: Whole  # the seats that have yet to place, in turn
    free: Whole
    fields: Whole  # those that can differ
    ranks: Whole  # of the field that a random byte picks
    kinds: Whole  # bits of those that may be placed, by hand
    draws: Whole  # the kind that one of six equal draws is, by hand
    adjacent: Whole  # bits of the fields beside a field
    springs: Whole  # what a farmer on a field gets for springs
    laurels: Whole
    board: Whole
    hands: Whole  # by seat, each as one number: see `HAND_BITS`
    # The groups of `Worlds`: the fields and the ways of each begin where its entry says.
    group_seats: Whole
    field_starts: Whole
    group_fields: Whole
    way_starts: Whole
    way_farmers: Whole  # bits
    way_left: Whole  # as a hand
    way_odds: Floats


class State(NamedTuple):
    """What changes from simulation to simulation, and room to work in."""

    words: Whole  # of the Mersenne Twister
    counters: Whole  # simulations, nodes, the next word
    wins: Floats
    cumulative: Floats
    sums: Floats
    means: Floats
    ranked: Whole
    board: Whole
    hands: Whole
    path: Whole
    packed: Whole
    influence: Whole
    worth: Floats
    # Of an ending: where its pieces stand, and what is best for each seat from each piece on.
    places: Whole
    replies: Floats


class Tree(NamedTuple):
    """The nodes, the root first, each with its moves in the order of `moves`: occupant * 42 + field."""

    visits: Whole
    lengths: Whole
    logs: Floats
    moves: Whole
    children: Whole  # 0 if there is none
    counts: Whole
    totals: Floats
    rave_counts: Floats
    rave_totals: Floats
    values: Floats
    # Room to choose a node's moves in.
    chosen: Whole
    chosen_means: Floats
    old_moves: Whole
    old_children: Whole
    old_counts: Whole
    old_totals: Floats
    old_rave_counts: Floats
    old_rave_totals: Floats


class Arrays(NamedTuple):
    """All of a search."""

    position: Position
    state: State
    tree: Tree
    tuning: Tuning
