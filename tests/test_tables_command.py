"""`palatinus tables`: the owner of a data folder lists, shows, exports and removes its games."""

import contextlib
import random
import re
import sqlite3
import sys
from pathlib import Path

import pexpect
import pytest

from engine.record import names_in, replayed
from palatinus import main
from server.app import running
from server.config import Config, Limits
from server.storage.journal_file import FILE_NAME
from tests.server.peer import Peer, eventually, full_table, game, play_on


@pytest.fixture
async def tables(tmp_path: Path) -> dict[str, list[Peer]]:
    """Return the peers of three games in a data folder: finished and archived, running, and not begun."""
    data = tmp_path / "data"
    async with running(Config(data=data, limits=Limits(over_seconds=0.01))) as server:
        async with game(server.port, 2) as over:
            await play_on(over, random.Random(1))
        await eventually(lambda: not server.lobby.tables)
        async with (
            game(server.port, 3) as playing,
            full_table(server.port, 2) as gathering,
        ):
            await play_on(playing, random.Random(2), moves=9)
    return {"over": over, "playing": playing, "gathering": gathering}


def told(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str, code: int = 0) -> tuple[str, str]:
    """Return what the command prints, and its errors."""
    assert main(["tables", "--data", str(tmp_path / "data"), *words]) == code
    out, err = capsys.readouterr()
    return out, err


def complaint(capsys: pytest.CaptureFixture[str], tmp_path: Path, *words: str) -> str:
    out, err = told(capsys, tmp_path, *words, code=2)
    assert out == ""
    assert err.startswith("palatinus: ")
    assert err.count("\n") == 1
    return err


def test_all_tables_are_listed(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With code, stage, moves, times and names; `list` may be left out."""
    out, _ = told(capsys, tmp_path)
    assert told(capsys, tmp_path, "list") == (out, "")
    heading, *rows = out.splitlines()
    assert re.split("  +", heading) == ["TABLE", "STAGE", "MOVES", "OPENED", "CHANGED", "PLAYERS"]
    cells = {row.split()[0]: re.split("  +", row) for row in rows}
    assert cells.keys() == {peers[0].code for peers in tables.values()}
    assert cells[tables["over"][0].code][1:3] == ["over, archived", "32"]
    assert cells[tables["playing"][0].code][1:3] == ["playing", "9"]
    assert cells[tables["playing"][0].code][5] == "Player 0, Player 1, Player 2"
    assert cells[tables["gathering"][0].code][1:3] == ["waiting for players", "0"]
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", row[column]) for row in cells.values() for column in (3, 4)
    )


def test_a_running_game_is_shown_without_its_secrets(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A host may be a player, so wolf pieces are revealed only on request."""
    code = tables["playing"][0].code.lower()
    closed, _ = told(capsys, tmp_path, "show", code)
    opened, _ = told(capsys, tmp_path, "show", code, "--open")
    assert "Seat 2: Player 1" in closed
    assert "pieces still to place" in closed
    hidden = re.compile(r"[ESLMA][mf]\*")
    assert hidden.search(opened)
    assert not hidden.search(closed)
    assert re.search(r"[ESLMA]\?\*", closed)


def test_other_tables_are_shown(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A finished game with its result; one that has not begun with its seats."""
    over, _ = told(capsys, tmp_path, "show", tables["over"][0].code)
    assert re.search(r"Player \d wins|share the victory", over)
    gathering, _ = told(capsys, tmp_path, "show", tables["gathering"][0].code, "--ascii")
    assert gathering.splitlines()[2:] == ["Seat 1: Player 0", "Seat 2: Player 1"]


def test_records_are_exported(
    tables: dict[str, list[Peer]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With names; to the file named, to one named after the table's code, or to standard output."""
    monkeypatch.chdir(tmp_path)
    over, playing = tables["over"][0].code, tables["playing"][0].code
    assert told(capsys, tmp_path, "export", over) == ("", "")
    record = (tmp_path / f"{over}.txt").read_text(encoding="utf-8")
    assert replayed(record).over
    assert names_in(record) == {0: "Player 0", 1: "Player 1"}
    assert "File exists" in complaint(capsys, tmp_path, "export", over)
    for _ in range(2):
        assert told(capsys, tmp_path, "export", over, "mine.txt") == ("", "")
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == record
    out, err = told(capsys, tmp_path, "export", playing, "-")
    assert not replayed(out).over
    assert "its record reveals all wolf pieces" in err
    assert "has not begun" in complaint(capsys, tmp_path, "export", tables["gathering"][0].code)


async def test_removed_tables_are_gone(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From archive and server; if one code is wrong, nothing is removed."""
    codes = {kind: peers[0].code for kind, peers in tables.items()}
    assert "AAAA" in complaint(capsys, tmp_path, "remove", "--yes", codes["over"], "AAAA")
    assert "--yes" in complaint(capsys, tmp_path, "remove", codes["over"])
    assert told(capsys, tmp_path, "remove", "--yes", codes["over"], codes["gathering"]) == ("", "")
    async with running(Config(data=tmp_path / "data")) as server:
        assert server.lobby.tables.keys() == {codes["playing"]}
        assert not server.lobby._journal.archived
    assert told(capsys, tmp_path, "remove", "--yes", codes["playing"]) == ("", "")
    assert told(capsys, tmp_path, "list") == ("There are no tables.\n", "")


@pytest.mark.parametrize(("language", "yes"), [("en", "y"), ("it", "s"), ("it", "y")])
def test_who_is_asked_may_say_no(
    language: str, yes: str, tables: dict[str, list[Peer]], tmp_path: Path
) -> None:
    """Enter means no; the tables in question are shown first."""
    code = tables["over"][0].code
    program = str(Path(__file__).parents[1] / "palatinus.py")
    words = [program, "tables", "remove", code, "--data", str(tmp_path / "data"), "--lang", language]
    for answer, ending in (("", 1), (yes, 0)):
        with contextlib.closing(pexpect.spawn(sys.executable, words, timeout=20)) as terminal:
            terminal.expect(code)
            terminal.expect(
                {"en": r"Remove 1 table for good\? \[y/N\] ", "it": r"per sempre\? \[s/N\] "}[language]
            )
            terminal.sendline(answer)
            terminal.expect(pexpect.EOF)
            assert terminal.wait() == ending


async def test_what_cannot_be_used_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No journal, a running server, damage, or no such table; nothing is created or changed."""
    data = tmp_path / "data"
    assert "no journal in" in complaint(capsys, tmp_path, "list")
    assert not data.exists()
    async with running(Config(data=data)) as server, game(server.port, 2):
        assert "another server" in complaint(capsys, tmp_path, "list")
    assert "no table AAAA" in complaint(capsys, tmp_path, "show", "AAAA")
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
        database.execute("UPDATE entry SET body = '{' WHERE number = 1")
        database.commit()
    before = (data / FILE_NAME).read_bytes()
    assert "damaged" in complaint(capsys, tmp_path, "list")
    assert (data / FILE_NAME).read_bytes() == before
