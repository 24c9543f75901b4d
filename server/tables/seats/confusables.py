"""What characters look like: Unicode's list of confusable characters (UTS 39), from homoglyphs_fork."""

import functools
import importlib.resources
import unicodedata
from collections.abc import Mapping
from typing import Final

import msgspec

_DIRECTION_MARK: Final = "\u200e"  # stands around right-to-left characters in the list
_DOT_ABOVE: Final = "\u0307"
_DOTTED: Final = ("i", "j")  # with one dot more or less they look the same
# What the list says of ASCII: names without other characters need no more of it.
_IN_ASCII: Final[Mapping[int, str]] = {
    ord(character): prototype
    for character, prototype in zip('"%01I`m|', ("''", "º/₀", "O", "l", "l", "'", "rn", "l"), strict=True)
}


def skeleton(text: str) -> str:
    """Return what stands for everything that looks like `text`; not to be shown (UTS 39, 4).

    The list is applied to whole characters and then to their parts: it has both.
    """
    table = _IN_ASCII if text.isascii() else _prototypes()
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, text).translate(table)
    text = unicodedata.normalize("NFD", text)
    for letter in _DOTTED:
        text = text.replace(letter + _DOT_ABOVE, letter)
    return text


def read_list() -> None:
    """Read the list now, which takes 14 ms, and not for the first name that needs it."""
    _prototypes()


@functools.cache
def _prototypes() -> Mapping[int, str]:
    """Return what each character is taken for, by code points.

    The list names for each of its texts those that look like it. In a group of more than two, all look like
    the one in the middle; of a pair, one has several characters or the smaller code point.
    """
    path = importlib.resources.files("homoglyphs_fork") / "confusables.json"
    alike = msgspec.json.decode(path.read_bytes(), type=dict[str, list[str]])
    table: dict[int, str] = {}
    for listed, others in alike.items():
        text, other = _bare(listed), _bare(others[0])
        if len(text) > 1 or len(others) > 1:
            continue
        pair = len(alike[others[0]]) == 1
        if not pair or len(other) > 1 or other < text:
            table[ord(text)] = other
    # What a character is taken for may itself be made of such characters, for the list knows them only whole.
    return {code: prototype.translate(table) for code, prototype in table.items()}


def _bare(text: str) -> str:
    return text.replace(_DIRECTION_MARK, "")
