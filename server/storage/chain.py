"""The chain through a table's entries: each link is a hash of its entry and of the link before it.

A changed, missing or swapped entry breaks the chain there. The hash has no key, because the key would have to
lie beside the file: it is against accidents, and not against somebody who writes to the file.
"""

from hashlib import blake2b
from typing import Final

_LINK_BYTES: Final = 8


def first_link(code: str) -> bytes:
    """Return what the first entry of table `code` is linked to."""
    return _hash(code)


def next_link(previous: bytes, number: int, time: int | None, body: str) -> bytes:
    """Return the link of entry `number`, stored at `time` if that is known."""
    return _hash(f"{previous.hex()} {number} {time or 0} {body}")


def seal(*content: object) -> bytes:
    """Return a hash of what is stored in one row."""
    return _hash(repr(content))


def _hash(text: str) -> bytes:
    # Damaged text need not be UTF-8, and is hashed all the same.
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_LINK_BYTES).digest()
