"""The signs used on screens, in texts and in exports, with and without Unicode."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from client.language import _


class Frame(NamedTuple):
    """The characters of a box's edges, from left to right, and of its sides."""

    top: tuple[str, str, str]
    side: str
    bottom: tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class GlyphSet:
    """Signs; if `aloud`, there is a listener, to whom pieces and ranges are told in words."""

    ascii: bool
    spring: str
    arrow: str
    last: str
    captive: str
    cursor: tuple[str, str]
    pointer: str
    times: str
    dot: str
    bar: str
    above: str
    below: str
    frame: Frame
    keys: Mapping[str, str]
    aloud: bool = False


UNICODE: Final = GlyphSet(
    ascii=False,
    spring="≈",
    arrow="→",
    last="•",
    captive="×",
    cursor=("▐", "▌"),
    pointer="►",
    times="×",
    dot="·",
    bar="■",
    above="↑",
    below="↓",
    frame=Frame(("┌", "─", "┐"), "│", ("└", "─", "┘")),
    keys={"left": "←", "right": "→", "up": "↑", "down": "↓"},
)
ASCII: Final = GlyphSet(
    ascii=True,
    spring="~",
    arrow=">",
    last="!",
    captive="x",
    cursor=("[", "]"),
    pointer=">",
    times="x",
    dot="-",
    bar="#",
    above="^",
    below="v",
    frame=Frame(("+", "-", "+"), "|", ("+", "-", "+")),
    keys={},
)


def speaks_unicode(encoding: str) -> bool:
    return encoding.lower().replace("-", "").startswith("utf")


def glyphs_for(encoding: str, term: str) -> GlyphSet:
    """Return the glyphs that a terminal can show; the Linux console lacks heavy lines."""
    return UNICODE if speaks_unicode(encoding) and term != "linux" else ASCII


def glyphs_to_read() -> GlyphSet:
    """Return the words that replace signs in texts that are read aloud."""
    return replace(ASCII, spring=f" ({_('a spring')})", pointer="", times="", aloud=True)
