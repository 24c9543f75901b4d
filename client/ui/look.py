"""How the game looks: signs with and without Unicode, colours, and what the terminal can show."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.styles import Style

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


# Every people brings its own background, so that it is the same on light and dark terminals. Their
# brightness differs where their hues are easily mixed up: red and purple, green and yellow.
_PEOPLES: Final = {
    People.ETRUSCANS: ("#a5101c", "#ffffff"),
    People.SABINES: ("#ffd92f", "#000000"),
    People.LATINS: ("#1f4fd8", "#ffffff"),
    People.MARSI: ("#3f9f46", "#000000"),
    People.ARCADIANS: ("#d0a2f7", "#000000"),
}

STYLE: Final = Style.from_dict(
    {
        **{
            f"people-{people.lower()}": f"bg:{ground} {ink} bold"
            for people, (ground, ink) in _PEOPLES.items()
        },
        "strong": "",
        "faint": "#808080",
        "open": "",
        "off": "#808080",
        "hill": "bold #b8860b",
        "spring": "#1e90b4",
        "arrow": "#808080",
        "last": "bold underline",
        "cursor": "reverse bold",
        "ghost": "bold italic #1e90b4",
        "note": "bold reverse",
        "title": "reverse",
        "title-turn": "reverse bold",
        "heading": "bold",
        "mine": "bold",
        "key": "bold",
        "chosen": "reverse",
        "refusal": "bg:#a5101c #ffffff bold",
        "info": "bold",
        "away": "italic",
        "typing": "bold",
    }
)


def people_style(people: People) -> str:
    return f"class:people-{people.value.lower()}"


def people_colours(people: People) -> tuple[str, str]:
    """Return a people's colour, and the one to write on it with."""
    return _PEOPLES[people]
