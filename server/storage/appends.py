"""What a table asks to have stored, until the commit that it is part of has ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.storage.journal import Part
from server.storage.uninterrupted import Uninterrupted


@dataclass(slots=True)
class Append:
    """Entries of one or several tables, all stored or none; `ended` are games whose records are due."""

    parts: Sequence[Part]
    stored: Uninterrupted[None]
    ended: Sequence[tuple[str, int]] = ()
