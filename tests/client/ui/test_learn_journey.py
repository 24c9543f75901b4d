"""The lessons in a real terminal, from the command line to the game that follows the last page."""

import re
from pathlib import Path

import pytest

from client.ui.lessons.goals import Lay, PointTo, Read, Walk
from client.ui.lessons.pages import PAGES, LessonPage, record_at
from commands.playing.start_screen import practice
from engine.board import Field, Hex
from tests.client.ui.pty_terminal import Terminal
from tests.client.ui.test_journey import cursor, way_to

NUMBERS = {"m": "1", "m*": "2", "f": "3", "f*": "4", "s": "5"}
# One way to do the exercises: which piece, and where.
PLACED = {
    "Your people": ("m", "E6"),
    "Merchants": ("m", "C5"),
    "Farmers": ("f", "A1"),
    "Your soldier": ("s", "G6"),
    "The wolf": ("m*", "E5"),
    "What is refused": ("f", "D4"),
    "No soldier at the end": ("f", "F3"),
    "Time for the soldier": ("s", "A4"),
    "The last piece": ("f", "A6"),
}


def hex_of(page: LessonPage, field: Field) -> Hex:
    return practice(record_at(page.moves)).view.layout.hexes[field]


def go_to(terminal: Terminal, page: LessonPage, field: Field) -> None:
    """Move the cursor to the field with the arrow keys."""
    start, goal = cursor(terminal), hex_of(page, field)
    assert start is not None
    terminal.press(*way_to(start, goal))
    terminal.until(lambda _: cursor(terminal) == goal, f"cursor on {field}")


def do_exercise(terminal: Terminal, page: LessonPage) -> None:
    """Do what the page asks, at the keyboard."""
    match page.goal:
        case Read():
            return
        case PointTo(field):
            go_to(terminal, page, field)
        case Lay():
            terminal.press("r")
            terminal.shows("turned once")
            terminal.press("enter")
        case Walk():
            while "Enter: the next page" not in " ".join(terminal.text.split()):
                step = int(terminal.found(r"step (\d+) of")[0])
                terminal.press("enter")
                terminal.shows(rf"step {step + 1} of")
            return
        case _:
            face, name = PLACED[page.title]
            terminal.press(NUMBERS[face])
            terminal.shows(rf"► {NUMBERS[face]} ")
            go_to(terminal, page, Field(name))
            terminal.press("enter")
    terminal.until(lambda text: " ".join(page.done.split()[:3]) in text, "praise")


@pytest.mark.slow
def test_the_lessons_by_keyboard(tmp_path: Path) -> None:
    """A pupil does every exercise, and goes on to a game."""
    with Terminal("learn", "--name", "Ann", environment={"HOME": str(tmp_path)}) as terminal:
        for number, page in enumerate(PAGES, start=1):
            terminal.shows(rf"Lesson {number} of {len(PAGES)}", re.escape(page.title))
            do_exercise(terminal, page)
            if page.title == "Farmers":
                terminal.shows(r"gives 12: 2 for its own spring")
            terminal.press("enter")
        terminal.shows(r"Palatinus · [A-Z]{4} · ", "PLAYERS")
        terminal.press("ctrl-c")
        terminal.shows(r"Quit\?")
        terminal.press("y")
        assert terminal.ended()[0] == 0


def test_the_lessons_can_be_left_at_any_time(tmp_path: Path) -> None:
    """In the middle of an exercise, and without colours or characters beyond ASCII."""
    environment = {"HOME": str(tmp_path), "NO_COLOR": "1"}
    with Terminal("learn", "--ascii", environment=environment) as terminal:
        for number in range(1, 5):
            terminal.shows(rf"Lesson {number} of")
            terminal.press("\x1b[6~")
        terminal.shows("Lesson 5 of")
        terminal.resize(20, 10)
        terminal.shows("Merchants +5/", "A merchant lives")
        terminal.press("\x1b[6~")
        terminal.settle()  # in a larger window the key would lead to the next lesson
        terminal.resize(120, 40)
        terminal.shows("Lesson 5 of", "YOUR HAND")
        terminal.press("q")
        assert terminal.ended()[0] == 0
        assert terminal.raw.isascii()
