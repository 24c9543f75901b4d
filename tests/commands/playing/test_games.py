"""`palatinus games`: the seats that are kept, and whose turn it is there."""

import asyncio
import json
from pathlib import Path

import pytest

from client.player.seats import Seats, seats_folder
from palatinus import main
from server.app import running
from server.config import Config
from tests.server.peer import game


async def test_games_are_listed_with_whose_turn_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code tells whether it is the player's; a seat that is theirs no longer is left out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert await asyncio.to_thread(main, ["games"]) == 1
    assert "No seat is kept for you" in capsys.readouterr().out
    async with running(Config()) as server, game(server.port, 2) as peers:
        on_turn, other = peers  # seat 0 starts
        url = f"ws://127.0.0.1:{server.port}"
        seats = Seats(seats_folder(), url)
        for token in (other.token, "of no seat"):
            seats.keep(other.code, 1, "Ann", token).release()
        assert await asyncio.to_thread(main, ["games"]) == 1
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["TABLE", other.code]
        seats.keep(on_turn.code, 0, "Bob", on_turn.token).release()
        assert await asyncio.to_thread(main, ["games", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert [(each["name"], each["your_turn"]) for each in told] == [("Bob", True), ("Ann", False)]
        assert {each["stage"] for each in told} == {"playing"}
    assert await asyncio.to_thread(main, ["games", "--json"]) == 1
    assert all(each["error"] for each in json.loads(capsys.readouterr().out))
