"""Names of bots: a person's name with the bot's level beside it, such as `Livia (consul)`."""

import itertools
import random
import re
from collections.abc import Callable
from typing import Final

from protocol.limits import NAME_LENGTH

_PERSONS: Final = """
    Aelia Agrippa Ancus Appius Aurelia Brutus Camilla Cassius Cato Claudia Clodia Cornelia Crassus Drusilla
    Fabia Flavia Fulvia Gaius Gracchus Horatia Junia Livia Lucius Marcia Marius Nerva Octavia Pompeia Priscus
    Quintus Rufus Scipio Servius Sextus Sulla Tiberius Titus Tullia Valeria Varro Vibia Vipsania
"""
PERSONS: Final = tuple(_PERSONS.split())
_CALLED: Final = re.compile(rf"({'|'.join(PERSONS)}) \(([^()]+)\)")


def source_of_names(seed: int | None) -> random.Random:
    """Return the source of chance for names, which shares nothing with that of games."""
    return random.SystemRandom() if seed is None else random.Random(f"{seed} names")


def name_bot(level: str, is_taken: Callable[[str], bool], rng: random.Random) -> str:
    """Return a name for a bot of this level: a person's that nobody has, as `is_taken` says.

    Where all of them are taken, or there is no room for the level, it is the level with a number.
    """
    persons = rng.sample(PERSONS, len(PERSONS))
    called = (f"{person} ({level})" for person in persons if not is_taken(person))
    counted = (numbered(level, number) for number in itertools.count(1))
    fitting = (name for name in called if len(name) <= NAME_LENGTH)
    return next(itertools.chain(fitting, (name for name in counted if not is_taken(name))))


def numbered(brain: str, number: int) -> str:
    """Return the name of a bot that plays with this brain, such as `greedy-1`."""
    return f"{brain[: NAME_LENGTH - len(str(number)) - 1]}-{number}"


def at_level(name: str, level: str) -> str:
    """Return what a bot of this name is called at another level, which is left out if there is no room.

    Any other name stays as it is.
    """
    person = person_of(name)
    if person == name:
        return name
    renamed = f"{person} ({level})"
    return renamed if len(renamed) <= NAME_LENGTH else person


def person_of(name: str) -> str:
    """Return a bot's name without its level; any other name as it is."""
    called = _CALLED.fullmatch(name)
    return name if called is None else called[1]


def level_of(name: str) -> str:
    """Return the level in a bot's name, which may be one with a number; empty if there is none."""
    called = _CALLED.fullmatch(name)
    return name.rpartition("-")[0] if called is None else called[2]
