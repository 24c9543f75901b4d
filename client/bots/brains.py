"""The brains there are, by name."""

import importlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from client.bots.brain import Brain
from client.bots.greedy import greedy
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays
from engine.view import View


class NoSuchBrain(ValueError):
    """No brain goes by that name; the text says why and what to write."""


@dataclass(frozen=True, slots=True)
class NamedBrain:
    """A brain as the command line and its help know it."""

    name: str
    choose: Brain
    description: str


def at_random(_view: View, legal: Legal, rng: random.Random) -> Command:
    """Do anything that is legal."""
    if isinstance(legal, LegalLays):
        return LayTile(legal.seat, rng.choice(legal.positions), rng.choice(legal.orientations))
    return Place(legal.seat, rng.choice(legal.pieces), rng.choice(legal.fields))


BRAINS: Final[Mapping[str, NamedBrain]] = MappingProxyType(
    {
        brain.name: brain
        for brain in (
            NamedBrain("random", at_random, "does anything that is legal"),
            NamedBrain("greedy", greedy, "looks one move ahead at what is visible"),
        )
    }
)


def brain_named(text: str) -> NamedBrain:
    """Return the brain called `text`, or one's own, written `module:attribute`; raises NoSuchBrain."""
    if (brain := BRAINS.get(text)) is not None:
        return brain
    module_name, colon, attribute = text.partition(":")
    if not (colon and attribute and all(part.isidentifier() for part in module_name.split("."))):
        known = ", ".join(BRAINS)
        raise NoSuchBrain(f"There is no brain {text!r}. Choose {known}, or your own as module:attribute.")
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise NoSuchBrain(f"The module {module_name!r} cannot be imported: {error}.") from error
    choose = getattr(module, attribute, None)
    if choose is None:
        raise NoSuchBrain(f"The module {module_name!r} has no {attribute!r}.")
    if not callable(choose):
        raise NoSuchBrain(f"{text} cannot be called: a brain is a function of view, legal moves and chance.")
    return NamedBrain(attribute, choose, choose.__doc__ or "")
