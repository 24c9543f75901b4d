"""How the screen is coloured: as the player wants it, or else as the environment suggests."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass


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
    """The colours that a player wants."""

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


_chosen = Colouring()


def choose_colouring(colouring: Colouring) -> None:
    """Colour every screen like this from now on."""
    global _chosen  # noqa: PLW0603 - a process has one player, at one terminal
    _chosen = colouring


def chosen_colouring() -> Colouring:
    """Return what was chosen last."""
    return _chosen
