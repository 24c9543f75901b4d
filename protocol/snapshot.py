"""A view as a Snapshot message, and back."""

from collections import Counter
from collections.abc import Sequence

from engine.board import Field, LaidTile, Tile
from engine.components import Laurel
from engine.events import GameStarted, ScoringEvent, SeenEvent
from engine.legal import Legal
from engine.pieces import Piece, Seat, Wolf
from engine.view import Phase, View
from protocol.codec import BadMessage, readable
from protocol.events import event_map, event_of, legal_message
from protocol.messages import Snapshot


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


def _piece(notation: str) -> Piece | Wolf:
    return Wolf(notation) if notation.endswith("*") and len(notation) == 2 else Piece(notation)
