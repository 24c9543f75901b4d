"""What becomes of the seats of people who are away: after a while a bot plays, or the others vote on that.

The host chooses which. Votes count while those who cast them are here; more than half of these must agree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.pieces import Seat
from protocol.absence import ByBot, ByVote
from protocol.codes import Code
from protocol.messages import Vote
from server.probes import probe
from server.refusal import Refusal
from server.storage.entries import Entry, GivenToBot, Returned, Voted
from server.tables.feature import Access, Feature, Happening, Moment


@dataclass(slots=True, eq=False, repr=False)
class AbsentPlayers(Feature):
    """The votes for bots, by the seats that these would play."""

    requests = ((Vote, Access()),)
    own = (Voted,)
    folds_too = GivenToBot, Returned

    votes: dict[Seat, set[Seat]] = field(default_factory=dict)

    def decide(self, voter: Seat, request: Vote, moment: Moment) -> Sequence[Entry]:
        """Count a vote for a bot to play for a seat, or against it."""
        seat, facts = Seat(request.seat), self.facts
        if facts.stage != "playing" or facts.paused is not None or not isinstance(facts.absence, ByVote):
            raise Refusal(Code.NO_VOTE)
        if voter in facts.programs:
            raise Refusal(Code.PROGRAMS_DO_NOT_VOTE)
        if seat not in moment.seated and seat in facts.bot_seats | facts.programs:
            if not request.agree:
                probe("somebody votes against a bot that plays already")
                raise Refusal(Code.BOT_PLAYS_ALREADY, seat=seat)
            return []
        if (left := moment.absent.get(seat)) is None:
            raise Refusal(Code.NOT_AWAY, seat=seat)
        if left > 0:
            raise Refusal(Code.TOO_EARLY, seat=seat, seconds=left)
        if request.agree == (voter in self.votes.get(seat, ())):
            return []
        entries: list[Entry] = [Voted(seat, voter, request.agree)]
        if request.agree and len(self._votes(seat, moment) | {voter}) >= _needed(moment):
            entries.append(GivenToBot(seat))
        return entries

    def follow(self, moment: Moment) -> Sequence[Entry]:
        """Give seats to bots as the policy and the votes demand, and drop votes on players who are back."""
        if not (moment.absent or self.votes):
            return ()
        facts = self.facts
        due = [seat for seat in sorted(moment.absent.keys() - facts.bot_seats) if not moment.absent[seat]]
        if not isinstance(facts.absence, ByBot):
            due = [seat for seat in due if len(self._votes(seat, moment)) >= _needed(moment)]
        return [*map(Returned, sorted(self.votes.keys() & moment.seated)), *map(GivenToBot, due)]

    def fold(self, entry: Happening) -> bool:
        match entry:
            case Voted(seat, by, agree):
                voters = self.votes.pop(Seat(seat), set()) - {by} | ({Seat(by)} if agree else set())
                if voters:
                    self.votes[Seat(seat)] = voters
                return True
            case GivenToBot(seat) | Returned(seat):
                return self.votes.pop(Seat(seat), None) is not None
        return False

    @classmethod
    def live(cls, entries: Iterable[tuple[int, Entry]]) -> Iterable[int]:
        live: dict[int, dict[int, int]] = {}
        for number, entry in entries:
            match entry:
                case Voted(seat, by, agree):
                    live.setdefault(seat, {}).pop(by, None)
                    if agree:
                        live[seat][by] = number
                case GivenToBot(seat) | Returned(seat):
                    live.pop(seat, None)
        return [number for votes in live.values() for number in votes.values()]

    def shown_of(self, seat: Seat, moment: Moment) -> Mapping[str, Any]:
        facts = self.facts
        if facts.stage != "playing" or seat not in moment.absent or seat in facts.bot_seats:
            return {}
        if (left := moment.absent[seat]) > 0 or isinstance(facts.absence, ByBot):
            return {"seconds_left": left}
        votes = sorted(self._votes(seat, moment))
        return {"seconds_left": 0, "votes": votes, "votes_needed": _needed(moment)}

    def _votes(self, seat: Seat, moment: Moment) -> set[Seat]:
        """Return which of those here agree that a bot plays for the seat."""
        return self.votes.get(seat, set()) & moment.people_here()


def _needed(moment: Moment) -> int:
    """Return how many of the people who are here must agree: more than half."""
    return len(moment.people_here()) // 2 + 1
