"""Who a guest is: an ssh key, or a word that is made up for those without one."""

import hashlib
import re
import secrets
from typing import Final

_CONSONANTS: Final = "bdfgklmnprstvz"
_VOWELS: Final = "aeiou"
_PARTS: Final = 4
_RIGHT_PARTS: Final = re.compile(f"(?:(?:[{_CONSONANTS}][{_VOWELS}]){{2}})+")


def new_word() -> str:
    """Return a word that can be read aloud and typed, and that nobody guesses: one of 70 to the eighth."""
    parts = ("".join(secrets.choice(_CONSONANTS) + secrets.choice(_VOWELS) for _ in "12") for _ in "1234")
    return "-".join(parts)


def resembles_word(text: str) -> bool:
    """Return whether a text may be somebody's word, even mistyped: a name would give most of it away."""
    parts = re.findall("[a-z]+", text.lower())
    right = sum(len(part) // 4 for part in parts if _RIGHT_PARTS.fullmatch(part))
    return len(parts) >= _PARTS or right >= _PARTS - 1


def of_word(word: str) -> str:
    return _digest("word", word.lower())


def of_key(fingerprint: str) -> str:
    return _digest("key", fingerprint)


def _digest(kind: str, what: str) -> str:
    return hashlib.blake2b(what.encode(), digest_size=16, person=f"guest {kind}".encode()).hexdigest()
