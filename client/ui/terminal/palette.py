"""The colours, by how many the terminal has and by its background. Nothing is shown by colour alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from client.player.colouring import Colouring, Colours, Theme
from engine.board import TILES, Tile
from engine.pieces import People

DEPTHS: Final = {
    Colours.NONE: ColorDepth.DEPTH_1_BIT,
    Colours.SIXTEEN: ColorDepth.DEPTH_4_BIT,
    Colours.MANY: ColorDepth.DEPTH_8_BIT,
    Colours.TRUE: ColorDepth.DEPTH_24_BIT,
}


@dataclass(frozen=True, slots=True)
class ColourPair:
    """A background, and a colour of text that is readable on it."""

    background: str
    foreground: str


@dataclass(frozen=True, slots=True)
class LandColours:
    """The backgrounds of the tiles, and the colours of what is written on them."""

    tiles: Mapping[Tile, str]
    text: str
    quiet: str
    hill: str
    spring: str
    cursor: ColourPair


_BLACK, _WHITE = "#000000", "#ffffff"


def _peoples(*backgrounds: str, foregrounds: tuple[str, ...]) -> dict[People, ColourPair]:
    return {
        people: ColourPair(*pair)
        for people, pair in zip(People, zip(backgrounds, foregrounds, strict=True), strict=True)
    }


def _tiles(*backgrounds: str) -> dict[Tile, str]:
    return dict(zip(TILES, backgrounds, strict=True))


# Every people has its own background, so that it looks the same on every terminal. Eyes that lack one kind of
# cone can tell them apart too: where they mix up hues, such as red and green, the brightness differs.
_FOREGROUNDS: Final = (_WHITE, _BLACK, _WHITE, _BLACK, _BLACK)
PEOPLE_COLOURS: Final[Mapping[Colours, Mapping[People, ColourPair]]] = {
    Colours.TRUE: _peoples("#b81422", "#ffd92f", "#2346f0", "#5fd7af", "#b065b5", foregrounds=_FOREGROUNDS),
    Colours.MANY: _peoples("#af0000", "#ffd700", "#0000ff", "#5fd7af", "#af5faf", foregrounds=_FOREGROUNDS),
    Colours.SIXTEEN: _peoples(
        "ansired",
        "ansibrightyellow",
        "ansiblue",
        "ansicyan",
        "ansibrightmagenta",
        foregrounds=("ansiwhite", "ansiblack", "ansiwhite", "ansiblack", "ansiblack"),
    ),
}

# Few of the 256 colours are dark or light. These are among the 256, so that none is rounded to another.
LAND_COLOURS: Final[Mapping[tuple[Colours, Theme], LandColours]] = {
    (Colours.TRUE, Theme.DARK): LandColours(
        _tiles("#532f31", "#493520", "#323d22", "#154036", "#013f4c", "#2b3954", "#493147"),
        text="#f0f0f0",
        quiet="#b8b8b8",
        hill="#ffd75f",
        spring="#7fd4ff",
        cursor=ColourPair(_WHITE, _BLACK),
    ),
    (Colours.TRUE, Theme.LIGHT): LandColours(
        _tiles("#ffd8d9", "#f8dec6", "#dce7c9", "#c2ebdf", "#beeaf8", "#d7e2ff", "#f6daf3"),
        text="#101010",
        quiet="#585858",
        hill="#6a4500",
        spring="#00508c",
        cursor=ColourPair(_BLACK, _WHITE),
    ),
    (Colours.MANY, Theme.DARK): LandColours(
        _tiles("#5f0000", "#444444", "#005f00", "#005f5f", "#00005f", "#5f005f", "#5f5f00"),
        text=_WHITE,
        quiet="#d7d7d7",
        hill="#ffff87",
        spring="#afffff",
        cursor=ColourPair(_WHITE, _BLACK),
    ),
    (Colours.MANY, Theme.LIGHT): LandColours(
        _tiles("#ffd7d7", "#d7d7d7", "#d7ffd7", "#d7ffff", "#d7d7ff", "#ffd7ff", "#ffffd7"),
        text=_BLACK,
        quiet="#4e4e4e",
        hill="#5f5f00",
        spring="#005f87",
        cursor=ColourPair(_BLACK, _WHITE),
    ),
}

# Readable on the terminal's own background: on a dark one, a light one, or both where the theme is not known.
QUIET_COLOURS: Final = {Theme.DARK: "#9e9e9e", Theme.LIGHT: "#626262", Theme.AUTO: "#767676"}

# Attributes that every terminal has, for what has to stand out without colours as well.
_ATTRIBUTES: Final = {
    "hill": "bold",
    "last": "bold",
    "last-piece": "underline",
    "cursor": "reverse bold",
    "cursor-edge": "reverse bold",
    "ghost": "bold italic",
    "note": "bold reverse",
    "title": "reverse",
    "title-turn": "reverse bold",
    "heading": "bold",
    "mine": "bold",
    "key": "bold",
    "chosen": "reverse",
    "refusal": "reverse bold",
    "info": "bold",
    "away": "italic",
    "talk": "italic",
    "unread": "reverse bold",
    "typing": "bold",
}


def style_for(colouring: Colouring) -> Style:
    """Return the style of every class that drawings use; `colouring` must be resolved."""
    colours, theme = colouring.colours, colouring.theme
    if colours is Colours.NONE:
        # Without colours, a piece under the cursor is reversed like everything else there.
        return Style.from_dict({**_ATTRIBUTES, **_people_styles({}), "cursor-piece": "reverse"})
    peoples = _people_styles(PEOPLE_COLOURS[colours])
    if colours is Colours.SIXTEEN:
        refusal = {"refusal": "bg:ansired ansiwhite bold"}
        return Style.from_dict({**_ATTRIBUTES, **peoples, **refusal})
    quiet = QUIET_COLOURS[theme]
    land = LAND_COLOURS[colours, Theme.LIGHT if theme is Theme.LIGHT else Theme.DARK]
    cursor = f"noreverse bold bg:{land.cursor.background} {land.cursor.foreground}"
    edge = f"noreverse bold bg:{land.cursor.foreground} {land.cursor.background}"
    return Style.from_dict(
        {
            **_ATTRIBUTES,
            **peoples,
            **{
                f"tile-{tile.lower()}": f"bg:{background} {land.text}"
                for tile, background in land.tiles.items()
            },
            "faint": quiet,
            "off": quiet,
            "inner": land.quiet,
            "arrow": land.quiet,
            "hill": f"bold {land.hill}",
            "spring": land.spring,
            "ghost": f"bold italic {land.spring}",
            "cursor": cursor,
            "cursor-edge": edge,
            "refusal": "bg:#af0000 #ffffff bold",
        }
    )


def _people_styles(pairs: Mapping[People, ColourPair]) -> dict[str, str]:
    return {
        f"people-{people.lower()}": f"bg:{pairs[people].background} {pairs[people].foreground} bold"
        if people in pairs
        else "bold"
        for people in People
    }
