"""Which of a table's entries still count: joining and leaving would otherwise fill the journal."""

from collections.abc import Sequence

from engine.components import PEOPLES
from protocol.settings import AbsenceSetting
from server.storage.entries import (
    BotSeated,
    Changed,
    Clocked,
    Continued,
    Entry,
    Freed,
    GivenToBot,
    Hosted,
    Kept,
    Noticed,
    NoticesTo,
    PeopleChosen,
    PersonEntered,
    PlanMade,
    Played,
    Returned,
    SaidReady,
    StoodIn,
    Taken,
    TokenRevoked,
    TookBack,
    Unpaused,
    Voted,
    Wished,
)


def live_entries(entries: Sequence[Entry]) -> list[int]:
    """Return, in order, the numbers of the entries that make the same state as all of them.

    Players and the peoples that they have chosen count until their seats are free again, votes, bots and who
    is ready until that is over, settings until they are changed, and all else for good. An absence policy
    counts unless it is changed in the same turn, because a clock begins and ends with a round.
    """
    others: list[int] = []
    live: dict[tuple[object, ...], int] = {}  # of entries that later ones replace or end, by what they say
    host: int | None = None
    moves = 0

    def end(*keys: tuple[object, ...]) -> None:
        for key in keys:
            live.pop(key, None)

    for number, entry in enumerate(entries):
        match entry:
            case Taken(seat) | Kept(seat) | BotSeated(seat):
                live[Taken, seat] = number
                end((PeopleChosen, seat), (NoticesTo, seat), (Noticed, seat), (PlanMade, seat))
            case Freed(seat):
                end((Taken, seat), (PeopleChosen, seat), (SaidReady, seat))
                end((NoticesTo, seat), (Noticed, seat))
                if host == seat:
                    end((Hosted,))
            case Hosted(seat):
                live[Hosted,], host = number, seat
            case SaidReady(seat, says) | PeopleChosen(seat, says):
                end((type(entry), seat))
                if says:
                    live[type(entry), seat] = number
            case PersonEntered(person):  # in an evening
                live[PersonEntered, person] = number
            case NoticesTo(seat, says) | Noticed(seat, says) | PlanMade(seat, says):
                end((type(entry), seat))
                if says:
                    live[type(entry), seat] = number
            case Voted(seat, by, agree):
                end((Voted, seat, by))
                if agree:
                    live[Voted, seat, by] = number
            case GivenToBot(seat) | Returned(seat):
                end((GivenToBot, seat), *((Voted, seat, by) for by in range(len(PEOPLES))))
                if isinstance(entry, GivenToBot):
                    live[GivenToBot, seat] = number
            case Changed(setting):
                live[type(setting), moves if isinstance(setting, AbsenceSetting) else 0] = number
            case Clocked() | Continued() | Unpaused() | Wished():
                live[type(entry),] = number
            case _:
                if isinstance(entry, Played | StoodIn | TokenRevoked):
                    end((PlanMade, entry.seat))
                if isinstance(entry, TokenRevoked):
                    end((NoticesTo, entry.seat), (Noticed, entry.seat))
                others.append(number)
                moves += isinstance(entry, Played | StoodIn | TookBack)
    return sorted([*others, *live.values()])
