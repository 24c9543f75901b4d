"""Infer from a view what it hides: bounds on the contents of hands, and on influence.

Every bound is as narrow as public knowledge allows: everybody knows what each hand starts with (R3.5), and a
wolf is a merchant or a farmer from the hand it was placed from (R4.2).
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from engine.board import Field, Tile, fields_of
from engine.pieces import Kind, People, Piece, Seat, Wolf
from engine.scoring import WORTH_TO_MERCHANT, farmer_terms
from engine.view import View, seat_of

# How much more a farmer is worth to a merchant beside it than a merchant is (R6.2).
_FARMER_MORE: Final = WORTH_TO_MERCHANT[Kind.FARMER] - WORTH_TO_MERCHANT[Kind.MERCHANT]


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most that a number can be."""

    least: int
    most: int

    @property
    def known(self) -> bool:
        return self.least == self.most


NONE: Final = Bounds(0, 0)


@dataclass(frozen=True, slots=True)
class Count:
    """One kind of piece: how many were dealt, how many are placed and known, how many may be left."""

    piece: Piece
    dealt: int
    placed: int
    left: Bounds


@dataclass(frozen=True, slots=True)
class Holding:
    """What a seat may still hold of one people; `wolves` counts its placed wolves of unknown kind."""

    seat: Seat
    people: People
    counts: tuple[Count, ...]
    wolves: int


def holdings(view: View) -> tuple[Holding, ...]:
    """Return what every seat may still hold, people by people."""
    placed = Counter(view.placed.values())
    return tuple(
        Holding(seat, people, tuple(_counts(view, seat, people, placed)), placed[Wolf.of(people)])
        for seat in map(Seat, range(view.seats))
        for people in view.start.peoples[seat]
    )


def _counts(view: View, seat: Seat, people: People, placed: Mapping[Piece | Wolf, int]) -> Iterator[Count]:
    farmers = _farmers_among_wolves(view, people)
    for piece, dealt in view.start.hands[seat].items():
        if piece.people != people:
            continue
        seen = placed[piece]
        hidden = NONE
        if piece.wolf:
            wolves = placed[Wolf.of(people)]
            merchants = Bounds(wolves - farmers.most, wolves - farmers.least)
            hidden = farmers if piece.kind is Kind.FARMER else merchants
        yield Count(piece, dealt, seen, Bounds(dealt - seen - hidden.most, dealt - seen - hidden.least))


def _farmers_among_wolves(view: View, people: People) -> Bounds:
    """Return how many of a people's wolves of unknown kind are farmers."""
    hand = view.start.hands[seat_of(view.start, people)]
    wolves = sum(piece == Wolf.of(people) for piece in view.placed.values())
    if not wolves:
        return NONE
    # A view knows the kinds of all of a people's wolves or of none, so none of these is placed openly.
    merchants = hand.get(Piece.of(people, Kind.MERCHANT, wolf=True), 0)
    farmers = hand.get(Piece.of(people, Kind.FARMER, wolf=True), 0)
    return Bounds(max(0, wolves - merchants), min(wolves, farmers))


def possible_kinds(view: View, fields: Iterable[Field]) -> Iterator[Mapping[Field, Kind]]:
    """Yield the kinds of the pieces on `fields`, for every way in which the wolves of unknown kind may be."""
    board = view.board
    pieces = {field: board[field] for field in fields if field in board}
    unknown = {field: piece.people for field, piece in pieces.items() if isinstance(piece, Wolf)}
    known = {field: piece.kind for field, piece in pieces.items() if isinstance(piece, Piece)}
    all_hidden = Counter(piece.people for piece in board.values() if isinstance(piece, Wolf))
    farmers = {people: _farmers_among_wolves(view, people) for people in unknown.values()}
    here = Counter(unknown.values())
    for kinds in itertools.product((Kind.MERCHANT, Kind.FARMER), repeat=len(unknown)):
        chosen = Counter(
            people for people, kind in zip(unknown.values(), kinds, strict=True) if kind is Kind.FARMER
        )
        if all(
            chosen[people] <= bounds.most
            and chosen[people] + all_hidden[people] - here[people] >= bounds.least
            for people, bounds in farmers.items()
        ):
            yield {**known, **dict(zip(unknown, kinds, strict=True))}


@dataclass(frozen=True, slots=True)
class HillInfluence:
    """The influence on a hill as of now: of each field with a merchant or farmer, and of each seat."""

    fields: Mapping[Field, Bounds]
    seats: tuple[Bounds, ...]


def hill_influence(view: View, hill: Tile) -> HillInfluence:
    """Return the influence on a hill of the current board, before any soldier acts (R6)."""
    return next(hill_influences(view, [hill]))


def hill_influences(view: View, hills: Iterable[Tile]) -> Iterator[HillInfluence]:
    """Yield the influence on each of these hills."""
    known = _Known(view)
    return (_on_hill(view, known, hill) for hill in hills)


def _on_hill(view: View, known: "_Known", hill: Tile) -> HillInfluence:
    here = [field for field in fields_of(hill) if _gives(known.board.get(field))]
    return HillInfluence(
        {field: known.influence([field]) for field in here},
        tuple(
            known.influence([field for field in here if view.owners[field] == seat])
            for seat in range(view.seats)
        ),
    )


def _gives(piece: Piece | Wolf | None) -> bool:
    return isinstance(piece, Wolf) or (piece is not None and piece.kind is not Kind.SOLDIER)


class _Known:
    """A board, its wolves of unknown kind, and how many of them are farmers, by people."""

    def __init__(self, view: View) -> None:
        self.board = view.board
        self._layout = view.layout
        self._hidden: dict[People, list[Field]] = {}
        for field, piece in self.board.items():
            if isinstance(piece, Wolf):
                self._hidden.setdefault(piece.people, []).append(field)
        self._farmers = {people: _farmers_among_wolves(view, people) for people in self._hidden}

    def influence(self, fields: Sequence[Field]) -> Bounds:
        """Return the joint influence of one seat's merchants and farmers on `fields`."""
        unknown = [field for field in fields if isinstance(self.board[field], Wolf)]
        sums = [
            total
            for kinds in itertools.product((Kind.MERCHANT, Kind.FARMER), repeat=len(unknown))
            for total in self._totals(fields, dict(zip(unknown, kinds, strict=True)))
        ]
        return Bounds(min(sums), max(sums))

    def _totals(self, fields: Sequence[Field], taken: Mapping[Field, Kind]) -> tuple[int, ...]:
        """Return the least and the most if wolves are of the kinds in `taken`; () if that is impossible.

        The wolves that are still unknown are then all beside merchants, and each counts on its own: as a
        farmer it adds the same to every merchant beside it.
        """
        fixed = 0
        more: Counter[Field] = Counter()  # what a wolf adds if it is a farmer
        for field in fields:
            piece = self.board[field]
            if (piece.kind if isinstance(piece, Piece) else taken[field]) is Kind.FARMER:
                fixed += sum([term.amount for term in farmer_terms(self._layout, self.board, field)])
                continue
            for beside in self._layout.adjacent(field):
                neighbour = self.board.get(beside)
                if isinstance(neighbour, Piece):
                    fixed += WORTH_TO_MERCHANT[neighbour.kind]
                elif beside in taken:
                    fixed += WORTH_TO_MERCHANT[taken[beside]]
                elif neighbour is not None:
                    fixed += WORTH_TO_MERCHANT[Kind.MERCHANT]
                    more[beside] += _FARMER_MORE
        least = most = fixed
        for people, hidden in self._hidden.items():
            chosen = sum(taken.get(field) is Kind.FARMER for field in hidden)
            others = sorted(more[field] for field in hidden if field not in taken)
            fewest = max(0, self._farmers[people].least - chosen)
            greatest = min(self._farmers[people].most - chosen, len(others))
            if fewest > greatest:
                return ()
            least += sum(others[:fewest])
            most += sum(others[len(others) - greatest :])
        return least, most


@dataclass(frozen=True, slots=True)
class Beside:
    """How many merchants, farmers and wolves of either kind are beside a soldier now (R5.1)."""

    merchants: int
    farmers: int
    wolves: int


def beside(view: View, field: Field) -> Beside:
    """Return what is on the fields adjacent to `field`, soldiers left out."""
    board = view.board
    around: Sequence[Piece | Wolf] = [board[each] for each in view.layout.adjacent(field) if each in board]
    kinds = Counter(piece.kind for piece in around if isinstance(piece, Piece))
    return Beside(kinds[Kind.MERCHANT], kinds[Kind.FARMER], sum(isinstance(piece, Wolf) for piece in around))
