"""`palatinus history`: finished games are kept, listed, shown, replayed, exported, removed and summed up."""

import json
import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pexpect
import pytest

from client.records import PastGame, standings
from client.ui.export.tables import standings_listing
from commands.finished_games.past_games import keep_record
from engine.game import GameOptions
from engine.record import names_in, outcome_in, recorded, replayed
from palatinus import main
from protocol.messages import Standing
from server.app import running
from server.config import Config
from tests.client.ui.pty_terminal import Terminal
from tests.games import played
from tests.server.peer import TIMEOUT, eventually, game, play_on
from tests.server.process import serving

NAMES = ("Anna", "Bruno", "Carla")
TIMES = ("20261120-190000", "20261121-200000", "20261121-210000")

Run = Callable[..., str]


@pytest.fixture
def records(tmp_path: Path) -> Path:
    """Return a folder with the records of three finished games of three players, and other files."""
    folder = tmp_path / "records"
    folder.mkdir()
    for seed, when in enumerate(TIMES):
        events = played(GameOptions(3, random_layout=True), seed).events
        (folder / f"{when}-KRT{'ABC'[seed]}.txt").write_text(recorded(events, NAMES), encoding="utf-8")
    (folder / "20261121-220000-KRTX.txt.unfinished").write_text("palatinus record 1\n")
    (folder / "notes.txt").write_text("mine")
    return folder


@pytest.fixture
def run(records: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return a function that runs the command, and returns what it prints, or complains of."""

    def run(*words: str, code: int = 0) -> str:
        command = words if words and words[0] in {"show", "export", "analyse"} else ("history", *words)
        assert main([*command, "--records", str(records)]) == code
        out, err = capsys.readouterr()
        assert not (out and err)
        return out or err

    return run


def test_the_latest_games_come_first(run: Run, records: Path) -> None:
    """With number, table and everybody's points; winners have a star. `list` may be left out."""
    out = run()
    assert run("list") == out
    heading, *rows = out.splitlines()
    assert re.split("  +", heading) == ["#", "ENDED", "TABLE", "PLAYERS AND POINTS"]
    assert [re.split("  +", row)[0::2][:2] for row in rows] == [["1", "KRTC"], ["2", "KRTB"], ["3", "KRTA"]]
    text = (records / f"{TIMES[2]}-KRTC.txt").read_text(encoding="utf-8")
    result = replayed(text).view.result
    assert result is not None
    for seat, (name, tally) in enumerate(zip(NAMES, result.tallies, strict=True)):
        assert (f"{name} {tally.points}*" in rows[0]) == (seat in result.winners)
    assert run("list", "--last", "1").splitlines() == [heading, rows[0], "2 more games: see --last."]
    listed = json.loads(run("list", "--json", "--last", "2"))
    assert [each["table"] for each in listed] == ["KRTC", "KRTB"]
    assert listed[0]["names"] == list(NAMES)


def test_a_game_played_elsewhere_is_kept_once(
    records: Path, monkeypatch: pytest.MonkeyPatch, run: Run
) -> None:
    """Even if a server on this computer has kept it before."""
    monkeypatch.setattr("commands.finished_games.past_games.records_folder", lambda: records)
    text = (records / f"{TIMES[2]}-KRTC.txt").read_text(encoding="utf-8")
    keep_record("KRTC", text)
    assert len(json.loads(run("list", "--json"))) == len(TIMES)
    for _ in range(2):
        keep_record("KRTD", text)
    assert [each["table"] for each in json.loads(run("list", "--json"))].count("KRTD") == 1


def test_a_game_is_found_by_number_code_or_file(run: Run, records: Path) -> None:
    """A code is that of the latest game at a table of this code."""
    by_number = run("show", "2")
    assert by_number == run("show", "krtb") == run("show", f"{TIMES[1]}-KRTB")
    assert " wins with " in by_number or "victory" in by_number or "tie" in by_number
    result = replayed((records / f"{TIMES[1]}-KRTB.txt").read_text(encoding="utf-8")).view.result
    assert result is not None
    for name, tally in zip(NAMES, result.tallies, strict=True):
        assert re.search(rf"(?m)^.*{name}.* {tally.points}$", by_number)
    again = records / f"{TIMES[2]}-KRTB.txt"
    again.write_bytes((records / f"{TIMES[2]}-KRTC.txt").read_bytes())
    assert run("show", "KRTB") == run("show", "KRTC")
    for wanted in ("0", "9", "KRTZ", "²"):
        assert "there is no game" in run("show", wanted, code=2)
    for wanted in ("nowhere/x", "x.txt"):
        assert f"cannot read {wanted}: there is no such file" in run("show", wanted, code=2)


def test_a_file_may_be_meant_instead(
    run: Run, records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one with the name of a game."""
    (tmp_path / "1").write_bytes((records / f"{TIMES[1]}-KRTB.txt").read_bytes())
    assert run("show", str(records / f"{TIMES[0]}-KRTA.txt")) == run("show", "3")
    latest = run("show", "1")
    monkeypatch.chdir(tmp_path)
    assert run("show", "1") == run("show", "2") != latest


def test_a_board_is_exported(run: Run, tmp_path: Path) -> None:
    """As a picture, text or JSON, at any move."""
    picture = tmp_path / "board.svg"
    assert run("export", "1", "--svg", str(picture)) == ""
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    assert run("export", "1", "--text", "-") != run("export", "1", "--text", "-", "--at", "0")


def test_a_game_is_analysed(run: Run) -> None:
    """With the options of `palatinus analyse`, and its refusals."""
    assert "--simulations takes" in run("analyse", "KRTB", "--simulations", "5", code=2)
    assert "there is no game 'NONE'" in run("analyse", "NONE", code=2)


def test_standings_count_games_wins_and_points(run: Run) -> None:
    """Of all games, or of the latest."""
    standings = json.loads(run("standings", "--json"))
    assert {each["name"]: each["games"] for each in standings} == dict.fromkeys(NAMES, 3)
    assert sum(each["wins"] for each in standings) >= 3
    latest = json.loads(run("standings", "--json", "--last", "1"))
    assert {each["games"] for each in latest} == {1}
    heading, *rows = run("standings").splitlines()
    assert heading.split() == ["PLAYER", "GAMES", "WINS", "POINTS"]
    assert [row.split()[0] for row in rows] == [each["name"] for each in standings]


def test_wide_letters_are_shown_in_whole() -> None:
    """Each takes two cells of a terminal."""
    lines = standings_listing([("小林小林小林小林", Standing(1, 1, 10)), ("Anna", Standing(1, 0, 5))])
    assert lines[1].startswith("小林小林小林小林  1 ")
    assert lines[2].startswith(f"Anna{' ' * 12}  1 ")


def test_players_with_more_wins_come_first_then_with_more_points() -> None:
    """A shared victory counts for both."""
    games = [
        PastGame("1", "A", 0.0, ("Anna", "Bruno"), (10, 10), (0, 1)),
        PastGame("2", "B", 0.0, ("Bruno", "Carla"), (3, 30), (1,)),
        PastGame("3", "C", 0.0),
    ]
    assert standings(games) == [
        ("Carla", Standing(1, 1, 30)), ("Bruno", Standing(2, 1, 13)), ("Anna", Standing(1, 1, 10)),
    ]  # fmt: skip


def test_only_games_that_are_named_are_removed(run: Run, records: Path) -> None:
    """For good, all or none if one of them is not there."""
    before = sorted(path.name for path in records.iterdir())
    assert "there is no game" in run("remove", "--yes", "1", "9", code=2)
    assert "--yes" in run("remove", "1", code=2)  # nobody to ask
    assert sorted(path.name for path in records.iterdir()) == before
    assert run("remove", "--yes", "1", "KRTC", "3") == ""
    gone = {f"{TIMES[2]}-KRTC.txt", f"{TIMES[0]}-KRTA.txt"}
    assert sorted(path.name for path in records.iterdir()) == sorted(set(before) - gone)


@pytest.mark.slow
def test_removing_is_confirmed_at_a_terminal(records: Path) -> None:
    """Anything but yes keeps the games."""
    for answer, left in (("n", 3), ("y", 2)):
        command = [sys.executable, "-m", "palatinus", "history", "--records", str(records), "remove", "1"]
        child = pexpect.spawn(command[0], command[1:], encoding="utf-8", timeout=TIMEOUT)
        child.expect_exact("Remove 1 game for good?")
        child.sendline(answer)
        child.expect(pexpect.EOF)
        child.close()
        assert len([path for path in records.glob("*.txt") if path.name != "notes.txt"]) == left


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe", b"result 0 points 999999 items 1\n" * 9000, b"winners 4\n"]
)
def test_a_damaged_record_is_listed_and_says_so(run: Run, records: Path, damage: bytes) -> None:
    """The others are listed as ever, and the standings leave it out."""
    path = records / f"{TIMES[2]}-KRTC.txt"
    path.write_bytes(damage)
    assert "(this record cannot be read)" in run("list").splitlines()[1]
    assert json.loads(run("standings", "--json"))[0]["games"] == 2
    assert "KRTC.txt: line" in run("show", "1", code=2)


def test_names_in_a_record_are_shown_only_if_a_table_would_accept_them(run: Run, records: Path) -> None:
    """Records come from strangers."""
    events = played(GameOptions(2, random_layout=True), 1).events
    text = recorded(events, ("An\x1b[31mna", "x" * 60))
    assert outcome_in(text) is not None
    (records / f"{TIMES[2]}-KRTC.txt").write_text(text, encoding="utf-8")
    first = run("list").splitlines()[1]
    assert first.isprintable()
    assert "Seat 1" in first or "[31m" in first
    assert "Seat 2" in first


def test_an_empty_or_missing_folder_has_no_games(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """That is no mistake; a folder that cannot be read is one."""
    for folder in (tmp_path, tmp_path / "none"):
        assert main(["history", "--records", str(folder)]) == 0
        assert capsys.readouterr().out == "No finished games are kept here.\n"
    (tmp_path / "file").touch()
    assert main(["history", "--records", str(tmp_path / "file")]) == 2
    assert "cannot read" in capsys.readouterr().err


def test_a_game_is_replayed(records: Path, tmp_path: Path) -> None:
    """In a terminal, from any move."""
    arguments = ("replay", "1", "--records", str(records), "--at", "3")
    with Terminal(*arguments, environment={"HOME": str(tmp_path)}) as terminal:
        terminal.shows("Replay . move 3 of")
        terminal.press("q")
        assert terminal.ended()[0] == 0


def records_in(data: Path) -> list[Path]:
    return list(data.glob("records/*.txt"))


async def test_a_server_keeps_the_games_in_its_data_folder(tmp_path: Path) -> None:
    """With everybody's names; unless it is told not to."""
    async with (
        serving("--data", str(tmp_path / "kept")) as server,
        serving("--data", str(tmp_path / "other"), "--no-history") as other,
        game(server.port, 2) as peers,
        game(other.port, 2) as others,
    ):
        await play_on(others, random.Random(1))
        await play_on(peers, random.Random(1))
        await eventually(lambda: bool(records_in(tmp_path / "kept")))
    (path,) = records_in(tmp_path / "kept")
    assert path.name.endswith(f"-{peers[0].code}.txt")
    assert names_in(path.read_text(encoding="utf-8")) == {0: "Player 0", 1: "Player 1"}
    assert not records_in(tmp_path / "other")


async def test_the_oldest_records_make_room(tmp_path: Path) -> None:
    """Of as many as are kept; files of others stay."""
    records = tmp_path / "records"
    records.mkdir()
    (records / "notes.txt").touch()
    for year in (2001, 2002, 2003):
        (records / f"{year}0101-000000-AAAA.txt").touch()
    async with running(Config(records=records, most_records=2)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1))
        await eventually(lambda: len(list(records.glob(f"*-{peers[0].code}.txt"))) == 1)
        await eventually(lambda: len(list(records.iterdir())) == 3)
    left = sorted(path.name for path in records.iterdir())
    assert left[0] == "20030101-000000-AAAA.txt"
    assert left[-1] == "notes.txt"
