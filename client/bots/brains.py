"""Brains that look one move ahead, the levels, which are opponents for people, and all brains by name.

The levels begin with the weakest, and each beats the one before; `docs/measuring-bots.md` shows how often.
"""

import importlib
import itertools
import math
import random
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from client.bots.brain import Brain, describe_brain_failure
from client.bots.greedy import best_lay, best_place, greedy, promises
from client.bots.search.brain import ALWAYS, USUAL, SearchBrain
from client.bots.search.worlds import gain_of_next
from client.language import WrongUse, _
from engine.board import Field
from engine.events import Command, Place
from engine.legal import Legal, LegalLays, LegalPlaces, random_command
from engine.pieces import Kind
from engine.view import View

_OVERLOOKED: Final = 0.75  # the share of the fields that a plebeian does not look at


def slave(view: View, legal: Legal, rng: random.Random) -> Command:
    """Place on any field beside an own piece what promises most there; lay tiles at random."""
    if isinstance(legal, LegalLays):
        return random_command(legal, rng)
    own = {field for field, seat in view.owners.items() if seat == legal.seat}
    near = [field for field in legal.fields if own.intersection(view.layout.adjacent(field))]
    kind, field = best_place(view, legal, [rng.choice(near or legal.fields)], legal.pieces, rng)
    return _place(legal, kind, field, rng)


def plebeian(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but overlook many fields and keep the wolves for the end."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    fields = rng.sample(legal.fields, max(1, round(len(legal.fields) * (1.0 - _OVERLOOKED))))
    kind, field = best_place(view, legal, fields, legal.pieces, rng)
    return _place(legal, kind, field, rng, wolf=False)


def citizen(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but place wolves first, and soldiers only when they are due."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    peaceful = [piece for piece in legal.pieces if piece.kind is not Kind.SOLDIER]
    kind, field = best_place(view, legal, legal.fields, peaceful or legal.pieces, rng)
    return _place(legal, kind, field, rng, wolf=True)


@dataclass(frozen=True, slots=True)
class Bluffer:
    """Chooses like the greedy brain, but pays up to `price` points for a wolf of the unexpected kind."""

    price: float

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        """Choose the best lie, or else the best move."""
        if isinstance(legal, LegalLays):
            return best_lay(view, legal, rng)
        promised = promises(view, legal.seat, legal.fields, legal.pieces)
        gain = gain_of_next(view, legal.seat)
        best = max(promised, key=promised.__getitem__)
        wolves = {piece.kind for piece in legal.pieces if piece.wolf}
        lies = [
            (kind, field)
            for (kind, field), promise in promised.items()
            if kind in wolves
            and promised[best] - promise <= self.price
            and (gain(field) < 0.0) == (kind is Kind.FARMER)
        ]
        kind, field = max(lies, key=promised.__getitem__, default=best)
        return _place(legal, kind, field, rng, wolf=bool(lies))


def _place(
    legal: LegalPlaces, kind: Kind, field: Field, rng: random.Random, *, wolf: bool | None = None
) -> Place:
    """Return the placement of a piece of this kind, with the wolf or without it if that can be chosen."""
    pieces = [piece for piece in legal.pieces if piece.kind is kind]
    return Place(
        legal.seat, rng.choice([each for each in pieces if wolf in {None, each.wolf}] or pieces), field
    )


LEVELS: Final[Mapping[str, Brain]] = MappingProxyType(
    {
        "slave": slave,
        "plebeian": plebeian,
        "citizen": citizen,
        "senator": SearchBrain(1_000, 2.0, USUAL),
        "consul": SearchBrain(30_000, 5.0, USUAL),
    }
)


class NoSuchBrain(WrongUse):
    """There is no brain of that name; the text says why and what to write."""


@dataclass(frozen=True, slots=True)
class NamedBrain:
    name: str
    choose: Brain


def at_random(_view: View, legal: Legal, rng: random.Random) -> Command:
    return random_command(legal, rng)


_SEARCH: Final = "search"
_LIAR: Final = "liar"
_LIES: Final = {_SEARCH: USUAL, _LIAR: ALWAYS}
_SIMULATIONS: Final = range(100, 1_000_001)
_MOST_SECONDS: Final = 60.0  # for a move with a number of simulations that the user chose
_IMPORTING: Final = "<frozen importlib"  # the file of the frames of an import
_USUAL: Final = "choose"  # what the documents call every brain, so its module's name says more
_HERE: Final = ""  # the current folder, among those where modules are looked for

BRAINS: Final[Mapping[str, Brain]] = MappingProxyType(
    {
        "random": at_random,
        "greedy": greedy,
        "bluffer": Bluffer(1.0),
        "gambler": Bluffer(math.inf),
        _SEARCH: SearchBrain(lies=USUAL),
        _LIAR: SearchBrain(lies=ALWAYS),
    }
)


def _module_file(error: BaseException) -> str:
    """Return the file of the module, of those being imported the innermost, in which the error arose."""
    files = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    imported = [file for before, file in itertools.pairwise(files) if before.startswith(_IMPORTING)]
    return imported[-1] if imported else files[-1]


def brain_named(text: str) -> NamedBrain:
    """Return the brain or level named `text`, or the user's own, `module:attribute`; raises NoSuchBrain.

    The module can be in the current folder. `search:N` is a search of N simulations a move.
    """
    if (known := BRAINS.get(text) or LEVELS.get(text)) is not None:
        return NamedBrain(text, known)
    module_name, colon, attribute = text.partition(":")
    if module_name in {_SEARCH, _LIAR} and attribute[:1].isdecimal():
        return _search_of(module_name, attribute)
    if not (colon and attribute and all(part.isidentifier() for part in module_name.split("."))):
        names = ", ".join((*LEVELS, *BRAINS))
        form = _("There is no brain called {name}. Choose {known}, or your own, written module:attribute.")
        raise NoSuchBrain(form.format(name=repr(text), known=names))
    if _HERE not in sys.path:
        sys.path.append(_HERE)  # last, so that it hides no library
    try:
        module = importlib.import_module(module_name)
    except ImportError as error:
        form = _("The module {name} cannot be imported: {error}.")
        raise NoSuchBrain(form.format(name=repr(module_name), error=error)) from error
    except (Exception, SystemExit) as error:  # whatever the user's own code raises
        raise NoSuchBrain(describe_brain_failure(text, error, _module_file(error))) from error
    choose = getattr(module, attribute, None)
    if choose is None:
        # The module may not be the one that the user means.
        origin = getattr(module.__spec__, "origin", None) or ", ".join(getattr(module, "__path__", ()))
        form = _("The module {name} ({origin}) has no {attribute}.")
        raise NoSuchBrain(form.format(name=repr(module_name), origin=origin, attribute=repr(attribute)))
    if not callable(choose):
        form = _(
            "{name} cannot be called: a brain is a function of the view, the legal moves and a "
            "source of chance."
        )
        raise NoSuchBrain(form.format(name=text))
    name = module_name.rpartition(".")[2] if attribute == _USUAL else attribute
    return NamedBrain(name, choose)


def _search_of(name: str, number: str) -> NamedBrain:
    """Return the search or liar of so many simulations a move, which may take longer; raises NoSuchBrain."""
    readable = number.isascii() and number.isdecimal() and len(number) <= len(str(_SIMULATIONS[-1]))
    if not readable or (simulations := int(number)) not in _SIMULATIONS:
        text = _("A search makes {least} to {most} simulations a move, not {n}.")
        raise NoSuchBrain(text.format(n=number, least=_SIMULATIONS[0], most=_SIMULATIONS[-1]))
    return NamedBrain(name, SearchBrain(simulations, _MOST_SECONDS, _LIES[name]))
