"""Forecast what a piece would do on an empty field of the current board, as far as a view shows.

Like the bounds in `knowledge`, a forecast takes each hill alone and before the soldiers of others act. It
is as narrow as the view allows, and uses nothing else.
"""

import enum
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from engine.board import Field, Tile, tile_of
from engine.knowledge import Bounds, HillInfluence, hill_influence, possible_kinds
from engine.pieces import Kind, Piece, Seat
from engine.scoring import WORTH_TO_FARMER, WORTH_TO_MERCHANT
from engine.view import View


class SoldierAct(enum.Enum):
    """What a soldier does when its hill is scored: it flees, or takes one of the two groups (R5)."""

    FLIGHT = enum.auto()
    MERCHANTS = enum.auto()
    FARMERS = enum.auto()


GROUPS = {Kind.MERCHANT: SoldierAct.MERCHANTS, Kind.FARMER: SoldierAct.FARMERS}


@dataclass(frozen=True, slots=True)
class Change:
    """How the piece changes the influence that a seat's other pieces have on a hill."""

    hill: Tile
    seat: Seat
    by: Bounds


@dataclass(frozen=True, slots=True)
class SoldierBeside:
    """A soldier beside the field, and what it may do before and after the placement.

    With `first` its hill is scored no later than the piece's own, so that a captive gives no influence there.
    """

    field: Field
    seat: Seat
    before: frozenset[SoldierAct]
    after: frozenset[SoldierAct]
    first: bool


@dataclass(frozen=True, slots=True)
class Forecast:
    """What `piece` would do on `field`.

    `gives` is its influence; a soldier has none, but what it may do, and how many pieces it captures of each
    seat. `hill` is the influence on the field's hill after the placement.
    """

    piece: Piece
    field: Field
    gives: Bounds | None
    acts: frozenset[SoldierAct]
    captives: Mapping[Seat, Bounds]
    hill: HillInfluence
    changes: tuple[Change, ...]
    soldiers: tuple[SoldierBeside, ...]

    @property
    def taken_first(self) -> SoldierBeside | None:
        """Return a soldier that is certain to capture the piece before its hill is counted, if any is."""
        takes = GROUPS.get(self.piece.kind)
        return next((each for each in self.soldiers if each.first and each.after == {takes}), None)


def forecast(view: View, seat: Seat, piece: Piece, field: Field) -> Forecast:
    """Return what `piece` of `seat` would do on the empty `field`, with all tiles laid."""
    after = replace(
        view, placed={**view.placed, field: piece}, owners={**view.owners, field: seat}, gone=set(view.gone)
    )
    hill = hill_influence(after, tile_of(field))
    soldier = piece.kind is Kind.SOLDIER
    return Forecast(
        piece=piece,
        field=field,
        gives=None if soldier else hill.fields[field],
        acts=_acts(after, field) if soldier else frozenset(),
        captives=_captives(after, field) if soldier else {},
        hill=hill,
        changes=tuple(_changes(view, piece, field)),
        soldiers=tuple(_soldiers(view, after, field)),
    )


def _changes(view: View, piece: Piece, field: Field) -> Iterator[Change]:
    """Yield what the piece changes for the merchants and farmers beside it (R6.2, R6.3).

    A soldier changes nothing for those that leave the board, or that it leaves, before their hill is counted.
    """
    worth = {Kind.MERCHANT: WORTH_TO_MERCHANT[piece.kind], Kind.FARMER: -WORTH_TO_FARMER, Kind.SOLDIER: 0}
    sums = []
    for kinds in possible_kinds(view, view.layout.adjacent(field)):
        act = _outcome(kinds.values()) if piece.kind is Kind.SOLDIER else None
        total = Counter[tuple[Tile, Seat]]()
        for beside, kind in kinds.items():
            acts_before = act is not None and tile_of(field) <= tile_of(beside)
            if not (acts_before and act in {SoldierAct.FLIGHT, GROUPS.get(kind)}):
                total[tile_of(beside), view.owners[beside]] += worth[kind]
        sums.append(total)
    for hill, seat in sorted({key for total in sums for key in total}):
        amounts = [total[hill, seat] for total in sums]
        if any(amounts):
            yield Change(hill, seat, _bounds(amounts))


def _soldiers(before: View, after: View, field: Field) -> Iterator[SoldierBeside]:
    """Yield the soldiers beside the field."""
    for beside in before.layout.adjacent(field):
        piece = before.board.get(beside)
        if isinstance(piece, Piece) and piece.kind is Kind.SOLDIER:
            yield SoldierBeside(
                beside,
                before.owners[beside],
                _acts(before, beside),
                _acts(after, beside),
                first=tile_of(beside) <= tile_of(field),
            )


def _acts(view: View, soldier: Field) -> frozenset[SoldierAct]:
    """Return what the soldier may do on the current board (R5.1 to R5.3)."""
    return frozenset(
        _outcome(kinds.values()) for kinds in possible_kinds(view, view.layout.adjacent(soldier))
    )


def _outcome(beside: Iterable[Kind]) -> SoldierAct:
    found = Counter(beside)
    merchants, farmers = found[Kind.MERCHANT], found[Kind.FARMER]
    if merchants == farmers:
        return SoldierAct.FLIGHT
    return SoldierAct.MERCHANTS if merchants > farmers else SoldierAct.FARMERS


def _captives(view: View, soldier: Field) -> Mapping[Seat, Bounds]:
    """Return how many pieces of each seat the soldier may capture."""
    counts = []
    for kinds in possible_kinds(view, view.layout.adjacent(soldier)):
        outcome = _outcome(kinds.values())
        counts.append(
            Counter(view.owners[field] for field, kind in kinds.items() if GROUPS.get(kind) is outcome)
        )
    seats = sorted({seat for count in counts for seat in count})
    return {seat: _bounds([count[seat] for count in counts]) for seat in seats}


def _bounds(amounts: list[int]) -> Bounds:
    return Bounds(min(amounts), max(amounts))
