"""Scoring a final position, as pure functions from a board to facts: soldiers, control, victory (R5-R7)."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final

from engine import events as facts
from engine.board import FIELDS, TILES, Field, Layout, Tile, fields_of, has_spring
from engine.components import LAUREL_WORTH, Laurel
from engine.events import Influence, ScoringEvent, Term, Why
from engine.pieces import SOLDIER, Kind, Piece, Seat

WORTH_TO_MERCHANT: Final = {Kind.MERCHANT: 1, Kind.FARMER: 2, Kind.SOLDIER: 3}  # R6.2
WORTH_TO_FARMER: Final = 2  # an empty field, a spring beside it, a spring on its own field (R6.3)
_MERCHANT: Final = Kind.MERCHANT  # at hand, as SOLDIER is
_FARMER: Final = Kind.FARMER
_AMOUNT: Final[Callable[[Term], int]] = itemgetter(2)


def _terms(why: Why, amount: int, fields: Iterable[Field] = FIELDS) -> dict[Field, Term]:
    """Return a term for each field, made once: there are few, and every scoring uses many."""
    return {field: Term(why, field, amount) for field in fields}


_TO_MERCHANT: Final = {kind: _terms(Why[kind.name], worth) for kind, worth in WORTH_TO_MERCHANT.items()}
_EMPTY: Final = _terms(Why.EMPTY, WORTH_TO_FARMER)
_SPRING: Final = _terms(Why.SPRING, WORTH_TO_FARMER, filter(has_spring, FIELDS))
_OWN_SPRING: Final = _terms(Why.OWN_SPRING, WORTH_TO_FARMER, _SPRING)


class Board:
    """The pieces on a full layout; scoring removes those that are captured or flee."""

    def __init__(self, layout: Layout, pieces: Mapping[Field, Piece], owners: Mapping[Field, Seat]) -> None:
        self.layout = layout
        self.kinds = {field: piece.kind for field, piece in pieces.items()}
        self.owners = owners

    def on(self, hill: Tile) -> list[tuple[Field, Kind]]:
        """Return the pieces on the hill's fields, clockwise from the arrow."""
        kinds = self.kinds
        return [(field, kinds[field]) for field in fields_of(hill) if field in kinds]

    def beside(self, field: Field, kind: Kind) -> tuple[Field, ...]:
        """Return the adjacent fields with a piece of `kind`, of any owner and on any tile."""
        kinds = self.kinds
        return tuple([beside for beside in self.layout.adjacent(field) if kinds.get(beside) is kind])


def scored(board: Board, laurels: Mapping[Tile, Laurel], seats: int) -> Iterator[ScoringEvent]:
    """Yield the events of a scoring, hill by hill, then the result; `board` loses pieces (R5-R7)."""
    events: list[ScoringEvent] = []
    for hill in TILES:
        acts = tuple(soldier_acts(board, hill))
        for act in acts:
            for gone in removed(act):
                del board.kinds[gone]
        events.extend(acts)
        events.append(hill_scored(board, hill, laurels[hill], seats))
    yield from events
    yield result(events, seats)


def removed(act: facts.SoldierFled | facts.Captured) -> tuple[Field, ...]:
    """Return the fields that the soldier's act empties (R5.2, R5.3)."""
    return (act.field,) if isinstance(act, facts.SoldierFled) else act.taken


def soldier_acts(board: Board, hill: Tile) -> Iterator[facts.SoldierFled | facts.Captured]:
    """Yield the action of each of the hill's soldiers, all on the current board (R5.1 to R5.5)."""
    captives: set[Field] = set()
    for field, kind in board.on(hill):
        if kind is not SOLDIER:
            continue
        seat = board.owners[field]
        merchants = board.beside(field, _MERCHANT)
        farmers = board.beside(field, _FARMER)
        if len(merchants) == len(farmers):  # R5.2, R9.8
            yield facts.SoldierFled(hill, field, seat, merchants, farmers)
            continue
        group = max(merchants, farmers, key=len)
        taken = tuple([captive for captive in group if captive not in captives])  # R9.9
        shared = tuple([captive for captive in group if captive in captives])
        captives.update(group)
        yield facts.Captured(hill, field, seat, merchants, farmers, taken, shared)


def hill_scored(board: Board, hill: Tile, laurel: Laurel, seats: int) -> facts.HillScored:
    """Return who controls the hill, and why (R6)."""
    pieces = tuple(influences(board, hill))
    totals = [0] * seats
    for _, seat, _, terms in pieces:
        totals[seat] += sum(map(_AMOUNT, terms))
    most = max(totals)
    leaders = [Seat(seat) for seat, total in enumerate(totals) if total == most] if most > 0 else []
    return facts.HillScored(hill, laurel, pieces, tuple(totals), tuple(leaders))


def influences(board: Board, hill: Tile) -> Iterator[Influence]:
    """Yield the influence of each merchant and farmer on the hill, clockwise from the arrow (R6.1)."""
    layout, kinds = board.layout, board.kinds
    for field, kind in board.on(hill):
        if kind is SOLDIER:  # R6.4
            continue
        terms = merchant_terms if kind is _MERCHANT else farmer_terms
        yield Influence(field, board.owners[field], kind, tuple(terms(layout, kinds, field)))


def merchant_terms(layout: Layout, kinds: Mapping[Field, Kind], field: Field) -> list[Term]:
    """Return the influence that each inhabitant beside the merchant on `field` gives it (R6.2)."""
    around = layout.adjacent(field)
    return [_TO_MERCHANT[kinds[beside]][beside] for beside in around if beside in kinds]


def farmer_terms(layout: Layout, occupied: Container[Field], field: Field) -> list[Term]:
    """Return what springs and empty fields give a farmer on `field` (R6.3)."""
    terms = [_OWN_SPRING[field]] if field in _OWN_SPRING else []
    for beside in layout.adjacent(field):
        if beside not in occupied:
            terms.append(_EMPTY[beside])
        if beside in _SPRING:
            terms.append(_SPRING[beside])
    return terms


def result(events: Sequence[ScoringEvent], seats: int) -> facts.GameEnded:
    """Return the result that the events of scoring lead to (R7)."""
    captives, ones, twos = [0] * seats, [0] * seats, [0] * seats
    laurels: list[list[Laurel]] = [[] for _ in range(seats)]
    for event in events:
        if isinstance(event, facts.Captured):
            captives[event.seat] += len(event.taken)
            ones[event.seat] += len(event.shared)
        elif isinstance(event, facts.HillScored):
            if len(event.leaders) == 1:
                laurels[event.leaders[0]].append(event.laurel)
            else:
                for leader in event.leaders:
                    twos[leader] += 1
    tallies = tuple(map(tally, captives, ones, twos, laurels))
    best = max(each.points for each in tallies)
    leading = [Seat(seat) for seat, each in enumerate(tallies) if each.points == best]
    if len(leading) == 1:
        return facts.GameEnded(tallies, tuple(leading), facts.DecidedBy.POINTS)
    most = max(tallies[seat].items for seat in leading)  # R7.2
    winners = tuple(seat for seat in leading if tallies[seat].items == most)
    return facts.GameEnded(
        tallies, winners, facts.DecidedBy.ITEMS if len(winners) < len(leading) else facts.DecidedBy.NOTHING
    )


def points_won(events: Sequence[ScoringEvent], seats: int) -> tuple[int, ...]:
    """Return each seat's points after the events of a scoring so far (R7.1)."""
    return tuple(each.points for each in result(events, seats).tallies)


def tally(captives: int, ones: int, twos: int, laurels: Sequence[Laurel]) -> facts.Tally:
    """Return a seat's tally from what it holds (R7.1, R7.2)."""
    points = captives + ones + 2 * twos + sum(LAUREL_WORTH[laurel] for laurel in laurels)
    items = captives + ones + twos + len(laurels)
    return facts.Tally(captives, ones, twos, tuple(laurels), points, items)
