"""Where `palatinus join` leads."""

from pathlib import Path

import pytest

from client.network.transport import FREE_ACCESS
from client.player.seats import Seats, seats_folder
from commands.playing.finding import goal_of


def test_the_code_of_a_table_with_a_kept_seat_leads_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a search, and to a private table too."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for server, code in (("ws://192.0.2.7:7733", "KXQT"), ("wss://example.org", "SECRETLY")):
        Seats(seats_folder(), server).keep(code, 0, "Anna", "token").release()
    assert goal_of("kxqt", None, FREE_ACCESS) == ("ws://192.0.2.7:7733", "KXQT")
    assert goal_of("SECRETLY", None, FREE_ACCESS) == ("wss://example.org:7733", "SECRETLY")
    assert goal_of("localhost", "KXQT", FREE_ACCESS) == ("ws://localhost:7733", "KXQT")
