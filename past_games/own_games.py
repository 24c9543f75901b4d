"""A player's own finished games: the moves that cost most, problems made of them, and those that ship.

What was found in which game is kept, so that no game is looked through twice.
"""

import asyncio
import dataclasses
import random
from collections.abc import AsyncIterator, Iterator
from datetime import date, datetime
from functools import cache, partial
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from client.bots.analysis import slips_of
from client.bots.hints import compare
from client.bots.processes import ProcessesLost
from client.player.preferences import remember
from client.records import Looked, Problem, Recording, StoredProblem
from client.ui.solving import Problems, Solving
from engine.board import Field
from engine.errors import DamagedRecord
from engine.events import Place, Placed
from engine.game import Game, RandomChance
from engine.legal import LegalPlaces
from engine.pieces import Piece, Seat
from engine.record import names_in, replayed
from past_games.records import past_games, recording_of
from past_games.solved import key_of, known_games, note_solved, own_games_file, shipped_problems

_NEXT_DAY: Final = 11  # numbers further in the set is the problem of the next day: it has another grade
_PROBLEM: Final = 0.1  # a move that costs at least so much of the chances makes a problem
_MOST_OF_A_GAME: Final = 3  # problems
_MOST_LOOKED_THROUGH: Final = 20  # games at a time


async def solving(folder: Path, name: str) -> Solving:
    """Return the page of problems: those known, and those that the player's latest games have."""
    today = datetime.now().date()  # noqa: DTZ005 - the player's own day
    known = await asyncio.to_thread(problems, folder, today)
    solved = known_games().until(today)
    return Solving(Problems(known, look_through(folder, name), compare, partial(note_solved, today), solved))


def problems(folder: Path, today: date) -> list[Problem]:
    """Return the problems: of the day, of the latest games, then those that ship; those solved come last.

    The problem of the day is one of those that ship, the same for everybody.
    """
    known = known_games()
    found = [
        problem
        for file in sorted(known.looked, reverse=True)
        for problem in _own_problems(folder / file, known.looked[file])
    ]
    shipped = [*_that_ship()]
    of_day = today.toordinal() * _NEXT_DAY % len(shipped)
    shipped[of_day] = dataclasses.replace(shipped[of_day], day=today.isoformat())
    found = sorted([*found, *shipped], key=lambda problem: problem.key in known.solved)
    return found if known.until(today).today else sorted(found, key=lambda problem: not problem.day)


async def look_through(folder: Path, name: str) -> AsyncIterator[Problem]:
    """Look through the latest games of the player that have not been; yield the problems in them."""
    looked = known_games().looked
    try:
        games = [game for game in await asyncio.to_thread(past_games, folder) if name in game.names]
    except OSError:
        return
    for game in [game for game in games if game.file not in looked][:_MOST_LOOKED_THROUGH]:
        try:
            found = await _look_through_game(folder / game.file, Seat(game.names.index(name)))
        except (OSError, DamagedRecord):
            continue
        except ProcessesLost:
            return
        known = known_games()
        kept = {file: each for file, each in known.looked.items() if (folder / file).exists()}
        remember(own_games_file(), replace(known, looked={**kept, game.file: found}))
        for problem in _own_problems(folder / game.file, found):
            yield problem


async def _look_through_game(file: Path, seat: Seat) -> Looked:
    text = await asyncio.to_thread(file.read_text, encoding="utf-8")
    recording = recording_of(text)
    moves = sum(isinstance(event, Placed) and event.seat == seat for event in recording.events)
    return Looked(seat, moves, await slips_of(recording, seat))


def _own_problems(file: Path, looked: Looked) -> Iterator[Problem]:
    try:
        text = file.read_text(encoding="utf-8")
        faults = {fault.best: fault for fault in sorted(looked.faults, key=lambda fault: fault.gain)}
        for fault in sorted(faults.values(), key=lambda fault: -fault.gain)[:_MOST_OF_A_GAME]:
            if fault.gain >= _PROBLEM:
                table = file.stem.rpartition("-")[2]
                stored = StoredProblem(text, fault.move, fault.best, fault.played)
                yield _problem(stored, key_of(file.name, stored), table)
    except (OSError, ValueError, LookupError, DamagedRecord):
        return  # it was removed, or damaged, or is not the game that was looked through


@cache
def _that_ship() -> tuple[Problem, ...]:
    return tuple(
        dataclasses.replace(_problem(each, key, ""), number=number)
        for number, (key, each) in enumerate(shipped_problems().items(), 1)
    )


def _problem(stored: StoredProblem, key: str, table: str) -> Problem:
    """Return the problem; raises DamagedRecord, ValueError or LookupError."""
    events = replayed(stored.record).events
    recording = Recording.of(events, names_in(stored.record))
    so_far = events[: recording.counts[stored.move]]
    legal = Game(so_far, RandomChance(random.Random())).legal()
    if legal is None:
        raise LookupError("the game was over then")
    best, other = (_placement(legal.seat, text) for text in (stored.best, stored.other))
    if not isinstance(legal, LegalPlaces) or not {best, other} <= set(legal.commands()):
        raise ValueError("moves that were not legal")
    return Problem(key, recording, stored.move, legal, best, other, table, grade=stored.grade)


def _placement(seat: Seat, text: str) -> Place:
    piece, field = text.split()
    return Place(seat, Piece(piece), Field(field))
