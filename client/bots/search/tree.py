"""The tree of a search, and its simulations.

Single-observer information-set Monte Carlo tree search: one tree over what the seat to move can see, and each
simulation in another world that agrees with that (Cowling, Powley and Whitehouse, "Information Set Monte
Carlo Tree Search", IEEE TCIAIG 4(2), 2012). Within the tree the move with the greatest upper bound is
followed (Kocsis and Szepesvári, "Bandit Based Monte-Carlo Planning", ECML 2006), its mean mixed with that of
all simulations in which the same piece stands on the same field in the end, whenever it was placed: RAVE
(Gelly and Silver, "Monte-Carlo tree search and rapid action value estimation in computer Go", Artificial
Intelligence 175, 2011). The final board does not care in which order it was filled, so these means are good.

Playouts follow the move-average sampling technique, MAST (Finnsson and Björnsson, "Simulation-Based Approach
to General Game Playing", AAAI 2008). Instead of by Gibbs sampling, a playout's field is picked as the best of
a few random ones, from tables that are made again now and then: this takes no arithmetic in the playout.
"""

import functools
import heapq
import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple, TypeAlias

from client.bots.greedy import promises
from client.bots.search.worlds import DRAWS, Beliefs, Hand, PossibleWorld, Worlds, clues_in
from engine.board import FIELDS
from engine.pieces import Kind
from engine.terrain import EMPTY, FARMER, NUMBERS, POINT, Occupant, PackedScore, occupant, terrain_of
from engine.view import View, free_fields

# The rest is for the margin, so that a search sees progress where all its games are won or lost.
WIN: Final = 0.7
MARGIN: Final = 1.0 - WIN
_LOST: Final = MARGIN / 2  # a loser's lead is negative, a winner's is not
DECISIVE: Final = 20 * POINT  # a greater lead is worth no more
_SCALE: Final = 2 * DECISIVE


def utilities(packed: list[PackedScore]) -> list[float]:
    """Return the utility of each seat; with two players they add up to 1."""
    best = max(packed)
    winners = packed.count(best)
    second = best if winners > 1 else max([score for score in packed if score != best])
    won = WIN / winners + MARGIN * (0.5 + min(best - second, DECISIVE) / _SCALE)
    return [
        won if score == best else MARGIN * (0.5 + max(score - best, -DECISIVE) / _SCALE) for score in packed
    ]


def win_shares(worth: list[float]) -> list[float]:
    """Return each seat's share of the win, from the utilities: a loser's is below all winners'."""
    won = [each > _LOST for each in worth]
    return [1.0 / sum(won) if each else 0.0 for each in won]


_PICKS: Final = 256  # a random byte picks

_OF: Final = 4  # a pick is the best of so many random fields; 8 plays worse
# An entry holds visits * _VISIT + the sum of utilities, so that one addition counts both.
_VISIT: Final = 2.0**20
_KINDS: Final = 3


Sums: TypeAlias = list[list[float]]  # by occupant and field, each an entry


class Averages:
    """Averages by occupant and field, over the simulations so far; `fields` are those that can differ."""

    def __init__(self, seats: int, free: list[int], fields: list[int]) -> None:
        self._occupants = [kind * FARMER + seat for kind in range(_KINDS) for seat in range(seats)]
        self._fields = fields
        self.sums = [[0.0] * len(FIELDS) for _ in range(EMPTY + 1)]
        self.means = [[0.5] * len(FIELDS) for _ in range(EMPTY)]
        self.ranked = [free] * EMPTY  # the free fields, those with the greatest averages first
        self.picks = [tuple(free[pick % len(free)] for pick in range(_PICKS))] * EMPTY
        self._picked: Callable[[list[int]], tuple[int, ...]] = itemgetter(*_ranks(len(free)))

    def add(self, board: list[Occupant], utilities: list[float]) -> None:
        """Count the end of a simulation."""
        sums = self.sums
        added = [_VISIT + utility for utility in utilities] + [0.0] * (FARMER - len(utilities))
        added *= _KINDS
        added.append(0.0)  # an empty field
        for field in self._fields:
            found = board[field]
            sums[found][field] += added[found]

    def carry(self, sums: Sums) -> None:
        """Begin with a part of what an earlier search of the same game has added up."""
        for own, earlier in zip(self.sums, sums, strict=True):
            for field, entry in enumerate(earlier):
                visits = entry // _VISIT
                if carried := round(CARRIED * visits):
                    own[field] = carried * _VISIT + (entry - visits * _VISIT) * carried / visits

    def refresh(self) -> None:
        """Work out the averages, the ranks and the picks anew."""
        for each in self._occupants:
            means, sums = self.means[each], self.sums[each]
            for field in self._fields:
                if entry := sums[field]:
                    visits = entry // _VISIT
                    means[field] = (entry - visits * _VISIT + 0.5) / (visits + 1.0)
            ranked = sorted(self.ranked[each], key=means.__getitem__, reverse=True)
            self.ranked[each] = ranked
            self.picks[each] = self._picked(ranked)


@functools.cache
def _ranks(count: int) -> tuple[int, ...]:
    """Return ranks of which a random one is distributed like the least of `_OF` random ones below `count`."""
    quantiles = ((pick + 0.5) / _PICKS for pick in range(_PICKS))
    return tuple(int(count * (1.0 - quantile ** (1.0 / _OF))) for quantile in quantiles)


# Measured, not derived: `palatinus arena` shows whether other values play better.
WIDTH: Final = 12  # a node knows so many moves: those with the best averages, and those visited most
KEPT: Final = 6  # ... of which so many are those visited most
SORTED_FROM: Final = 32  # visits after which a node chooses its moves anew, and again at each doubling
EXPANDED_FROM: Final = 4  # visits of a move after which it gets a node (Coulom, 2006)
EXPLORATION: Final = 0.15  # from 0.05 to 0.3 no difference was measurable
PRIOR: Final = 10.0  # visits that the average from outside the tree counts for
PROMISED: Final = 0.02  # of utility, at the root: for each point that a move promises above the others' mean
RANDOM: Final = 100  # simulations without a tree, before there are averages
CARRIED: Final = 0.3  # the part of the averages of a seat's last search that the next one begins with
INFERRED_FROM: Final = 200  # simulations before which averages say too little about hidden wolves
BATCH: Final = 50  # simulations between two looks at the averages
REDRAWS: Final = 6  # picks of a playout that may be taken fields, before it takes the best free one

# A move's own mean weighs so much, by its visits, beside that of all simulations which end with it (RAVE).
_RAVE: Final = 300.0  # visits from which both say about as much
# The next is as good as none.
RAVE_WEIGHTS: Final = [math.sqrt(_RAVE / (3 * visits + _RAVE)) for visits in range(5000)]


class Move(NamedTuple):
    """A kind of piece on a field, by its number."""

    kind: Kind
    field: int


class Visited(NamedTuple):
    """How often a search went on with a move, and the sum of the utilities."""

    visits: int
    utility: float


Visits: TypeAlias = Mapping[Move, Visited]


class _Node:
    """The shortlisted moves after a row of moves, with what came of them, as lists of the same order."""

    def __init__(self) -> None:
        self.visits = 0
        self.log = 1.0  # of the visits, as of the last time that the moves were chosen
        self.moves: list[tuple[Occupant, int, Kind]] = []
        self.counts: list[int] = []
        self.totals: list[float] = []
        self.rave_counts: list[float] = []
        self.rave_totals: list[float] = []
        self.values: list[float] = []  # upper bounds
        self.children: list[_Node | None] = []

    def value(self, index: int) -> float:
        count = self.counts[index]
        value = self.rave_totals[index] / self.rave_counts[index]
        if count:
            weight = RAVE_WEIGHTS[count] if count < len(RAVE_WEIGHTS) else 0.0
            value = weight * value + (1.0 - weight) * self.totals[index] / count
        return value + EXPLORATION * math.sqrt(self.log / (count + 1))

    def best(self, kinds: Mapping[Kind, Hand]) -> int:
        """Return which move has the greatest upper bound; -1 if this world's hand allows none of them."""
        values = self.values
        index = values.index(max(values))
        if self.moves[index][2] in kinds:
            return index
        possible = [each for each, move in enumerate(self.moves) if move[2] in kinds]
        return max(possible, key=values.__getitem__, default=-1)


def _promised(view: View) -> list[list[float]]:
    """Return how much more than the mean a move promises to the seat to move; by occupant and field."""
    found = [[0.0] * len(FIELDS) for _ in range(EMPTY)]
    if view.turn is not None and view.turn in view.hands:
        fields = free_fields(view)
        promised = promises(view, view.turn, fields, list(view.hands[view.turn]))
        mean = sum(promised.values()) / len(promised)
        for (kind, field), points in promised.items():
            found[occupant(view.turn, kind)][NUMBERS[field]] = PROMISED * (points - mean)
    return found


class TreeSearch:
    """A search for the seat to move of `view`, in the placing phase.

    When all pieces are placed it is nobody's turn: then the worlds alone differ.
    To `wins`, if given, each seat's share of the win in every simulation with a tree is added, and to `ends`
    the board at its end.
    """

    def __init__(
        self,
        view: View,
        rng: random.Random,
        wins: list[float] | None = None,
        beliefs: Sequence[Beliefs] = (),
        ends: list[list[Occupant]] | None = None,
        *,
        carried: Sums | None = None,
    ) -> None:
        self._wins, self._ends = wins, ends
        turn = 0 if view.turn is None else view.turn
        self._rng = rng
        self.worlds = Worlds(view, clues_in(view), beliefs)
        self._terrain = terrain_of(view.tiles, view.laurels)
        self._seats = view.seats
        self._order = [(turn + ply) % view.seats for ply in range(view.to_place)]
        self._free = [number for number, field in enumerate(FIELDS) if field not in view.placed]
        self._averages = Averages(view.seats, self._free, self._free + self.worlds.hidden)
        self._blind = RANDOM if carried is None else 0
        if carried is not None:
            self._averages.carry(carried)
        self._root = _Node()
        self._promised = _promised(view)
        self.simulations = 0

    def run(self, simulations: int, seconds: float = math.inf, *, settled: bool = False) -> Visits:
        """Run so many simulations, and return what came of the moves.

        It runs fewer if the time is up before or, with `settled`, if no other move can overtake the first.
        """
        until = time.monotonic() + seconds
        for _ in range(min(self._blind, simulations // 2)):
            world = self.worlds.draw(self._rng)
            self._play_out(list(world.board), list(world.hands), [])
        self._averages.refresh()
        while True:
            for _ in range(min(BATCH, simulations - self.simulations)):
                self._simulate(self.worlds.draw(self._rng))
            left = simulations - self.simulations
            if left <= 0 or time.monotonic() >= until or (settled and left < self._lead()):
                break
            self._averages.refresh()
            if self.simulations >= INFERRED_FROM:
                self.worlds.infer(self._averages.means)
        root = self._root
        return {
            Move(kind, field): Visited(count, total)
            for (_, field, kind), count, total in zip(root.moves, root.counts, root.totals, strict=True)
        }

    @property
    def sums(self) -> Sums:
        """Return what the next search of the seat can begin with."""
        return self._averages.sums

    def _lead(self) -> int:
        """Return how many visits the most visited move is ahead of the next."""
        first, second = heapq.nlargest(2, [*self._root.counts, 0, 0])
        return first - second

    def _simulate(self, world: PossibleWorld) -> None:
        board, hands = list(world.board), list(world.hands)
        path: list[tuple[_Node, int]] = []
        node: _Node | None = self._root
        for seat in self._order:
            if node is None:
                break
            after = hands[seat].after
            if not node.visits & (node.visits - 1) and (not node.visits or node.visits >= SORTED_FROM):
                self._choose_moves(node, board, seat, after)
            index = node.best(after)
            if index < 0:
                break
            found, field, kind = node.moves[index]
            path.append((node, index))
            board[field] = found
            hands[seat] = after[kind]
            child = node.children[index]
            if child is None and node.counts[index] + 1 >= EXPANDED_FROM:
                node.children[index] = _Node()
            node = child
        self._play_out(board, hands, path)

    def _choose_moves(
        self, node: _Node, board: list[Occupant], seat: int, after: Mapping[Kind, Hand]
    ) -> None:
        """Shortlist the moves that are visited most and those that are best on average."""
        averages = self._averages.means
        if node is self._root:
            averages = [
                [mean + more for mean, more in zip(*each, strict=True)]
                for each in zip(averages, self._promised, strict=True)
            ]
        known = {move: index for index, move in enumerate(node.moves)}
        by_visits = sorted(known.values(), key=node.counts.__getitem__, reverse=True)
        kept = [node.moves[index] for index in by_visits[:KEPT] if node.counts[index]]
        occupants = [(occupant(seat, kind), kind) for kind in after]
        others = [
            (found, field, kind)
            for found, kind in occupants
            for field in self._free
            if board[field] == EMPTY and (found, field, kind) not in kept
        ]
        others.sort(key=lambda move: averages[move[0]][move[1]], reverse=True)
        # Averages are over all of the game; what is known at this node tells by how much it differs here.
        shift = 0.0
        if known:
            shift = sum(
                node.rave_totals[index] / node.rave_counts[index] - averages[move[0]][move[1]]
                for move, index in known.items()
            ) / len(known)
        node.moves = (kept + others)[:WIDTH]
        at = [known.get(move) for move in node.moves]
        means = [averages[found][field] + shift for found, field, _ in node.moves]
        node.rave_totals = [
            PRIOR * mean if index is None else node.rave_totals[index]
            for index, mean in zip(at, means, strict=True)
        ]
        node.rave_counts = [PRIOR if index is None else node.rave_counts[index] for index in at]
        node.counts = [0 if index is None else node.counts[index] for index in at]
        node.totals = [0.0 if index is None else node.totals[index] for index in at]
        node.children = [None if index is None else node.children[index] for index in at]
        node.log = max(1.0, math.log(node.visits + 1))
        node.values = [node.value(index) for index in range(len(node.moves))]

    def _play_out(self, board: list[Occupant], hands: list[Hand], path: list[tuple[_Node, int]]) -> None:
        """Place all that is left, each kind as likely and on a good field, and count what came of it."""
        bits = self._rng.getrandbits
        picks = self._averages.picks
        draws = [hand.draws for hand in hands]
        for seat in self._order[len(path) :]:
            chance = bits(16)  # the upper byte picks the field, and the rest decides the kind
            found, draws[seat] = draws[seat][chance % DRAWS]
            choices = picks[found]
            field = choices[chance >> 8]
            if board[field] != EMPTY:
                for _ in range(REDRAWS):
                    field = choices[bits(8)]
                    if board[field] == EMPTY:
                        break
                else:
                    for field in self._averages.ranked[found]:
                        if board[field] == EMPTY:
                            break
            board[field] = found
        self._count(board, utilities(self._terrain.packed_scores(board.copy(), self._seats)), path)

    def _count(self, board: list[Occupant], worth: list[float], path: list[tuple[_Node, int]]) -> None:
        """Count the end of a simulation at the nodes of its path, and for the averages."""
        self.simulations += 1
        if self._wins is not None and (path or not self._order):
            for seat, share in enumerate(win_shares(worth)):
                self._wins[seat] += share
            if self._ends is not None:
                self._ends.append(board)
        self._averages.add(board, worth)
        weights, known = RAVE_WEIGHTS, len(RAVE_WEIGHTS)
        for (node, chosen), seat in zip(path, self._order, strict=False):
            utility = worth[seat]
            node.visits += 1
            node.counts[chosen] += 1
            node.totals[chosen] += utility
            counts, totals, values, log = node.counts, node.totals, node.values, node.log
            rave_counts, rave_totals = node.rave_counts, node.rave_totals
            for index, (found, field, _) in enumerate(node.moves):
                if board[field] == found:  # so it is for the chosen one
                    rave_count = rave_counts[index] = rave_counts[index] + 1.0
                    rave_total = rave_totals[index] = rave_totals[index] + utility
                    value = rave_total / rave_count
                    # As in `_Node.value`, without the call.
                    if count := counts[index]:
                        weight = weights[count] if count < known else 0.0
                        value = weight * value + (1.0 - weight) * totals[index] / count
                    values[index] = value + EXPLORATION * math.sqrt(log / (count + 1))
