"""`palatinus analyse`: what it writes, what it refuses, and Ctrl-C."""

import re
from pathlib import Path

import pytest

from commands.finished_games.records import need_writable
from engine.game import GameOptions
from engine.record import recorded
from palatinus import main
from tests.client.bots.test_search import search_processes
from tests.client.ui.pty_terminal import Terminal
from tests.games import played


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return the file of the record of a finished game."""
    path = tmp_path / "game.txt"
    path.write_text(recorded(played(GameOptions(5, random_layout=True), 1).events, ["Anna", "Bruno"]))
    return path


def test_what_cannot_be_analysed_is_refused(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """In the words of `palatinus check`, where the record is damaged."""
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(record.read_text().replace("places", "puts", 1))
    assert main(["check", str(damaged)]) == 2
    _, said = capsys.readouterr()
    assert main(["analyse", str(damaged)]) == 2
    assert capsys.readouterr().err == said
    running = tmp_path / "running.txt"
    running.write_text(recorded(played(GameOptions(2), 1, commands=12).events))
    assert main(["analyse", str(running)]) == 2
    assert "is not finished: only a finished game can be analysed" in capsys.readouterr().err
    for words in (("--simulations", "99"), ("-j", "4096")):
        assert main(["analyse", str(record), *words]) == 2
        assert re.fullmatch(r"palatinus: .* \d+ to \d+(, not 99)?\n", capsys.readouterr().err)


def test_a_picture_that_cannot_be_written_is_refused_before_anything_is_judged(
    record: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody waits for nothing."""
    assert main(["analyse", str(record), "--svg", str(tmp_path / "nowhere" / "x.svg")]) == 2
    assert "nowhere/x.svg: " in capsys.readouterr().err


def test_asking_whether_a_picture_can_be_written_keeps_the_one_that_stands_there(tmp_path: Path) -> None:
    """An analysis that is stopped at once has nothing to put in its place."""
    earlier = tmp_path / "earlier.svg"
    earlier.write_text("<svg/>")
    need_writable(str(earlier))
    assert earlier.read_text() == "<svg/>"


@pytest.mark.slow
def test_ctrl_c_shows_what_there_is(record: Path) -> None:
    """Until then there is a bar, and afterwards no process."""
    script = 'trap : INT; {program}; echo "exit $?"'  # the shell outlives Ctrl-C
    words = ("analyse", str(record), "--simulations", "2000")
    with Terminal(*words, environment={}, script=script) as terminal:
        terminal.shows(r"\b([2-9]|[12]\d)/ *36")
        workers = search_processes()
        assert workers
        terminal.press("ctrl-c")
        terminal.shows(r"Stopped: [1-9]\d? of 35 moves analysed\.", "exit 130")
        assert "Traceback" not in terminal.text
        assert not any(worker.is_running() for worker in workers)
