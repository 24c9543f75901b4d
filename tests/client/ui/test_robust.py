"""Real terminals: lost connections, absent players, focus, paste, resizing, and the mouse alone."""

import re
import signal
from pathlib import Path

import pytest

from client.ui.draw.grid import SMALL
from engine.board import Hex
from tests.client.ui.pty_terminal import Terminal
from tests.client.ui.test_coming_back import bot_table, served
from tests.client.ui.test_journey import TOP, cursor, empty_hexes, text_on, wait_for_smaller_hand

FOCUS_IN, FOCUS_OUT = "\x1b[I", "\x1b[O"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


def first_empty_field(terminal: Terminal) -> str:
    """Return the name of an empty field."""
    found = re.search(r"[A-G][1-6]", text_on(terminal, empty_hexes(terminal)[0]))
    assert found is not None
    return found[0]


def click_on(terminal: Terminal, pattern: str) -> None:
    """Click where the pattern is on the screen."""
    found = [(at, match) for at, text in enumerate(terminal.lines) if (match := re.search(pattern, text))]
    line, match = found[-1]
    terminal.click(match.start() + 1, line)


def place_by_mouse(terminal: Terminal, goal: Hex) -> None:
    """Click a field, and click it again once the cursor is there."""
    column, line = SMALL.body_of(goal)
    terminal.click(column + 2, TOP + line)
    terminal.until(lambda _: cursor(terminal) == goal, "cursor where the mouse clicked")
    terminal.click(column + 2, TOP + line)


@pytest.mark.slow
def test_a_move_made_without_a_connection_is_sent_later(environment: dict[str, str], tmp_path: Path) -> None:
    """While the server is restarted, the banner counts down; then the game goes on."""
    data = ("--data", str(tmp_path / "data"))
    with served(*data) as (address, server), bot_table(address) as table:
        named = ("--name", "Ann")
        with Terminal("join", address, table, *named, environment=environment) as terminal:
            terminal.shows(r"Your turn: place")
            server.send_signal(signal.SIGTERM)
            server.wait()
            terminal.shows(r"Trying again in \d s\.|Trying again now\.")
            goal = first_empty_field(terminal)
            terminal.press(FOCUS_OUT, FOCUS_IN)
            terminal.press(":", f"\x1b[200~m \n{goal}\x1b[201~", "enter")  # pasted, line end and all
            terminal.shows("There is no connection. Your action will be sent")
            terminal.press(":", "leave", "enter")
            terminal.shows("Your earlier action will be sent")
            terminal.resize(100, 30)
            terminal.shows("No connection|Trying again")
            terminal.resize(120, 40)  # large enough for all the news that are to come
            with served(*data, port=address.rpartition(":")[2]):
                terminal.shows("The connection is back", rf"Ann places \w+ on {goal}")
                terminal.press("q", "y")
                assert terminal.ended()[0] == 0


@pytest.mark.slow
def test_absent_players_are_shown_and_voted_on(environment: dict[str, str]) -> None:
    """A killed terminal leads to a vote and a bot, and its player gets the seat back."""
    with (
        served("--memory") as (address, _),
        Terminal("join", address, "--name", "Ann", environment=environment) as ann,
    ):
        ann.shows("No tables are open")
        ann.press(*"2xsaaa--", "enter")  # Ann starts: no move of a bot pushes what is looked for off the log
        ann.shows(r"may be replaced by a bot at\s+once, by\s+vote", r"palatinus join ws://\S+ \w{4}")
        table = ann.found(r"palatinus join ws://\S+ (\w{4})")[0]
        with Terminal("join", address, table, "--name", "Bob", environment=environment) as bob:
            ann.shows("Press Enter to start")
            ann.press("enter")
            bob.shows("to place|Your turn: place")
            bob.end(signal.SIGKILL)
        ann.shows(r"S  M  Bob +away", r"Let a bot play until they are back\? v: yes \(0 of 1")
        ann.press("v")
        ann.shows("A bot plays for Bob from now on", r"S  M  Bob +bot")
        with Terminal("join", address, table, "--name", "Bob", environment=environment) as bob:
            bob.shows("You are back in your seat, as Bob")
            ann.shows("Bob is back", r"S  M  Bob +\d")


@pytest.mark.slow
def test_a_whole_game_by_mouse(environment: dict[str, str]) -> None:
    """Pieces, fields, scoring, rematch and quitting, by clicks and the wheel alone."""
    arguments = ("play", "--players", "5", "--random-layout", "--seed", "4", "--name", "Ann")
    with Terminal(*arguments, environment=environment) as terminal:
        for _turn in range(7):
            terminal.shows(r"Your turn: place")
            left = terminal.found(r"YOUR HAND +(\d+)")[0]
            click_on(terminal, r"\d [ESLMA][mfs]\*? .*×\d")
            place_by_mouse(terminal, next(cell for cell in empty_hexes(terminal) if cell != cursor(terminal)))
            wait_for_smaller_hand(terminal, left)
        terminal.shows(r"step 1 of \d+")
        terminal.wheel(down=True)
        terminal.shows(r"step 2 of")
        click_on(terminal, r"result +\?|s result")
        terminal.shows("POINTS")
        click_on(terminal, "m play again")
        terminal.shows(r"Your turn: place")
        click_on(terminal, "q quit")
        terminal.shows(r"Quit\?")
        click_on(terminal, "y yes")
        assert terminal.ended()[0] == 0
