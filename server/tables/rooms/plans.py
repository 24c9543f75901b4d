"""Plans: placements that players prepare for when it is their turn; nobody else learns of them.

Each can depend on what is placed on a field until then, which everybody sees. They stay until their player
replaces them or moves, or until a move of theirs is taken back.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from engine.board import Field
from engine.events import Place, TakenBack
from engine.pieces import Piece, Seat
from protocol.messages import (
    Condition,
    PlacePiece,
    Plan,
    Planned,
    PlannedMove,
    PlanPlayed,
    ServerMessage,
    WhySkipped,
    moves_planned,
    plan_fields,
)
from server.probes import probe
from server.storage.entries import (
    MADE,
    BotSeated,
    Entry,
    Freed,
    Kept,
    PlanMade,
    Played,
    StoodIn,
    Taken,
    TokenRevoked,
    TookBack,
    whole_events,
)
from server.tables.feature import Access, Feature, Happening, Moment, Occasion, PlannedPlace


@dataclass(slots=True, eq=False, repr=False)
class Plans(Feature):
    """The planned moves of each player, which are that player's secret."""

    requests = ((Plan, Access()),)
    own = (PlanMade,)
    folds_too = TookBack, Taken, Kept, BotSeated, Freed, TokenRevoked, Played, StoodIn

    plans: dict[Seat, tuple[PlannedMove, ...]] = field(default_factory=dict)
    played: dict[Seat, PlanPlayed] = field(default_factory=dict)  # by seats whose last move was planned

    def decide(self, seat: Seat, request: Plan, _: Moment) -> Sequence[Entry]:
        """Keep the moves that the player has planned for the next turn, or forget them."""
        self.facts.check_running()
        before = self.plans.get(seat, ())
        for plan in request.moves:
            if plan not in before:  # else it was possible, and may be again
                self.facts.check_place(_place(seat, plan))
                if plan.condition is not None and plan.condition.seat is not None:
                    self.facts.check_seat(plan.condition.seat)
        if request.moves or before:
            return [PlanMade(seat, **plan_fields(request.moves))]
        return []

    def fold(self, entry: Happening) -> bool:
        if isinstance(entry, MADE) and not self.plans and not self.played:
            return False  # most entries
        match entry:
            case TookBack():
                for event in whole_events(entry.events):
                    for field in event.fields if isinstance(event, TakenBack) else ():
                        if (seat := self.facts.owner_of(field)) is not None and self._forget(seat):
                            probe("a plan ends because a move is taken back")
            case _ if (ended := _ended(entry)) is not None:
                seat = Seat(ended)
                moves, played = _made(entry), None
                if isinstance(entry, PlanMade):
                    played = entry.played
                elif isinstance(entry, Played) and entry.planned:
                    played = self._played_by(entry)
                self._forget(seat)
                if moves:
                    self.plans[seat] = moves
                elif played is not None:
                    self.played[seat] = played
        return False  # each is its player's secret

    def _forget(self, seat: Seat) -> bool:
        """Forget the seat's plans; return whether there were any."""
        self.played.pop(seat, None)
        return self.plans.pop(seat, None) is not None

    def _played_by(self, entry: Played) -> PlanPlayed | None:
        """Return which of the seat's plans a planned move is, as the table was before it."""
        skipped = list[WhySkipped]()
        moves, move = self.plans.get(Seat(entry.seat), ()), entry.move
        for number, plan in enumerate(moves):
            if not self._holds(plan.condition):
                skipped.append("condition")
            elif isinstance(move, PlacePiece) and (move.piece, move.field) == (plan.piece, plan.field):
                return PlanPlayed(moves[: number + 1], tuple(skipped))
            else:
                skipped.append("illegal")
        return None

    def _holds(self, condition: Condition | None) -> bool:
        if condition is None:
            return True
        there = self.facts.owner_of(Field(condition.field))
        taken = there is not None if condition.seat is None else there == condition.seat
        return taken != condition.unless

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        live, played = dict[int | None, int](), dict[int | None, int]()
        for number, entry in entries:
            seat = _ended(entry)  # what a move that was taken back ends is known only with the game
            before = live.pop(seat, None)
            played.pop(seat, None)
            if _made(entry):
                live[seat] = number
            elif isinstance(entry, PlanMade) and entry.played is not None:
                played[seat] = number
            elif isinstance(entry, Played) and entry.planned and before is not None:
                played[seat] = before
        return [*live.values(), *played.values()]

    def kept_of(self, seat: Seat) -> Sequence[Entry]:
        if (moves := self.plans.get(seat)) is not None:
            return [PlanMade(seat, **plan_fields(moves))]
        played = self.played.get(seat)
        return () if played is None else [PlanMade(seat, played=played)]

    def planned(self, seat: Seat) -> Sequence[PlannedPlace]:
        moves = self.plans.get(seat, ())
        return [
            PlannedPlace(_place(seat, plan), plan.condition, self._holds(plan.condition)) for plan in moves
        ]

    def told(self, seat: Seat | None, why: Occasion) -> Sequence[ServerMessage]:
        if seat is None:
            return ()
        if (moves := self.plans.get(seat)) is not None:
            return [Planned(**plan_fields(moves))]
        if (played := self.played.get(seat)) is not None:
            return [Planned(played=played)]
        return [Planned()] if why == "changed" else ()


def _place(seat: Seat, plan: PlannedMove) -> Place:
    return Place(seat, Piece(plan.piece), Field(plan.field))


def _made(entry: Happening) -> tuple[PlannedMove, ...]:
    """Return the plans that are made."""
    return moves_planned(entry.piece, entry.field, entry.plans) if isinstance(entry, PlanMade) else ()


def _ended(entry: Happening) -> int | None:
    """Return the seat whose plan ends: its player moves, forgets it, or is no longer who has the seat."""
    match entry:
        case (
            PlanMade(seat)
            | Taken(seat)
            | Kept(seat)
            | BotSeated(seat)
            | Freed(seat)
            | TokenRevoked(seat)
            | Played(seat)
            | StoodIn(seat)
        ):
            return seat
    return None
