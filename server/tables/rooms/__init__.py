"""What can be done at a table, a module each: none knows another, and the table knows them as a list."""

from collections.abc import Mapping, Sequence
from typing import Final

from server.storage.entries import Entry
from server.tables.feature import Access, Feature, Happening
from server.tables.rooms.absent_players import AbsentPlayers
from server.tables.rooms.chat import Chat
from server.tables.rooms.consent import Consent
from server.tables.rooms.holidays import Holidays
from server.tables.rooms.host_powers import HostPowers
from server.tables.rooms.looking_back import LookingBack
from server.tables.rooms.notices import OwedNotices
from server.tables.rooms.plans import Plans
from server.tables.rooms.series import Series

ROOMS: Final[tuple[type[Feature], ...]] = (
    AbsentPlayers,
    Chat,
    Consent,
    Holidays,
    HostPowers,
    LookingBack,
    OwedNotices,
    Plans,
    Series,
)

# The rooms that decide on a request, and those that fold an entry, by their types.
DECIDING: Final[Mapping[type, tuple[type[Feature], Access]]] = {
    kind: (room, access) for room in ROOMS for kind, access in room.requests
}
FOLDING: Final[Mapping[type[Happening], tuple[type[Feature], ...]]] = {
    kind: tuple(room for room in ROOMS if kind in {*room.own, *room.folds_too})
    for kind in {kind for room in ROOMS for kind in {*room.own, *room.folds_too}}
}
OWN: Final = frozenset(kind for room in ROOMS for kind in room.own)


def _with(hook: str) -> tuple[type[Feature], ...]:
    """Return the rooms that have this hook: each move asks, and is to cost nothing for the others."""
    return tuple(room for room in ROOMS if getattr(room, hook) is not getattr(Feature, hook))


AWAITING: Final = _with("due")
FOLLOWING: Final = _with("follow")
MOVING: Final = _with("on_move")
PLANNING: Final = _with("planned")
SHOWING: Final = _with("shown")
SHOWING_OF: Final = _with("shown_of")
STOPPING: Final = _with("stopped")
TELLING: Final = _with("told")


def live_in_rooms(entries: Sequence[Entry]) -> dict[int, bool]:
    """Return which entries are the rooms' own, by their numbers, and whether they still count."""
    live = {number: False for number, entry in enumerate(entries) if type(entry) in OWN}
    for room in ROOMS:
        folded = {*room.own, *room.folds_too}
        known = ((number, entry) for number, entry in enumerate(entries) if type(entry) in folded)
        live |= dict.fromkeys(room.live(known), True)
    return live
