"""Games against bots that their player has left."""

import os
from pathlib import Path

import pytest

from client.language import describe_reason
from hosting.kept_games import games_folder, hold_game, kept_games, new_game

TOKEN = "t" * 43


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))


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


def test_files_are_private_and_an_unreadable_game_is_named() -> None:
    with new_game(("random",), 2) as game:
        game.seat.keep("KXQT", 0, "Ann", TOKEN).release()
    modes = {path: path.stat().st_mode & 0o077 for path in (game.folder, *game.folder.rglob("*"))}
    assert len(modes) > 2
    assert set(modes.values()) == {0}
    (game.folder / "game.json").write_text("{")
    assert kept_games() == ((), (game.folder,))
    assert game.folder.exists()
