"""Events, legal moves and views as messages carry them, and back."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Final, TypeAlias, Union, assert_never, get_args, get_origin, get_type_hints

from msgspec import Meta, Struct, convert, defstruct, to_builtins

from engine import events as facts
from engine.board import FIELDS, Field, LaidTile, Tile
from engine.components import Laurel
from engine.draws import MISSING, NO_SHARE, OF_ROUND, Bytes32, Share
from engine.events import Command, GameEnded, GameStarted, LayTile, Place, Placed, ScoringEvent, SeenEvent
from engine.legal import Legal, LegalLays, LegalPlaces
from engine.pieces import Piece, Seat, Wolf
from engine.view import Phase, View
from protocol import messages
from protocol.codec import BadMessage, readable
from protocol.messages import EventMap, Lay, Lays, LegalMoves, PlacePiece, Places, Snapshot

EVENT_TAGS: Final[dict[str, type[SeenEvent]]] = {
    "started": GameStarted,
    "centre": facts.CentreTurned,
    "drawn": facts.TileDrawn,
    "laid": facts.TileLaid,
    "layout": facts.LayoutDrawn,
    "laurels": facts.LaurelsDealt,
    "placed": Placed,
    "wolf": facts.WolfPlaced,
    "taken-back": facts.TakenBack,
    "revealed": facts.WolvesRevealed,
    "fled": facts.SoldierFled,
    "captured": facts.Captured,
    "scored": facts.HillScored,
    "ended": GameEnded,
}
_TAG_OF: Final = {kind: tag for tag, kind in EVENT_TAGS.items()}
# The events whose fields are encoded as they are: tuples, texts, numbers and enums.
_OF_TUPLES: Final = {
    kind: (kind.__match_args__, attrgetter(*kind.__match_args__))
    for kind in (facts.Captured, facts.HillScored, facts.SoldierFled)
}
_BIT: Final = {field: 1 << index for index, field in enumerate(FIELDS)}
_LAID_BY_NOBODY: Final[tuple[Seat | None, ...]] = (None,) * 7
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
    if not isinstance(tag, str) or (kind := EVENT_TAGS.get(tag)) is None:
        raise BadMessage("`t` is not an event that this version knows")
    try:
        convert(content, EVENT_STRUCTS[tag])  # refuses what a client must not show to people
        event: SeenEvent = convert(content, kind, dec_hook=_hook)
    except ValueError as error:  # ValidationError is one
        raise BadMessage(readable(error)) from error
    if isinstance(event, GameStarted):  # msgspec leaves the keys of its hands as strings
        hands = tuple({Piece(piece): count for piece, count in hand.items()} for hand in event.hands)
        return dataclasses.replace(event, hands=hands)
    return event


def _struct_of(kind: Any, tag: str | None = None) -> type[Struct]:
    """Return the class of what messages have for the engine's class `kind`."""
    hints = get_type_hints(kind)
    fields: list[Any] = []
    for field in dataclasses.fields(kind):
        default = () if field.default is dataclasses.MISSING else (field.default,)
        fields.append((field.name, _on_wire(hints[field.name]), *default))
    return defstruct(
        kind.__name__, fields, tag_field=tag and "t", tag=tag, namespace={"__doc__": kind.__doc__}
    )


def _on_wire(hint: Any) -> Any:
    """Return the type in a message for the engine's type `hint`: only tiles, fields and seats that exist."""
    if hint in _WIRE:
        return _WIRE[hint]
    if dataclasses.is_dataclass(hint):
        return _struct_of(hint)
    if hint in {facts.Term, facts.Influence}:
        return tuple.__class_getitem__(tuple(map(_on_wire, get_type_hints(hint).values())))
    origin, parts = get_origin(hint), tuple(map(_on_wire, get_args(hint)))
    if origin is UnionType:
        return Union[parts]  # noqa: UP007 - of types known at run time
    return hint if origin is None else origin[parts]


_WIRE: Final[dict[Any, Any]] = {
    Tile: messages.TileName,
    Field: messages.FieldName,
    Seat: messages.SeatNumber,
    Piece: messages.PieceName,
    Bytes32: messages.Hex32,
    Share: Annotated[str, Meta(pattern=rf"^(?:{NO_SHARE}|{MISSING}|{OF_ROUND}|[0-9a-f]{{64}})\Z")],
}
# The events as messages have them: to msgspec, the engine's own tiles and seats are any strings and numbers.
EVENT_STRUCTS: Final = {tag: _struct_of(kind, tag) for tag, kind in EVENT_TAGS.items()}


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


def snapshot_message(
    view: View,
    seq: int,
    legal: Legal | None,
    clock: int | None = None,
    stood_in: Sequence[int] = (),
    *,
    missed: Sequence[SeenEvent] = (),
) -> Snapshot:
    """Return the message for a started game's `view`, taken after event `seq`.

    `view` must already be redacted; it has the eyes of one seat or none.
    """
    hand = next(iter(view.hands.values()), None)
    return Snapshot(
        seq=seq,
        phase=view.phase.value,
        started=event_map(view.start),
        tiles=[None if laid is None else (laid.tile, laid.orientation) for laid in view.tiles],
        laurels={tile: laurel.value for tile, laurel in view.laurels.items()},
        placed=[(view.owners[field], str(piece), field) for field, piece in view.placed.items()],
        turn=view.turn,
        drawn=view.drawn,
        hand=None if hand is None else {str(piece): count for piece, count in hand.items()},
        scoring=[event_map(event) for event in view.scoring],
        legal=None if legal is None else legal_message(legal),
        clock=clock,
        stood_in=list(stood_in),
        missed=list(map(event_map, missed)),
        laid_by=[] if view.laid_by == _LAID_BY_NOBODY else list(view.laid_by),
    )


def view_of(message: Snapshot, seat: Seat | None) -> View:
    """Return the view in a snapshot sent to `seat`, or to a spectator if that is None.

    Raises BadMessage if the snapshot makes no sense.
    """
    try:
        started = event_of(message.started)
        if not isinstance(started, GameStarted):
            raise BadMessage("a snapshot must say how the game started")
        owners = {Field(field): Seat(owner) for owner, _, field in message.placed}
        placements = Counter(owners.values())
        view = View(
            eyes=frozenset() if seat is None else frozenset((seat,)),
            phase=Phase(message.phase),
            turn=None if message.turn is None else Seat(message.turn),
            started=started,
            tiles=tuple(None if laid is None else LaidTile(Tile(laid[0]), laid[1]) for laid in message.tiles),
            laid_by=_laid_by(message.laid_by),
            drawn=None if message.drawn is None else Tile(message.drawn),
            laurels={Tile(tile): Laurel(laurel) for tile, laurel in message.laurels.items()},
            placed={Field(field): _piece(piece) for _, piece, field in message.placed},
            owners=owners,
            hands={} if seat is None else {seat: {Piece(p): n for p, n in (message.hand or {}).items()}},
            remaining=[sum(hand.values()) - placements[Seat(at)] for at, hand in enumerate(started.hands)],
        )
        for content in message.scoring:
            event = event_of(content)
            if not isinstance(event, ScoringEvent):
                raise BadMessage("only events of the scoring may be under `scoring`")
            view.fold(event)
    except ValueError as error:
        raise error if isinstance(error, BadMessage) else BadMessage(readable(error)) from error
    return view


def _laid_by(seats: Sequence[int | None]) -> tuple[Seat | None, ...]:
    laid = tuple(None if seat is None else Seat(seat) for seat in seats)
    return laid + _LAID_BY_NOBODY[len(laid) :]  # older servers say nothing of it


def _piece(notation: str) -> Piece | Wolf:
    return Wolf(notation) if notation.endswith("*") and len(notation) == 2 else Piece(notation)
