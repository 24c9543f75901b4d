"""The one gate between secret and public: what a pair of eyes may know of a game (R3.5, R4.2).

Until scoring two things are secret: the kind of a wolf piece, and what is left in a hand. Every event,
snapshot and list of legal moves passes through here on its way to a player or a spectator.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from engine.events import Event, Placed, PublicEvent, SeenEvent, WolfPlaced
from engine.legal import Legal
from engine.pieces import Piece, Seat, Wolf
from engine.view import OVER, Eyes, View


def hidden_from(piece: Piece | Wolf, seat: Seat, eyes: Eyes) -> bool:
    """Return whether the kind of a piece that `seat` placed is a secret to `eyes` before scoring (R4.2)."""
    return seat not in eyes and piece[-1] == "*"  # both notations of a wolf end so: Em*, E*


def sees_all(events: Iterable[Event], eyes: Eyes) -> bool:
    """Return whether `redacted` changes none of these events for `eyes`."""
    for event in events:
        if isinstance(event, Placed) and hidden_from(event.piece, event.seat, eyes):
            return False
    return True


def redacted(event: Event, eyes: Eyes) -> SeenEvent:
    """Return what `eyes` may know of `event`."""
    if isinstance(event, Placed):
        if hidden_from(event.piece, event.seat, eyes):
            return WolfPlaced(event.seat, event.piece.people, event.field)
        return event
    if isinstance(event, PublicEvent):
        return event
    assert_never(event)  # whatever is new stays secret until it is said to be public


def redacted_legal(legal: Legal | None, eyes: Eyes) -> Legal | None:
    """Return the legal moves if it is the turn of `eyes`, else None: they would reveal the hand (R3.5)."""
    return legal if legal is not None and legal.seat in eyes else None


def snapshot(view: View, eyes: Eyes) -> View:
    """Return a copy of `view` that holds only what `eyes` may know.

    Raises ValueError if `eyes` know more than `view` does.
    """
    if not eyes <= view.eyes:
        raise ValueError("a snapshot cannot know more than the view it is taken from")
    placed = dict(view.placed)
    if view.phase is not OVER:
        for field, piece in view.placed.items():
            if hidden_from(piece, view.owners[field], eyes):
                placed[field] = Wolf.of(piece.people)
    return replace(
        view,
        eyes=eyes,
        placed=placed,
        owners=dict(view.owners),
        hands={seat: dict(hand) for seat, hand in view.hands.items() if seat in eyes},
        gone=set(view.gone),
        remaining=list(view.remaining),
    )
