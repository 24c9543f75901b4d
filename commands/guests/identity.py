"""Who a guest is: an ssh key, or a word that is made up for those without one."""

import hashlib
import re
import secrets
from typing import Final

_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"
_WORD: Final = re.compile(r"(?:[a-z]{4}-){3}[a-z]{4}")


def new_word() -> str:
    """Return a word that can be read aloud and typed, and that nobody guesses: one of 70 to the eighth."""
    parts = ("".join(secrets.choice(_CONSONANTS) + secrets.choice(_VOWELS) for _ in "12") for _ in "1234")
    return "-".join(parts)


def is_word(text: str) -> bool:
    """Tell whether a text may be somebody's word, however it is capitalized."""
    return _WORD.fullmatch(text.lower()) is not None


def of_word(word: str) -> str:
    """Return what the holder of a word is called where seats are kept."""
    return _digest("word", word.lower())


def of_key(fingerprint: str) -> str:
    """Return what the holder of an ssh key is called there."""
    return _digest("key", fingerprint)


def _digest(kind: str, what: str) -> str:
    return hashlib.blake2b(what.encode(), digest_size=16, person=f"guest {kind}".encode()).hexdigest()
