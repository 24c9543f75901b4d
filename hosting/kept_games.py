"""Games against bots that their player has left: each in a folder of its own, to be continued later.

A folder holds the server's journal, the seats of player and bots, and a file about the game. A program that
plays the game holds a lock on that file, which the system releases when the process ends, however it ends.
"""

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final, Literal, NamedTuple

from msgspec import DecodeError, Meta, Struct, json

from client.player.folders import data_folder
from client.player.seats import Seats, lock_file
from protocol.messages import Name

_MOST_KEPT: Final = 5  # games; the oldest go first
_LARGEST_FILE: Final = 4096  # bytes; the file about a game takes about 100
_ABOUT: Final = "game.json"
_DRAFT: Final = "game.new"  # of that file
_SECONDS_TO_BEGIN: Final = 60.0  # how long a folder may be there without it; it takes a few ms
_SERVER: Final = "ws://127.0.0.1:7733"  # the seats are at whatever port the game is next served on


class _About(Struct, frozen=True):
    format: Literal[1]
    brains: Annotated[tuple[str, ...], Meta(min_length=1)]
    players: Annotated[int, Meta(ge=2, le=5)]
    names: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptGame:
    """A game that can be played or continued; `table` is None as long as nobody has a seat in it.

    `names` are those of the bots, in the order of their brains; older games have none.
    """

    folder: Path
    brains: tuple[str, ...]
    players: int
    table: str | None
    left_at: float
    names: tuple[str, ...] = ()

    @property
    def seat(self) -> Seats:
        return Seats(self.folder / "player", _SERVER)

    @property
    def bots(self) -> Seats:
        return Seats(self.folder / "bots", _SERVER)


class KeptGames(NamedTuple):
    """The games that can be continued, the one left last first, and the folders that cannot be read."""

    games: tuple[KeptGame, ...]
    damaged: tuple[Path, ...]


def games_folder() -> Path:
    return data_folder() / "against-bots"


@contextlib.contextmanager
def new_game(brains: tuple[str, ...], players: int, names: tuple[str, ...] = ()) -> Iterator[KeptGame]:
    """Make room for a game with bots of these names, and hold it.

    It is removed afterwards unless it can be continued. Raises OSError if it cannot be kept.
    """
    for kept in kept_games().games[_MOST_KEPT - 1 :]:
        shutil.rmtree(kept.folder, ignore_errors=True)
    folder = games_folder() / secrets.token_hex(8)
    folder.mkdir(mode=0o700, parents=True)
    draft = folder / _DRAFT
    file = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    with _hold_lock(file, folder):
        os.write(file, json.encode(_About(1, brains, players, names)))
        draft.rename(folder / _ABOUT)  # locked already: nobody finds a game that nobody plays
        yield KeptGame(folder, brains, players, None, time.time(), names)


@contextlib.contextmanager
def hold_game(game: KeptGame) -> Iterator[KeptGame]:
    """Hold a kept game, to be removed afterwards if it is over; raises OSError if another process has it."""
    file = os.open(game.folder / _ABOUT, os.O_RDWR)
    with _hold_lock(file, game.folder):
        yield game


@contextlib.contextmanager
def _hold_lock(file: int, folder: Path) -> Iterator[None]:
    try:
        lock_file(file, wait=False)
        yield
        _tidy(folder)
    finally:
        os.close(file)


def kept_games() -> KeptGames:
    """Return the games that can be continued; those that are over are removed."""
    games, damaged = [], []
    try:
        folders = list(games_folder().iterdir())
    except FileNotFoundError:
        return KeptGames((), ())
    except OSError:
        return KeptGames((), (games_folder(),))
    for folder in folders:
        try:
            game = _read_game(folder)
        except FileNotFoundError:
            _tidy_stillborn(folder)
            continue
        except (BlockingIOError, PermissionError):
            continue  # it is being played
        except (OSError, DecodeError):
            damaged.append(folder)
            continue
        if game is not None:
            games.append(game)
    return KeptGames(tuple(sorted(games, key=lambda game: -game.left_at)), tuple(damaged))


def _read_game(folder: Path) -> KeptGame | None:
    """Return the game in a folder; None if it is over."""
    with (folder / _ABOUT).open("rb+") as file:
        lock_file(file.fileno(), wait=False)
        about = json.decode(file.read(_LARGEST_FILE), type=_About)
        left_at = max(path.stat().st_mtime for path in folder.iterdir())
        game = KeptGame(folder, about.brains, about.players, None, left_at, about.names)
        seat = game.seat
        tables = seat.tables()
        if seat.damaged:
            raise DecodeError(f"{seat.damaged[0]} cannot be read")
        if tables:
            return replace(game, table=min(tables))
        _tidy(folder)
        return None


def _tidy_stillborn(folder: Path) -> None:
    """Remove what a program left that was killed before its game existed; keep one that is just starting."""
    draft = folder / _DRAFT
    with contextlib.suppress(OSError):  # it has just been removed, or begins right now
        if time.time() - folder.stat().st_mtime > _SECONDS_TO_BEGIN:
            draft.unlink(missing_ok=True)
            folder.rmdir()


def _tidy(folder: Path) -> None:
    """Remove a game that nobody can continue, and that is not damaged."""
    seats = Seats(folder / "player", _SERVER)
    with contextlib.suppress(OSError):
        if not seats.tables() and not seats.damaged:
            shutil.rmtree(folder, ignore_errors=True)
