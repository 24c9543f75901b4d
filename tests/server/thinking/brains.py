"""Brains for the processes of the tests, which import them from here."""

import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from engine.board import FIELDS
from engine.events import Command, Place
from engine.legal import Legal, LegalPlaces, random_command
from engine.view import View
from server.thinking.messages import pack_frame


def steady(_view: View, legal: Legal, rng: random.Random) -> Command:
    print("what a brain prints goes nowhere")  # noqa: T201
    return random_command(legal, rng)


def hanging(_view: View, _legal: Legal, _rng: random.Random) -> Command:
    """Never come to an end."""
    while True:
        pass


def ending(_view: View, _legal: Legal, _rng: random.Random) -> Command:
    """End the process."""
    os._exit(3)


def babbling(_view: View, legal: Legal, rng: random.Random) -> Command:
    """Have the process send what is no answer."""
    sys.modules["__main__"].pack_frame = lambda _thought: pack_frame(5)  # type: ignore[attr-defined, arg-type]
    return random_command(legal, rng)


def raising(view: View, _legal: Legal, _rng: random.Random) -> Command:
    """Fail, with a text that would reveal the hand."""
    raise ValueError(str(view.hands))


def cheating(_view: View, legal: Legal, _rng: random.Random) -> Command:
    """Place on a field that is taken."""
    assert isinstance(legal, LegalPlaces)
    taken = next(field for field in FIELDS if field not in legal.fields)
    return Place(legal.seat, legal.pieces[0], taken)


@dataclass(frozen=True)
class Learning:
    """Plays the first legal move, and the last one once it has seen the end of a game."""

    at: int = 0

    def __call__(self, _view: View, legal: Legal, _rng: random.Random) -> Command:
        commands: list[Command] = [*legal.commands()]
        return commands[self.at]

    def game_over(self, view: View) -> "Learning":
        assert view.result is not None
        return Learning(-1)


@dataclass
class Keeping:
    """Plays the first legal move of a game, and the last one from its second move on."""

    moves: int | None = None

    def __call__(self, _view: View, legal: Legal, _rng: random.Random) -> Command:
        assert self.moves is not None
        self.moves += 1
        commands: list[Command] = [*legal.commands()]
        return commands[0 if self.moves == 1 else -1]

    def game_begins(self, _view: View) -> "Keeping":
        return Keeping(0)


@dataclass(frozen=True)
class Waiting:
    """Waits until it may go on; the folder shows which processes wait, one name for each thought."""

    folder: Path

    def __call__(self, _view: View, legal: Legal, rng: random.Random) -> Command:
        (self.folder / f"{os.getpid()} {time.monotonic_ns()}").touch()
        while not (self.folder / "go").exists():
            time.sleep(0.005)
        return random_command(legal, rng)

    def thinkers(self) -> list[int]:
        """Return the numbers of the processes that have begun to think, in order."""
        begun = [path.name.split() for path in self.folder.iterdir() if path.name != "go"]
        return [int(pid) for pid, _at in sorted(begun, key=lambda each: int(each[1]))]

    def go_on(self) -> None:
        """Let all thoughts come to an end."""
        (self.folder / "go").touch()
