"""A player's own finished games: the moves that cost most, problems made of them, and statistics.

A file keeps what was found in which game, so that no game is looked through twice, and which problems are
solved.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct, json
from msgspec.structs import replace

import client.ui.lessons
from client.bots.analysis import slips_of
from client.bots.hints import compare
from client.bots.processes import ProcessesLost
from client.player.folders import data_folder
from client.player.preferences import kept_in, remember
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

_SHIPPED: Final = Path(client.ui.lessons.__file__).with_name("problems.txt")
_PROBLEM: Final = 0.1  # a move that costs at least so much of the chances makes a problem
_MOST_OF_A_GAME: Final = 3  # problems
_MOST_LOOKED_THROUGH: Final = 20  # games at a time
_LARGEST_FILE: Final = 10_000_000  # bytes


async def solving(folder: Path, name: str) -> Solving:
    """Return the page of problems: those known, and those that the player's latest games have."""
    known = await asyncio.to_thread(problems, folder)
    return Solving(Problems(known, look_through(folder, name), compare, note_solved))


class OwnGames(Struct, frozen=True):
    """What was found in games, by the names of their files, and the keys of the problems solved."""

    looked: dict[str, Looked] = {}
    solved: tuple[str, ...] = ()


def own_games_file() -> Path:
    return data_folder() / "own-games.json"


def known_games() -> OwnGames:
    """Return what was found so far: nothing, if the file cannot be read."""
    return kept_in(own_games_file(), OwnGames, _LARGEST_FILE) or OwnGames()


def note_solved(problem: Problem) -> None:
    known = known_games()
    if problem.key not in known.solved:
        remember(own_games_file(), replace(known, solved=(*known.solved, problem.key)))


def problems(folder: Path) -> list[Problem]:
    """Return the problems: first of the latest games, then those that ship; those solved come last."""
    known = known_games()
    found = [
        problem
        for file in sorted(known.looked, reverse=True)
        for problem in _own_problems(folder / file, known.looked[file])
    ]
    shipped = (json.decode(line, type=StoredProblem) for line in _SHIPPED.read_bytes().splitlines())
    found += (_problem(each, "set", "") for each in shipped)
    return sorted(found, key=lambda problem: problem.key in known.solved)


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
                yield _problem(StoredProblem(text, fault.move, fault.best, fault.played), file.name, table)
    except (OSError, UnicodeDecodeError, DamagedRecord):
        return  # it was removed, or damaged


def _problem(stored: StoredProblem, origin: str, table: str) -> Problem:
    """Return the problem; raises DamagedRecord."""
    events = replayed(stored.record).events
    recording = Recording.of(events, names_in(stored.record))
    so_far = events[: recording.counts[stored.move]]
    legal = Game(so_far, RandomChance(random.Random())).legal()
    assert isinstance(legal, LegalPlaces)  # noqa: S101 - nobody is advised on tiles
    best, other = (_placement(legal.seat, text) for text in (stored.best, stored.other))
    key = f"{origin} {stored.move} {stored.best}"
    return Problem(key, recording, stored.move, legal, best, other, table)


def _placement(seat: Seat, text: str) -> Place:
    piece, field = text.split()
    return Place(seat, Piece(piece), Field(field))
