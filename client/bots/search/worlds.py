"""Worlds: what a seat cannot see, filled in at random so that it agrees with all that is public.

A people's wolves of unknown kind are some of the wolf pieces that its seat was dealt (R3.5, R4.2). Without
more knowledge any of them are as likely; `gains` and `Worlds.infer` make those likelier that are better for
their owner, because players choose what helps them.

What an owner could hope for when a wolf was placed suggests its kind: a player who looks at least one move
ahead places a piece where it promises more than another one would. So the odds of a wolf's kind follow the
outlook of its owner just before it was placed (like the inference of Cowling, Whitehouse and Powley,
"Emergent Bluffing and Inference with Monte Carlo Tree Search", IEEE CIG 2015, but from the play so far, and
before the search begins).

Whether a player looks only one move ahead shows in every placement, open or not: then it nearly always stands
where it promises most, and with those who search it seldom does. Who bluffs knows what its own wolves are.

Who places wolves before open pieces of the same kind shows with the first open one that no such wolf is left.
"""

import bisect
import functools
import itertools
import math
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import field as attribute
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from client.bots.greedy import Outlook
from engine.board import FIELDS, Field
from engine.pieces import Kind, People, Piece, Seat, Wolf
from engine.redaction import hidden_from, snapshot
from engine.terrain import EMPTY, FARMER, NUMBERS, Occupant, occupant
from engine.view import SPECTATOR, View, free_fields

# How likely a player has each of the `MOTIVES` and places wolves at any time, and then: wolves first.
Beliefs: TypeAlias = tuple[float, ...]

# Measured, not derived, like the numbers of the tree.
# How often wolves promised so much more as one kind than as the other, in points as expected when they were
# placed: up to each of the `STEPS`, and beyond. The first number of each pair is of the wolves that were of
# the kind that promised less, the second of the others; if neither gain nor kind mattered, all would be 1.
STEPS: Final = (0.3, 1.0, 2.0)
MOTIVES: Final = (
    ((0.30, 0.93), (0.27, 2.08), (0.12, 2.39), (0.09, 1.83)),  # of players who look one move ahead
    ((0.88, 1.05), (0.86, 1.93), (0.34, 1.64), (0.13, 1.18)),  # of those who search
    ((1.07, 1.07), (1.35, 1.55), (0.62, 1.15), (0.30, 0.75)),  # of those who search and lie
    ((3.61, 0.07), (2.99, 0.12), (0.57, 0.21), (0.24, 0.21)),  # of those who bluff one move ahead
    ((1.53, 1.14), (1.37, 1.22), (0.61, 0.75), (0.75, 0.65)),  # of those with no such motive
)
# By motive: how often placements promise most to their owners if their wolves are what they are taken for,
# and if each is the other kind: not at all, in the second case alone, in the first case alone, in both.
MOVES: Final = (
    ((0.05, 0.02), (0.43, 0.50)),
    ((0.58, 0.08), (0.10, 0.24)),
    ((0.58, 0.08), (0.10, 0.24)),
    ((0.24, 0.18), (0.08, 0.50)),
    ((0.71, 0.03), (0.07, 0.19)),
)
AS_GOOD: Final = 0.05  # points less than the most
# Of a player of whom nothing is known. Those who look one move ahead show it; those who search may lie about
# everything else: whoever reads more into what strangers do can be misled by it.
_MOTIVE: Final = (0.12, 0.002, 0.86, 0.015, 0.003)
_WOLVES_FIRST: Final = (0.4, 0.0, 0.0, 0.0, 0.0)  # of those with each motive
PRIOR: Final[Beliefs] = (
    *[belief * (1.0 - first) for belief, first in zip(_MOTIVE, _WOLVES_FIRST, strict=True)],
    *[belief * first for belief, first in zip(_MOTIVE, _WOLVES_FIRST, strict=True)],
)
FORGOTTEN: Final = 0.05  # how much the prior counts after a game
WOLVES: Final = (Kind.FARMER, Kind.MERCHANT)
CLEAR_GAIN: Final = 1 / 3  # from here on a wolf is taken for that kind when its owner's later ones are judged
INFERENCE: Final = 10.0  # gains in utility, as the search has found them so far
MOST_INFERRED: Final = 1.0


class Clues(NamedTuple):
    """What the placements so far tell all who cannot see the wolves' kinds."""

    gains: Mapping[int, float]  # by field number: how many points more a wolf promised its owner as a farmer
    best: Sequence[Sequence[tuple[bool, bool]]]  # by seat: whether its placements promised most; see `MOVES`


def clues_in(view: View) -> Clues:
    """Return what the placements tell of hidden wolves, and of the seats whose secrets `view` does not know.

    What is hidden from a piece's owner counts as unknown, and the owner's own wolves before it are taken for
    what they are likelier to be, if that is clear.
    """
    return _read_placements(view)[0]


def gain_of_next(view: View, seat: Seat) -> Callable[[Field], float]:
    """Return what the others will think of a wolf that `seat` places next, as a function of its field."""
    public = snapshot(view, SPECTATOR)
    return _gain_of_next(public, seat, _read_placements(public)[1])


def _gain_of_next(public: View, seat: Seat, guesses: Mapping[Field, Piece]) -> Callable[[Field], float]:
    outlook = Outlook(_Moment.of(public, seat, guesses).view, seat)
    return lambda field: outlook.after(field, Kind.FARMER) - outlook.after(field, Kind.MERCHANT)


def error_after_next(view: View, seat: Seat) -> Callable[[Piece, Field], float]:
    """Return how wrong strangers will be about all wolves of `seat`, as a function of what it places next.

    That is the log loss of what they believe, without what the quality of the placement itself says.
    """
    public = snapshot(view, SPECTATOR)
    told, guesses = _read_placements(public)
    gain = _gain_of_next(public, seat, guesses)
    beliefs = _after_moves(PRIOR, told, seat)

    def error(piece: Piece, field: Field) -> float:
        placed = {**view.placed, field: piece}
        owners = {**view.owners, field: seat}
        later = snapshot(replace(view, placed=placed, owners=owners), SPECTATOR)
        gains = {**told.gains, NUMBERS[field]: gain(field)} if piece.wolf else told.gains
        loss = 0.0
        for group in _groups(later, seat, _hidden_wolves(later), gains, beliefs):
            farmers = tuple(placed[FIELDS[each]][1] == Kind.FARMER for each in group.fields)
            odds = {way.farmers: each for way, each in zip(group.ways, group.odds, strict=True)}
            loss += math.log(sum(group.odds) / odds[farmers])
        return loss

    return error


def _read_placements(view: View) -> tuple[Clues, dict[Field, Piece]]:
    """Return what the placements tell, and the wolves whose kind they make clear."""
    gains: dict[int, float] = {}
    best: list[list[tuple[bool, bool]]] = [[] for _ in range(view.seats)]
    guesses: dict[Field, Piece] = {}
    contrary: dict[Field, Piece] = {}
    seen = replace(view, placed={}, owners={}, remaining=[sum(hand.values()) for hand in view.start.hands])
    for field, piece in view.placed.items():
        owner = view.owners[field]
        if owner not in view.eyes:
            gain, good = _judge_placement(_Moment.of(seen, owner, guesses), owner, field, piece)
            best[owner].append(
                (good, _judge_placement(_Moment.of(seen, owner, contrary), owner, field, piece)[1])
            )
            if isinstance(piece, Wolf):
                gains[NUMBERS[field]] = gain
                if abs(gain) >= CLEAR_GAIN:
                    farmer, merchant = (Piece.of(piece.people, kind, wolf=True) for kind in WOLVES)
                    guesses[field], contrary[field] = (farmer, merchant) if gain > 0 else (merchant, farmer)
        seen.placed[field], seen.owners[field] = piece, owner
        seen.remaining[owner] -= 1
    return Clues(gains, best), guesses


@dataclass(frozen=True, slots=True)
class _Moment:
    """What a seat to move saw as far as others can tell; equal to any other in which all is the same."""

    known: tuple[object, ...]
    view: View = attribute(compare=False)

    @classmethod
    def of(cls, view: View, seat: Seat, guesses: Mapping[Field, Piece]) -> "_Moment":
        """Return the moment with the seat's own wolves as guessed, and others hidden."""
        placed = {**view.placed, **guesses}
        for field, piece in placed.items():
            if view.owners[field] != seat and isinstance(piece, Piece) and piece.wolf:
                placed[field] = Wolf.of(piece.people)
        dealt = tuple(tuple(hand.items()) for hand in view.start.hands)
        owners = view.owners.copy()
        known = view.tiles, *view.laurels.items(), *dealt, *placed.items(), *owners.values()
        return cls(known, replace(view, placed=placed, owners=owners, remaining=[*view.remaining]))


@functools.lru_cache(maxsize=512)  # so that a player looks at each placement once
def _judge_placement(moment: _Moment, seat: Seat, field: Field, piece: Piece | Wolf) -> tuple[float, bool]:
    """Return a wolf's gain, and whether no other field promised more for some kind that the piece can be."""
    after = Outlook(moment.view, seat).after
    kinds = (piece.kind,) if isinstance(piece, Piece) else WOLVES
    promised = [after(field, kind) for kind in kinds]
    good = any(
        all(after(other, kind) <= most + AS_GOOD for other in free_fields(moment.view))
        for kind, most in zip(kinds, promised, strict=True)
    )
    return promised[0] - promised[-1], good


def beliefs_after(view: View, beliefs: Sequence[Beliefs] = ()) -> tuple[Beliefs, ...]:
    """Return what to believe of each seat after a game, whose end `view` shows, and the beliefs before it."""
    found = list(beliefs or [PRIOR] * view.seats)
    hidden = {
        field: Wolf.of(piece.people) if hidden_from(piece, view.owners[field], view.eyes) else piece
        for field, piece in view.placed.items()
    }
    before = replace(view, placed=hidden)
    moves = clues_in(before)
    for group in Worlds(before, moves).groups:
        kinds = [view.placed[FIELDS[field]] for field in group.fields]
        farmers = tuple(piece == Piece.of(piece.people, Kind.FARMER, wolf=True) for piece in kinds)
        shown = next(way.likelihoods for way in group.ways if way.farmers == farmers)
        found[group.seat] = _product(found[group.seat], shown)
    found = [_after_moves(each, moves, seat) for seat, each in enumerate(found)]
    return tuple(
        tuple(
            (1.0 - FORGOTTEN) * belief + FORGOTTEN * prior for belief, prior in zip(each, PRIOR, strict=True)
        )
        for each in found
    )


def _after_moves(beliefs: Beliefs, told: Clues, seat: int) -> Beliefs:
    """Return what to believe of the seat, given how many of its placements promised most."""
    best = told.best[seat] if told.best else ()
    return _product(beliefs, *([rates[one][other] for rates in MOVES * 2] for one, other in best))


def _product(beliefs: Sequence[float], *likelihoods: Sequence[float]) -> Beliefs:
    """Return the beliefs after the likelihoods of what was seen, by kind of player."""
    products = [math.prod(each) for each in zip(beliefs, *likelihoods, strict=True)]
    return tuple(each / sum(products) for each in products)


# What the owner of an occupant got on average when it stood on a field, by occupant and field.
Means: TypeAlias = Sequence[Sequence[float]]

_NO_CLUES: Final = Clues(MappingProxyType({}), ())


@dataclass(frozen=True, slots=True)
class WolfKinds:
    """One way in which a people's wolves can be: their kinds, and which wolf pieces are left in hand."""

    farmers: tuple[bool, ...]  # by field
    merchants_left: int
    farmers_left: int
    likelihoods: tuple[float, ...]  # by kind of player


@dataclass(frozen=True, slots=True)
class Group:
    """The fields of a people's wolves of unknown kind, and every way in which they can be."""

    seat: Seat
    fields: tuple[int, ...]
    ways: tuple[WolfKinds, ...]
    odds: tuple[float, ...]  # of the ways, before the search infers more


# Six equally likely pieces (one, two or three kinds all divide it), each with the draws that follow.
NextDraws: TypeAlias = tuple[tuple[Occupant, "NextDraws"], ...]
DRAWS: Final = 6


@dataclass(frozen=True, slots=True, eq=False)
class Hand:
    """The pieces that a seat has yet to place, by kind alone; equal hands of a seat are the same object.

    Neither a wolf nor, with two players, a piece's people changes what may be placed or what it scores.
    """

    counts: tuple[int, int, int]  # merchants, farmers, soldiers
    # What may be placed and what that leaves (R4.3), and the same for playouts: too much to print.
    after: Mapping[Kind, "Hand"] = attribute(repr=False)
    draws: NextDraws = attribute(repr=False)


@functools.cache
def hand_of_kinds(seat: int, merchants: int, farmers: int, soldiers: int, soldierless_at: int) -> Hand:
    """Return the seat's hand with these counts of each kind."""
    after = {}
    if soldiers == 0 or merchants + farmers > soldierless_at:  # else a soldier is due (R4.3)
        if merchants:
            after[Kind.MERCHANT] = hand_of_kinds(seat, merchants - 1, farmers, soldiers, soldierless_at)
        if farmers:
            after[Kind.FARMER] = hand_of_kinds(seat, merchants, farmers - 1, soldiers, soldierless_at)
    if soldiers:
        after[Kind.SOLDIER] = hand_of_kinds(seat, merchants, farmers, soldiers - 1, soldierless_at)
    draws = tuple((occupant(seat, kind), hand.draws) for kind, hand in after.items())
    return Hand((merchants, farmers, soldiers), after, draws * (DRAWS // max(1, len(draws))))


@dataclass(frozen=True, slots=True)
class PossibleWorld:
    """One way in which everything can be: the board, and all hands."""

    board: tuple[Occupant, ...]
    hands: tuple[Hand, ...]


class Worlds:
    """All worlds that agree with what `view` shows, in the placing phase; drawn by how likely they are.

    Without `beliefs`, by seat, nothing was known of the players before the game.
    """

    def __init__(self, view: View, told: Clues = _NO_CLUES, beliefs: Sequence[Beliefs] = ()) -> None:
        self.board = [EMPTY] * len(FIELDS)
        for field, piece in view.placed.items():
            if isinstance(piece, Piece):
                self.board[NUMBERS[field]] = occupant(view.owners[field], piece.kind)
        wolves = _hidden_wolves(view)
        self._soldierless_at = view.start.soldierless_at
        self.counts = [_known_counts(view, Seat(seat)) for seat in range(view.seats)]
        self.groups: list[Group] = []
        for seat in range(view.seats):
            if seat not in view.hands:
                belief = _after_moves(beliefs[seat] if beliefs else PRIOR, told, seat)
                self.groups += _groups(view, Seat(seat), wolves, told.gains, belief)
        self.cumulative = [list(itertools.accumulate(group.odds)) for group in self.groups]
        self._built: dict[tuple[int, ...], PossibleWorld] = {}

    @property
    def hidden(self) -> list[int]:
        """Return the fields whose pieces' kinds are unknown."""
        return [field for group in self.groups for field in group.fields]

    def infer(self, means: Means) -> None:
        """Weigh the worlds anew by what each wolf's owner got while it was a farmer, and a merchant."""
        for index, group in enumerate(self.groups):
            gains = [means[group.seat + FARMER][field] - means[group.seat][field] for field in group.fields]
            exponents = [max(-MOST_INFERRED, min(MOST_INFERRED, INFERENCE * gain)) for gain in gains]
            weights = (
                odds * math.exp(sum(itertools.compress(exponents, way.farmers)))
                for odds, way in zip(group.odds, group.ways, strict=True)
            )
            self.cumulative[index] = list(itertools.accumulate(weights))

    @property
    def count(self) -> int:
        return math.prod(len(group.ways) for group in self.groups)

    def all_weighted(self) -> Iterator[tuple[float, PossibleWorld]]:
        """Yield every world after how likely it is, up to a factor."""
        weights = [[high - low for low, high in itertools.pairwise((0.0, *each))] for each in self.cumulative]
        for chosen in itertools.product(*(range(len(group.ways)) for group in self.groups)):
            yield math.prod(each[way] for each, way in zip(weights, chosen, strict=True)), self._world(chosen)

    def draw(self, rng: random.Random) -> PossibleWorld:
        chosen = tuple(
            [bisect.bisect(each, rng.random() * each[-1]) if len(each) > 1 else 0 for each in self.cumulative]
        )
        world = self._built.get(chosen)
        if world is None:
            world = self._built[chosen] = self._world(chosen)
        return world

    def _world(self, chosen: tuple[int, ...]) -> PossibleWorld:
        board = self.board.copy()
        counts = [each.copy() for each in self.counts]
        for group, index in zip(self.groups, chosen, strict=True):
            way = group.ways[index]
            for field, farmer in zip(group.fields, way.farmers, strict=True):
                board[field] = group.seat + (FARMER if farmer else 0)
            counts[group.seat][0] += way.merchants_left
            counts[group.seat][1] += way.farmers_left
        hands = (hand_of_kinds(seat, *each, self._soldierless_at) for seat, each in enumerate(counts))
        return PossibleWorld(tuple(board), tuple(hands))


def _hidden_wolves(view: View) -> dict[People, list[int]]:
    """Return the fields of the wolves of unknown kind, in their order, by people."""
    found: dict[People, list[int]] = {}
    for number, field in enumerate(FIELDS):
        if isinstance(piece := view.placed.get(field), Wolf):
            found.setdefault(piece.people, []).append(number)
    return found


def _known_counts(view: View, seat: Seat) -> list[int]:
    """Return how many merchants, farmers and soldiers the seat surely holds, as far as `view` can tell."""
    if seat in view.hands:
        hand = view.hands[seat]
        return [sum(n for piece, n in hand.items() if piece.kind is kind) for kind in Kind]
    placed = list(view.placed.values())
    dealt = {piece: n for piece, n in view.start.hands[seat].items() if not piece.wolf}
    return [sum(n - placed.count(piece) for piece, n in dealt.items() if piece.kind is kind) for kind in Kind]


def _groups(
    view: View, seat: Seat, wolves: Mapping[People, list[int]], gains: Mapping[int, float], beliefs: Beliefs
) -> Iterator[Group]:
    """Yield the seat's groups; what the wolves of one suggest of its motives counts for the other."""
    peoples = view.start.peoples[seat]
    order = [(NUMBERS[field], piece) for field, piece in view.placed.items() if view.owners[field] == seat]
    ways = [_ways(view.start.hands[seat], people, wolves.get(people, []), gains, order) for people in peoples]
    totals = [
        [sum(column) for column in zip(*(way.likelihoods for way in each), strict=True)] for each in ways
    ]
    for number, people in enumerate(peoples):
        others = _product(beliefs, *totals[:number], *totals[number + 1 :])
        odds = tuple(sum(map(operator.mul, others, way.likelihoods)) for way in ways[number])
        yield Group(seat, tuple(wolves.get(people, [])), ways[number], odds)


def _ways(
    dealt: Mapping[Piece, int],
    people: People,
    fields: list[int],
    gains: Mapping[int, float],
    order: Sequence[tuple[int, Piece | Wolf]],
) -> tuple[WolfKinds, ...]:
    merchants = dealt.get(Piece.of(people, Kind.MERCHANT, wolf=True), 0)
    farmers = dealt.get(Piece.of(people, Kind.FARMER, wolf=True), 0)
    read = {
        at: (bisect.bisect(STEPS, abs(gain)), gain > 0.0)
        for at, field in enumerate(fields)
        if (gain := gains.get(field)) is not None
    }
    ways = []
    for kinds in itertools.product((False, True), repeat=len(fields)):
        placed = sum(kinds)
        if odds := math.perm(merchants, len(kinds) - placed) * math.perm(farmers, placed):
            likelihoods = [
                odds * math.prod(motive[step][farmer == kinds[at]] for at, (step, farmer) in read.items())
                for motive in MOTIVES
            ]
            first = _wolves_first(dealt, people, dict(zip(fields, kinds, strict=True)), order)
            likelihoods += [first * each for each in likelihoods]
            ways.append(
                WolfKinds(kinds, merchants - len(kinds) + placed, farmers - placed, tuple(likelihoods))
            )
    return tuple(ways)


def _wolves_first(
    dealt: Mapping[Piece, int],
    people: People,
    farmers: Mapping[int, bool],
    order: Iterable[tuple[int, Piece | Wolf]],
) -> float:
    """Return how much likelier it is that the seat placed its pieces in this order, if wolves come first.

    `farmers` tells the kinds of the people's wolves, by field. Other players take any piece of a kind.
    """
    wolves = {kind: dealt.get(Piece.of(people, kind, wolf=True), 0) for kind in WOLVES}
    every = {kind: wolves[kind] + dealt.get(Piece.of(people, kind), 0) for kind in WOLVES}
    likelier = 1.0
    for field, piece in order:
        if isinstance(piece, Piece):
            if wolves.get(piece.kind):
                return 0.0
            if piece.people is people and piece.kind in every:
                every[piece.kind] -= 1
        elif piece.people is people:
            kind = Kind.FARMER if farmers[field] else Kind.MERCHANT
            likelier *= every[kind] / wolves[kind]
            wolves[kind] -= 1
            every[kind] -= 1
    return likelier
