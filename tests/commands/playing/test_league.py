"""`palatinus league`: programs and brains on a server that it starts, or on another."""

import asyncio
import contextlib
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tests.conftest import Run
from tests.server.peer import TIMEOUT, eventually
from tests.test_docs import ROOT
from tests.test_examples import JAVASCRIPT, NODE, PYTHON, needs_node

BOT = shlex.join([sys.executable, str(PYTHON)])


@needs_node
def test_programs_in_two_languages_play_a_brain(run: Run, tmp_path: Path) -> None:
    """With the same draws in every rotation of the seats; what was played is not played again."""
    folder = tmp_path / "records"
    words = ["league", BOT, f"js={shlex.join([str(NODE), str(JAVASCRIPT)])}", "random", "--players", "3"]
    words += ["--games", "3", "--results", str(tmp_path / "results.jsonl"), "--no-times"]
    told = json.loads(run(*words, "--json", "--records", folder)[0])["brains"]
    assert {brain["name"]: brain["games"] for brain in told} == {"bot.py": 3, "js": 3, "random": 3}
    records = [file.read_text(encoding="utf-8") for file in sorted(folder.iterdir())]
    assert len({record[record.index("laurel") :].partition("places")[0] for record in records}) == 1
    assert sorted(re.findall(r"seat (\d) is js\n", "".join(records))) == ["0", "1", "2"]
    assert run(*words)[0].startswith("3 of 3 games")


def test_a_program_that_fails_loses_with_its_last_words(run: Run) -> None:
    """Once for all games; the words that start it can have places for server and table."""
    hasty = f"hasty={shlex.join([sys.executable, '-c', 'import sys; raise KeyError(sys.argv[2])'])}"
    words = ("league", f"{hasty} {{server}} {{table}}x", "random", "--games", "2", "--json")
    out, errors = run(*words, code=1)
    told = {brain["name"]: brain["forfeits"] for brain in json.loads(out)["brains"]}
    assert told == {"hasty": {"absent": 2}, "random": {}}
    assert errors.count("hasty ended before the game did, with exit code 1.\nTraceback") == 1
    assert re.search(r"\nKeyError: '[A-Z]{4}x'\n$", errors)


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
    assert not any(program.is_running() for program in programs)
