"""How the screen is coloured and the player called: as the player wants it, or as the terminal suggests."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

WITHOUT_SCREEN: Final = frozenset({"", "dumb", "unknown"})  # types of terminals


class Theme(enum.StrEnum):
    """The terminal's background; `AUTO` if it is not known."""

    AUTO = "auto"
    DARK = "dark"
    LIGHT = "light"


class Colours(enum.StrEnum):
    """How many colours there are; `AUTO` if the environment decides."""

    AUTO = "auto"
    NONE = "none"
    SIXTEEN = "16"
    MANY = "256"
    TRUE = "true"


@dataclass(frozen=True, slots=True)
class Colouring:
    theme: Theme = Theme.AUTO
    colours: Colours = Colours.AUTO

    def resolved(self, environment: Mapping[str, str]) -> "Colouring":
        """Return the same with what `environment` says wherever the player left it open."""
        return Colouring(theme_of(environment, self.theme), colours_of(environment, self.colours))


def theme_of(environment: Mapping[str, str], chosen: Theme) -> Theme:
    """Return the theme wanted or, if the environment names the background, the one that suits it.

    Terminals could be asked for their background, but an answer that came late over a slow connection would
    be read as keys. So only the environment is consulted.
    """
    if chosen is not Theme.AUTO:
        return chosen
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    if not ground.isdecimal():
        return Theme.AUTO
    # Rxvt's numbers of the 16 colours: white and the bright ones are light, but bright black is not.
    return Theme.LIGHT if int(ground) == 7 or 9 <= int(ground) <= 15 else Theme.DARK


def colours_of(environment: Mapping[str, str], chosen: Colours) -> Colours:
    """Return how many colours are wanted or, if that is left open, how many the environment names."""
    if chosen is not Colours.AUTO:
        return chosen
    if environment.get("NO_COLOR"):
        return Colours.NONE
    if environment.get("COLORTERM") in {"truecolor", "24bit"}:
        return Colours.TRUE
    term = environment.get("TERM", "")
    if term in {"", "dumb", "unknown"} or term.endswith("-mono"):
        return Colours.NONE
    return Colours.MANY if "256color" in term else Colours.SIXTEEN


class DesktopNotices(enum.StrEnum):
    """The escape sequence for desktop notifications; `AUTO` if the environment decides."""

    AUTO = "auto"
    OSC9 = "osc9"
    OSC777 = "osc777"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Calling:
    """The ways in which the player wants to be called; `wrapped` if tmux has to pass notices on."""

    bell: bool = True
    title: bool = True
    notices: DesktopNotices = DesktopNotices.AUTO
    wrapped: bool = False

    def resolved(self, environment: Mapping[str, str]) -> "Calling":
        return replace(
            self,
            title=self.title and _WITH_TITLE.match(environment.get("TERM", "")) is not None,
            notices=notices_of(environment) if self.notices is DesktopNotices.AUTO else self.notices,
            wrapped=bool(environment.get("TMUX")),
        )


# Terminals whose windows have titles; a Linux console would print some of them.
_WITH_TITLE: Final = re.compile(
    "alacritty|contour|foot|gnome|konsole|kitty|mintty|putty|rxvt|screen|st-|tmux|vte|wezterm|xterm"
)
_PROGRAMS: Final = {
    "iTerm.app": DesktopNotices.OSC9,
    "iTerm2": DesktopNotices.OSC9,
    "WezTerm": DesktopNotices.OSC777,
    "ghostty": DesktopNotices.OSC777,
}
_TERMS: Final = ("foot", "rxvt-unicode", "xterm-ghostty", "xterm-kitty", "wezterm")  # they have OSC 777
_LEAST_VTE: Final = 4600  # older ones print what they do not know
_LEAST_KONSOLE: Final = 220400


def notices_of(environment: Mapping[str, str]) -> DesktopNotices:
    """Return the sequence that the terminal is known to turn into a desktop notice, NONE if none is known.

    Over ssh only TERM arrives, and what iTerm2 sends. Within tmux or screen the variables may be those of
    another terminal: there the bell has to do, unless the player names a sequence.
    """
    if environment.get("TMUX") or environment.get("TERM", "").startswith(("screen", "tmux")):
        return DesktopNotices.NONE
    for variable in ("TERM_PROGRAM", "LC_TERMINAL"):
        if (known := _PROGRAMS.get(environment.get(variable, ""))) is not None:
            return known
    if environment.get("TERM", "").startswith(_TERMS):
        return DesktopNotices.OSC777
    for variable, least in (("VTE_VERSION", _LEAST_VTE), ("KONSOLE_VERSION", _LEAST_KONSOLE)):
        version = environment.get(variable, "")
        if version.isdecimal() and int(version) >= least:
            return DesktopNotices.OSC777
    return DesktopNotices.NONE


class DisplayOptions(NamedTuple):
    """What the command line says of the screen; for how the player is called, None where it says nothing."""

    ascii: bool = False
    plain: bool = False
    colouring: Colouring = Colouring()
    bell: bool | None = None
    title: bool | None = None
    notices: DesktopNotices | None = None


_options = DisplayOptions()
_preferred = Calling()


def choose_display(options: DisplayOptions) -> None:
    """Show screens and call the player from here on as the command line says, whatever is preferred."""
    global _options  # noqa: PLW0603 - a process has one player, at one terminal
    _options = options


def prefer_calling(calling: Calling) -> None:
    """Call the player like this from here on, where the command line says nothing."""
    global _preferred  # noqa: PLW0603 - a process has one terminal
    _preferred = calling


def chosen_display() -> DisplayOptions:
    return _options


def chosen_calling() -> Calling:
    wanted = {"bell": _options.bell, "title": _options.title, "notices": _options.notices}
    said: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
    return replace(_preferred, **said)


def plain_chosen(environment: Mapping[str, str]) -> bool:
    """Return whether text mode is wanted, or all that the terminal can show."""
    return _options.plain or environment.get("TERM") == "dumb"
