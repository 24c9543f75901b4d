"""Finished games: kept, listed, shown, exported, removed, summed up, analysed and made into problems."""

import itertools
import json
import random
import re
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import TypeAlias

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.player.preferences import remember
from client.records import (
    Habits,
    Looked,
    PastGame,
    Recording,
    Rival,
    Slip,
    Solved,
    ladder_of,
    own_results,
    player_standings,
)
from client.ui.export.tables import describe_losses, standings_listing, statistics_listing
from client.ui.lines import answer
from client.ui.requests import Challenge, PlayOn
from client.ui.screens.history import HistoryPage
from client.ui.screens.replay import Replay
from client.ui.screens.rivals import Rivals
from client.ui.texts.habits import describe_habits, rank_of
from client.ui.visit import LookingBack
from commands.finished_games.records import kept_here, need_writable
from engine.events import SoldierFled
from engine.game import GameOptions
from engine.pieces import Kind, Piece, Seat
from engine.record import names_in, outcome_in, recorded, replayed
from engine.view import eyes_of
from past_games.habits import habits_of
from past_games.history_screen import looking_at_games
from past_games.own_games import look_through, problems
from past_games.records import keep_record, recording_of
from past_games.solved import OwnGames, known_games, note_solved, own_games_file, shipped_problems
from protocol.messages import Standing
from server.app import running
from server.config import Config
from tests.client.bots.test_search import search_processes
from tests.client.ui.pty_terminal import Terminal
from tests.conftest import Complain, Run
from tests.games import played
from tests.server.peer import TIMEOUT, eventually
from tests.server.playing import game, play_on
from tests.server.process import serving

Told: TypeAlias = Callable[..., str]
NAMES = ("Anna", "Bruno", "Carla")
TODAY = date(2026, 11, 29)
TIMES = ("20261120-190000", "20261121-200000", "20261121-210000")


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


async def test_a_past_game_is_played_on_from_its_record(records: Path) -> None:
    """The list is where the player comes back to, on the same line, unless they go on playing.

    They are "you" in the record, and what is played on has their name.
    """
    looking_back = LookingBack(recording_of, None, plays_on=True)
    shown = (await looking_at_games(records, looking_back, name="Anna")).interaction
    for key in ("down", "enter", "n", "escape"):
        shown.press(key)
    assert isinstance(shown.ui.page, HistoryPage)
    assert shown.ui.page.chosen == 1
    assert not shown.over
    for key in ("enter", "n"):
        shown.press(key)
    assert isinstance(shown.ui.page, Replay)
    told = " ".join(answer("players", shown.ui, shown.model) or ())
    assert "you" in told
    assert "Anna" not in told
    shown.press("p")
    assert shown.over
    assert isinstance(shown.request, PlayOn)
    assert shown.request.move == 1
    assert msgspec.json.decode(msgspec.json.encode(shown.request.recording.names)) == [*NAMES]


@pytest.fixture
def told(records: Path, run: Run) -> Told:
    """Return a function that runs the command, and returns what it prints, or complains of."""

    def told(*words: str, code: int = 0) -> str:
        command = words if words and words[0] in {"show", "export", "analyse"} else ("history", *words)
        out, err = run(*command, "--records", records, code=code)
        assert not (out and err)
        return out or err

    return told


def test_the_latest_games_come_first(told: Told, records: Path) -> None:
    out = told()
    assert told("list") == out
    heading, *rows = out.splitlines()
    assert re.split("  +", heading) == ["#", "ENDED", "TABLE", "PLAYERS AND POINTS"]
    assert [re.split("  +", row)[0::2][:2] for row in rows] == [["1", "KRTC"], ["2", "KRTB"], ["3", "KRTA"]]
    text = (records / f"{TIMES[2]}-KRTC.txt").read_text(encoding="utf-8")
    result = replayed(text).view.result
    assert result is not None
    for seat, (name, tally) in enumerate(zip(NAMES, result.tallies, strict=True)):
        assert (f"{name} {tally.points}*" in rows[0]) == (seat in result.winners)
    assert told("--last", "1").splitlines() == [heading, rows[0], "2 more games: see --last."]
    for words in (
        ("--json", "--last", "2"),
        ("list", "--json", "--last", "2"),
        ("--json", "list", "--last", "2"),
    ):
        listed = json.loads(told(*words))
        assert [each["table"] for each in listed] == ["KRTC", "KRTB"]
    assert listed[0]["names"] == list(NAMES)


def test_a_game_played_elsewhere_is_kept_once(
    records: Path, monkeypatch: pytest.MonkeyPatch, told: Told
) -> None:
    """Even if a server on this computer has kept it before."""
    monkeypatch.setattr("past_games.records.records_folder", lambda: records)
    text = (records / f"{TIMES[2]}-KRTC.txt").read_text(encoding="utf-8")
    keep_record("KRTC", text)
    assert len(json.loads(told("list", "--json"))) == len(TIMES)
    for _ in range(2):
        keep_record("KRTD", text)
    assert [each["table"] for each in json.loads(told("list", "--json"))].count("KRTD") == 1


def test_a_game_is_found_by_number_code_or_file(told: Told, records: Path) -> None:
    """A code is that of the latest game at a table of this code."""
    by_number = told("show", "2")
    assert by_number == told("show", "krtb") == told("show", f"{TIMES[1]}-KRTB")
    assert " wins, " in by_number or "victory" in by_number or "tie" in by_number
    result = replayed((records / f"{TIMES[1]}-KRTB.txt").read_text(encoding="utf-8")).view.result
    assert result is not None
    for name, tally in zip(NAMES, result.tallies, strict=True):
        assert re.search(rf"(?m)^.*{name}.* {tally.points}\b", by_number)
    again = records / f"{TIMES[2]}-KRTB.txt"
    again.write_bytes((records / f"{TIMES[2]}-KRTC.txt").read_bytes())
    assert told("show", "KRTB") == told("show", "KRTC")
    for wanted in ("0", "9", "KRTZ", "²"):
        assert "there is no game" in told("show", wanted, code=2)
    for wanted in ("nowhere/x", "x.txt"):
        assert f"cannot read {wanted}: there is no such file" in told("show", wanted, code=2)


def test_a_file_may_be_meant_instead(
    told: Told, records: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one with the name of a game."""
    (tmp_path / "1").write_bytes((records / f"{TIMES[1]}-KRTB.txt").read_bytes())
    assert told("show", str(records / f"{TIMES[0]}-KRTA.txt")) == told("show", "3")
    latest = told("show", "1")
    monkeypatch.chdir(tmp_path)
    assert told("show", "1") == told("show", "2") != latest


@pytest.mark.slow
def test_a_board_is_exported_and_a_game_analysed(told: Told, tmp_path: Path) -> None:
    assert "--simulations takes" in told("analyse", "KRTB", "--simulations", "5", code=2)
    assert "there is no game 'NONE'" in told("analyse", "NONE", code=2)
    picture = tmp_path / "board.svg"
    assert told("export", "1", "--svg", str(picture)) == ""
    assert picture.read_text(encoding="utf-8").startswith("<svg")
    moving = told("export", "1", "--animation", "-", "--eyes", "none")
    assert moving.startswith("<svg")
    assert "@keyframes" in moving
    assert told("export", "1", "--text", "-") != told("export", "1", "--text", "-", "--at", "0")


def test_standings_count_games_wins_and_points(told: Told) -> None:
    standings = json.loads(told("standings", "--json"))
    assert {each["name"]: each["games"] for each in standings} == dict.fromkeys(NAMES, 3)
    assert sum(each["wins"] for each in standings) >= 3
    latest = json.loads(told("--last", "1", "standings", "--json"))
    assert {each["games"] for each in latest} == {1}
    own = json.loads(told("--last", "2", "statistics", "--json", "--name", NAMES[0]))
    assert [each["games"] for each in own["results"]] == [2]
    heading, *rows = told("standings").splitlines()
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
        PastGame("4", "D", 0.0, ("Anna", "Livia (slave)", "Titus (slave)", "slave-1"), (9, 1, 2, 3), (0,)),
    ]
    assert player_standings(games) == [
        ("Anna", Standing(2, 2, 19)), ("Carla", Standing(1, 1, 30)), ("Bruno", Standing(2, 1, 13)),
        ("slave", Standing(3, 0, 6)),
    ]  # fmt: skip


def test_only_games_that_are_named_are_removed(told: Told, records: Path) -> None:
    before = sorted(path.name for path in records.iterdir())
    assert "there is no game" in told("remove", "--yes", "1", "9", code=2)
    assert "--yes" in told("remove", "1", code=2)  # nobody to ask
    for option in ("--json",), ("--last", "1"):
        assert f"unrecognized arguments: {option[0]}" in told(*option, "remove", "--yes", "1", code=2)
    assert sorted(path.name for path in records.iterdir()) == before
    assert told("remove", "--yes", "1", "KRTC", "3") == ""
    gone = {f"{TIMES[2]}-KRTC.txt", f"{TIMES[0]}-KRTA.txt"}
    assert sorted(path.name for path in records.iterdir()) == sorted(set(before) - gone)


@pytest.mark.parametrize(
    "damage", [b"", b"\xff\xfe", b"result 0 points 999999 items 1\n" * 9000, b"winners 4\n"]
)
def test_a_damaged_record_is_listed_and_says_so(told: Told, records: Path, damage: bytes) -> None:
    path = records / f"{TIMES[2]}-KRTC.txt"
    path.write_bytes(damage)
    assert "(this record cannot be read)" in told("list").splitlines()[1]
    assert json.loads(told("standings", "--json"))[0]["games"] == 2
    assert "KRTC.txt: line" in told("show", "1", code=2)


def test_names_in_a_record_are_shown_only_if_a_table_would_accept_them(told: Told, records: Path) -> None:
    """Records come from strangers."""
    events = played(GameOptions(2, random_layout=True), 1).events
    text = recorded(events, ("An\x1b[31mna", "x" * 60))
    assert outcome_in(text) is not None
    (records / f"{TIMES[2]}-KRTC.txt").write_text(text, encoding="utf-8")
    first = told("list").splitlines()[1]
    assert first.isprintable()
    assert "Seat 1" in first or "[31m" in first
    assert "Seat 2" in first


def test_an_empty_or_missing_folder_has_no_games(tmp_path: Path, run: Run) -> None:
    for folder in (tmp_path, tmp_path / "none"):
        assert run("history", "--records", folder)[0] == "No finished games are kept here.\n"
    (tmp_path / "file").touch()
    assert "cannot read" in run("history", "--records", tmp_path / "file", code=2)[1]


def test_games_that_cannot_be_kept_are_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """However many are played."""
    (tmp_path / "palatinus").touch()
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert [kept_here().records for _game in range(2)] == [None, None]
    assert capsys.readouterr().err.count("finished games are not kept") == 1


def records_in(data: Path) -> list[Path]:
    return list(data.glob("records/*.txt"))


async def test_a_server_keeps_the_games_in_its_data_folder(tmp_path: Path) -> None:
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


@pytest.fixture
def record(tmp_path: Path) -> Path:
    """Return the file of the record of a finished game."""
    path = tmp_path / "game.txt"
    path.write_text(recorded(played(GameOptions(5, random_layout=True), 1).events, ["Anna", "Bruno"]))
    return path


def test_what_cannot_be_analysed_is_refused(record: Path, tmp_path: Path, complain: Complain) -> None:
    """In the words of `palatinus check`, where the record is damaged."""
    damaged = tmp_path / "damaged.txt"
    damaged.write_text(record.read_text().replace("places", "puts", 1))
    assert complain("check", damaged) == complain("analyse", damaged)
    running = tmp_path / "running.txt"
    running.write_text(recorded(played(GameOptions(2), 1, commands=12).events))
    assert "is not finished: only a finished game can be analysed" in complain("analyse", running)
    for words in (("--simulations", "99"), ("-j", "4096")):
        assert re.fullmatch(r"palatinus: .* \d+ to \d+(, not 99)?\n", complain("analyse", record, *words))
    assert "nowhere/x.svg: " in complain("analyse", record, "--svg", tmp_path / "nowhere" / "x.svg")


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
        assert not psutil.wait_procs(workers, TIMEOUT)[1]


FILE = "20261120-190000-KRTA.txt"


@pytest.fixture
def own_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
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
    """There are ten of each grade, each from another game; the moves are legal, others' wolves hidden."""
    shipped = sorted(problems(Path("nowhere"), TODAY), key=lambda problem: problem.number)
    assert [problem.number for problem in shipped] == list(range(1, 41))
    assert [problem.grade for problem in shipped] == [grade for grade in (1, 2, 3, 4) for _ in range(10)]
    assert len({problem.key for problem in shipped}) == len(shipped)
    assert len({stored.record for stored in shipped_problems().values()}) == len(shipped)
    for problem in shipped:
        assert problem.best != problem.other
        for move in (problem.best, problem.other):
            assert move.piece in problem.legal.pieces
            assert move.field in problem.legal.fields
        view = problem.recording.view(problem.stop, eyes_of(problem.legal.seat))
        assert view.turn == problem.legal.seat
        assert list(view.hands) == [problem.legal.seat]
        assert not problem.own


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
async def test_a_game_is_looked_through_once(own_records: Path, run: Run) -> None:
    """Its worst moves become problems, which come before those that ship until they are solved."""
    found = [problem async for problem in look_through(own_records, "Ann")]
    assert 0 < len(found) <= 3
    looked = known_games().looked
    assert list(looked) == [FILE]
    assert (looked[FILE].seat, looked[FILE].moves) == (1, 16)
    assert [problem async for problem in look_through(own_records, "Ann")] == []
    _of_day, first, *_others = problems(own_records, TODAY)
    assert (first, first.own, first.table) == (found[0], True, "KRTA")
    before = known_games().until(TODAY)
    after = note_solved(TODAY, first)
    assert (after.count, after.keys) == (before.count, frozenset({first.key}))
    assert problems(own_records, TODAY)[-1].key == first.key
    told = json.loads(run("history", "statistics", "--name", "Ann", "--json", "--records", own_records)[0])
    assert told["looked_through"] == 1
    (result,) = told["results"]
    assert (result["against"], result["players"], result["games"], result["moves"]) == (["citizen"], 2, 1, 16)
    assert result["lost"] == pytest.approx(sum(fault["gain"] for fault in told["faults"]))
    (own_records / FILE).unlink()
    assert not any(problem.own for problem in problems(own_records, TODAY))


@pytest.mark.usefixtures("own_records")
def test_every_day_has_a_problem_until_it_is_solved() -> None:
    """It comes first, even if it was solved on an earlier day; who misses a day begins again.

    Days that follow each other have problems of different grades.
    """
    days = [TODAY + timedelta(number) for number in range(45)]
    of_days = [problems(Path("nowhere"), day)[0] for day in days]  # more days than there are problems
    assert [each.day for each in of_days] == [day.isoformat() for day in days]
    assert len({each.key for each in of_days}) == len(problems(Path("nowhere"), TODAY))
    assert all(one.grade != following.grade for one, following in itertools.pairwise(of_days))
    for number, (day, problem) in enumerate(zip(days[:5], of_days, strict=False), 1):
        assert days_solved(known_games().until(day)) == (False, number - 1)
        for _ in range(2):
            solved = note_solved(day, problem)
            assert days_solved(solved) == (True, number)
            assert (solved.count, solved.of) == (number, 40)
        assert not problems(Path("nowhere"), day)[0].day
    again = next(each for each in of_days[5:] if each.key == of_days[0].key)
    assert problems(Path("nowhere"), date.fromisoformat(again.day))[0] == again
    assert days_solved(known_games().until(days[6])) == (False, 0)


def days_solved(solved: Solved) -> tuple[bool, int]:
    return solved.today, solved.in_a_row


@pytest.mark.usefixtures("own_records")
def test_the_first_problem_that_is_not_solved_follows_that_of_the_day() -> None:
    of_day, *others = problems(Path("nowhere"), TODAY)
    for _number in range(5):
        following = problems(Path("nowhere"), TODAY)[1]
        assert following == min(others, key=lambda problem: problem.number)
        others.remove(following)
        note_solved(TODAY, following)
    assert problems(Path("nowhere"), TODAY)[0] == of_day


@pytest.mark.parametrize("kept", [b"", b'{"solved":["set 3 Em', b"\xff\xfe", b'{"solved":7}', b"[]"])
def test_a_torn_or_foreign_file_of_what_is_solved_ends_nothing(own_records: Path, kept: bytes) -> None:
    own_games_file().parent.mkdir(parents=True)
    own_games_file().write_bytes(kept)
    of_day, *_others = problems(own_records, TODAY)
    assert note_solved(TODAY, of_day).count == 1
    assert known_games().until(TODAY).keys == {of_day.key}


@pytest.mark.parametrize(("move", "best"), [(99, "Em C4"), (2, "Em C4"), (20, "Q"), (20, "")])
def test_what_is_kept_of_another_game_makes_no_problem(own_records: Path, move: int, best: str) -> None:
    slip = Slip(move, best, "Sm C5", 0.5, "all")
    remember(own_games_file(), OwnGames({FILE: Looked(1, 16, (slip,))}))
    assert not any(problem.own for problem in problems(own_records, TODAY))


@pytest.mark.usefixtures("own_records")
def test_what_earlier_versions_kept_is_still_read() -> None:
    """Solved problems that do not ship any more count no more; the days stay."""
    own_games_file().parent.mkdir(parents=True)
    remember(own_games_file(), OwnGames(solved=("set 99 Mm D4",), days=(TODAY.isoformat(),)))
    solved = known_games().until(TODAY)
    assert (solved.count, solved.of, solved.today, solved.in_a_row) == (0, 40, True, 1)


def test_rivals_are_levels_one_after_another_and_people() -> None:
    """Whoever has beaten a level has risen above all weaker ones; the latest game says who was met."""
    games = [
        PastGame("1", "A", 4.0, ("Ann", "Livia (citizen)", "Rufus (citizen)"), (9, 5, 3), (0,)),
        PastGame("2", "B", 3.0, ("Titus (citizen)", "Ann", "Bob"), (9, 9, 3), (0, 1)),
        PastGame("3", "C", 2.0, ("Bob", "Ann", "plebeian-1"), (9, 5, 3), (0,)),
        PastGame("4", "D", 1.0, ("Bob", "Varro (consul)"), (9, 5), (0,)),
        PastGame("5", "E", 0.0),
    ]
    ladder = ladder_of("Ann", games)
    slave, plebeian, citizen, senator, consul = ladder.bots
    assert citizen == Rival("citizen", 2, 2, ("Livia", "Rufus"))
    assert (plebeian.played, plebeian.won) == (1, 0)
    assert [each.played for each in (slave, senator, consul)] == [0, 0, 0]
    assert [rank_of(ladder, at) for at in range(5)] == ["", "", "beaten", "to beat", ""]
    assert ladder.people == (Rival("Bob", 2, 1, ()),)
    assert ladder_of("Cosima", games).beaten == 0


@given(st.integers(2, 5), st.integers(0, 99), st.data())
def test_habits_are_what_the_scoring_tells_of_every_player(
    players: int, number: int, data: st.DataObject
) -> None:
    """Every soldier and every wolf on the board is somebody's, and all games count together."""
    recording = Recording.of(played(GameOptions(players, random_layout=True), number).events, {})
    each = [habits_of(recording, Seat(seat)) for seat in recording.seats]
    placed = recording.view(recording.end, recording.all_eyes).placed.values()
    pieces = [piece for piece in placed if isinstance(piece, Piece)]
    assert len(pieces) == len(placed)
    assert sum(one.early + one.late for one in each) == sum(piece.kind is Kind.SOLDIER for piece in pieces)
    assert sum(one.wolves for one in each) == sum(piece.wolf for piece in pieces)
    fled = sum(isinstance(event, SoldierFled) for event in recording.events)
    assert sum(one.early_fled + one.late_fled for one in each) == fled
    one, other = data.draw(st.tuples(st.sampled_from(each), st.sampled_from(each)))
    assert (one.with_game(other).games, one.with_game(other).wolves) == (2, one.wolves + other.wolves)


def test_habits_are_told_with_what_to_do_about_them() -> None:
    """But not where there is no difference, nor too few soldiers to see one."""
    assert describe_habits(Habits(), ()) == []
    told = describe_habits(Habits(14, 15, 9, 12, 2, 88, 38), (Rival("Bob", 4, 1),))
    assert told[1] == "11 of your 27 soldiers fled."
    assert told[2].startswith("Place them later: 9 of 15 ")
    assert told[3].startswith("38 of your 88 wolves were believed")
    assert told[4] == "With Bob at the table you have won 1 of 4 games."
    assert describe_habits(Habits(3, 5, 0, 5, 4), ())[2].startswith("Place them earlier: 4 of 5 ")
    for habits in (Habits(3, 5, 2, 5, 2), Habits(1, 3, 3, 3, 0)):
        assert len(describe_habits(habits, ())) == 2


async def test_rivals_are_seen_from_past_games_and_one_is_challenged(own_records: Path) -> None:
    shown = (await looking_at_games(own_records, LookingBack(recording_of, None), name="Ann")).interaction
    shown.press("tab")
    assert isinstance(rivals := shown.ui.page, Rivals)
    assert rivals.ladder.bots[2].lately == ("citizen-1",)
    for key in ("escape", "tab", "up", "enter"):
        shown.press(key)
    assert shown.request == Challenge(rivals.ladder.bots[max(rivals.chosen - 1, 0)].name)
    stranger = (await looking_at_games(own_records, LookingBack(recording_of, None))).interaction
    stranger.press("tab")
    assert isinstance(stranger.ui.page, HistoryPage)


async def test_a_folder_that_cannot_be_read_has_no_problems(own_records: Path) -> None:
    assert [problem async for problem in look_through(own_records / FILE, "Ann")] == []


def test_statistics_say_against_whom_and_what_was_lost(in_language: Callable[[str], None]) -> None:
    """Bots are told by their levels, others are humans; games that nobody has looked through are counted."""
    names = ("Ann", "Livia (citizen)", "Bob")
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
    assert ["Citizen", "and", "humans", "3", "2", "1", "7.5", "5.0"] in lines
    assert ["Slave", "2", "1", "1", "9.0"] in lines
    assert ["hills", "that", "you", "won", "less", "often", "75%"] in lines
    assert "2 games have not been looked through" in " ".join(" ".join(line) for line in lines)
    assert "cost 5.0 of 100 games" in describe_losses([*looked.values()])
    assert describe_losses([]) == ""
    in_language("fr")
    _heading, first, *_others = statistics_listing(own_results("Ann", games[:1], {}), [])
    assert "humains" in first  # not "peuple", as Etruscans are one
