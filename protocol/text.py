"""Names and chat come from strangers: only characters that are safe on any terminal pass."""

import unicodedata
from typing import Final

# Controls, formats (bidirectional overrides among them), surrogates, private use, unassigned, separators.
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters and marks that show nothing: with them one name could look like another, or be invisible.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
_MOST_MARKS: Final = 2  # combining marks on one letter; more of them reach into other lines


def unsafe(text: str) -> str | None:
    """Return why `text` may not be shown to others, or None if it may."""
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        if category in _UNSAFE or character in _BLANK:
            return f"it has the unprintable character U+{ord(character):04X}"
        marks = marks + 1 if category in {"Mn", "Me"} else 0
        if marks > _MOST_MARKS:
            return "it has too many combining marks on one letter"
    if text != text.strip() or not text:
        return "it is empty, or begins or ends with a space"
    if unicodedata.normalize("NFC", text) != text:
        return "it is not in Unicode's composed form (NFC)"
    return None


def printable(text: str) -> str:
    """Return `text` with everything that a terminal might act on escaped."""
    return "".join(
        character if unicodedata.category(character) not in _UNSAFE else f"\\x{ord(character):02x}"
        for character in text
    )
