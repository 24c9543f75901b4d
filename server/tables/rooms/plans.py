"""Plans: a placement that a player prepares for when it is their turn; nobody else learns of it.

A plan stays until it is replaced, until its player moves, or until a move of theirs is taken back.
"""

from collections.abc import Iterable, Sequence

from engine.board import Field
from engine.events import Place, TakenBack
from engine.pieces import Piece, Seat
from protocol.messages import Plan, Planned, ServerMessage
from server.probes import probe
from server.storage.entries import (
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
from server.tables.feature import Access, Facts, Feature, Happening, Moment, Occasion


class Plans(Feature):
    """The planned move of each player, which is that player's secret."""

    requests = ((Plan, Access()),)
    own = (PlanMade,)
    folds_too = TookBack, Taken, Kept, BotSeated, Freed, TokenRevoked, Played, StoodIn

    def __init__(self, facts: Facts) -> None:
        super().__init__(facts)
        self.plans: dict[Seat, Place] = {}

    def decide(self, seat: Seat, request: Plan, _: Moment) -> Sequence[Entry]:
        """Keep the move that the player has planned for the next turn, or forget it."""
        self.facts.check_running()
        if request.piece is not None and request.field is not None:
            self.facts.check_place(Place(seat, Piece(request.piece), Field(request.field)))
            return [PlanMade(seat, request.piece, request.field)]
        return [PlanMade(seat)] if seat in self.plans else []

    def fold(self, entry: Happening) -> bool:
        if not self.plans and not isinstance(entry, PlanMade):
            return False  # most entries
        match entry:
            case PlanMade(seat, str(piece), str(field)):
                self.plans[Seat(seat)] = Place(Seat(seat), Piece(piece), Field(field))
            case TookBack():
                for event in whole_events(entry.events):
                    for field in event.fields if isinstance(event, TakenBack) else ():
                        if self.plans.pop(self.facts.owner_of(field), None) is not None:
                            probe("a plan ends because a move is taken back")
            case _:
                if (ended := _ended(entry)) is not None:
                    self.plans.pop(Seat(ended), None)
        return False  # each is its player's secret

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        live = dict[int | None, int]()
        for number, entry in entries:
            match entry:
                case PlanMade(seat, str()):
                    live[seat] = number
                case _:  # what a move that was taken back ends is known only with the game
                    live.pop(_ended(entry), None)
        return live.values()

    def kept_of(self, seat: Seat) -> Sequence[Entry]:
        plan = self.plans.get(seat)
        return () if plan is None else [PlanMade(seat, str(plan.piece), plan.field)]

    def planned(self, seat: Seat) -> Place | None:
        return self.plans.get(seat)

    def told(self, seat: Seat | None, why: Occasion) -> Sequence[ServerMessage]:
        if seat is None:
            return ()
        if (plan := self.plans.get(seat)) is not None:
            return [Planned(plan.piece, plan.field)]
        return [Planned()] if why == "changed" else ()


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
