"""The line that a player types: its text, the cursor in it, and the lines typed before."""

import enum
from dataclasses import dataclass, replace
from typing import Self


class Asked(enum.Enum):
    """What the line asks for."""

    NAME = enum.auto()
    TITLE = enum.auto()
    ADDRESS = enum.auto()


@dataclass(frozen=True, slots=True)
class Entry:
    """A line being typed: a command, or with `chat` a message to the table, with `lobby` one to the lobby, or
    the answer to what a page `asks`. `at` is the cursor, `back` counts the steps back in the history.
    """

    chat: bool = False
    lobby: bool = False
    asks: Asked | None = None
    text: str = ""
    at: int = 0
    back: int = 0

    @property
    def command(self) -> bool:
        return not self.chat and self.asks is None

    def insert(self, text: str) -> Self:
        return replace(self, text=self.text[: self.at] + text + self.text[self.at :], at=self.at + len(text))

    def erase(self) -> Self:
        if not self.at:
            return self
        return replace(self, text=self.text[: self.at - 1] + self.text[self.at :], at=self.at - 1)

    def delete(self) -> Self:
        return replace(self, text=self.text[: self.at] + self.text[self.at + 1 :])

    def moved(self, by: int) -> Self:
        return replace(self, at=min(max(self.at + by, 0), len(self.text)))

    def to_end(self) -> Self:
        return replace(self, at=len(self.text))

    def to_start(self) -> Self:
        return replace(self, at=0)

    def cleared(self) -> Self:
        return replace(self, text="", at=0)

    def filled(self, text: str) -> Self:
        return replace(self, text=text, at=len(text))

    def recalled(self, typed: tuple[str, ...], by: int) -> Self:
        """Return the line typed `by` lines further back, an empty one after the last."""
        back = min(max(self.back + by, 0), len(typed))
        return replace(self, back=back).filled(typed[-back] if back else "")
