"""Events and legal moves as the maps that messages carry, and back."""

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from types import NoneType, UnionType
from typing import Any, Final, TypeAlias, assert_never, get_args, get_origin, get_type_hints

from msgspec import convert, to_builtins

from engine.board import FIELDS, TILES, Field, Tile
from engine.components import PEOPLES
from engine.draws import BYTES32, MISSING, NO_SHARE, OF_ROUND, Bytes32, Share
from engine.events import (
    Captured,
    CentreTurned,
    Command,
    GameEnded,
    GameStarted,
    HillScored,
    Influence,
    LaurelsDealt,
    LayoutDrawn,
    LayTile,
    Place,
    Placed,
    SeenEvent,
    SoldierFled,
    TakenBack,
    Term,
    TileDrawn,
    TileLaid,
    WolfPlaced,
    WolvesRevealed,
)
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import Piece, Seat
from protocol.codec import BadMessage, readable
from protocol.messages import EventMap, Lay, Lays, LegalMoves, PlacePiece, Places

EVENT_TAGS: Final[dict[str, type[SeenEvent]]] = {
    "started": GameStarted,
    "centre": CentreTurned,
    "drawn": TileDrawn,
    "laid": TileLaid,
    "layout": LayoutDrawn,
    "laurels": LaurelsDealt,
    "placed": Placed,
    "wolf": WolfPlaced,
    "taken-back": TakenBack,
    "revealed": WolvesRevealed,
    "fled": SoldierFled,
    "captured": Captured,
    "scored": HillScored,
    "ended": GameEnded,
}
_TAG_OF: Final = {kind: tag for tag, kind in EVENT_TAGS.items()}
# The events whose fields are encoded as they are: tuples, texts, numbers and enums.
_OF_TUPLES: Final = {
    kind: (kind.__match_args__, attrgetter(*kind.__match_args__))
    for kind in (Captured, HillScored, SoldierFled)
}
Check: TypeAlias = Callable[[Any], bool]

_BIT: Final = {field: 1 << index for index, field in enumerate(FIELDS)}
MoveMessage: TypeAlias = Lay | PlacePiece


def event_map(event: SeenEvent) -> EventMap:
    """Return the event as a map with its tag under `t`."""
    # Most events are placements or of a scoring; to_builtins takes several times as long.
    if isinstance(event, Placed):
        return {"t": "placed", "seat": event.seat, "piece": str(event.piece), "field": event.field}
    kind = type(event)
    if kind in _OF_TUPLES:
        names, values = _OF_TUPLES[kind]
        return dict(zip(names, values(event), strict=True), t=_TAG_OF[kind])
    content = {"t": _TAG_OF[kind], **to_builtins(event, enc_hook=str)}
    if isinstance(event, GameStarted) and event.draws is None:
        del content["draws"]
    elif isinstance(event, GameEnded) and event.seed is None:
        del content["seed"]
    return content


def event_of(content: EventMap) -> SeenEvent:
    """Return the event in a map; raises BadMessage if there is none."""
    tag = content.get("t")
    kind = EVENT_TAGS.get(tag) if isinstance(tag, str) else None
    if kind is None:
        raise BadMessage("`t` is not an event that this version knows")
    try:
        event: SeenEvent = convert(content, kind, dec_hook=_hook)
        if isinstance(event, GameStarted):
            event = _with_pieces(event)
    except ValueError as error:  # ValidationError is one
        raise BadMessage(readable(error)) from error
    if not _CHECK[kind](event):
        raise BadMessage(
            f"`{tag}` names a tile, a field or a seat that does not exist, or its digits are wrong"
        )
    return event


def _check_of(hint: Any) -> Check | None:
    """Return a check that a value of the type `hint` names only tiles, fields and seats that exist.

    To msgspec these are any strings and numbers, but a client must not show any string.
    """
    if hint in _EXISTS:
        return _EXISTS[hint]
    if get_origin(hint) is UnionType and NoneType in get_args(hint):
        (some,) = (part for part in get_args(hint) if part is not NoneType)
        check = _check_of(some)
        return None if check is None else lambda value: value is None or check(value)
    if get_origin(hint) in {tuple, dict}:
        inner = [_check_of(part) for part in get_args(hint) if part is not Ellipsis]
        if (first := inner[0]) is None:
            return None
        return lambda values: all(map(first, values))
    if not (dataclasses.is_dataclass(hint) or hint in {Term, Influence}):
        return None
    checks = [(name, check) for name, part in get_type_hints(hint).items() if (check := _check_of(part))]
    return lambda value: all(check(getattr(value, name)) for name, check in checks)


def _is_bytes32(text: str) -> bool:
    return BYTES32.fullmatch(text) is not None


_EXISTS: Final[dict[Any, Check]] = {
    Tile: frozenset(TILES).__contains__,
    Field: frozenset(FIELDS).__contains__,
    Seat: range(len(PEOPLES)).__contains__,
    Bytes32: _is_bytes32,
    Share: lambda share: share in {NO_SHARE, MISSING, OF_ROUND} or _is_bytes32(share),
}
_CHECK: Final = {kind: _check_of(kind) or bool for kind in EVENT_TAGS.values()}


def _with_pieces(started: GameStarted) -> GameStarted:
    """Return `started` with Pieces as the keys of its hands, which msgspec leaves as strings."""
    hands = tuple({Piece(piece): count for piece, count in hand.items()} for hand in started.hands)
    return dataclasses.replace(started, hands=hands)


def _hook(kind: type, content: object) -> Piece:
    if kind is Piece and isinstance(content, str):
        return Piece(content)
    raise ValueError(f"{content!r} is not a {kind.__name__}")


def legal_message(legal: Legal) -> LegalMoves:
    """Return the legal moves as messages carry them."""
    if isinstance(legal, LegalPlaces):
        return Places(list(map(str, legal.pieces)), sum(map(_BIT.__getitem__, legal.fields)))
    return Lays(list(legal.positions), list(legal.orientations))


def legal_of(message: LegalMoves, seat: Seat) -> Legal:
    """Return the legal moves of `seat` in a message."""
    match message:
        case Lays():
            return LegalLays(seat, tuple(message.positions), tuple(message.orientations))
        case Places():
            fields = tuple(field for field in FIELDS if message.fields & _BIT[field])
            return LegalPlaces(seat, tuple(Piece(piece) for piece in message.pieces), fields)


def move_message(id: int, command: Command) -> MoveMessage:  # noqa: A002 - the wire's own word
    """Return the message that asks for `command`."""
    match command:
        case LayTile(_, position, orientation):
            return Lay(id, position, orientation)
        case Place(_, piece, field):
            return PlacePiece(id, str(piece), field)
        case _:
            assert_never(command)


def command_of(seat: Seat, message: MoveMessage) -> Command:
    """Return the command that `message` contains."""
    if isinstance(message, PlacePiece):
        return Place(seat, Piece(message.piece), Field(message.field))
    return LayTile(seat, message.position, message.orientation)
