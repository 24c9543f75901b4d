"""Which terminal understands which call."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from client.player.preferences import Preferences, name_of_player, preferences_file, remember
from client.player.terminal import (
    Calling,
    DesktopNotices,
    DisplayOptions,
    choose_display,
    chosen_calling,
    prefer_calling,
)


@pytest.fixture
def _as_before() -> Iterator[None]:
    yield
    choose_display(DisplayOptions())
    prefer_calling(Calling())


@pytest.mark.usefixtures("_as_before")
def test_the_command_line_counts_more_than_preferences() -> None:
    """Each way automatically; what it does not name is as the player prefers."""
    assert chosen_calling() == Calling()
    prefer_calling(Calling(bell=False, notices=DesktopNotices.OSC9))
    assert chosen_calling() == Calling(bell=False, notices=DesktopNotices.OSC9)
    choose_display(DisplayOptions(bell=True, title=False))
    assert chosen_calling() == Calling(title=False, notices=DesktopNotices.OSC9)
    choose_display(DisplayOptions(notices=DesktopNotices.NONE))
    assert chosen_calling() == Calling(bell=False, notices=DesktopNotices.NONE)


@pytest.mark.parametrize(
    ("environment", "notices"),
    [
        ({"TERM": "xterm-256color"}, DesktopNotices.NONE),  # by its name any terminal could be that
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "Apple_Terminal"}, DesktopNotices.NONE),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "vscode"}, DesktopNotices.NONE),
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "iTerm.app"}, DesktopNotices.OSC9),
        ({"TERM": "xterm-256color", "LC_TERMINAL": "iTerm2"}, DesktopNotices.OSC9),  # over ssh
        ({"TERM": "xterm-256color", "TERM_PROGRAM": "WezTerm"}, DesktopNotices.OSC777),
        ({"TERM": "xterm-ghostty"}, DesktopNotices.OSC777),
        ({"TERM": "xterm-kitty"}, DesktopNotices.OSC777),
        ({"TERM": "foot"}, DesktopNotices.OSC777),
        ({"TERM": "rxvt-unicode-256color"}, DesktopNotices.OSC777),
        ({"TERM": "xterm-256color", "VTE_VERSION": "7600"}, DesktopNotices.OSC777),
        ({"TERM": "xterm-256color", "VTE_VERSION": "3800"}, DesktopNotices.NONE),
        ({"TERM": "xterm-256color", "KONSOLE_VERSION": "230804"}, DesktopNotices.OSC777),
        ({"TERM": "tmux-256color", "KITTY_WINDOW_ID": "1", "VTE_VERSION": "7600"}, DesktopNotices.NONE),
        ({"TERM": "xterm-kitty", "TMUX": "/run/tmux/default,1,0"}, DesktopNotices.NONE),
        ({"TERM": "screen", "TERM_PROGRAM": "WezTerm"}, DesktopNotices.NONE),
        ({"TERM": "linux"}, DesktopNotices.NONE),
        ({}, DesktopNotices.NONE),
    ],
)
def test_notices_only_where_they_are_understood(environment: dict[str, str], notices: DesktopNotices) -> None:
    assert Calling().resolved(environment).notices is notices
    assert Calling(notices=DesktopNotices.NONE).resolved(environment).notices is DesktopNotices.NONE
    assert Calling(notices=DesktopNotices.OSC9).resolved(environment).notices is DesktopNotices.OSC9


@pytest.mark.parametrize(
    ("term", "titled"),
    [("xterm-256color", True), ("tmux-256color", True), ("screen", True), ("linux", False), ("dumb", False)],
)
def test_titles_only_where_windows_have_one(term: str, titled: bool) -> None:
    assert Calling().resolved({"TERM": term}).title is titled
    assert not Calling(title=False).resolved({"TERM": term}).title


def test_asking_for_the_name_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the bell nor anything else that is remembered beside it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = chosen_calling()
    remember(preferences_file(), Preferences(name="Ann", bell=not before.bell))
    assert name_of_player(None) == "Ann"
    assert chosen_calling() == before
