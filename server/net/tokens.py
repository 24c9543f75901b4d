"""Table codes, seat tokens and passwords: the code is for telling friends, the token alone holds a seat."""

import hashlib
import hmac
import secrets
from collections.abc import Container
from typing import Final

from protocol.limits import CODE_LENGTH, PRIVATE_CODE_LENGTH

_LETTERS: Final = "BCDFGHJKLMNPQRSTVWXZ"  # no vowels, so that no code is a word
_TOKEN_BYTES: Final = 32


def new_code(*taken: Container[str], private: bool) -> str:
    """Return a table code that is in none of `taken`; nobody finds that of a `private` table by trying."""
    length = PRIVATE_CODE_LENGTH if private else CODE_LENGTH
    while True:
        code = "".join(secrets.choice(_LETTERS) for _ in range(length))
        if not any(code in each for each in taken):
            return code


def new_token() -> str:
    return secrets.token_urlsafe(_TOKEN_BYTES)


def token_hash(token: str) -> str:
    """Return what is stored of a token; with 256 random bits, it needs neither salt nor stretching."""
    return hashlib.sha256(token.encode()).hexdigest()


def password_fits(given: str, password: str) -> bool:
    """Return whether the password is right, in a time that does not depend on it."""
    return hmac.compare_digest(token_hash(given), token_hash(password))


def hash_fits(given: str, stored: str) -> bool:
    """Return whether two hashes are the same, in a time that does not depend on how far they agree."""
    return hmac.compare_digest(given, stored)
