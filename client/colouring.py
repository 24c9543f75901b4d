"""How the screen is to be coloured: as the player wants it, or else as the terminal tells."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


class Theme(enum.StrEnum):
    """What the terminal draws on; `AUTO` where it does not tell."""

    AUTO = "auto"
    DARK = "dark"
    LIGHT = "light"


class Colours(enum.StrEnum):
    """How many colours there are; `AUTO` is what the environment tells."""

    AUTO = "auto"
    NONE = "none"
    SIXTEEN = "16"
    MANY = "256"
    TRUE = "true"


@dataclass(frozen=True, slots=True)
class Colouring:
    """How a player wants the screen to be coloured."""

    theme: Theme = Theme.AUTO
    colours: Colours = Colours.AUTO

    def settled(self, environment: Mapping[str, str]) -> "Colouring":
        """Return what is wanted with what `environment` tells where it was left open."""
        return Colouring(theme_of(environment, self.theme), colours_of(environment, self.colours))


def theme_of(environment: Mapping[str, str], wanted: Theme) -> Theme:
    """Return the theme wanted or, where the terminal tells its colours, the one that fits them.

    Terminals could be asked for their background, but one that answers late, as over a slow line, would
    have its answer taken for keys: so what the environment does not tell is not known.
    """
    if wanted is not Theme.AUTO:
        return wanted
    ground = environment.get("COLORFGBG", "").rpartition(";")[2]
    if not ground.isdecimal():
        return Theme.AUTO
    # Rxvt's numbers of the 16 colours: white and the bright ones are light, bright black is not.
    return Theme.LIGHT if int(ground) == 7 or 9 <= int(ground) <= 15 else Theme.DARK


def colours_of(environment: Mapping[str, str], wanted: Colours) -> Colours:
    """Return how many colours are wanted or, where that is left open, those the environment tells of."""
    if wanted is not Colours.AUTO:
        return wanted
    if environment.get("NO_COLOR"):
        return Colours.NONE
    if environment.get("COLORTERM") in {"truecolor", "24bit"}:
        return Colours.TRUE
    term = environment.get("TERM", "")
    if term in {"", "dumb", "unknown"} or term.endswith("-mono"):
        return Colours.NONE
    return Colours.MANY if "256color" in term else Colours.SIXTEEN


_wanted = Colouring()


def want(colouring: Colouring) -> None:
    """Colour every screen like this from here on."""
    global _wanted  # noqa: PLW0603 - a process has one player, at one terminal
    _wanted = colouring


def wanted() -> Colouring:
    return _wanted
