"""The sessions at a table, the frames that each receives, redacted for its reader, and the chat."""

from collections.abc import Iterator, Sequence

from engine.events import Event, TakenBack
from engine.game import Game
from engine.legal import Legal
from engine.pieces import Seat
from engine.redaction import redacted, redacted_legal, sees_all, snapshot
from engine.view import SPECTATOR, Eyes, eyes_of
from protocol.events import event_map, legal_message, snapshot_message
from protocol.messages import (
    EventMap,
    Events,
    ServerMessage,
    SpectatorSummary,
    Substitute,
)
from server.net.session import Session, build_frame


class Audience:
    """The sessions at a table: one at most for each seat, and spectators."""

    __slots__ = ("_last_number", "seated", "spectators")

    def __init__(self) -> None:
        self.seated: dict[Seat, Session] = {}
        self.spectators: dict[Session, SpectatorSummary] = {}
        self._last_number = 0

    def __len__(self) -> int:
        return len(self.seated) + len(self.spectators)

    def __iter__(self) -> Iterator[Session]:
        return iter((*self.seated.values(), *self.spectators))

    def add_spectator(self, session: Session, name: str | None) -> None:
        """Give a spectator the next number."""
        self._last_number += 1
        self.spectators[session] = SpectatorSummary(self._last_number, name)

    def remove(self, session: Session) -> None:
        """Remove the session, unless another one has taken over its seat in the meantime."""
        if session.seat is None:
            self.spectators.pop(session, None)
        elif self.seated.get(session.seat) is session:
            del self.seated[session.seat]
        session.sit(None, None)

    def broadcast(self, message: ServerMessage, *, to_players: bool = True) -> None:
        """Send everyone the same message, or only every spectator."""
        frame = build_frame(message)
        for session in self if to_players else self.spectators:
            session.post(frame)

    def publish(
        self,
        game: Game,
        happened: tuple[Event, ...],
        whole: list[EventMap],
        mover: Session | None = None,
        move: int | None = None,
        *,
        by: Substitute | None = None,
        clock: int | None = None,
    ) -> None:
        """Send everyone what just happened in `game`, redacted for each of them.

        `whole` has the events as maps, including secrets, for readers who may see them unredacted.
        For the session `mover`, this answers its move with the id `move`. `by` says that the stand-in
        moved, `clock` how many milliseconds the next turn has.
        """
        first, turn = len(game.events) - len(happened) + 1, game.view.turn
        legal = _legal(game, clock)
        # Who may not see everything sees what spectators see.
        public = [
            content if (seen := redacted(event, SPECTATOR)) is event else event_map(seen)
            for event, content in zip(happened, whole, strict=True)
        ]
        secret = public != whole
        shared: bytes | None = None  # the frame of most readers
        for session in self:
            eyes = _eyes(session)
            maps = whole if secret and sees_all(happened, eyes) else public
            may = redacted_legal(legal, eyes)
            answers = move if session is mover else None
            if may is not None or answers is not None or maps is not public:
                moves = None if may is None else legal_message(may)
                session.post(build_frame(Events(first, maps, turn, moves, answers, by, clock)))
                continue
            if shared is None:
                shared = build_frame(Events(first, public, turn, None, None, by, clock))
            session.post(shared)


def catch_up(
    session: Session, game: Game, after: int, clock: int | None, stood_in: Sequence[int], *, moves: bool
) -> None:
    """Send everything since event `after`: the missing events, or a snapshot.

    If a move was taken back, older clients, which do not know this event, need a snapshot; newer ones take
    the events from it. `stood_in` are the moves of the stand-in. Without `moves`, nobody may move now.
    """
    eyes = _eyes(session)
    may = redacted_legal(_legal(game, clock) if moves else None, eyes)
    news = [redacted(event, eyes) for event in game.events[after:]]
    taken_back = any(isinstance(event, TakenBack) for event in news)
    if 0 < after <= len(game.events) and not taken_back:
        substituted = [number for number in stood_in if number > after]
        maps, legal = list(map(event_map, news)), None if may is None else legal_message(may)
        message = Events(after + 1, maps, game.view.turn, legal, clock=clock, stood_in=substituted)
        session.send(message)
    else:
        view = snapshot(game.view, eyes)
        missed = news if taken_back else []
        session.send(snapshot_message(view, len(game.events), may, clock, stood_in, missed=missed))


def _eyes(session: Session) -> Eyes:
    return SPECTATOR if session.seat is None else eyes_of(session.seat)


def _legal(game: Game, clock: int | None) -> Legal | None:
    """Return the legal moves of the seat to move, None once its time is up."""
    return None if clock == 0 else game.legal()
