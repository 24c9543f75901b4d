"""A table's settings, which its host can change: maps with a tag under `t`, stored with the table."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from protocol.absence import Absence
from protocol.limits import HOLIDAYS, TITLE_LENGTH


class _Setting(Struct, frozen=True, tag_field="t", forbid_unknown_fields=True):
    """One of the settings."""


class Title(_Setting, frozen=True, tag="title"):
    """The table's name, shown next to its code; empty for none."""

    text: Annotated[str, Meta(max_length=TITLE_LENGTH)]


class Private(_Setting, frozen=True, tag="private"):
    """Whether the table is kept out of the list, so that it can be reached only by its code."""

    on: bool


class Spectators(_Setting, frozen=True, tag="spectators"):
    """Whether the table may be watched."""

    allowed: bool


class Hints(_Setting, frozen=True, tag="hints"):
    """Whether players' programs may suggest moves; each works them out from what its player sees."""

    on: bool


class Quiet(_Setting, frozen=True, tag="quiet"):
    """Whether spectators' chat reaches only spectators while a game runs."""

    on: bool


class Starting(_Setting, frozen=True, tag="starting"):
    """The seat that starts, None for a draw; only before the game."""

    seat: Annotated[int, Meta(ge=0, le=4)] | None


class AbsenceSetting(_Setting, frozen=True, tag="absence"):
    """What happens from now on when a player is away or slow."""

    policy: Absence


class Holidays(_Setting, frozen=True, tag="holidays"):
    """How many days of holiday each player may take in a game by letters."""

    days: Annotated[int, Meta(ge=0, le=HOLIDAYS)]


Setting: TypeAlias = Title | Private | Spectators | Hints | Quiet | Starting | Holidays | AbsenceSetting
