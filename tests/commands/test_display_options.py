"""What the command line says of the display, and what is remembered."""

from pathlib import Path

import pytest

from client.player.preferences import Preferences, name_of_player, preferences_file, remember
from client.player.terminal import chosen_calling


def test_asking_for_the_name_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the bell nor anything else that is remembered beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = chosen_calling()
    remember(preferences_file(), Preferences(name="Ann", bell=not before.bell))
    assert name_of_player(None) == "Ann"
    assert chosen_calling() == before
