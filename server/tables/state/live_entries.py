"""Which of a table's entries still count: joining and leaving would otherwise fill the journal."""

from collections.abc import Sequence

from protocol.settings import AbsenceSetting, Setting
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
    PeopleChosen,
    Played,
    Returned,
    SaidReady,
    StoodIn,
    Taken,
    Unpaused,
    Voted,
)


def live_entries(entries: Sequence[Entry]) -> list[int]:
    """Return, in order, the numbers of the entries that make the same state as all of them.

    Players and the peoples that they have chosen count until their seats are free again, votes, bots and who
    is ready until that is over, settings until they are changed, and all else for good. An absence policy
    counts unless it is changed in the same turn, because a clock begins and ends with a round.
    """
    others: list[int] = []
    seats: dict[int, int] = {}
    bots: dict[int, int] = {}
    votes: dict[int, dict[int, int]] = {}  # by seat and voter
    host: dict[int, int] = {}
    ready: dict[int, int] = {}
    peoples: dict[int, int] = {}
    settings: dict[tuple[type[Setting], int], int] = {}
    moves = 0
    latest: dict[type[Entry], int] = {}  # of entries that replace those of their kind
    for number, entry in enumerate(entries):
        match entry:
            case Taken(seat) | Kept(seat) | BotSeated(seat):
                seats[seat] = number
                peoples.pop(seat, None)
            case Freed(seat):
                seats.pop(seat, None)
                peoples.pop(seat, None)
                host.pop(seat, None)
                ready.pop(seat, None)
            case Hosted(seat):
                host = {seat: number}
            case SaidReady(seat, True):
                ready[seat] = number
            case SaidReady(seat):
                ready.pop(seat, None)
            case PeopleChosen(seat, None):
                peoples.pop(seat, None)
            case PeopleChosen(seat):
                peoples[seat] = number
            case Voted(seat, by, True):
                votes.setdefault(seat, {})[by] = number
            case Voted(seat, by):
                votes.get(seat, {}).pop(by, None)
            case GivenToBot(seat):
                bots[seat] = number
                votes.pop(seat, None)
            case Returned(seat):
                bots.pop(seat, None)
                votes.pop(seat, None)
            case Changed(AbsenceSetting()):
                settings[AbsenceSetting, moves] = number
            case Changed(setting):
                settings[type(setting), 0] = number
            case Clocked() | Continued() | Unpaused():
                latest[type(entry)] = number
            case _:
                others.append(number)
                moves += isinstance(entry, Played | StoodIn)
    voted = (number for voters in votes.values() for number in voters.values())
    return sorted(
        (
            *others,
            *seats.values(),
            *bots.values(),
            *voted,
            *host.values(),
            *ready.values(),
            *peoples.values(),
            *settings.values(),
            *latest.values(),
        )
    )
