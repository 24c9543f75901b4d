"""Worlds: what a seat cannot see, filled in at random so that it agrees with all that is public.

A people's wolves of unknown kind are some of the wolf pieces that its seat was dealt (R3.5, R4.2). Without
more knowledge any of them are as likely; `motives` and `Worlds.infer` make those likelier that are better for
their owner, because players choose what helps them.

What an owner could hope for when a wolf was placed suggests its kind: a player who looks at least one move
ahead places a piece where it promises more than another one would. So the odds of a wolf's kind follow the
outlook of its owner just before it was placed (like the inference of Cowling, Whitehouse and Powley,
"Emergent Bluffing and Inference with Monte Carlo Tree Search", IEEE CIG 2015, but from the play so far, and
before the search begins).
"""

import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, TypeAlias

from client.bots.greedy import Outlook
from engine.board import FIELDS, Field
from engine.pieces import Kind, People, Piece, Seat, Wolf
from engine.position import Hand, hand_of_kinds
from engine.redaction import snapshot
from engine.terrain import EMPTY, FARMER, NUMBERS, Occupant, occupant
from engine.view import SPECTATOR, View

# Measured, not derived, like the numbers of the tree.
# A wolf's odds of being a farmer are multiplied by e to the first number of each pair times what its owner
# gains by that; the second is the greatest such exponent. Much stronger factors mislead the search.
MOTIVE: Final = 3.0  # gains in points, as the owner could expect them when it was placed
MOST_MOTIVE: Final = 4.0
CLEAR_MOTIVE: Final = 1.0  # from here on a wolf is taken for that kind when its owner's later ones are judged
INFERENCE: Final = 10.0  # gains in utility, as the search has found them so far
MOST_INFERRED: Final = 1.0


def motives(view: View) -> Mapping[int, float]:
    """Return, by field number, the logarithm of how much likelier than by chance a hidden wolf is a farmer.

    What is hidden from its owner counts as unknown, and the owner's own wolves before it are taken for what
    they are likelier to be, if that is clear.
    """
    return _read(view)[0]


def motive_of_next(view: View, seat: Seat) -> Callable[[Field], float]:
    """Return what the others will read from a wolf that `seat` places next, as a function of its field."""
    public = snapshot(view, SPECTATOR)
    return _motive(public, seat, _read(public)[1])


def _read(view: View) -> tuple[dict[int, float], dict[Field, Piece]]:
    """Return the motives, and the wolves whose kind they make clear."""
    found: dict[int, float] = {}
    guesses: dict[Field, Piece] = {}
    seen = replace(view, placed={}, owners={}, remaining=[sum(hand.values()) for hand in view.start.hands])
    for field, piece in view.placed.items():
        owner = view.owners[field]
        if isinstance(piece, Wolf):
            exponent = found[NUMBERS[field]] = _motive(seen, owner, guesses)(field)
            if abs(exponent) >= CLEAR_MOTIVE:
                kind = Kind.FARMER if exponent > 0 else Kind.MERCHANT
                guesses[field] = Piece.of(piece.people, kind, wolf=True)
        seen.placed[field], seen.owners[field] = piece, owner
        seen.remaining[owner] -= 1
    return found, guesses


def _motive(view: View, seat: Seat, guesses: Mapping[Field, Piece]) -> Callable[[Field], float]:
    """Return the motive of a wolf that `seat` places next: its own wolves are as guessed, others hidden."""
    placed = {**view.placed, **guesses}
    for field, piece in placed.items():
        if view.owners[field] != seat and isinstance(piece, Piece) and piece.wolf:
            placed[field] = Wolf.of(piece.people)
    outlook = Outlook(replace(view, placed=placed), seat)

    def motive(field: Field) -> float:
        gain = outlook.after(field, Kind.FARMER) - outlook.after(field, Kind.MERCHANT)
        return max(-MOST_MOTIVE, min(MOST_MOTIVE, MOTIVE * gain))

    return motive


# What the owner of an occupant got on average when it stood on a field, by occupant and field.
Means: TypeAlias = Sequence[Sequence[float]]

_NOTHING_TOLD: Final[Mapping[int, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Way:
    """One way in which a people's wolves can be: their kinds, and which wolf pieces are left in hand."""

    farmers: tuple[bool, ...]  # by field
    merchants_left: int
    farmers_left: int
    odds: float  # before the search infers more


@dataclass(frozen=True, slots=True)
class Group:
    """The fields of a people's wolves of unknown kind, and every way in which they can be."""

    seat: Seat
    fields: tuple[int, ...]
    ways: tuple[Way, ...]


@dataclass(frozen=True, slots=True)
class World:
    """One way in which everything can be: the board, and all hands."""

    board: tuple[Occupant, ...]
    hands: tuple[Hand, ...]


class Worlds:
    """All worlds that agree with what `view` shows, in the placing phase; drawn by how likely they are.

    `motives` has, by field number, the logarithm of how much likelier than by chance a wolf is a farmer.
    """

    def __init__(self, view: View, motives: Mapping[int, float] = _NOTHING_TOLD) -> None:
        self.board = [EMPTY] * len(FIELDS)
        wolves: dict[People, list[int]] = {}
        for number, field in enumerate(FIELDS):
            piece = view.placed.get(field)
            if isinstance(piece, Wolf):
                wolves.setdefault(piece.people, []).append(number)
            elif piece is not None:
                self.board[number] = occupant(view.owners[field], piece.kind)
        self._soldierless_at = view.start.soldierless_at
        self.counts = [_known_counts(view, Seat(seat)) for seat in range(view.seats)]
        self.groups = tuple(
            _group(view, Seat(seat), people, wolves.get(people, []), motives)
            for seat in range(view.seats)
            if seat not in view.hands
            for people in view.start.peoples[seat]
        )
        self.cumulative = [_cumulative([way.odds for way in group.ways]) for group in self.groups]
        self._built: dict[tuple[int, ...], World] = {}

    @property
    def hidden(self) -> list[int]:
        """Return the fields whose pieces' kinds are unknown."""
        return [field for group in self.groups for field in group.fields]

    def infer(self, means: Means) -> None:
        """Weigh the worlds anew by what each wolf's owner got while it was a farmer, and a merchant."""
        for index, group in enumerate(self.groups):
            gains = [means[group.seat + FARMER][field] - means[group.seat][field] for field in group.fields]
            exponents = [max(-MOST_INFERRED, min(MOST_INFERRED, INFERENCE * gain)) for gain in gains]
            self.cumulative[index] = _cumulative(
                [way.odds * math.exp(sum(itertools.compress(exponents, way.farmers))) for way in group.ways]
            )

    @property
    def count(self) -> int:
        return math.prod(len(group.ways) for group in self.groups)

    def weighted(self) -> Iterator[tuple[float, World]]:
        """Yield every world after how likely it is, up to a factor."""
        weights = [[high - low for low, high in itertools.pairwise((0.0, *each))] for each in self.cumulative]
        for chosen in itertools.product(*(range(len(group.ways)) for group in self.groups)):
            yield (
                math.prod(each[way] for each, way in zip(weights, chosen, strict=True)),
                self._world(chosen),
            )

    def draw(self, rng: random.Random) -> World:
        ways = []
        for cumulative in self.cumulative:
            way = 0
            if len(cumulative) > 1:
                point = rng.random() * cumulative[-1]
                while cumulative[way] <= point:
                    way += 1
            ways.append(way)
        chosen = tuple(ways)
        world = self._built.get(chosen)
        if world is None:
            world = self._built[chosen] = self._world(chosen)
        return world

    def _world(self, chosen: tuple[int, ...]) -> World:
        board = self.board.copy()
        counts = [each.copy() for each in self.counts]
        for group, index in zip(self.groups, chosen, strict=True):
            way = group.ways[index]
            for field, farmer in zip(group.fields, way.farmers, strict=True):
                board[field] = group.seat + (FARMER if farmer else 0)
            counts[group.seat][0] += way.merchants_left
            counts[group.seat][1] += way.farmers_left
        hands = (hand_of_kinds(seat, *each, self._soldierless_at) for seat, each in enumerate(counts))
        return World(tuple(board), tuple(hands))


def _known_counts(view: View, seat: Seat) -> list[int]:
    """Return how many merchants, farmers and soldiers the seat surely holds, as far as `view` can tell."""
    if seat in view.hands:
        hand = view.hands[seat]
        return [sum(n for piece, n in hand.items() if piece.kind is kind) for kind in Kind]
    placed = list(view.placed.values())
    dealt = {piece: n for piece, n in view.start.hands[seat].items() if not piece.wolf}
    return [sum(n - placed.count(piece) for piece, n in dealt.items() if piece.kind is kind) for kind in Kind]


def _group(view: View, seat: Seat, people: People, fields: list[int], motives: Mapping[int, float]) -> Group:
    dealt = view.start.hands[seat]
    merchants = dealt.get(Piece.of(people, Kind.MERCHANT, wolf=True), 0)
    farmers = dealt.get(Piece.of(people, Kind.FARMER, wolf=True), 0)
    exponents = [motives.get(field, 0.0) for field in fields]
    ways = []
    for kinds in itertools.product((False, True), repeat=len(fields)):
        placed_farmers = sum(kinds)
        placed_merchants = len(kinds) - placed_farmers
        odds = math.perm(merchants, placed_merchants) * math.perm(farmers, placed_farmers)
        if odds:
            told = odds * math.exp(sum(itertools.compress(exponents, kinds)))
            ways.append(Way(kinds, merchants - placed_merchants, farmers - placed_farmers, told))
    return Group(seat, tuple(fields), tuple(ways))


def _cumulative(weights: list[float]) -> list[float]:
    return list(itertools.accumulate(weights))
