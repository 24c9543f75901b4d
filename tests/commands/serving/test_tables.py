"""`palatinus tables`: the owner of a data folder lists, shows, exports and removes its games."""

import asyncio
import contextlib
import random
import re
import sqlite3
from pathlib import Path

import pytest

from engine.record import names_in, replayed
from palatinus import main
from protocol.messages import EndGame
from server.app import running
from server.config import Config, Limits
from server.errors import JournalError
from server.storage import stored_tables
from server.storage.sqlite.journal_file import FILE_NAME
from tests.client.ui.pty_terminal import Terminal
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, eventually, full_table, game, play_on, table_of


@pytest.fixture
async def tables(tmp_path: Path) -> dict[str, list[Peer]]:
    """Return the peers of four games in a data folder.

    One is finished and archived, one running, one ended by its host without a result, one has not begun.
    """
    data = tmp_path / "data"
    clock = ManualClock()
    async with running(Config(data=data, timers=lambda: clock)) as server:
        async with game(server.port, 2) as over:
            await play_on(over, random.Random(1))
        table = table_of(server, over)
        await eventually(lambda: table.unattended_since is not None)
        clock.advance(Limits().over_seconds)
        await eventually(lambda: not server.lobby.tables)
        async with game(server.port, 3) as playing, full_table(server.port, 2) as gathering:
            await play_on(playing, random.Random(2), moves=9)
            async with game(server.port, 3) as ended:
                await play_on(ended, random.Random(2), moves=9)
                await ended[0].done(EndGame(ended[0].next_id()))
    return {"over": over, "playing": playing, "ended": ended, "gathering": gathering}


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
    assert cells[tables["ended"][0].code][1:3] == ["over", "9"]
    assert cells[tables["playing"][0].code][5] == "Player 0, Player 1, Player 2"
    assert cells[tables["gathering"][0].code][1:3] == ["waiting to start", "0"]
    assert all(
        re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", row[column]) for row in cells.values() for column in (3, 4)
    )


@pytest.mark.parametrize("which", ["playing", "ended"])
def test_a_game_without_a_result_is_shown_without_its_secrets(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    """A host may be a player, so wolf pieces are revealed only on request."""
    code = tables[which][0].code.lower()
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
    over = tables["over"][0].code
    assert told(capsys, tmp_path, "export", over) == ("", "")
    record = (tmp_path / f"{over}.txt").read_text(encoding="utf-8")
    assert replayed(record).over
    assert names_in(record) == {0: "Player 0", 1: "Player 1"}
    assert "it exists already" in complaint(capsys, tmp_path, "export", over)
    for _ in range(2):
        assert told(capsys, tmp_path, "export", over, "mine.txt") == ("", "")
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == record
    for without_result in ("playing", "ended"):
        out, err = told(capsys, tmp_path, "export", tables[without_result][0].code, "-")
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
        assert server.lobby.tables.keys() == {codes["playing"], codes["ended"]}
        assert not server.lobby.journal.archived
    assert told(capsys, tmp_path, "remove", "--yes", codes["playing"], codes["ended"]) == ("", "")
    assert told(capsys, tmp_path, "list") == ("There are no tables.\n", "")


@pytest.mark.parametrize(("language", "yes"), [("en", "y"), ("it", "s"), ("it", "y")])
def test_who_is_asked_may_say_no(
    language: str, yes: str, tables: dict[str, list[Peer]], tmp_path: Path
) -> None:
    """Enter means no; the tables in question are shown first."""
    code = tables["over"][0].code
    words = ("tables", "remove", code, "--data", str(tmp_path / "data"), "--lang", language)
    question = {"en": r"Remove 1 table for good\? \[y/N\]", "it": r"per sempre 1 tavolo\? \[s/N\]"}[language]
    for answer, ending in (("", 1), (yes, 0)):
        with Terminal(*words, environment={}) as terminal:
            terminal.shows(code, question)
            terminal.press(answer, "enter")
            assert terminal.ended()[0] == ending


async def test_what_cannot_be_used_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No journal, a running server, a malformed file, or no such table; nothing is created or changed."""
    data = tmp_path / "data"
    assert "no journal in" in complaint(capsys, tmp_path, "list")
    assert not data.exists()
    async with running(Config(data=data)) as server, game(server.port, 2):
        assert "another server" in complaint(capsys, tmp_path, "list")
    assert "no table AAAA" in complaint(capsys, tmp_path, "show", "AAAA")
    (data / FILE_NAME).write_bytes(b"x" * 200 + (data / FILE_NAME).read_bytes()[200:])
    before = (data / FILE_NAME).read_bytes()
    assert "damaged" in complaint(capsys, tmp_path, "list")
    assert (data / FILE_NAME).read_bytes() == before
    for file in data.iterdir():
        file.write_bytes(b"no database at all")
    assert "palatinus tables salvage" in complaint(capsys, tmp_path, "check")
    assert "Put a backup in its place" in complaint(capsys, tmp_path, "salvage")
    assert "--to" in complaint(capsys, tmp_path, "salvage", "AAAA")
    assert told(capsys, tmp_path, "salvage", "--to", str(tmp_path), code=1) == ("No game was found.\n", "")


def damaged_entry(tmp_path: Path, code: str) -> None:
    """Change the text of a table's last entry but one."""
    with contextlib.closing(sqlite3.connect(tmp_path / "data" / FILE_NAME)) as database:
        (last,) = database.execute("SELECT max(number) FROM entry WHERE code = ?", (code,)).fetchone()
        database.execute(
            "UPDATE entry SET body = replace(body, '0', '1') WHERE code = ? AND number = ?", (code, last - 1)
        )
        database.commit()


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def test_a_damaged_table_is_told_salvaged_and_restored(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The host learns up to which move it is whole, gets its record, and puts it back into play there."""
    code, over = tables["playing"][0].code, tables["over"][0].code
    assert told(capsys, tmp_path, "check") == ("4 tables are intact.\n", "")
    damaged_entry(tmp_path, code)
    before = files_in(tmp_path / "data")
    line = f"Table {code}: damaged after move 7. Damaged or missing entries: 2.\n"
    out, _ = told(capsys, tmp_path, "check", code=1)
    assert out == f"Damaged: tables are damaged: 1.\n{line}3 tables are intact.\n"
    assert re.search(r"playing, damaged +7 ", told(capsys, tmp_path, "list")[0])
    assert "palatinus tables check" in complaint(capsys, tmp_path, "remove", "--yes", over)
    assert "palatinus tables check" in complaint(capsys, tmp_path, "restore", code)
    out, _ = told(capsys, tmp_path, "salvage", "--to", str(tmp_path / "out"), code=1)
    assert f"Table {code}: only up to move 7, in " in out
    assert f"Table {over}: complete up to move 32, in " in out
    assert replayed((tmp_path / "out" / f"{over}.txt").read_text(encoding="utf-8")).over
    assert not replayed((tmp_path / "out" / f"{code}.txt").read_text(encoding="utf-8")).over
    assert "it exists already" in complaint(capsys, tmp_path, "salvage", over, "--to", str(tmp_path / "out"))
    assert "no trace of table AAAA was found" in complaint(
        capsys, tmp_path, "salvage", "AAAA", "--to", str(tmp_path)
    )
    assert files_in(tmp_path / "data") == before
    async with running(Config(data=tmp_path / "data")) as server:
        assert code not in server.lobby.tables
    assert told(capsys, tmp_path, "check", code=1)[0] == f"{line}3 tables are intact.\n"
    assert "palatinus tables salvage" in complaint(capsys, tmp_path, "export", code)
    assert "is not damaged" in complaint(capsys, tmp_path, "restore", over)
    assert told(capsys, tmp_path, "restore", code) == (f"Table {code} goes on after move 7.\n", "")
    assert told(capsys, tmp_path, "check") == ("4 tables are intact.\n", "")
    async with running(Config(data=tmp_path / "data")) as server:
        state = server.lobby.tables[code].state
        assert state.game is not None
        assert not state.game.over


async def test_a_malformed_journal_is_written_again(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By one command, which the server's message names; another time it has nothing to do."""
    data = tmp_path / "data"
    content = (data / FILE_NAME).read_bytes()
    (data / FILE_NAME).write_bytes(damaged := b"x" * 100 + content[100:])
    with pytest.raises(JournalError, match="Run palatinus tables salvage --data"):
        async with running(Config(data=data)):
            pass
    assert (data / FILE_NAME).read_bytes() == damaged
    out, _ = told(capsys, tmp_path, "salvage")
    (kept,) = data.glob(f"{FILE_NAME}.salvaged-*")
    assert kept.read_bytes() == damaged
    assert kept.stat().st_mode & 0o077 == 0
    assert (
        out == f"4 tables are intact.\nThe journal was written again. The earlier files are kept: {kept}.\n"
    )
    assert told(capsys, tmp_path, "salvage") == ("4 tables are intact.\n", "")
    async with running(Config(data=data)) as server, game(server.port, 2):
        assert server.lobby.tables.keys() >= {tables["playing"][0].code}


async def test_copies_that_a_repair_has_kept_are_salvaged_too(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was removed from the journal since can still be had from them."""
    code = tables["playing"][0].code
    damaged_entry(tmp_path, code)
    async with running(Config(data=tmp_path / "data")):
        pass
    assert told(capsys, tmp_path, "remove", "--yes", code) == ("", "")
    out, _ = told(capsys, tmp_path, "salvage", code, "--to", str(tmp_path / "out"), code=1)
    assert f"Table {code}: only up to move 7, in " in out


def test_looking_at_one_of_many_tables_reads_it_alone(
    tables: dict[str, list[Peer]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A list unpacks nothing; showing or exporting a table unpacks that table."""
    unpacked: list[bytes] = []
    inflate = stored_tables.inflated

    def counted(content: bytes) -> tuple[str, bool]:
        unpacked.append(content)
        return inflate(content)

    monkeypatch.setattr(stored_tables, "inflated", counted)
    told(capsys, tmp_path, "list")
    assert not unpacked
    told(capsys, tmp_path, "show", tables["playing"][0].code)
    assert not unpacked
    told(capsys, tmp_path, "export", tables["over"][0].code, "-")
    assert len(set(unpacked)) == 1


async def test_all_games_move_to_a_database_and_back(
    tables: dict[str, list[Peer]], tmp_path: Path, capsys: pytest.CaptureFixture[str], database: str
) -> None:
    """Running, finished and archived: nothing is missing, and servers go on with them."""

    def at(folder: str, *words: str, code: int = 0) -> str:
        assert main(["tables", *words, "--data", str(tmp_path / folder), "--database", database]) == code
        out, err = capsys.readouterr()
        return out + err

    listed, _ = told(capsys, tmp_path, "list")
    shown, _ = told(capsys, tmp_path, "show", tables["playing"][0].code)
    assert "has no journal" in await asyncio.to_thread(at, "data", "list", code=2)
    assert "4 tables were copied." in await asyncio.to_thread(at, "data", "copy")
    assert "are tables in the database already" in await asyncio.to_thread(at, "data", "copy", code=2)
    assert await asyncio.to_thread(at, "data", "list") == listed
    assert await asyncio.to_thread(at, "data", "show", tables["playing"][0].code) == shown
    assert await asyncio.to_thread(at, "data", "export", tables["over"][0].code, "-") == "".join(
        told(capsys, tmp_path, "export", tables["over"][0].code, "-")
    )
    async with running(Config(database=database)) as server:
        assert set(server.lobby.tables) == {
            tables[name][0].code for name in ("playing", "ended", "gathering")
        }
        assert set(server.lobby.journal.archived) == {tables["over"][0].code}
        assert "are using the database" in await asyncio.to_thread(at, "new", "copy", "--back", code=2)
        assert await asyncio.to_thread(at, "data", "list") == listed
    assert "4 tables were copied." in await asyncio.to_thread(at, "new", "copy", "--back")
    assert "already" in await asyncio.to_thread(at, "new", "copy", "--back", code=2)
    assert main(["tables", "check", "--data", str(tmp_path / "new")]) == 0
    capsys.readouterr()
    assert main(["tables", "list", "--data", str(tmp_path / "new")]) == 0
    assert capsys.readouterr().out == listed
    async with running(Config(data=tmp_path / "new")) as server:
        assert tables["playing"][0].code in server.lobby.tables
