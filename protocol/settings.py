"""A table's settings, which its host can change: maps with a tag under `t`, stored with the table.

Those that are on or off are fields of `Switches`, by the tag of the setting that changes them. A new one is
a field there, a kind of `Switch`, one of `AnySwitch`, and a row of `client.ui.texts.tables.ROWS`.
"""

from typing import Annotated, Final, TypeAlias, get_args

from msgspec import Meta, Struct, field, structs

from protocol.absence import Absence
from protocol.limits import HOLIDAYS, TITLE_LENGTH


class _Setting(Struct, frozen=True, tag_field="t", forbid_unknown_fields=True):
    """One of the settings."""


class Title(_Setting, frozen=True, tag="title"):
    """The table's name, shown next to its code; empty for none."""

    text: Annotated[str, Meta(max_length=TITLE_LENGTH)]


class Switches(Struct, frozen=True, omit_defaults=True):
    """The settings that are on or off, explained at `Setting`; the defaults are the usual ones."""

    private: bool = False
    spectators: bool = True
    hints: bool = False
    quiet: bool = False


USUAL: Final = Switches()


class ChosenSwitches(Switches, frozen=True, forbid_unknown_fields=True):
    """The switches chosen for a new table; an older server refuses those that it does not know."""


class Switch(_Setting, frozen=True):
    """One of the switches."""

    on: bool

    def applied(self, switches: Switches) -> Switches:
        return structs.replace(switches, **{str(self.__struct_config__.tag): self.on})


class Private(Switch, frozen=True, tag="private"):
    """Whether the table is kept out of the list, so that it can be reached only by its code."""


class Spectators(Switch, frozen=True, tag="spectators"):
    """Whether the table may be watched."""

    on: bool = field(name="allowed")


class Hints(Switch, frozen=True, tag="hints"):
    """Whether players' programs may suggest moves, each from its own player's view."""


class Quiet(Switch, frozen=True, tag="quiet"):
    """Whether spectators' chat reaches only spectators while a game runs."""


class Starting(_Setting, frozen=True, tag="starting"):
    """The seat that starts, None for a draw; only before the game."""

    seat: Annotated[int, Meta(ge=0, le=4)] | None


class AbsenceSetting(_Setting, frozen=True, tag="absence"):
    """What happens from now on when a player is away or slow."""

    policy: Absence


class Holidays(_Setting, frozen=True, tag="holidays"):
    """How many days of holiday each player may take in a correspondence game."""

    days: Annotated[int, Meta(ge=0, le=HOLIDAYS)]


AnySwitch: TypeAlias = Private | Spectators | Hints | Quiet
Setting: TypeAlias = Title | AnySwitch | Starting | Holidays | AbsenceSetting


def unusual(switches: Switches) -> list[AnySwitch]:
    """Return the switches that are not as usual."""
    kinds: tuple[type[AnySwitch], ...] = get_args(AnySwitch)
    each = [kind(on=getattr(switches, str(kind.__struct_config__.tag))) for kind in kinds]
    return [switch for switch in each if switch.applied(USUAL) != USUAL]
