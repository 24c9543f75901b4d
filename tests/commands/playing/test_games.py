"""`palatinus games`: the seats that are kept, and whose turn it is there."""

import asyncio
import json
from functools import partial
from pathlib import Path

import pytest

from client.player.seats import Seats, seats_folder
from server.app import running
from server.config import Config
from tests.conftest import Run
from tests.server.peer import game


async def test_games_are_listed_with_whose_turn_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """The exit code tells whether it is the player's; a seat that is theirs no longer is left out."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    told = partial(asyncio.to_thread, run, "games")
    assert "No seat is kept for you" in (await told(code=1))[0]
    async with running(Config()) as server, game(server.port, 2) as peers:
        on_turn, other = peers  # seat 0 starts
        url = f"ws://127.0.0.1:{server.port}"
        seats = Seats(seats_folder(), url)
        for token in (other.token, "of no seat"):
            seats.keep(other.code, 1, "Ann", token).release()
        lines = (await told(code=1))[0].splitlines()
        assert [line.split()[0] for line in lines] == ["TABLE", other.code]
        seats.keep(on_turn.code, 0, "Bob", on_turn.token).release()
        known = json.loads((await told("--json"))[0])
        assert [(each["name"], each["your_turn"]) for each in known] == [("Bob", True), ("Ann", False)]
        assert {each["stage"] for each in known} == {"playing"}
    assert all(each["error"] for each in json.loads((await told("--json", code=1))[0]))
