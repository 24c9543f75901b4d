"""Whether a server's account of a table can be true: what contradicts itself cannot be shown.

A server that keeps to the protocol never sends such a thing; a hostile one may.
"""

from collections import Counter
from collections.abc import Iterable
from typing import assert_never

from client.language import N_
from engine.board import TILES, Field
from engine.components import DEALS
from engine.events import (
    Captured,
    GameEnded,
    GameStarted,
    HillScored,
    ScoringEvent,
    SoldierFled,
    WolvesRevealed,
)
from engine.pieces import People, Piece, Seat, Wolf
from engine.view import Phase, View, seat_of
from protocol.codec import BadMessage
from protocol.messages import TableState


def check_table(state: TableState | None, view: View | None, seat: Seat | None) -> None:
    """Raise BadMessage if the seats cannot be those of the game, or this client's seat is not among them."""
    seats = None if view is None else view.seats
    if state is not None:
        votes = (voter for each in state.seats for voter in each.votes)
        pauses = (*state.pause_asked, 0 if state.paused is None else state.paused.seat)
        named = (state.host, state.starting or 0, *votes, *pauses)
        if len(state.seats) not in DEALS or max(named) >= len(state.seats):
            raise BadMessage(N_("no table has such seats"))
        if seats not in {None, len(state.seats)}:
            raise BadMessage(N_("the table and its game have different seats"))
        seats = len(state.seats)
    if seats is not None and seat is not None and seat >= seats:
        raise BadMessage(N_("this client's seat is not at the table"))


def check_speaker(seat: int | None, state: TableState | None, view: View | None) -> None:
    """Raise BadMessage if somebody speaks from a seat that the table does not have."""
    seats = view.seats if view is not None else max(DEALS) if state is None else len(state.seats)
    if seat is not None and seat >= seats:
        raise BadMessage(N_("nobody sits where this was said"))


def check_view(view: View) -> None:
    """Raise BadMessage if a started game cannot be as it is in `view`."""
    started = view.start
    if not _is_dealt(started):
        raise BadMessage(N_("no game starts like this"))
    laid = [each.tile for each in view.tiles if each is not None]
    if len(laid) != len(set(laid)):
        raise BadMessage(N_("a tile is laid twice"))
    if not _can_be_placed(view):
        raise BadMessage(N_("pieces are on the board that cannot be there"))
    if view.turn is not None and view.turn >= view.seats:
        raise BadMessage(N_("nobody has the seat whose turn it is"))
    if view.phase is not Phase.LAYING and (None in view.tiles or set(view.laurels) != set(TILES)):
        raise BadMessage(N_("the territory is not complete"))
    scored = view.scoring != ()
    if scored != (view.phase is Phase.OVER) or not all(_can_be_scored(event, view) for event in view.scoring):
        raise BadMessage(N_("the scoring contradicts the board"))


def _is_dealt(started: GameStarted) -> bool:
    """Return whether peoples and hands are those that a game of so many deals (R3.5, R9.6)."""
    deal = DEALS.get(len(started.peoples))
    peoples = [people for own in started.peoples for people in own]
    return (
        deal is not None
        and started.starting < len(started.peoples)
        and (started.draws is None or len(started.draws.shares) == len(started.peoples))
        and len(peoples) == len(set(peoples))
        and all(len(own) == (2 if deal.second else 1) for own in started.peoples)
        and list(started.hands)
        == [deal.hand(own[0], own[1] if deal.second else None) for own in started.peoples]
    )


def _can_be_placed(view: View) -> bool:
    """Return whether all pieces on the board are from the hands, and nothing more is left in those known."""
    placed = Counter(view.placed.values())
    dealt = Counter[Piece]()
    for hand in view.start.hands:
        dealt.update(hand)
    wolves = Counter[People]()  # without those whose kinds are known
    for each, count in dealt.items():
        if each.wolf:
            wolves[each.people] += count - placed[each]
    for piece, count in placed.items():
        if count > (wolves[piece.people] if isinstance(piece, Wolf) else dealt[piece]):
            return False
    for field, piece in view.placed.items():
        if view.owners.get(field) != seat_of(view.start, piece.people):
            return False
    return all(
        hand
        == {piece: left for piece, count in view.start.hands[seat].items() if (left := count - placed[piece])}
        for seat, hand in view.hands.items()
    )


def _can_be_scored(event: ScoringEvent, view: View) -> bool:
    """Return whether an event of the scoring speaks of pieces and seats that there are."""
    match event:
        case WolvesRevealed():
            return not any(isinstance(piece, Wolf) for piece in view.placed.values())
        case SoldierFled(field=field, seat=seat, merchants=merchants, farmers=farmers):
            return seat < view.seats and _are_placed((field, *merchants, *farmers), view)
        case Captured():
            fields = (event.field, *event.merchants, *event.farmers, *event.taken, *event.shared)
            return event.seat < view.seats and _are_placed(fields, view)
        case HillScored():
            return (
                len(event.influence) == view.seats
                and all(seat < view.seats for seat in event.leaders)
                and all(piece.seat < view.seats for piece in event.pieces)
                and _are_placed((piece.field for piece in event.pieces), view)
            )
        case GameEnded():
            return len(event.tallies) == view.seats > max(event.winners, default=view.seats)
        case _:
            assert_never(event)


def _are_placed(fields: Iterable[Field], view: View) -> bool:
    return all(field in view.placed for field in fields)
