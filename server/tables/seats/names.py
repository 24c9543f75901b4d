"""Players' names: which may be shown, and which could pass for each other."""

import unicodedata
from typing import Final

from protocol.codes import Code
from protocol.text import unsafe
from server.refusal import Refusal
from server.tables.seats.confusables import skeleton

# Scripts that look alike, by the first words of their letters' Unicode names.
_ALPHABETS: Final = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "CANADIAN"}
)


def check_name(name: str) -> None:
    """Raise Refusal unless `name` may be shown to others and is what it looks like."""
    if (reason := unsafe(name)) is not None:
        raise Refusal(Code(f"name-{reason.fault}"), **reason.about)
    if len(_ALPHABETS & {_first_word(letter) for letter in name}) > 1:
        raise Refusal(Code.NAME_MIXED_ALPHABETS)


def alike(name: str, other: str) -> bool:
    """Tell whether two names differ by no more than case, spaces, marks that do not show, or look-alikes."""
    return not _looks(name).isdisjoint(_looks(other))


def _first_word(letter: str) -> str:
    return unicodedata.name(letter, "").split(" ", 1)[0]


def _looks(name: str) -> set[str]:
    """Return what the name may be mistaken for: as it is, by its letters, and letter for letter."""
    plain = unicodedata.normalize("NFKC", name)
    return {_folded(plain), *(_folded(skeleton(form)).replace("vv", "w") for form in (name, plain))}


def _folded(name: str) -> str:
    """Return Unicode's compatibility caseless form, unspaced."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    shown = (letter for letter in folded if "VARIATION SELECTOR" not in unicodedata.name(letter, ""))
    return "".join("".join(shown).split())
