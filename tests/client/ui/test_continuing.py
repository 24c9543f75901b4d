"""A game against bots that its player leaves is there again: after quitting, and after a kill."""

import os
import re
import signal
from pathlib import Path

import pytest

from client.language import describe_reason
from commands.playing.kept_games import games_folder, hold_game, kept_games, new_game
from tests.client.ui.pty_terminal import Terminal

GAME = ("play", "--players", "3", "--random-layout", "--starts", "me", "--name", "Ann")
TOKEN = "t" * 43


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Return an environment with folders of its own, which this process uses as well."""
    found = {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "XDG_DATA_HOME": str(tmp_path / "data"),
    }
    for name, value in found.items():
        monkeypatch.setenv(name, value)
    return found


def place(terminal: Terminal, left: int, piece: str = "f*") -> None:
    """Place a piece on the first empty field, and wait for the next own turn."""
    terminal.shows("Your turn: place", rf"YOUR HAND +{left}\b")
    field = terminal.found(r"[┃┊▐→] ?([A-G][1-6]) ")[0]
    terminal.press(":", f"{piece} {field}", "enter", shows=(rf"YOUR HAND +{left - 1}\b", "Your turn: place"))


def board_of(terminal: Terminal) -> list[str]:
    """Return the board's lines without the cursor, and without what the mark of the last piece stands for."""
    return [re.sub("[•→]", " ", re.sub("[▐▌]", "|", line[:48])) for line in terminal.lines[1:20]]


def test_left_and_continued(environment: dict[str, str]) -> None:
    """With `q`, by leaving for the start screen and by a kill; the bots play on, and hold their seats."""
    with Terminal(*GAME, environment=environment) as terminal:
        place(terminal, 12)
        board = board_of(terminal)
        said = terminal.quit("y")
    assert "palatinus play --continue" in said
    with Terminal(environment=environment) as terminal:
        terminal.shows("► Continue .*against 2 bots")
        terminal.press("enter", shows="You are back in your seat, as Ann")
        assert board_of(terminal) == board
        place(terminal, 11)
        terminal.press(":", "leave", "enter", shows="► Continue")
        terminal.press("enter")
        place(terminal, 10)
        terminal.end(signal.SIGKILL)
    with Terminal("play", "--continue", environment=environment) as terminal:
        place(terminal, 9, "f")
        assert not terminal.found(r"\bbot\b|\baway\b")  # as it says if another bot plays for one
        with Terminal("play", "--continue", environment=environment) as second:
            code, said = second.ended()
        assert code == 2
        assert "there is no game to continue" in said
        terminal.quit("y")


def test_a_damaged_game_is_told_and_left_alone(environment: dict[str, str]) -> None:
    """The others can still be continued."""
    with Terminal(*GAME, environment=environment) as terminal:
        place(terminal, 12)
        terminal.quit("y")
    (folder,) = games_folder().iterdir()
    for journal in folder.glob("*.sqlite*"):
        journal.write_bytes(b"?" * 4096)
    with Terminal("play", "--continue", environment=environment) as terminal:
        code, said = terminal.ended()
    assert code == 1
    assert re.search(r"cannot be continued \(.*\)\. It was left untouched", " ".join(said.split()))
    with Terminal(environment=environment) as terminal:
        terminal.shows("► Continue")
        terminal.press("enter", shows="cannot be continued")
        assert "Continue  " not in terminal.text
        terminal.quit()
    assert folder.exists()


@pytest.mark.usefixtures("environment")
def test_only_games_with_a_seat_are_kept() -> None:
    """The last ones, the newest first; a game in play is nobody else's."""
    with new_game(("random",), 2) as over:
        assert kept_games().games == ()
    assert not over.folder.exists()
    for players in (2, 3, 4, 5, 2, 3):
        with new_game(("random", "greedy"), players) as game:
            game.seat.keep("KXQT", 0, "Ann", TOKEN).release()
    found = kept_games().games
    assert len(found) == 5
    assert found[0].brains == ("random", "greedy")
    assert found[0].table == "KXQT"
    with hold_game(found[-1]) as game:
        assert [each.folder for each in kept_games().games] == [each.folder for each in found[:-1]]
        with pytest.raises(BlockingIOError) as failure, hold_game(found[-1]):
            pass
        assert describe_reason(failure.value) == "it is in use in another window"
        seat = game.seat
        held = seat.take("KXQT", "Ann")
        assert held is not None
        seat.forget(held)
    assert not game.folder.exists()


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("draft", [True, False])
def test_what_a_killed_start_left_is_removed(*, draft: bool) -> None:
    """But not a game that is just beginning, and nothing that holds more."""
    folders = [games_folder() / name for name in ("killed", "beginning", "other")]
    for folder in folders:
        folder.mkdir(parents=True)
        if draft:
            (folder / "game.new").touch()
    killed, beginning, other = folders
    (other / "palatinus.db").touch()
    for folder in (killed, other):
        os.utime(folder, (1e9, 1e9))
    assert kept_games() == ((), ())
    assert not killed.exists()
    assert beginning.exists()
    assert (other / "palatinus.db").exists()


@pytest.mark.usefixtures("environment")
def test_files_are_private_and_an_unreadable_game_is_named() -> None:
    with new_game(("random",), 2) as game:
        game.seat.keep("KXQT", 0, "Ann", TOKEN).release()
    modes = {path: path.stat().st_mode & 0o077 for path in (game.folder, *game.folder.rglob("*"))}
    assert len(modes) > 2
    assert set(modes.values()) == {0}
    (game.folder / "game.json").write_text("{")
    assert kept_games() == ((), (game.folder,))
    assert game.folder.exists()


def test_the_player_is_told_where_an_own_brain_failed(environment: dict[str, str], tmp_path: Path) -> None:
    """The module is in the current folder; the game goes on, for the server plays instead."""
    (tmp_path / "mybot.py").write_text("def choose(view, legal, rng):\n    raise KeyError('wolf')\n")
    words = (*GAME[:1], "--random-layout", "--players", "2", "--starts", "2", "--brain", "mybot:choose")
    with Terminal(*words, environment=environment, folder=tmp_path) as terminal:
        terminal.shows("The brain mybot failed in", r"line\s+2:\s+KeyError", "Your turn: place")
        terminal.quit("y")


def test_where_no_game_can_be_kept_it_is_played_all_the_same(environment: dict[str, str]) -> None:
    """The log says why it cannot be kept."""
    games_folder().parent.mkdir(parents=True)
    games_folder().write_text("in the way")
    with Terminal(*GAME, environment=environment) as terminal:
        terminal.shows("Your turn: place")
        terminal.resize(140, 60)
        terminal.shows(r"cannot be kept for later \(.*\)")
        terminal.press("q", "y")
        code, said = terminal.ended()
    assert (code, "--continue" in said) == (0, False)
