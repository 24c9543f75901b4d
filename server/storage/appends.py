"""What a table asks to have stored, until the commit that it is part of has ended."""

from collections.abc import Sequence
from dataclasses import dataclass

from server.storage.entries import Forgotten
from server.storage.journal import Part
from server.storage.uninterrupted import Uninterrupted


@dataclass(frozen=True, slots=True)
class Append:
    """Entries of one or several tables, all stored or none; `ended` are games whose records are due."""

    parts: Sequence[Part]
    stored: Uninterrupted[None]
    ended: Sequence[tuple[str, int]] = ()

    @property
    def entries(self) -> int:
        return sum(len(entries) for _, _, entries in self.parts)

    @property
    def removes(self) -> bool:
        return any(isinstance(entry, Forgotten) for _, _, entries in self.parts for entry in entries)
