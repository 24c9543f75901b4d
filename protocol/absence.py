"""A table's policy for absent or slow players, chosen when the table is opened and stored with its game."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Final, TypeAlias

from msgspec import Meta, Struct

_HOUR: Final = 3600
_DAY: Final = 24 * _HOUR

MOVE_CLOCK_SECONDS: Final = (5, _DAY)  # least and most
GAME_CLOCK_SECONDS: Final = (30, 7 * _DAY)
LONG_CLOCK_SECONDS: Final = (5, 30 * _DAY)
RESERVE_SECONDS: Final = (0, 30 * _DAY)
BY_LETTERS_SECONDS: Final = _DAY // 2  # with so long a clock nobody has to stay, or to be here at all
AWAY_SECONDS: Final = (0, _DAY)


class _Policy(Struct, frozen=True, tag_field="t", forbid_unknown_fields=True):
    """One of the policies; a map with its tag under `t`."""


class Wait(_Policy, frozen=True, tag="wait"):
    """The game waits for absent players."""


class MoveClock(_Policy, frozen=True, tag="move-clock"):
    """The stand-in makes the move of a player who has not moved after this many seconds."""

    seconds: Annotated[int, Meta(ge=MOVE_CLOCK_SECONDS[0], le=MOVE_CLOCK_SECONDS[1])]


class LongClock(MoveClock, frozen=True, tag="long-clock"):
    """A move clock for correspondence games; `reserve` is each player's extra time for all turns."""

    seconds: Annotated[int, Meta(ge=LONG_CLOCK_SECONDS[0], le=LONG_CLOCK_SECONDS[1])]
    reserve: Annotated[int, Meta(ge=RESERVE_SECONDS[0], le=RESERVE_SECONDS[1])] = 0


class GameClock(_Policy, frozen=True, tag="game-clock"):
    """Each seat has this many seconds for the whole game; after that the stand-in plays for it."""

    seconds: Annotated[int, Meta(ge=GAME_CLOCK_SECONDS[0], le=GAME_CLOCK_SECONDS[1])]


class ByVote(_Policy, frozen=True, tag="vote"):
    """A player away for this many seconds may be replaced by the stand-in, by vote, until they return."""

    seconds: Annotated[int, Meta(ge=AWAY_SECONDS[0], le=AWAY_SECONDS[1])]


class ByBot(_Policy, frozen=True, tag="bot"):
    """The stand-in replaces a player away for this many seconds, until they return."""

    seconds: Annotated[int, Meta(ge=AWAY_SECONDS[0], le=AWAY_SECONDS[1])]


Absence: TypeAlias = Wait | MoveClock | LongClock | GameClock | ByVote | ByBot

WAIT: Final = Wait()

BOUNDS: Final[Mapping[type[MoveClock | GameClock | ByVote | ByBot], tuple[int, int]]] = MappingProxyType(
    {MoveClock: MOVE_CLOCK_SECONDS, GameClock: GAME_CLOCK_SECONDS, ByVote: AWAY_SECONDS, ByBot: AWAY_SECONDS}
)


def letter_seconds(policy: Absence) -> int:
    """Return the seconds for a move in a correspondence game; else 0."""
    if isinstance(policy, MoveClock | GameClock) and policy.seconds >= BY_LETTERS_SECONDS:
        return policy.seconds
    return 0


def move_clock(seconds: int, reserve: int = 0) -> MoveClock:
    """Return the move clock that every client knows, or a long one if it has to be."""
    return LongClock(seconds, reserve) if reserve or seconds > MOVE_CLOCK_SECONDS[1] else MoveClock(seconds)


def for_older_clients(policy: Absence) -> Absence:
    """Return the policy, or the closest one for clients that do not know long clocks."""
    return MoveClock(min(policy.seconds, MOVE_CLOCK_SECONDS[1])) if isinstance(policy, LongClock) else policy


def kept(policy: Absence) -> Absence:
    """Return the policy to store and send: WAIT itself if it equals that, because messages omit WAIT."""
    return WAIT if policy == WAIT else policy
