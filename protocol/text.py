"""Names and chat come from strangers: only characters that are safe on any terminal pass."""

import enum
import json
import unicodedata
from collections.abc import Callable
from typing import Final, NamedTuple

# Controls, formats (bidirectional overrides among them), surrogates, private use, unassigned, separators.
_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
# Letters, signs and marks that show nothing: with them one name could look like another, or be invisible.
_BLANK: Final = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\U00013441\U00013442\U00016fe4\U0001d159"
)
_MARKS: Final = frozenset({"Mn", "Me"})  # which show nothing without a letter before them
# Scripts that look alike, by the first words of their letters' Unicode names.
_ALPHABETS: Final = frozenset(
    {"LATIN", "CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE", "COPTIC", "LISU", "CANADIAN"}
)
_MOST_MARKS: Final = 2  # combining marks on one letter; more of them reach into other lines


class TextFault(enum.StrEnum):
    """Why a text may not be shown to others; the second half of its code in a refusal."""

    UNPRINTABLE = "unprintable"
    TOO_MANY_MARKS = "too-many-marks"
    BLANK = "blank"
    NOT_COMPOSED = "not-composed"


class Unsafe(NamedTuple):
    """What is wrong with a text; `about` names the unprintable character."""

    fault: TextFault
    about: dict[str, str]


def unsafe(text: str) -> Unsafe | None:
    """Return why `text` may not be shown to others, or None if it may."""
    marks = 0
    for character in text:
        category = unicodedata.category(character)
        if category in _UNSAFE or character in _BLANK:
            return Unsafe(TextFault.UNPRINTABLE, {"character": f"U+{ord(character):04X}"})
        marks = marks + 1 if category in _MARKS else 0
        if marks > _MOST_MARKS:
            return Unsafe(TextFault.TOO_MANY_MARKS, {})
    if text != text.strip() or not text or unicodedata.category(text[0]) in _MARKS:
        return Unsafe(TextFault.BLANK, {})
    if unicodedata.normalize("NFC", text) != text:
        return Unsafe(TextFault.NOT_COMPOSED, {})
    return None


def mixes_alphabets(text: str) -> bool:
    """Return whether `text` mixes look-alike alphabets."""
    return len(_ALPHABETS & {unicodedata.name(letter, "").split(" ", 1)[0] for letter in text}) > 1


def _escape(character: str) -> str:
    return f"\\x{ord(character):02x}"


def printable(text: str, escape: Callable[[str], str] = _escape) -> str:
    """Return `text` with everything that a terminal might act on escaped."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character if unicodedata.category(character) not in _UNSAFE else escape(character)
        for character in text
    )


def printable_json(text: str) -> str:
    """Return JSON that means the same as `text`, with everything that a terminal might act on escaped.

    Line breaks between its parts stay; inside its strings there can be none.
    """
    return printable(text, lambda character: character if character == "\n" else json.dumps(character)[1:-1])
