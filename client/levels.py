"""What people are told about the levels of bots, the weakest first; `client.bots.brains` has their brains."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from client.language import _, prose


@dataclass(frozen=True, slots=True)
class LevelText:
    """A level: its name as people type it, the same in every language; what it likes, and what it says."""

    name: str
    title: str
    temper: str  # what it likes and where it is weak, in a sentence
    greetings: tuple[str, ...]
    on_victory: tuple[str, ...]
    on_defeat: tuple[str, ...]


LEVELS: Final = tuple(
    LevelText(name.strip("{}"), title, temper, tuple(says[:2]), tuple(says[2:4]), tuple(says[4:]))
    for name, title, temper, *says in prose(Path(__file__).with_name("levels.txt"))
)
FOR_BEGINNERS: Final = "plebeian"  # beaten on the second or third try
_BY_NAME: Final = {level.name: level for level in LEVELS}


def level_named(name: str) -> LevelText | None:
    return _BY_NAME.get(name)


def describe_level(name: str) -> str:
    """Return what a level is called, with its name if that is another word; other brains have only names."""
    if (level := _BY_NAME.get(name)) is None:
        return name
    title = _(level.title)
    return title if title.casefold() == name else f"{title} ({name})"


def describe_temper(name: str) -> str:
    """Return what a level likes, in a sentence; empty if nothing is known of it."""
    return _(_BY_NAME[name].temper) if name in _BY_NAME else ""


def stronger_than(names: Sequence[str]) -> str | None:
    """Return the level above the strongest of these, None if there is none, or if one of them is no level."""
    order = [level.name for level in LEVELS]
    if not names or not set(names) <= set(order):
        return None
    return next(iter(order[max(map(order.index, names)) + 1 :]), None)


def usual_level(names: tuple[str, ...]) -> str:
    """Return which of a server's levels to offer first: one that a beginner can beat, or else the best."""
    return FOR_BEGINNERS if FOR_BEGINNERS in names else names[-1]
