"""Players' names: which may be shown, and which could pass for each other.

What characters look like is in Unicode's list of confusable characters (UTS 39), from homoglyphs_fork.
"""

import functools
import importlib.resources
import random
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from protocol.bot_names import name_bot, person_of
from protocol.codes import Code
from protocol.text import mixes_alphabets, unsafe
from server.refusal import Refusal

_DIRECTION_MARK: Final = "\u200e"  # stands around right-to-left characters in the list
_DOT_ABOVE: Final = "\u0307"
_DOTTED: Final = ("i", "j")  # with one dot more or less they look the same
# What the list says of ASCII: names without other characters need no more of it.
_IN_ASCII: Final[Mapping[int, str]] = {
    ord(character): prototype
    for character, prototype in zip('"%01I`m|', ("''", "º/₀", "O", "l", "l", "'", "rn", "l"), strict=True)
}
# The characters that one may stand for: U+FDFA stands for 18 letters, and comparing it takes long.
_MOST_LETTERS: Final = 6
# Variation selectors, Unicode's and the Mongolian ones: they choose how the letter before them is written.
_SHOWING_NOTHING: Final = dict.fromkeys(
    (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0x180B, 0x180E), 0x180F)
)


def skeleton(text: str) -> str:
    """Return a key that is equal for all texts that look like `text` (UTS 39, 4); not to be shown.

    The list of look-alikes is applied to characters and then to their parts: it has both.
    """
    table = _IN_ASCII if text.isascii() else _prototypes()
    for form in ("NFC", "NFD"):
        text = unicodedata.normalize(form, text).translate(table)
    text = unicodedata.normalize("NFD", text)
    for letter in _DOTTED:
        text = text.replace(letter + _DOT_ABOVE, letter)
    return text


@functools.cache
def _prototypes() -> Mapping[int, str]:
    """Return what each character is taken for, by code points.

    They take 14 ms and 5 MiB, once, with the first name that needs them.
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


def check_text(text: str) -> None:
    """Raise Refusal for text that some terminal cannot show."""
    if (reason := unsafe(text)) is not None:
        raise Refusal(Code(f"text-{reason.fault}"), **reason.about)


def check_name(name: str) -> None:
    """Raise Refusal unless `name` may be shown to others, is not misleading, and can be compared quickly."""
    if (reason := unsafe(name)) is not None:
        raise Refusal(Code(f"name-{reason.fault}"), **reason.about)
    for character in name:
        if len(unicodedata.normalize("NFKC", character)) > _MOST_LETTERS:
            raise Refusal(Code.NAME_UNPRINTABLE, character=f"U+{ord(character):04X}")
    if mixes_alphabets(name):
        raise Refusal(Code.NAME_MIXED_ALPHABETS)


def alike(name: str, other: str) -> bool:
    """Return whether two names differ only in case, spaces, invisible marks or look-alikes."""
    return not looks(name).isdisjoint(looks(other))


@functools.lru_cache(maxsize=4096)  # who compares with many names keeps what this returned for them
def looks(name: str) -> frozenset[str]:
    """Return the keys of the names that this one can be mistaken for."""
    plain = unicodedata.normalize("NFKC", name)
    return frozenset({_fold(plain), *(_fold(skeleton(form)).replace("vv", "w") for form in (name, plain))})


def _fold(name: str) -> str:
    """Return Unicode's compatibility caseless form, unspaced."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return "".join(folded.translate(_SHOWING_NOTHING).split())


def name_for_bot(level: str, others: Iterable[str], rng: random.Random) -> str:
    """Return a name for a bot, which none of the others has, nor a bot among them of another level."""
    persons = [person_of(name) for name in others]
    return name_bot(level, lambda name: any(alike(person, name) for person in persons), rng)


class NamesInUse:
    """Names in use, indexed by the forms they may be mistaken for, so no name is compared with all others."""

    def __init__(self) -> None:
        self._names: dict[str, tuple[tuple[str, ...], frozenset[str]]] = {}  # by places, with their looks
        self._places: dict[str, dict[str, None]] = {}  # by looks

    def put(self, place: str, names: tuple[str, ...]) -> None:
        """Note that these names, and no others, are in use at a place."""
        before, old = self._names.pop(place, ((), frozenset[str]()))
        new = old if names == before else frozenset[str]().union(*map(looks, names))
        if names:
            self._names[place] = names, new
        for look in old - new:
            del self._places[look][place]
            if not self._places[look]:
                del self._places[look]
        for look in new - old:
            self._places.setdefault(look, {})[place] = None

    def places(self, wanted: frozenset[str]) -> list[str]:
        """Return where a name is in use that may be mistaken for one with these looks."""
        return list(dict.fromkeys(place for look in wanted for place in self._places.get(look, ())))
