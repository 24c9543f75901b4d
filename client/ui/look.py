"""How the game looks: signs with and without Unicode, colours, and what the terminal can show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from engine.pieces import People


@dataclass(frozen=True, slots=True)
class Look:
    """The signs that drawings are made of."""

    ascii: bool
    spring: str
    arrow: str
    last: str
    captive: str
    cursor: tuple[str, str]
    turn: str
    times: str
    dot: str
    keys: Mapping[str, str]


UNICODE: Final = Look(
    ascii=False,
    spring="≈",
    arrow="→",
    last="•",
    captive="×",
    cursor=("▐", "▌"),
    turn="►",
    times="×",
    dot="·",
    keys={"left": "←", "right": "→", "up": "↑", "down": "↓"},
)
ASCII: Final = Look(
    ascii=True,
    spring="~",
    arrow=">",
    last="!",
    captive="x",
    cursor=("[", "]"),
    turn=">",
    times="x",
    dot="-",
    keys={},
)


def look_for(encoding: str, term: str, *, ascii_wanted: bool) -> Look:
    """Return the look that a terminal can show; the Linux console lacks the heavy lines."""
    speaks_unicode = encoding.lower().replace("-", "").startswith("utf")
    return UNICODE if speaks_unicode and term != "linux" and not ascii_wanted else ASCII


def people_style(people: People) -> str:
    return f"class:people-{people.value.lower()}"
