"""How a placement works on the board as it stands: what a soldier takes, and which hill changes hands."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from client.language import _, listed
from client.ui.texts.games import bounds_text, describe_captives
from client.ui.texts.names import by
from client.ui.texts.pieces import piece_sign
from engine.board import TILES, Field, Tile, tile_of
from engine.components import LAUREL_WORTH
from engine.events import Place
from engine.forecast import GROUPS, Forecast, forecast
from engine.knowledge import Bounds, hill_influences
from engine.pieces import Kind, Piece, Seat
from engine.view import View


def describe_mechanism(view: View, move: Place, named: str, names: Sequence[str]) -> Iterator[str]:
    """Yield what the piece would capture, and the hill that it turns, for the player who sees `view`.

    The move is `named` that in the sentences.
    """
    found = forecast(view, move.seat, move.piece, move.field)
    captured = _captured(view, found)
    if captured:
        form = _("As the board stands, {move} captures {captives}, on {fields}.")
        yield form.format(captives=describe_captives(found, names), fields=listed(captured), move=named)
    elif found.captives:
        form = _("As the board stands, {move} captures {captives}.")
        yield form.format(captives=describe_captives(found, names), move=named)
    turned = _turned(view, move, found, captured)
    if turned is None:
        return
    yield _describe_lead(turned, move.seat, named, names)
    around = [each for each in view.layout.adjacent(move.field) if each in view.board]
    if around and move.piece.kind is Kind.MERCHANT:  # whose influence comes from them alone
        beside = listed([f"{each} {piece_sign(view.board[each])}" for each in around])
        yield _("{move} is beside {around}.").format(around=beside, move=named)


def _describe_lead(turned: "_Turned", seat: Seat, named: str, names: Sequence[str]) -> str:
    """Return who leads the hill after the placement, or who does no longer, and by how much."""
    form, loser = _("As the board stands, {move} takes the lead on hill {hill}, {n} against {m}."), seat
    if turned.leader != seat and turned.led is not None:
        loser = turned.led
        form = by(
            names[loser],
            _("As the board stands, {move} costs {name} the lead on hill {hill}: {n} against {m}."),
            _("As the board stands, {move} costs you the lead on hill {hill}: {n} against {m}."),
        )
    rest = (each for other, each in enumerate(turned.after) if other != loser)
    return form.format(
        move=named,
        name=names[loser],
        hill=turned.hill,
        n=bounds_text(turned.after[loser], in_words=True),
        m=bounds_text(max(rest, key=lambda each: (each.most, each.least)), in_words=True),
    )


def _captured(view: View, found: Forecast) -> list[Field]:
    """Return the fields of the pieces that a soldier would capture, if they are certain."""
    beside = {field: view.board[field] for field in view.layout.adjacent(found.field) if field in view.board}
    if len(found.acts) != 1 or not all(isinstance(piece, Piece) for piece in beside.values()):
        return []
    return [
        field
        for field, piece in beside.items()
        if isinstance(piece, Piece) and GROUPS.get(piece.kind) in found.acts
    ]


class _Turned(NamedTuple):
    """A hill, and the influence of all seats on it before and after a placement."""

    hill: Tile
    before: Sequence[Bounds]
    after: Sequence[Bounds]

    @property
    def led(self) -> Seat | None:
        return _leader(self.before)

    @property
    def leader(self) -> Seat | None:
        return _leader(self.after)


def _turned(view: View, move: Place, found: Forecast, captured: Sequence[Field]) -> _Turned | None:
    """Return the most valuable hill that the player comes to lead, or another player leads no more.

    A soldier that may do different things turns none, nor what it does after a hill is counted.
    """
    soldier = move.piece.kind is Kind.SOLDIER
    if found.taken_first is not None or (soldier and not captured):
        return None
    then = replace(
        view,
        placed={**view.placed, move.field: move.piece},
        owners={**view.owners, move.field: move.seat},
        gone=view.gone.union(captured),
    )
    hills = [hill for hill in TILES if hill in view.laurels and not (soldier and hill < tile_of(move.field))]
    influences = zip(hills, hill_influences(view, hills), hill_influences(then, hills), strict=True)
    turned = [
        each
        for each in (_Turned(hill, before.seats, after.seats) for hill, before, after in influences)
        if any(bounds.most for bounds in each.before)  # else nobody is overtaken
        and each.led != each.leader
        and (each.leader == move.seat or each.led not in {None, move.seat})
    ]
    return max(turned, key=lambda each: LAUREL_WORTH[view.laurels[each.hill]], default=None)


def _leader(influence: Sequence[Bounds]) -> Seat | None:
    """Return the seat that is certain to lead alone, None if there is none."""
    for seat, bounds in enumerate(influence):
        others = (each.most for other, each in enumerate(influence) if other != seat)
        if bounds.least > max(others):
            return Seat(seat)
    return None
