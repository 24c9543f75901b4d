"""Players' names: which may be shown, and which could pass for each other."""

import unicodedata
from typing import Final

from protocol.codes import Code
from protocol.text import unsafe
from server.refusal import Refusal

# Alphabets that look alike, by the first words of their letters' Unicode names.
_ALPHABETS: Final = frozenset({"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU"})

# What each letter on the left is taken for, case by case: a capital may deceive where its small one does not.
_TAKEN_FOR: Final = str.maketrans(
    {
        look: letter
        for letter, looks in {
            "A": "АΑ", "B": "ВΒ", "C": "СϹ", "E": "ЕΕ", "H": "НΗ", "J": "ЈͿ", "K": "КΚ", "M": "МΜ", "N": "Ν",
            "O": "ОΟ0", "P": "РΡ", "S": "Ѕ", "T": "ТΤ", "V": "Ѵ", "X": "ХΧ", "Y": "ҮΥ", "Z": "Ζ",
            "a": "аα", "c": "сϲ", "d": "ԁ", "e": "е", "h": "һ", "i": "іι", "j": "јϳ", "l": "I1|ӀІΙ", "n": "η",
            "o": "оοσ", "p": "рρ", "q": "ԛ", "r": "г", "s": "ѕ", "u": "υ", "v": "νѵ", "w": "ԝω", "x": "хχ",
            "y": "уγү",
        }.items()
        for look in looks
    }
)  # fmt: skip


def check_name(name: str) -> None:
    """Raise Refusal unless `name` may be shown to others and is what it looks like."""
    if (reason := unsafe(name)) is not None:
        raise Refusal(Code(f"name-{reason.fault}"), **reason.about)
    if len(_ALPHABETS & {_first_word(letter) for letter in name}) > 1:
        raise Refusal(Code.NAME_MIXED_ALPHABETS)


def alike(name: str, other: str) -> bool:
    """Tell whether two names differ by no more than case, spaces, marks that do not show, or look-alikes."""
    return _folded(name) == _folded(other) or _skeleton(name) == _skeleton(other)


def _first_word(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ", 1)[0]


def _folded(name: str) -> str:
    """Return Unicode's compatibility caseless form, unspaced."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    shown = (letter for letter in folded if "VARIATION SELECTOR" not in unicodedata.name(letter, ""))
    return "".join("".join(shown).split())


def _skeleton(name: str) -> str:
    """Return what a hasty reader takes the name for."""
    plain = unicodedata.normalize("NFKC", name).translate(_TAKEN_FOR)
    return _folded(plain).replace("rn", "m").replace("vv", "w")
