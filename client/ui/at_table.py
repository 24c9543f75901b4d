"""What a player at a table can choose: field, piece or tile for the next move, votes and requests."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from msgspec import Struct

from client.tables.table import TableModel, open_request
from client.ui.keys import Way
from engine.board import HILLS, Field, Hex, LaidTile, neighbours
from engine.forecast import Forecast, forecast
from engine.legal import LegalLays, LegalPlaces
from engine.pieces import Piece
from engine.view import Phase
from protocol.messages import NEW, Ask, AskPause, TakeHoliday, Vote, Wish


def next_vote(model: TableModel) -> Vote | None:
    """Return the vote of the vote key: for the first player not voted on yet, or else a vote taken back."""
    if model.state is None or model.seat is None:
        return None
    open_seats = [
        seat
        for seat, summary in enumerate(model.state.seats)
        if summary.votes_needed and not summary.bot and seat != model.seat
    ]
    for seat in open_seats:
        if model.seat not in model.state.seats[seat].votes:
            return Vote(NEW, seat, agree=True)
    return Vote(NEW, open_seats[0], agree=False) if open_seats else None


def request_for(model: TableModel, what: Wish) -> AskPause | Ask | None:
    """Return the request for `what`, or the agreement to it, or its withdrawal, or the end of a pause.

    None if this player cannot ask for that.
    """
    state, view = model.state, model.view
    if state is None or state.stage != "playing" or model.seat is None:
        return None
    asked = open_request(state)
    asked = asked if asked is not None and asked.what == what else None
    nothing = what == "take-back" and asked is None and (view is None or not view.since(model.seat))
    if nothing or (what != "pause" and what not in state.may_ask):
        return None
    resumes = what == "pause" and state.paused is not None
    return ask(what, on=not resumes and (asked is None or model.seat not in asked.seats))


def holiday_request(model: TableModel) -> TakeHoliday | None:
    """Return the request to take a holiday, or to end it; None if this player has no days left."""
    if model.state is None or model.state.stage != "playing" or model.seat is None:
        return None
    seat = model.state.seats[model.seat]
    return TakeHoliday(NEW, on=seat.holiday_until is None) if seat.holidays or seat.holiday_until else None


def request_to_answer(model: TableModel, *, on: bool) -> AskPause | Ask | None:
    """Return the message that agrees to the open request; None without one, or if this player has agreed."""
    asked = None if model.state is None or model.seat is None else open_request(model.state)
    if asked is None or (on and model.seat in asked.seats):
        return None
    return ask(asked.what, on=on)


def ask(what: Wish, *, on: bool) -> AskPause | Ask:
    return AskPause(NEW, on) if what == "pause" else Ask(NEW, what, on)


HEX_POSITIONS: Final[Mapping[Hex, int]] = {
    cell: position for position, hill in enumerate(HILLS) for cell in (hill, *neighbours(hill))
}


def step(cell: Hex, way: Way) -> Hex:
    """Return the hex that `way` leads to; the same hex at the edge of the board."""
    q, r = cell
    if isinstance(way.value, tuple):
        ways: tuple[tuple[int, int], ...] = (way.value,)
    else:
        # Up and down a column of hexes the way zigzags, and at the edge takes whichever side there is.
        steps = ((1, -1), (0, -1)) if way is Way.UP else ((0, 1), (-1, 1))
        ways = steps if r % 2 == 0 else steps[::-1]
    for dq, dr in ways:
        if (q + dq, r + dr) in HEX_POSITIONS:
            return q + dq, r + dr
    return cell


_CLOCKWISE: Final = frozenset({Way.EAST, Way.SOUTHEAST, Way.SOUTHWEST, Way.DOWN})


@dataclass(frozen=True, slots=True)
class Selection:
    """The hex that the player points at, and the choices for the next move.

    `hovered` is the hex that the mouse is over. `piece` is the one picked from the hand, `position` and
    `orientation` are how the drawn tile would be laid.
    """

    cursor: Hex = neighbours(HILLS[0])[0]  # a field: a hill holds no pieces
    hovered: Hex | None = None
    piece: Piece | None = None
    position: int | None = None
    orientation: int = 0


class HandPiece(Struct, frozen=True):
    """A kind of piece in the hand: how many are left, and whether it may be placed now."""

    piece: Piece
    count: int
    legal: bool


def hand(model: TableModel) -> tuple[HandPiece, ...]:
    """Return the hand in its starting order, so that a piece keeps its number; empty for a spectator."""
    if model.view is None or model.seat is None:
        return ()
    counts = model.view.hands.get(model.seat, {})
    legal = model.legal.pieces if isinstance(model.legal, LegalPlaces) else tuple(counts)
    return tuple(
        HandPiece(piece, counts.get(piece, 0), piece in counts and piece in legal)
        for piece in model.view.start.hands[model.seat]
    )


def selected_piece(chosen: Selection, model: TableModel) -> Piece | None:
    """Return the piece picked from the hand, if still there, or on the player's turn the only one left."""
    left = [each.piece for each in hand(model) if each.count]
    if len(left) == 1 and isinstance(model.legal, LegalPlaces):
        return left[0]
    return chosen.piece if chosen.piece in left else None


def ready_to_place(chosen: Selection, model: TableModel) -> tuple[Piece | None, Hex]:
    """Return the piece and the hex to start the player's turn with.

    Earlier choices are kept where they are legal; otherwise it is the first legal piece, and the empty field
    nearest to the chosen one.
    """
    view, seat, legal = model.view, model.seat, model.legal
    if view is None or seat is None or not isinstance(legal, LegalPlaces):
        return chosen.piece, chosen.cursor
    piece = chosen.piece
    if piece not in legal.pieces:
        piece = next((each.piece for each in hand(model) if each.legal), piece)
    taken = view.since(seat) or view.placed
    if view.layout.fields.get(chosen.cursor) not in taken:
        return piece, chosen.cursor
    empty = (view.layout.hexes[field] for field in legal.fields if field in view.layout.hexes)
    return piece, min(empty, key=partial(_steps, chosen.cursor), default=chosen.cursor)


def _steps(one: Hex, other: Hex) -> int:
    """Return how many steps lead from one hex to the other."""
    q, r = other[0] - one[0], other[1] - one[1]
    return max(abs(q), abs(r), abs(q + r))


def foreseen(chosen: Selection, model: TableModel) -> Forecast | None:
    """Return the forecast for the chosen piece on the hex pointed at; None if it cannot be placed there."""
    view, seat, piece = model.view, model.seat, selected_piece(chosen, model)
    if view is None or seat is None or piece is None or view.phase is not Phase.PLACING:
        return None
    field = view.layout.fields.get(chosen.hovered or chosen.cursor)
    return None if field is None or field in view.placed else forecast(view, seat, piece, field)


def next_piece(chosen: Selection, model: TableModel, by: int) -> Piece | None:
    pieces = [each.piece for each in hand(model) if each.count]
    if not pieces:
        return None
    piece = selected_piece(chosen, model)
    if piece is None:
        return pieces[0 if by > 0 else -1]
    return pieces[(pieces.index(piece) + by) % len(pieces)]


def selected_position(chosen: Selection, legal: LegalLays) -> int:
    return chosen.position if chosen.position in legal.positions else legal.positions[0]


def next_position(chosen: Selection, legal: LegalLays, way: Way) -> int:
    at = legal.positions.index(selected_position(chosen, legal))
    return legal.positions[(at + (1 if way in _CLOCKWISE else -1)) % len(legal.positions)]


def preview(chosen: Selection, model: TableModel) -> tuple[int, LaidTile] | None:
    """Return the tile to be laid, with its chosen position and orientation; None if this seat lays none."""
    if not isinstance(model.legal, LegalLays) or model.view is None or model.view.drawn is None:
        return None
    return selected_position(chosen, model.legal), LaidTile(model.view.drawn, chosen.orientation)


def field_at(model: TableModel, cell: Hex) -> Field | None:
    return None if model.view is None else model.view.layout.fields.get(cell)
