"""Knobs: constants and limits of the product that decide when rare things happen. Each seed moves some."""

import random
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Final, NamedTuple, TypeAlias

from server.cluster import channel
from server.net.connections import connection_limits, limited_connection
from server.storage import archive_index
from server.storage.postgresql import hand_over, held_lease, line, telling
from server.storage.sqlite import checkpoints, commit_list
from server.storage.sqlite import journal as sqlite_journal
from server.tables import context
from server.tables.evening import evening, rounds
from server.tables.game import game_start
from server.tables.online import lobby_chat, remarks
from server.tables.registry import public_tables
from server.tables.rooms import chat, consent
from server.tables.state import answers

Settings: TypeAlias = Mapping[str, float]  # by the names of knobs

_MOVED: Final = 0.4  # of the knobs of a seed


class Knob(NamedTuple):
    """A constant of these modules, and the values that seeds choose from; with none, it is moved by hand."""

    constant: str
    modules: Sequence[ModuleType]
    values: Sequence[float] = ()

    @property
    def name(self) -> str:
        return f"{self.modules[0].__name__.rpartition('.')[2]}.{self.constant}"


KNOBS: Final = (
    Knob("ENTRIES_BETWEEN_SHORTENINGS", (context, evening), (5, 12, 30)),
    Knob("KEPT", (answers,), (2, 4, 8)),
    Knob("PAUSES", (consent,), (1, 2)),
    Knob("TAKE_BACKS", (consent,), (1, 2, 4)),
    Knob("SHARE_SECONDS", (game_start,), (0.2, 1.0)),
    Knob("REMARKS_REPEATED", (chat, remarks), (1, 3)),
    Knob("_KEPT", (remarks,), (1, 5)),
    Knob("_GROUP", (lobby_chat,), (1, 2)),
    Knob("_MOST_TIMES", (public_tables,), (1, 3)),
    Knob("SECONDS_TO_COME", (evening,), (5.0, 20.0)),
    Knob("SECONDS_BETWEEN_ROUNDS", (evening,), (1.0, 10.0)),
    Knob("SECONDS_BEFORE_FIRST", (evening,), (1.0, 30.0)),
    Knob("PATIENCE", (evening, rounds), (2.0, 20.0)),
    Knob("_RENEWALS", (held_lease,), (2, 5)),
    Knob("_TAKEN_AT_ONCE", (held_lease,), (1, 2, 5)),
    Knob("_SECONDS_TO_WAIT", (held_lease,), (0.1, 1.0)),
    Knob("_SECONDS_TO_TAKE", (hand_over,), (0.01, 0.1, 0.5)),
    Knob("_DOUBT_SECONDS", (line,), (0.5, 3.0)),
    Knob("_BLIP_SECONDS", (line,), (0.05,)),
    Knob("READ_AT_ONCE", (telling, channel), (1, 3)),
    Knob("_TOLD_AT_ONCE", (channel,), (1, 5)),
    Knob("_LONGEST_GAP", (channel,), (3.0,)),
    Knob("_SECONDS_BETWEEN_BEATS", (channel,)),
    Knob("_MOST_AT_ONCE", (archive_index,), (1, 3)),
    Knob("_ENTRIES_BETWEEN", (checkpoints,), (1, 10, 4000)),
    Knob("_ENTRY_BYTES", (checkpoints,)),
    Knob("_MOST_BYTES", (checkpoints,), (64 * 1024, 2**20)),
    Knob("_SIZE_TO_REWRITE", (commit_list,), (500, 5000)),
    Knob("_SECONDS_BETWEEN_LOOKS", (sqlite_journal,)),
    Knob("_MESSAGES_WAITING", (limited_connection,), (1, 2)),
    Knob("_REQUESTS_AT_ONCE", (connection_limits,), (1,)),
)
_LIMITS: Final[Mapping[str, Sequence[float]]] = {  # of `Limits`
    "spectators": (1, 2),
    "chat_per_table": (1, 5),
    "chat_in_lobby": (1, 5),
    "wrong_codes_per_address": (1, 5),
    "lobby_idle_seconds": (5.0,),
    "burst": (5,),
}
# A simulation's few games would never see a checkpoint, nor a log that is cut off.
_USUAL: Final[Settings] = {
    "checkpoints._ENTRIES_BETWEEN": 60,
    "checkpoints._ENTRY_BYTES": 2048,
    "checkpoints._MOST_BYTES": 256 * 1024,
}
_OVER_DAYS: Final[Settings] = {
    "journal._SECONDS_BETWEEN_LOOKS": 3600.0,  # nobody else touches the files
    "channel._SECONDS_BETWEEN_BEATS": 400.0,  # else it is most of the work of nodes with a long lease
}


def constants_of(seed: int, *, over_days: bool, moved: bool) -> Settings:
    """Return the constants that have other values in the simulation with this seed: `moved`, or as usual."""
    rng = random.Random(f"knobs {seed}")
    settings = {**_USUAL, **(_OVER_DAYS if over_days else {})}
    for knob in KNOBS:
        if moved and knob.values and rng.random() < _MOVED:
            settings[knob.name] = rng.choice(knob.values)
    return settings


def limits_of(seed: int) -> Mapping[str, Any]:
    """Return the limits that have other values there, by their names in `Limits`."""
    rng = random.Random(f"limits {seed}")
    return {name: rng.choice(values) for name, values in _LIMITS.items() if rng.random() < _MOVED}


def turn(settings: Settings) -> None:
    """Give constants other values, for as long as the process lives."""
    for knob in KNOBS:
        if knob.name in settings:
            for module in knob.modules:
                assert knob.constant in vars(module), knob.name
                vars(module)[knob.constant] = settings[knob.name]
