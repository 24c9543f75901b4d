"""Hints: the move that a level's brain would make, and what speaks for it."""

import asyncio
import random
from dataclasses import replace
from typing import Final

from anyio.lowlevel import RunVar

from client.bots.greedy import greedy
from client.bots.levels import LEVELS
from client.bots.processes import ProcessesLost
from client.bots.search.brain import HONEST, SearchBrain, searched
from client.language import _, counted
from client.tables.table import Suggestion
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalPlaces
from engine.pieces import Kind, Piece
from engine.view import View

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
    brain, rng = LEVELS["senator"], random.Random()
    try:
        if isinstance(brain, SearchBrain):
            return await searched(replace(brain, lies=HONEST), view, legal, rng)
    except ProcessesLost:  # a simpler move is better than none
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
