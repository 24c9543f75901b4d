"""Events and legal moves as the maps that travel in messages, and back."""

from typing import Final

from msgspec import ValidationError, convert, to_builtins

from engine.board import FIELDS
from engine.events import (
    Captured,
    CentreTurned,
    GameEnded,
    GameStarted,
    HillScored,
    LaurelsDealt,
    LayoutDrawn,
    Placed,
    SeenEvent,
    SoldierFled,
    TileDrawn,
    TileLaid,
    WolfPlaced,
    WolvesRevealed,
)
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import Piece, Seat
from protocol.codec import BadMessage, readable
from protocol.messages import EventMap, Lays, LegalMoves, Places

EVENT_TAGS: Final[dict[str, type[SeenEvent]]] = {
    "started": GameStarted,
    "centre": CentreTurned,
    "drawn": TileDrawn,
    "laid": TileLaid,
    "layout": LayoutDrawn,
    "laurels": LaurelsDealt,
    "placed": Placed,
    "wolf": WolfPlaced,
    "revealed": WolvesRevealed,
    "fled": SoldierFled,
    "captured": Captured,
    "scored": HillScored,
    "ended": GameEnded,
}
_TAG_OF: Final = {kind: tag for tag, kind in EVENT_TAGS.items()}
_BIT: Final = {field: 1 << index for index, field in enumerate(FIELDS)}


def event_map(event: SeenEvent) -> EventMap:
    """Return the event as a map with its tag under `t`."""
    return {"t": _TAG_OF[type(event)], **to_builtins(event, enc_hook=str)}


def event_of(content: EventMap) -> SeenEvent:
    """Return the event in a map; raises BadMessage if it is none."""
    kind = EVENT_TAGS.get(content.get("t", ""))
    if kind is None:
        raise BadMessage(f"{content.get('t')!r} is no event this version knows")
    try:
        return convert(content, kind, dec_hook=_hook)
    except (ValidationError, ValueError) as error:
        raise BadMessage(readable(error)) from error


def _hook(kind: type, content: object) -> Piece:
    if kind is Piece and isinstance(content, str):
        return Piece(content)
    raise ValueError(f"{content!r} is no {kind.__name__}")


def legal_message(legal: Legal) -> LegalMoves:
    """Return the legal moves as they travel."""
    match legal:
        case LegalLays():
            return Lays(list(legal.positions), list(legal.orientations))
        case LegalPlaces():
            return Places([str(piece) for piece in legal.pieces], sum(_BIT[field] for field in legal.fields))


def legal_of(message: LegalMoves, seat: Seat) -> Legal:
    """Return the legal moves of `seat` in a message."""
    match message:
        case Lays():
            return LegalLays(seat, tuple(message.positions), tuple(message.orientations))
        case Places():
            fields = tuple(field for field in FIELDS if message.fields & _BIT[field])
            return LegalPlaces(seat, tuple(Piece(piece) for piece in message.pieces), fields)
