"""`palatinus arena` and `games`."""

import argparse
import asyncio
import contextlib
import gc
import json
import re
import shlex
import subprocess
import sys
from functools import partial
from pathlib import Path

import pexpect
import psutil
import pyte
import pytest

from client.player.seats import Seats, seats_folder
from commands.parsing import print_found
from server.app import running
from server.config import Config
from tests.conftest import Complain, Run
from tests.server.peer import TIMEOUT, eventually
from tests.server.playing import game
from tests.test_docs import ROOT, first_column, section
from tests.test_examples import JAVASCRIPT, NODE, PYTHON, needs_node

ARENA = ["arena", "random", "greedy", "--players", "3", "--games", "2"]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_table(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "records"
    table, _ = run(*ARENA, "--no-times", "-j", "2", "--records", folder)
    assert table == run(*ARENA, "--no-times", "-j", "1")[0]
    assert table.startswith("6 of 6 games, seed 1. Equal brains would win 33.3%.")
    assert [line.split()[0] for line in table.splitlines()[3:5]] == ["greedy", "random"]
    records = sorted(folder.iterdir())
    assert [record.name for record in records] == [f"game-{number}.txt" for number in range(1, 7)]
    assert "a finished game; points: " in run("check", records[-1])[0]
    assert "# seat 0 is random-1\n# seat 1 is random-2\n# seat 2 is greedy\n" in records[0].read_text()
    assert "is not empty: name a new folder" in run(*ARENA, "--records", folder, code=2)[1]


@pytest.mark.usefixtures("in_this_process")
def test_json_has_everything(run: Run) -> None:
    words = ("arena", "greedy", "random", "--games", "2", "-j", "1", "--seed", "7", "--alone", "--json")
    told = json.loads(run(*words)[0])
    assert (told["games"], told["planned"], told["seed"], told["alone"]) == (2, 2, 7, "greedy")
    best = told["brains"][0]
    assert best["name"] == "greedy"
    assert best["games"] == sum(seat["games"] for seat in best["seats"]) == 2
    assert best["interval"][0] <= best["share"] <= best["interval"][1]
    assert best["ahead_of"]["random"]["games"] == 2
    assert best["seconds"]["longest"] >= best["seconds"]["mean"] > 0
    text = section("Arena", (ROOT / "docs" / "measuring-bots.md").read_text(encoding="utf-8"))
    keys = re.findall(r"\w+", " ".join(first_column(text)))
    assert sorted(keys) == sorted(told)
    assert all(f"`{key}`" in text for key in best)


@pytest.mark.usefixtures("in_this_process")
def test_a_brain_that_fails_is_told_with_file_and_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once, with its traceback, however often it fails; the record shows the game so far."""
    module = tmp_path / "hasty.py"
    module.write_text("def choose(view, legal, rng):\n    return view.hands['H']\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "hasty", raising=False)
    folder = tmp_path / "records"
    words = ("arena", "hasty:choose", "random", "--games", "4", "-j", "1", "--records", folder)
    out, errors = run(*words, code=1)
    assert out.startswith("4 of 4 games, seed 1.")
    assert re.search(r"^Games lost .*\n.*error\n.*\nhasty:choose +4$", out, re.MULTILINE)
    told = f"game 1: The brain hasty:choose failed in {module}, line 2: KeyError: 'H'.\nTraceback "
    assert errors.startswith(told)
    assert errors.count("KeyError") == 2
    assert "a running game of 2 players" in run("check", folder / "game-1.txt")[0]


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_what_was_played_is_not_played_again(run: Run, tmp_path: Path) -> None:
    """Not even after it was stopped while it wrote a result; other games do not go into the same file."""
    file = tmp_path / "results.jsonl"
    words = ["arena", "random", "greedy", "--no-times", "-j", "1", "--results", str(file), "--games"]
    run(*words, "2")
    with file.open("ab") as results:
        results.write(b'{"number":3,"se')
    before = file.read_bytes()
    resumed = run(*words, "4")
    assert file.read_bytes().startswith(before.rpartition(b"\n")[0] + b"\n")
    assert [json.loads(line)["number"] for line in file.read_text().splitlines()[1:]] == [1, 2, 3, 4]
    assert run("arena", "random", "greedy", "--no-times", "--games", "4") == resumed
    assert "has the results of other games" in run(*words, "4", "--seed", "2", code=2)[1]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="no file can be limited there")
@pytest.mark.usefixtures("in_this_process")
def test_a_full_disk_is_one_line(run: Run, tmp_path: Path) -> None:
    """With the table of the games before; what was written is still of use."""
    import resource

    file = tmp_path / "results.jsonl"
    words = ["arena", "random", "greedy", "--games", "4", "-j", "1", "--results", str(file)]
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        out, errors = run(*words, code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert re.match(r"[12] of 4 games", out)
    assert re.search(rf"^palatinus: cannot write {file}: \w.+$", errors, re.MULTILINE)
    run(*words)


@pytest.mark.slow
@pytest.mark.usefixtures("in_this_process")
def test_a_test_says_which_brain_is_better(run: Run, tmp_path: Path) -> None:
    words = ("arena", "greedy", "random", "--better-by", "200", "--no-times", "--results", tmp_path / "r")
    out, _ = run(*words, "-j", "2")
    assert "\nYes: greedy is better than random.\n" in out
    told = json.loads(run(*words, "-j", "1", "--json")[0])["test"]
    assert told["better"] is True
    assert f" in {told['deals']} deals; log-likelihood ratio {told['ratio']:+.2f} of " in out


def test_without_the_package_for_ratings_it_says_how_to_get_it(
    complain: Complain, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any game is played."""
    for module in ("client.bots.arena.standings", "client.bots.arena.ratings", "commands.playing.arena"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "openskill", None)
    monkeypatch.delitem(sys.modules, "openskill.models", raising=False)
    assert re.fullmatch(r"palatinus: the package openskill.* is missing: run .*\n", complain(*ARENA))


@pytest.mark.slow
async def test_ctrl_c_prints_the_table_so_far(tmp_path: Path) -> None:
    """In a terminal, which shows how far it is; no process stays behind."""
    mark = tmp_path / "mark"
    (tmp_path / "pensive.py").write_text(
        "import time\nfrom pathlib import Path\nmoves = 0\n"
        "def choose(view, legal, rng):\n"
        "    global moves\n"
        "    moves += 1\n"
        "    if moves > 40:\n"
        f"        Path({str(mark)!r}).touch()\n"
        "        time.sleep(600)\n"
        "    return next(legal.commands())\n",
        encoding="utf-8",
    )
    words = [str(ROOT / "palatinus.py"), "arena", "random", "pensive:choose", "-j", "1"]
    terminal = pexpect.spawn(sys.executable, words, cwd=tmp_path, timeout=60, dimensions=(24, 100))
    try:
        await eventually(mark.exists)
        screen = pyte.Screen(100, 24)
        stream = pyte.ByteStream(screen)

        def bar_shown() -> bool:
            with contextlib.suppress(pexpect.TIMEOUT):
                stream.feed(terminal.read_nonblocking(4096, timeout=0))
            return any(re.search(r"^Games .* [1-9]/100 time left", line) for line in screen.display)

        await eventually(bar_shown)
        processes = psutil.Process(terminal.pid).children(recursive=True)
        assert processes
        terminal.sendintr()
        terminal.expect(r"Interrupted\.\r\n[1-9] of 100 games, seed 1\.")
        terminal.expect("random")
        terminal.expect(pexpect.EOF)
        terminal.close()
        assert terminal.exitstatus == 130
        assert not psutil.wait_procs(processes, TIMEOUT)[1]
    finally:
        terminal.close(force=True)


BOT = shlex.join([sys.executable, str(PYTHON)])


@needs_node
def test_programs_in_two_languages_play_a_brain(run: Run, tmp_path: Path) -> None:
    """With the same draws in every rotation of the seats; what was played is not played again."""
    folder = tmp_path / "records"
    words = ["arena", BOT, f"js={shlex.join([str(NODE), str(JAVASCRIPT)])}", "random", "--players", "3"]
    words += ["--games", "3", "--results", str(tmp_path / "results.jsonl"), "--no-times"]
    told = json.loads(run(*words, "--json", "--records", folder)[0])["brains"]
    assert {brain["name"]: brain["games"] for brain in told} == {"bot.py": 3, "js": 3, "random": 3}
    records = [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())]
    assert len({record[record.index("laurel") :].partition("places")[0] for record in records}) == 1
    assert sorted(re.findall(r"seat (\d) is js\n", "".join(records))) == ["0", "1", "2"]
    assert run(*words)[0].startswith("3 of 3 games")


@pytest.mark.slow
def test_a_program_that_fails_loses_with_its_last_words(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    hasty = f"hasty={shlex.join([sys.executable, '-c', 'import sys; raise KeyError(sys.argv[2])'])}"
    words = ("arena", f"{hasty} {{server}} {{table}}x", "random", "--games", "2", "--json")
    out, errors = run(*words, code=1)
    told = {brain["name"]: brain["forfeits"] for brain in json.loads(out)["brains"]}
    assert told == {"hasty": {"absent": 2}, "random": {}}
    assert errors.count("hasty exited before the end of the game, with exit code 1.\nTraceback") == 1
    assert re.search(r"\nKeyError: '[A-Z]{4}x'\n$", errors)
    gc.collect()
    assert "asyncio" not in {record.name for record in caplog.records}  # it logs what nobody has looked at


@pytest.mark.slow
def test_a_program_gets_no_passwords_and_not_all_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a stranger's, and shows what it has with its last words."""
    for name in ("PALATINUS_PASSWORD", "PALATINUS_SMTP_PASSWORD", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("LC_TIME", "C")
    told = "import os, sys; print(*os.environ.items(), file=sys.stderr, sep='\\n')"
    if sys.platform != "win32":
        told += "; import resource; print(resource.getrlimit(resource.RLIMIT_DATA), file=sys.stderr)"
    nosy = f"nosy={shlex.join([sys.executable, '-c', told])}"
    errors = run("arena", nosy, "random", "--games", "1", code=1)[1]
    assert "secret" not in errors
    assert "('LC_TIME', 'C')" in errors
    assert "('PATH'," in errors
    assert sys.platform == "win32" or re.search(r"\n\([0-9]+, [0-9]+\)", errors)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal there")
async def test_a_league_that_is_stopped_leaves_no_program_behind(tmp_path: Path) -> None:
    """And goes on later with the games that are missing."""
    results = tmp_path / "results.jsonl"
    words = [str(ROOT / "palatinus.py"), "league", BOT, "random", "--results", str(results)]
    league = await asyncio.create_subprocess_exec(sys.executable, *words, stdout=subprocess.PIPE)
    try:
        await eventually(lambda: results.exists() and results.read_bytes().count(b"\n") > 1)
        programs = psutil.Process(league.pid).children(recursive=True)
        league.terminate()
        out, _ = await asyncio.wait_for(league.communicate(), TIMEOUT)
    finally:
        with contextlib.suppress(ProcessLookupError):
            league.kill()
    assert league.returncode == 130
    assert re.match(rb"[1-9]\d? of 100 games", out)
    assert not psutil.wait_procs(programs, TIMEOUT)[1]


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


def test_no_terminal_acts_on_what_a_server_says(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "\u009b2J\u202e\u200b\x1b[31m"
    for as_json in (True, False):
        print_found(argparse.Namespace(json=as_json), [{"error": reason}], [reason, reason])
        assert all(line.isprintable() for line in capsys.readouterr().out.splitlines())
