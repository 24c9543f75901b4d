"""How the player is called to the screen: as the player wants it, and as the terminal understands it."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple


class Notices(enum.StrEnum):
    """The escape sequence for desktop notices; `AUTO` if the environment decides."""

    AUTO = "auto"
    OSC9 = "osc9"
    OSC777 = "osc777"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Calling:
    """The ways in which the player wants to be called; `wrapped` if tmux has to pass notices on."""

    bell: bool = True
    title: bool = True
    notices: Notices = Notices.AUTO
    wrapped: bool = False

    def resolved(self, environment: Mapping[str, str]) -> "Calling":
        """Return what the terminal that `environment` describes understands of it."""
        return replace(
            self,
            title=self.title and environment.get("TERM", "").startswith(_WITH_TITLE),
            notices=notices_of(environment) if self.notices is Notices.AUTO else self.notices,
            wrapped=bool(environment.get("TMUX")),
        )


# Terminals whose windows have titles; a Linux console would print some of them.
_WITH_TITLE: Final = (
    "alacritty",
    "contour",
    "foot",
    "gnome",
    "konsole",
    "kitty",
    "mintty",
    "putty",
    "rxvt",
    "screen",
    "st-",
    "tmux",
    "vte",
    "wezterm",
    "xterm",
)
_PROGRAMS: Final = {
    "iTerm.app": Notices.OSC9,
    "iTerm2": Notices.OSC9,
    "WezTerm": Notices.OSC777,
    "ghostty": Notices.OSC777,
}
_TERMS: Final = ("foot", "rxvt-unicode", "xterm-ghostty", "xterm-kitty", "wezterm")  # they have OSC 777
_LEAST_VTE: Final = 4600  # older ones print what they do not know
_LEAST_KONSOLE: Final = 220400


def notices_of(environment: Mapping[str, str]) -> Notices:
    """Return the sequence that the terminal is known to turn into a desktop notice, NONE if none is known.

    Over ssh only TERM arrives, and what iTerm2 sends. Within tmux or screen the variables may be those of
    another terminal: there the bell has to do, unless the player names a sequence.
    """
    if environment.get("TMUX") or environment.get("TERM", "").startswith(("screen", "tmux")):
        return Notices.NONE
    for variable in ("TERM_PROGRAM", "LC_TERMINAL"):
        if (known := _PROGRAMS.get(environment.get(variable, ""))) is not None:
            return known
    if environment.get("TERM", "").startswith(_TERMS):
        return Notices.OSC777
    for variable, least in (("VTE_VERSION", _LEAST_VTE), ("KONSOLE_VERSION", _LEAST_KONSOLE)):
        version = environment.get(variable, "")
        if version.isdecimal() and int(version) >= least:
            return Notices.OSC777
    return Notices.NONE


class CallingOptions(NamedTuple):
    """What the command line says of it; None where it says nothing."""

    bell: bool | None = None
    title: bool | None = None
    notices: Notices | None = None


_options = CallingOptions()
_preferred = Calling()


def choose_calling(options: CallingOptions) -> None:
    """Call the player from here on as the command line says, whatever is preferred."""
    global _options  # noqa: PLW0603 - a process has one terminal
    _options = options


def prefer_calling(calling: Calling) -> None:
    """Call the player like this from here on, where the command line says nothing."""
    global _preferred  # noqa: PLW0603 - a process has one terminal
    _preferred = calling


def chosen_calling() -> Calling:
    bell, title, notices = _options
    return replace(
        _preferred,
        bell=_preferred.bell if bell is None else bell,
        title=_preferred.title if title is None else title,
        notices=_preferred.notices if notices is None else notices,
    )
