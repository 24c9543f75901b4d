"""Paints frames on the terminal: in the colours that it can show, and only where they have changed.

A drawn line is a value, so comparing it with the one on the screen shows whether that is up to date.
prompt_toolkit's own renderer compares both screens cell by cell, which takes longer than all the drawing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import Final

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output import ColorDepth, Output
from prompt_toolkit.styles import Attrs, BaseStyle, Style
from prompt_toolkit.styles.base import DEFAULT_ATTRS

from client.player.terminal import Colouring, Colours, Theme
from client.ui.frame import EMPTY, Line, width_of
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
    tiles: Mapping[Tile, str]
    text: str
    quiet: str
    hill: str
    spring: str
    cursor: ColourPair


_BLACK, _WHITE = "#000000", "#ffffff"


def _peoples(white: str, black: str, *backgrounds: str) -> dict[People, ColourPair]:
    pairs = zip(People, backgrounds, (white, black, white, black, black), strict=True)
    return {people: ColourPair(background, foreground) for people, background, foreground in pairs}


def _tiles(*backgrounds: str) -> dict[Tile, str]:
    return dict(zip(TILES, backgrounds, strict=True))


# Every people has its own background, so that it looks the same on every terminal. Eyes that lack one kind of
# cone can tell them apart too: where they mix up hues, such as red and green, the brightness differs.
_SIXTEEN: Final = ("white", "black", "red", "brightyellow", "blue", "cyan", "brightmagenta")
PEOPLE_COLOURS: Final[Mapping[Colours, Mapping[People, ColourPair]]] = {
    Colours.TRUE: _peoples(_WHITE, _BLACK, "#b81422", "#ffd92f", "#2346f0", "#5fd7af", "#b065b5"),
    Colours.MANY: _peoples(_WHITE, _BLACK, "#af0000", "#ffd700", "#0000ff", "#5fd7af", "#af5faf"),
    Colours.SIXTEEN: _peoples(*(f"ansi{name}" for name in _SIXTEEN)),
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
        words = {"refusal": "bg:ansired ansiwhite bold", "code": "bg:ansiblack ansiwhite"}
        return Style.from_dict({**_ATTRIBUTES, **peoples, **words})
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
            "code": "bg:#000000 #ffffff",
        }
    )


def _people_styles(pairs: Mapping[People, ColourPair]) -> dict[str, str]:
    curves = {f"curve-{people.lower()}": pair.background for people, pair in pairs.items()}
    return curves | {
        f"people-{people.lower()}": f"bg:{pairs[people].background} {pairs[people].foreground} bold"
        if people in pairs
        else "bold"
        for people in People
    }


# Synchronized output: terminals that know it show all that lies between at once; the others ignore it.
_BEGIN_UPDATE: Final = "\x1b[?2026h"
_END_UPDATE: Final = "\x1b[?2026l"

_CONTROLS: Final = dict.fromkeys((*range(0x20), *range(0x7F, 0xA0)))  # to be left out


class Painter:
    """The screen of a terminal, and the lines that are on it; the cursor rests in its upper left corner."""

    def __init__(self, output: Output, style: BaseStyle, depth: ColorDepth) -> None:
        self._output, self._style, self._depth = output, style, depth
        self._attributes: dict[str, Attrs] = {}
        self._size: Size | None = None
        self._shown: tuple[Line, ...] = ()

    def forget(self) -> None:
        """Write every line again next time: the screen may show something else."""
        self._size = None

    def paint(self, lines: tuple[Line, ...], size: Size) -> None:
        output = self._output
        output.write_raw(_BEGIN_UPDATE)
        if size != self._size:
            output.erase_screen()
            self._size, self._shown = size, (EMPTY,) * size.rows
        at = 0
        for number, (line, before) in enumerate(zip(lines, self._shown, strict=False)):
            if line != before:
                output.write_raw("\r\n" * (number - at) or "\r")
                at = number
                self._paint_line(line, before)
        output.cursor_goto(0, 0)
        output.write_raw(_END_UPDATE)
        output.flush()
        self._shown = lines

    def _paint_line(self, line: Line, before: Line) -> None:
        """Write `line` over `before`, without the parts at both ends that are the same."""
        pairs = zip(line, before, strict=False)
        left = sum(1 for _ in takewhile(_alike, pairs))
        rest = zip(reversed(line[left:]), reversed(before[left:]), strict=False)
        right = sum(1 for _ in takewhile(_alike, rest))
        if left:
            self._output.cursor_forward(width_of(line[:left]))
        changed = line[left : len(line) - right]
        to_the_end = not right and changed and not changed[-1][0] and not changed[-1][1].strip(" ")
        current = DEFAULT_ATTRS
        for style, text, _action in changed[:-1] if to_the_end else changed:
            wanted = self._attributes_of(style)
            if wanted != current:
                self._output.set_attributes(wanted, self._depth)
                current = wanted
            self._output.write(text if text.isprintable() else text.translate(_CONTROLS))
        if current != DEFAULT_ATTRS:
            self._output.reset_attributes()
        if to_the_end:
            self._output.erase_end_of_line()

    def _attributes_of(self, style: str) -> Attrs:
        found = self._attributes.get(style)
        if found is None:
            found = self._attributes[style] = self._style.get_attrs_for_style_str(style)
        return found


def _alike(pair: tuple[object, object]) -> bool:
    return pair[0] == pair[1]
