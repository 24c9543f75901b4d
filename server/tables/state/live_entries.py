"""Which of a table's entries still count; without it, joining and leaving would fill the journal."""

from collections import defaultdict
from collections.abc import Sequence

from protocol.settings import AbsenceSetting
from server.storage import entries as stored
from server.storage.entries import Entry
from server.tables.rooms import live_in_rooms
from server.tables.state.answers import remember_latest


def live_entries(entries: Sequence[Entry]) -> list[int]:
    """Return, in order, the numbers of the entries that make the same state as all of them.

    Players and the peoples that they have chosen count until their seats are free again, bots and who is
    ready until that is over, settings until they are changed, and all else for good. An absence policy
    counts unless it is changed in the same turn, because a clock begins and ends with a round. Of the
    requests of a seat's player that were answered, the latest count. The rooms say which of their own do.
    """
    others: list[int] = []
    live: dict[tuple[object, ...], int] = {}  # of entries that later ones replace or end, by what they say
    answered = defaultdict[int, dict[int, int]](dict)  # by seats: entries that have these ids of requests
    host: int | None = None
    moves = 0

    def end(seat: int, *kinds: type) -> None:
        for kind in kinds:
            live.pop((kind, seat), None)

    in_rooms = live_in_rooms(entries)
    for number, entry in enumerate(entries):
        if number in in_rooms:
            continue
        match entry:
            case stored.Taken(seat) | stored.Kept(seat) | stored.BotSeated(seat):
                live[stored.Taken, seat] = number
                end(seat, stored.PeopleChosen)
                answered.pop(seat, None)
            case stored.Freed(seat):
                end(seat, stored.Taken, stored.PeopleChosen, stored.SaidReady)
                answered.pop(seat, None)
                if host == seat:
                    live.pop((stored.Hosted,), None)
            case stored.Hosted(seat):
                live[stored.Hosted,], host = number, seat
            case stored.SaidReady(seat, says) | stored.PeopleChosen(seat, says):
                end(seat, type(entry))
                if says:
                    live[type(entry), seat] = number
            case stored.GivenToBot(seat) | stored.Returned(seat):
                end(seat, stored.GivenToBot)
                if isinstance(entry, stored.GivenToBot):
                    live[stored.GivenToBot, seat] = number
            case stored.Changed(setting):
                live[type(setting), moves if isinstance(setting, AbsenceSetting) else 0] = number
            case stored.Answered(seat, requests):
                for request, _ in requests:
                    remember_latest(answered[seat], request, number)
            case stored.Clocked() | stored.Unpaused():
                live[type(entry),] = number
            case _:
                others.append(number)
                moves += isinstance(entry, stored.MOVE_ENTRIES)
    latest = {number for numbers in answered.values() for number in numbers.values()}
    of_rooms = (number for number, counts in in_rooms.items() if counts)
    return sorted([*others, *live.values(), *latest, *of_rooms])
