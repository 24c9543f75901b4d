"""What people are told about the levels of bots, the weakest first; `client.bots.brains` has their brains."""

from dataclasses import dataclass
from typing import Final

from client.language import N_, _


@dataclass(frozen=True, slots=True)
class LevelText:
    """A level: its name as people type it, the same in every language, and what to say about it."""

    name: str
    title: str
    temper: str  # what it likes and where it is weak, in a sentence


LEVELS: Final = (
    LevelText(
        "slave",
        N_("Slave"),
        N_("Stays close to its own pieces, on any field, and takes what fits there: most hills are yours."),
    ),
    LevelText(
        "plebeian",
        N_("Plebeian"),
        N_("Takes what it sees, but overlooks most fields; it plays openly and keeps its wolves for last."),
    ),
    LevelText(
        "citizen",
        N_("Citizen"),
        N_("Loves wolves and plays them first; it hates to fight, and thinks only one move ahead."),
    ),
    LevelText(
        "senator",
        N_("Senator"),
        N_("Imagines a thousand games for each move and guesses your wolves; long plans escape it."),
    ),
    LevelText(
        "consul",
        N_("Consul"),
        N_("Takes seconds to imagine tens of thousands of games; slow, but it forgives few mistakes."),
    ),
)
FOR_BEGINNERS: Final = "plebeian"  # beaten on the second or third try
_BY_NAME: Final = {level.name: level for level in LEVELS}


def describe_level(name: str) -> str:
    """Return what a level is called, with its name if that is another word; other brains have only names."""
    if (level := _BY_NAME.get(name)) is None:
        return name
    title = _(level.title)
    return title if title.casefold() == name else f"{title} ({name})"


def describe_temper(name: str) -> str:
    """Return what a level likes, in a sentence; empty if nothing is known of it."""
    return _(_BY_NAME[name].temper) if name in _BY_NAME else ""


def usual_level(names: tuple[str, ...]) -> str:
    """Return which of a server's levels to offer first: one that a beginner can beat, or else the best."""
    return FOR_BEGINNERS if FOR_BEGINNERS in names else names[-1]
