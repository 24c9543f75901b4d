"""The pages of the lessons, and the game that they show."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from msgspec import convert, json

from client.language import _, prose
from client.ui.lessons import goals
from client.ui.texts.glyphs import GlyphSet
from client.ui.texts.pieces import NAMED_SIGNS
from engine.board import Field
from engine.pieces import Seat

NAMES: Final = ("Livia", "Marco")  # the pupil's opponents, seats 1 and 2
MOVES: Final = 42

_EXAMPLE: Final = Path(__file__).with_name("example.txt").read_text("utf-8")  # a record


def record_at(moves: int) -> str:
    """Return the record of the example game after that many moves (tiles laid and pieces placed)."""
    kept: list[str] = []
    made = 0
    for line in _EXAMPLE.splitlines():
        made += " lays " in line or " places " in line
        if made > moves:
            return "\n".join((*kept, "unfinished\n"))
        kept.append(line)
    return _EXAMPLE


PUPIL: Final = Seat(0)


@dataclass(frozen=True, slots=True)
class LessonPage:
    """A page: its text, its goal, the comment when that is reached, and the moment it shows.

    In the texts `{field}`, `{least}`, `{spring}` and the like stand for the goal's and for signs.
    Without a screen, a line like the `example` is what the goal asks for.
    """

    title: str
    text: str  # paragraphs, with an empty line between them
    task: str
    moves: int
    goal: goals.Goal = field(default_factory=goals.Read)
    done: str = ""
    example: str = ""
    eyes: Seat = PUPIL
    cursor: Field | None = None

    def fill(self, text: str, glyphs: GlyphSet) -> str:
        """Return one of the page's texts in the language in use, with its places filled."""
        field, least = (getattr(self.goal, name, None) or "" for name in ("field", "least"))
        signs = {"spring": glyphs.spring, "arrow": glyphs.arrow, **NAMED_SIGNS}
        return _(text).format(field=field, least=least, **signs)


def _page(title: str, about: str, text: str, task: str, done: str = "") -> LessonPage:
    return convert(
        {"title": title, "text": text, "task": task, "done": done, **json.decode(about)}, LessonPage
    )


PAGES: Final = tuple(_page(*texts) for texts in prose(Path(__file__).with_name("lessons.txt")))
