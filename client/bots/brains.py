"""The brains by name."""

import importlib
import random
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from client.bots.brain import Brain
from client.bots.greedy import greedy
from client.language import N_, _
from engine.events import Command
from engine.legal import Legal, random_command
from engine.view import View


class NoSuchBrain(ValueError):
    """There is no brain of that name; the text says why and what to write."""


@dataclass(frozen=True, slots=True)
class NamedBrain:
    """A brain as the command line and its help know it."""

    name: str
    choose: Brain
    description: str


def at_random(_view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose any legal command, each as likely as any other."""
    return random_command(legal, rng)


BRAINS: Final[Mapping[str, NamedBrain]] = MappingProxyType(
    {
        brain.name: brain
        for brain in (
            NamedBrain("random", at_random, N_("plays any legal move")),
            NamedBrain("greedy", greedy, N_("looks one move ahead, using what it can see")),
        )
    }
)


def bots_by_level() -> dict[str, Brain]:
    """Return the brains of the bots that a server seats, by their levels, the weakest first."""
    return {brain.name: brain.choose for brain in BRAINS.values()}


def brain_named(text: str) -> NamedBrain:
    """Return the brain named `text`, or one of the user's own, `module:attribute`; raises NoSuchBrain."""
    if (brain := BRAINS.get(text)) is not None:
        return brain
    module_name, colon, attribute = text.partition(":")
    if not (colon and attribute and all(part.isidentifier() for part in module_name.split("."))):
        known = ", ".join(BRAINS)
        raise NoSuchBrain(
            _(
                "There is no brain called {name}. Choose {known}, or your own, written module:attribute."
            ).format(name=repr(text), known=known)
        )
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        raise NoSuchBrain(
            _("The module {name} cannot be imported: {error}.").format(name=repr(module_name), error=error)
        ) from error
    choose = getattr(module, attribute, None)
    if choose is None:
        raise NoSuchBrain(
            _("The module {name} has no {attribute}.").format(
                name=repr(module_name), attribute=repr(attribute)
            )
        )
    if not callable(choose):
        raise NoSuchBrain(
            _(
                "{name} cannot be called: a brain is a function of the view, the legal moves and a "
                "source of chance."
            ).format(name=text)
        )
    return NamedBrain(attribute, choose, choose.__doc__ or "")
