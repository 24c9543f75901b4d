"""The levels: five opponents for people, the weakest first, each with its temper; and hints by one of them.

Each beats the one before; `docs/measuring-bots.md` shows how often, and with which command that was measured.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from anyio.lowlevel import RunVar

from client.bots.brain import Brain
from client.bots.greedy import best_lay, best_place, greedy
from client.bots.search.brain import HONEST, MIXED, SearchBrain, SearchFailed, searched
from client.language import _, counted
from client.levels import LEVELS as TOLD
from client.levels import LevelText
from client.tables.table import Suggestion
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, LegalPlaces, random_command
from engine.pieces import Kind, Piece
from engine.view import View

_OVERLOOKED: Final = 0.75  # the share of the fields that a plebeian does not look at


@dataclass(frozen=True, slots=True)
class Level:
    """An opponent that people choose by name, and what they are told about it."""

    told: LevelText
    choose: Brain

    @property
    def name(self) -> str:
        """Return its name as people type it."""
        return self.told.name

    @property
    def searches(self) -> bool:
        """Return whether it thinks for long, and so in a process of its own (`client.bots.search`)."""
        return isinstance(self.choose, SearchBrain)


def slave(view: View, legal: Legal, rng: random.Random) -> Command:
    """Place on any field beside an own piece what promises most there; lay tiles at random."""
    if isinstance(legal, LegalLays):
        return random_command(legal, rng)
    own = {field for field, seat in view.owners.items() if seat == legal.seat}
    near = [field for field in legal.fields if own.intersection(view.layout.adjacent(field))]
    kind, field = best_place(view, legal, [rng.choice(near or legal.fields)], legal.pieces, rng)
    return Place(legal.seat, rng.choice(_of_kind(legal.pieces, kind)), field)


def plebeian(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but overlook many fields and keep the wolves for the end."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    fields = rng.sample(legal.fields, max(1, round(len(legal.fields) * (1.0 - _OVERLOOKED))))
    kind, field = best_place(view, legal, fields, legal.pieces, rng)
    pieces = _of_kind(legal.pieces, kind)
    return Place(legal.seat, rng.choice([piece for piece in pieces if not piece.wolf] or pieces), field)


def citizen(view: View, legal: Legal, rng: random.Random) -> Command:
    """Choose like the greedy brain, but place wolves first, and soldiers only when they are due."""
    if isinstance(legal, LegalLays):
        return best_lay(view, legal, rng)
    peaceful = [piece for piece in legal.pieces if piece.kind is not Kind.SOLDIER]
    kind, field = best_place(view, legal, legal.fields, peaceful or legal.pieces, rng)
    pieces = _of_kind(legal.pieces, kind)
    return Place(legal.seat, rng.choice([piece for piece in pieces if piece.wolf] or pieces), field)


def _of_kind(pieces: Sequence[Piece], kind: Kind) -> list[Piece]:
    return [piece for piece in pieces if piece.kind is kind]


_BRAINS: Final[Mapping[str, Brain]] = MappingProxyType(
    {
        "slave": slave,
        "plebeian": plebeian,
        "citizen": citizen,
        "senator": SearchBrain(1_000, 2.0, MIXED),
        "consul": SearchBrain(30_000, 5.0, MIXED),
    }
)
LEVELS: Final[Mapping[str, Level]] = MappingProxyType(
    {told.name: Level(told, _BRAINS[told.name]) for told in TOLD}
)


_turns: Final[RunVar[asyncio.Lock]] = RunVar("turns of those who ask for hints")


async def suggested(view: View, legal: Legal) -> Suggestion:
    """Return the move that promises most, and why; the event loop goes on meanwhile.

    In one program hints are worked out one after another: guests share the one that they play in.
    """
    turns = _turns.get(None)
    if turns is None:
        _turns.set(turns := asyncio.Lock())
    async with turns:
        command = await _senators_move(view, legal)
    return Suggestion(command, reason_for(command, view, legal))


async def _senators_move(view: View, legal: Legal) -> Command:
    brain, rng = LEVELS["senator"].choose, random.Random()
    try:
        if isinstance(brain, SearchBrain):
            return await searched(replace(brain, lies=HONEST), view, legal, rng)
    except SearchFailed:  # a simpler move is better than none
        brain = greedy
    return await asyncio.to_thread(brain, view, legal, rng)


def reason_for(command: Command, view: View, legal: Legal) -> str:
    """Return what speaks for a move, besides what it does at once."""
    if not isinstance(command, LayTile):
        return " ".join(filter(None, (_room_to_grow(view, command), _hides(command, legal))))
    if legal.seat == view.start.starting:
        return _("Springs lie close together there: you place first, and can take the best field.")
    return _("Springs lie apart there: whoever places first has less to gain.")


def _room_to_grow(view: View, command: Place) -> str:
    """Return that a merchant has fields beside it for pieces to come; empty for other pieces."""
    empty = sum(field not in view.placed for field in view.layout.adjacent(command.field))
    if command.piece.kind is not Kind.MERCHANT or not empty:
        return ""
    return counted(
        "{n} field beside it is empty: a piece placed there will add to it.",
        "{n} fields beside it are empty: pieces placed there will add to it.",
        empty,
    ).format(n=empty)


def _hides(command: Place, legal: Legal) -> str:
    """Return why it is to be a wolf, where an open piece of its kind could be placed as well."""
    piece = command.piece
    twin = Piece(str(piece).removesuffix("*"))
    if not piece.wolf or not isinstance(legal, LegalPlaces) or twin not in legal.pieces:
        return ""
    return _("As a wolf it shows nobody what it is until the end.")
