"""The colours: for as many as the terminal has, and for what it draws on. No colour tells anything alone."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import Style

from client.colouring import Colouring, Colours, Theme
from engine.board import TILES, Tile
from engine.pieces import People

DEPTHS: Final = {
    Colours.NONE: ColorDepth.DEPTH_1_BIT,
    Colours.SIXTEEN: ColorDepth.DEPTH_4_BIT,
    Colours.MANY: ColorDepth.DEPTH_8_BIT,
    Colours.TRUE: ColorDepth.DEPTH_24_BIT,
}


@dataclass(frozen=True, slots=True)
class Pair:
    """A colour, and the one to write on it with."""

    ground: str
    ink: str


@dataclass(frozen=True, slots=True)
class Land:
    """The colours of the tiles and of what is written on them, whatever the terminal's own are."""

    tiles: Mapping[Tile, str]
    ink: str
    quiet: str
    hill: str
    spring: str
    cursor: Pair


_BLACK, _WHITE = "#000000", "#ffffff"


def _peoples(*grounds: str, inks: tuple[str, ...]) -> dict[People, Pair]:
    return {people: Pair(*pair) for people, pair in zip(People, zip(grounds, inks, strict=True), strict=True)}


def _tiles(*grounds: str) -> dict[Tile, str]:
    return dict(zip(TILES, grounds, strict=True))


# Every people brings its own background, so that it is the same on every terminal. They are told apart by
# eyes that lack one kind of cone too: where hues are mixed up, as red and green, brightness differs.
_INKS: Final = (_WHITE, _BLACK, _WHITE, _BLACK, _BLACK)
PEOPLES: Final[Mapping[Colours, Mapping[People, Pair]]] = {
    Colours.TRUE: _peoples("#b81422", "#ffd92f", "#2346f0", "#5fd7af", "#b065b5", inks=_INKS),
    Colours.MANY: _peoples("#af0000", "#ffd700", "#0000ff", "#5fd7af", "#af5faf", inks=_INKS),
    Colours.SIXTEEN: _peoples(
        "ansired",
        "ansibrightyellow",
        "ansiblue",
        "ansicyan",
        "ansibrightmagenta",
        inks=("ansiwhite", "ansiblack", "ansiwhite", "ansiblack", "ansiblack"),
    ),
}

# 256 colours have few dark and few light ones: these are they, and not what others would be rounded to.
LANDS: Final[Mapping[tuple[Colours, Theme], Land]] = {
    (Colours.TRUE, Theme.DARK): Land(
        _tiles("#532f31", "#493520", "#323d22", "#154036", "#013f4c", "#2b3954", "#493147"),
        ink="#f0f0f0",
        quiet="#b8b8b8",
        hill="#ffd75f",
        spring="#7fd4ff",
        cursor=Pair(_WHITE, _BLACK),
    ),
    (Colours.TRUE, Theme.LIGHT): Land(
        _tiles("#ffd8d9", "#f8dec6", "#dce7c9", "#c2ebdf", "#beeaf8", "#d7e2ff", "#f6daf3"),
        ink="#101010",
        quiet="#585858",
        hill="#6a4500",
        spring="#00508c",
        cursor=Pair(_BLACK, _WHITE),
    ),
    (Colours.MANY, Theme.DARK): Land(
        _tiles("#5f0000", "#444444", "#005f00", "#005f5f", "#00005f", "#5f005f", "#5f5f00"),
        ink=_WHITE,
        quiet="#d7d7d7",
        hill="#ffff87",
        spring="#afffff",
        cursor=Pair(_WHITE, _BLACK),
    ),
    (Colours.MANY, Theme.LIGHT): Land(
        _tiles("#ffd7d7", "#d7d7d7", "#d7ffd7", "#d7ffff", "#d7d7ff", "#ffd7ff", "#ffffd7"),
        ink=_BLACK,
        quiet="#4e4e4e",
        hill="#5f5f00",
        spring="#005f87",
        cursor=Pair(_BLACK, _WHITE),
    ),
}

# What is written on the terminal's own background, so that it is read there: by theme, light and dark alike
# where that is not known.
QUIET: Final = {Theme.DARK: "#9e9e9e", Theme.LIGHT: "#626262", Theme.AUTO: "#767676"}

# What has its place without any colour, by what every terminal has.
_SHAPES: Final = {
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
    "typing": "bold",
}


def style_for(colouring: Colouring) -> Style:
    """Return the style of every class that drawings use; `colouring` is settled."""
    colours, theme = colouring.colours, colouring.theme
    if colours is Colours.NONE:
        # Without colours a piece under the cursor is reversed like all else there.
        return Style.from_dict({**_SHAPES, **_people_styles({}), "cursor-piece": "reverse"})
    peoples = _people_styles(PEOPLES[colours])
    if colours is Colours.SIXTEEN:
        refusal = {"refusal": "bg:ansired ansiwhite bold"}
        return Style.from_dict({**_SHAPES, **peoples, **refusal})
    quiet = QUIET[theme]
    land = LANDS[colours, Theme.LIGHT if theme is Theme.LIGHT else Theme.DARK]
    cursor = f"noreverse bold bg:{land.cursor.ground} {land.cursor.ink}"
    edge = f"noreverse bold bg:{land.cursor.ink} {land.cursor.ground}"
    return Style.from_dict(
        {
            **_SHAPES,
            **peoples,
            **{f"tile-{tile.lower()}": f"bg:{ground} {land.ink}" for tile, ground in land.tiles.items()},
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


def _people_styles(pairs: Mapping[People, Pair]) -> dict[str, str]:
    return {
        f"people-{people.lower()}": f"bg:{pairs[people].ground} {pairs[people].ink} bold"
        if people in pairs
        else "bold"
        for people in People
    }
