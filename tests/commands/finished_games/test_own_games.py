"""A player's own games: looked through once, made into problems, and summed up."""

import json
from pathlib import Path

import pytest

from client.records import Looked, PastGame, Slip, own_results
from client.ui.export.tables import describe_losses, statistics_listing
from commands.finished_games.own_games import known_games, look_through, note_solved, problems
from engine.game import GameOptions
from engine.record import recorded
from engine.view import eyes_of
from tests.conftest import Run
from tests.games import played

FILE = "20261120-190000-KRTA.txt"


@pytest.fixture
def records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with the record of a random game, among folders of the test's own."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setattr("client.bots.analysis.USUAL_SIMULATIONS", 60)
    folder = tmp_path / "records"
    folder.mkdir()
    events = played(GameOptions(2, random_layout=True), 3).events
    (folder / FILE).write_text(recorded(events, ("citizen-1", "Ann")), encoding="utf-8")
    (folder / "20261121-190000-KRTB.txt").write_text(
        "palatinus record 1\n# seat 0 is Ann\n", encoding="utf-8"
    )
    return folder


def test_every_problem_that_ships_can_be_solved() -> None:
    """Its moves are legal, and no other seat's wolves are open."""
    shipped = problems(Path("nowhere"))
    assert shipped
    assert len({problem.key for problem in shipped}) == len(shipped)
    for problem in shipped:
        for move in (problem.best, problem.other):
            assert move.piece in problem.legal.pieces
            assert move.field in problem.legal.fields
        view = problem.recording.view(problem.stop, eyes_of(problem.legal.seat))
        assert view.turn == problem.legal.seat
        assert list(view.hands) == [problem.legal.seat]
        assert not problem.own


@pytest.mark.usefixtures("in_this_process")
async def test_a_game_is_looked_through_once(records: Path, run: Run) -> None:
    """Its worst moves become problems, which come before those that ship until they are solved."""
    found = [problem async for problem in look_through(records, "Ann")]
    assert 0 < len(found) <= 3
    looked = known_games().looked
    assert list(looked) == [FILE]
    assert (looked[FILE].seat, looked[FILE].moves) == (1, 16)
    assert [problem async for problem in look_through(records, "Ann")] == []
    first, *_others = problems(records)
    assert (first, first.own, first.table) == (found[0], True, "KRTA")
    note_solved(first)
    assert problems(records)[-1].key == first.key
    told = json.loads(run("history", "statistics", "--name", "Ann", "--json", "--records", records)[0])
    assert told["looked_through"] == 1
    (result,) = told["results"]
    assert (result["against"], result["players"], result["games"], result["moves"]) == (["citizen"], 2, 1, 16)
    assert result["lost"] == pytest.approx(sum(fault["gain"] for fault in told["faults"]))
    (records / FILE).unlink()
    assert not any(problem.own for problem in problems(records))


async def test_a_folder_that_cannot_be_read_has_no_problems(records: Path) -> None:
    assert [problem async for problem in look_through(records / FILE, "Ann")] == []


def test_statistics_say_against_whom_and_what_was_lost() -> None:
    """Bots are told by their levels, others are people; games that nobody has looked through are counted."""
    names = ("Ann", "citizen-1", "Bob")
    games = [
        PastGame("one", "A", 0.0, names, (10, 5, 3), (0,)),
        PastGame("two", "B", 0.0, names, (5, 5, 8), (2,)),
        PastGame("three", "C", 0.0, ("Ann", "slave"), (9, 1), (0,)),
        PastGame("four", "D", 0.0, ("Bob", "slave"), (9, 1), (0,)),
    ]
    faults = (Slip(9, "Em D4", "Ef B2", 0.3, "hill"), Slip(12, "Em D5", "Ef B3", 0.1, "soldiers"))
    looked = {"one": Looked(0, 8, faults)}
    lines = [
        line.split() for line in statistics_listing(own_results("Ann", games, looked), [*looked.values()])
    ]
    assert ["Citizen", "and", "people", "3", "2", "1", "7.5", "5.0"] in lines
    assert ["Slave", "2", "1", "1", "9.0"] in lines
    assert ["hills", "that", "you", "won", "less", "often", "75%"] in lines
    assert "2 games have not been looked through" in " ".join(" ".join(line) for line in lines)
    assert "cost 5.0 of 100 games" in describe_losses([*looked.values()])
    assert describe_losses([]) == ""
