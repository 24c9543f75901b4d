"""`palatinus tables`, on a data folder and on a database beside running servers."""

import asyncio
import contextlib
import random
import re
import shutil
import sqlite3
from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import pytest

from engine.record import names_in, replayed
from protocol.admin import EveningPlan
from protocol.messages import EndGame
from server.app import running
from server.config import Config, Limits
from server.errors import JournalError, TableLost
from server.storage import stored_tables
from server.storage.entries import Hosted, Opened
from server.storage.postgresql import lease
from server.storage.postgresql.database_tables import DatabaseTables, fill_database
from server.storage.sqlite.data_folder import DataFolder, make_folder
from server.storage.sqlite.journal_file import FILE_NAME
from tests.client.ui.pty_terminal import Terminal
from tests.conftest import Complain, Run
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, eventually
from tests.server.playing import full_table, game, play_on, table_of
from tests.server.storage.conformance.stores import PostgresStore, journal_at
from tests.server.storage.test_journal import resumed

Tables: TypeAlias = dict[str, list[Peer]]


_played: dict[Path, Tables] = {}  # folders with games, and who played them: one for all tests of a process


@pytest.fixture
async def tables(tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Tables:
    """Return the peers of four games in a data folder.

    One is finished and archived, one running, one ended by its host without a result, one has not begun.
    """
    if not _played:
        folder = tmp_path_factory.mktemp("tables") / "data"
        _played[folder] = await _play(folder)
    ((folder, found),) = _played.items()
    shutil.copytree(folder, tmp_path / "data")
    return found


async def _play(data: Path) -> Tables:
    clock = ManualClock()
    # An evening is stored like a table, and is none.
    config = Config(data=data, timers=lambda: clock, evening=EveningPlan("Friday"))
    async with running(config) as server:
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


@pytest.fixture
def told(run: Run, tmp_path: Path) -> Run:
    """Return what runs the command in the folder, and returns its output and its errors."""
    return partial(run, "tables", "--data", tmp_path / "data")


@pytest.fixture
def complaint(complain: Complain, tmp_path: Path) -> Complain:
    return partial(complain, "tables", "--data", tmp_path / "data")


def test_all_tables_are_listed(tables: Tables, told: Run) -> None:
    out, _ = told()
    assert told("list") == (out, "")
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
def test_a_game_without_a_result_is_shown_without_its_secrets(tables: Tables, told: Run, which: str) -> None:
    """A host may be a player, so wolf pieces are revealed only on request."""
    code = tables[which][0].code.lower()
    closed, _ = told("show", code)
    opened, _ = told("show", code, "--open")
    assert "Seat 2: Player 1" in closed
    assert "pieces still to place" in closed
    hidden = re.compile(r"[ESLMA][mf]\*")
    assert hidden.search(opened)
    assert not hidden.search(closed)
    assert re.search(r"[ESLMA]\?\*", closed)


def test_other_tables_are_shown(tables: Tables, told: Run) -> None:
    over, _ = told("show", tables["over"][0].code)
    assert re.search(r"Player \d wins|share the victory", over)
    gathering, _ = told("show", tables["gathering"][0].code, "--ascii")
    assert gathering.splitlines()[2:] == ["Seat 1: Player 0", "Seat 2: Player 1"]


def test_records_are_exported(
    tables: Tables, tmp_path: Path, told: Run, complaint: Complain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    over = tables["over"][0].code
    assert told("export", over) == ("", "")
    record = (tmp_path / f"{over}.txt").read_text(encoding="utf-8")
    assert replayed(record).over
    assert names_in(record) == {0: "Player 0", 1: "Player 1"}
    assert "it exists already" in complaint("export", over)
    for _ in range(2):
        assert told("export", over, "mine.txt") == ("", "")
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == record
    for without_result in ("playing", "ended"):
        out, err = told("export", tables[without_result][0].code, "-")
        assert not replayed(out).over
        assert "its record reveals all wolf pieces" in err
    assert "has not begun" in complaint("export", tables["gathering"][0].code)


async def test_removed_tables_are_gone(
    tables: Tables, tmp_path: Path, told: Run, complaint: Complain
) -> None:
    codes = {kind: peers[0].code for kind, peers in tables.items()}
    assert "AAAA" in complaint("remove", "--yes", codes["over"], "AAAA")
    assert "--yes" in complaint("remove", codes["over"])
    assert told("remove", "--yes", codes["over"], codes["gathering"]) == ("", "")
    async with running(Config(data=tmp_path / "data")) as server:
        assert server.lobby.tables.keys() == {codes["playing"], codes["ended"]}
        assert not server.lobby.journal.archived
    assert told("remove", "--yes", codes["playing"], codes["ended"]) == ("", "")
    assert told("list") == ("There are no tables.\n", "")


@pytest.mark.parametrize(("language", "yes"), [("en", "y"), ("it", "s"), ("it", "y")])
def test_who_is_asked_may_say_no(language: str, yes: str, tables: Tables, tmp_path: Path) -> None:
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
    tmp_path: Path, told: Run, complaint: Complain
) -> None:
    """No journal, a running server, a malformed file, or no such table; nothing is created or changed."""
    data = tmp_path / "data"
    assert "no journal in" in complaint("list")
    assert not data.exists()
    async with running(Config(data=data)) as server, game(server.port, 2):
        assert "another server" in complaint("list")
    assert "no table AAAA" in complaint("show", "AAAA")
    (data / FILE_NAME).write_bytes(b"x" * 200 + (data / FILE_NAME).read_bytes()[200:])
    before = (data / FILE_NAME).read_bytes()
    assert "damaged" in complaint("list")
    assert (data / FILE_NAME).read_bytes() == before
    for file in data.iterdir():
        file.write_bytes(b"no database at all")
    assert "palatinus tables salvage" in complaint("check")
    assert "Put a backup in its place" in complaint("salvage")
    assert "--to" in complaint("salvage", "AAAA")
    assert told("salvage", "--to", str(tmp_path), code=1) == ("No game was found.\n", "")


def last_but_one_changed(code: str) -> str:
    """Return the statement that changes the text of a table's last entry but one, in either database.

    What says which request was answered does not count.
    """
    return (
        f"UPDATE entry SET body = replace(body, '0', '1') WHERE code = '{code}' AND number ="  # noqa: S608
        f" (SELECT max(number) - 1 FROM entry WHERE code = '{code}' AND body NOT LIKE '%answered%')"
    )


def damage(data: Path, *statements: str) -> None:
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database, database:
        for statement in statements:
            database.execute(statement)


def files_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


async def test_a_damaged_table_is_told_salvaged_and_restored(
    tables: Tables, tmp_path: Path, told: Run, complaint: Complain
) -> None:
    """The host learns up to which move it is whole, gets its record, and puts it back into play there."""
    code, over = tables["playing"][0].code, tables["over"][0].code
    assert told("check") == ("4 tables are intact.\n", "")
    damage(tmp_path / "data", last_but_one_changed(code))
    before = files_in(tmp_path / "data")
    line = f"Table {code}: damaged after move 7. Damaged or missing entries: 2.\n"
    out, _ = told("check", code=1)
    assert out == f"Damaged: tables are damaged: 1.\n{line}3 tables are intact.\n"
    assert re.search(r"playing, damaged +7 ", told("list")[0])
    assert "palatinus tables check" in complaint("remove", "--yes", over)
    assert "palatinus tables check" in complaint("restore", code)
    out, _ = told("salvage", "--to", str(tmp_path / "out"), code=1)
    assert f"Table {code}: only up to move 7, in " in out
    assert f"Table {over}: complete up to move 32, in " in out
    assert replayed((tmp_path / "out" / f"{over}.txt").read_text(encoding="utf-8")).over
    assert not replayed((tmp_path / "out" / f"{code}.txt").read_text(encoding="utf-8")).over
    assert "it exists already" in complaint("salvage", over, "--to", str(tmp_path / "out"))
    assert "no trace of table AAAA was found" in complaint("salvage", "AAAA", "--to", tmp_path)
    assert files_in(tmp_path / "data") == before
    async with running(Config(data=tmp_path / "data")) as server:
        assert code not in server.lobby.tables
    assert told("check", code=1)[0] == f"{line}3 tables are intact.\n"
    assert "palatinus tables salvage" in complaint("export", code)
    assert "is not damaged" in complaint("restore", over)
    assert told("restore", code) == (f"Table {code} continues after move 7.\n", "")
    assert told("check") == ("4 tables are intact.\n", "")
    async with running(Config(data=tmp_path / "data")) as server:
        state = server.lobby.tables[code].state
        assert state.game is not None
        assert not state.game.over


def test_a_strangers_journal_leads_nowhere_else(tables: Tables, tmp_path: Path, run: Run) -> None:
    """Its tables may be called anything: no terminal acts on that, and no record is written elsewhere."""
    with DataFolder(tmp_path / "data") as folder:
        known = {table.code: table for table in folder.everything().tables}
    table, strange = known[tables["playing"][0].code], "../\x1b[2J"
    rows = stored_tables.link_rows(strange, [(row.time, row.body) for row in table.rows])
    content = stored_tables.Everything([replace(table, code=strange, rows=rows)])
    make_folder(tmp_path / "strange", content)
    salvaging = "salvage", "--to", tmp_path / "out" / "records"
    for code, *words in (0, "list"), (1, "check"), (0, *salvaging):  # the commit list does not fit
        out, _ = run("tables", "--data", tmp_path / "strange", *words, code=code)
        assert all(line.isprintable() for line in out.splitlines())
    assert len(list((tmp_path / "out" / "records").iterdir())) == 1
    assert len(list((tmp_path / "out").iterdir())) == 1


async def test_a_malformed_journal_is_written_again(tables: Tables, tmp_path: Path, told: Run) -> None:
    """By one command, which the server's message names; another time it has nothing to do."""
    data = tmp_path / "data"
    content = (data / FILE_NAME).read_bytes()
    (data / FILE_NAME).write_bytes(damaged := b"x" * 100 + content[100:])
    with pytest.raises(JournalError, match="Run palatinus tables salvage --data"):
        async with running(Config(data=data)):
            pass
    assert (data / FILE_NAME).read_bytes() == damaged
    out, _ = told("salvage")
    (kept,) = data.glob(f"{FILE_NAME}.salvaged-*")
    assert kept.read_bytes() == damaged
    assert kept.stat().st_mode & 0o077 == 0
    assert (
        out == f"4 tables are intact.\nThe journal was written again. The earlier files are kept: {kept}.\n"
    )
    assert told("salvage") == ("4 tables are intact.\n", "")
    async with running(Config(data=data)) as server, game(server.port, 2):
        assert server.lobby.tables.keys() >= {tables["playing"][0].code}


async def test_copies_that_a_repair_has_kept_are_salvaged_too(
    tables: Tables, tmp_path: Path, told: Run
) -> None:
    """What was removed from the journal since can still be had from them."""
    code = tables["playing"][0].code
    damage(tmp_path / "data", last_but_one_changed(code))
    async with running(Config(data=tmp_path / "data")):
        pass
    assert told("remove", "--yes", code) == ("", "")
    out, _ = told("salvage", code, "--to", str(tmp_path / "out"), code=1)
    assert f"Table {code}: only up to move 7, in " in out


def test_looking_at_one_of_many_tables_reads_it_alone(
    tables: Tables, told: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A list unpacks nothing; showing or exporting a table unpacks that table."""
    unpacked: list[bytes] = []
    inflate = stored_tables.inflate

    def counted(content: bytes) -> tuple[str, bool]:
        unpacked.append(content)
        return inflate(content)

    monkeypatch.setattr(stored_tables, "inflate", counted)
    told("list")
    assert not unpacked
    told("show", tables["playing"][0].code)
    assert not unpacked
    told("export", tables["over"][0].code, "-")
    assert len(set(unpacked)) == 1


@pytest.mark.slow
async def test_all_games_move_to_a_database_and_back(
    tables: Tables, tmp_path: Path, run: Run, told: Run, database: str
) -> None:
    """Running, finished and archived: nothing is missing, and servers go on with them."""
    playing, over = tables["playing"][0].code, tables["over"][0].code

    async def at(folder: str, *words: str, code: int = 0) -> str:
        places = ("--data", tmp_path / folder, "--database", database)
        return "".join(await asyncio.to_thread(run, "tables", *words, *places, code=code))

    listed, _ = told("list")
    assert "has no journal" in await at("data", "list", code=2)
    assert "4 tables were copied." in await at("data", "copy")
    assert "are tables in the database already" in await at("data", "copy", code=2)
    assert await at("data", "list") == listed
    assert await at("data", "show", playing) == told("show", playing)[0]
    assert await at("data", "export", over, "-") == "".join(told("export", over, "-"))
    async with running(Config(database=database)) as server:
        assert set(server.lobby.tables) == {peers[0].code for peers in tables.values()} - {over}
        assert set(server.lobby.journal.archived) == {over}
        assert "are using the database" in await at("new", "copy", "--back", code=2)
        assert await at("data", "list") == listed
    assert "4 tables were copied." in await at("new", "copy", "--back")
    assert "already" in await at("new", "copy", "--back", code=2)
    run("tables", "check", "--data", tmp_path / "new")
    assert run("tables", "list", "--data", tmp_path / "new") == (listed, "")
    async with running(Config(data=tmp_path / "new")) as server:
        assert playing in server.lobby.tables


Told = Callable[..., Awaitable[tuple[str, str]]]

OPENED = Opened(2, random_layout=True, starting=None)


@pytest.fixture
async def told_of_database(
    tables: Tables,  # noqa: ARG001 - which fills the folder
    tmp_path: Path,
    run: Run,
    database: str,
) -> Told:
    """Return what runs a command on a database with the games, and returns its output and its errors."""

    def copy() -> None:
        with DataFolder(tmp_path / "data") as folder:
            fill_database(database, folder.everything())

    await asyncio.to_thread(copy)
    return partial(asyncio.to_thread, run, "tables", "--database", database)


@pytest.mark.slow
async def test_damaged_tables_are_told_salvaged_and_restored(
    tables: Tables, told_of_database: Told, tmp_path: Path, database: str
) -> None:
    code, over = tables["playing"][0].code, tables["over"][0].code
    assert await told_of_database("check") == ("4 tables are intact.\n", "")
    await PostgresStore(database).execute(last_but_one_changed(code))
    line = f"Table {code}: damaged after move 7. Damaged or missing entries: 2.\n"
    out, _ = await told_of_database("check", code=1)
    assert out == f"Damaged: tables are damaged: 1.\n{line}3 tables are intact.\n"
    listed, _ = await told_of_database("list")
    assert "playing, damaged" in listed
    assert f"is damaged: table {code}: entry " in (await told_of_database("show", code, code=2))[1]
    out, _ = await told_of_database("salvage", "--to", str(tmp_path / "out"), code=1)
    assert f"Table {code}: only up to move 7, in " in out
    assert f"Table {over}: complete up to move 32, in " in out
    assert replayed((tmp_path / "out" / f"{over}.txt").read_text(encoding="utf-8")).over
    missing = await told_of_database("salvage", "AAAA", "--to", str(tmp_path), code=2)
    assert "no trace of table AAAA was found" in missing[1]
    assert "is not damaged" in (await told_of_database("restore", over, code=2))[1]
    restored = await told_of_database("restore", code)
    assert restored == (f"Table {code} continues after move 7.\n", "")
    assert await told_of_database("check") == ("4 tables are intact.\n", "")
    async with running(Config(database=database)) as server, resumed(server.port, *tables["playing"]):
        assert code in server.lobby.tables


@pytest.mark.slow
async def test_a_table_of_which_nothing_is_left_is_lost(
    tables: Tables, told_of_database: Told, database: str
) -> None:
    """In use or archived, it is listed and told_of_database, and can only be removed."""
    codes = [tables[name][0].code for name in ("playing", "over")]
    await PostgresStore(database).execute(
        f"DELETE FROM entry WHERE code = '{codes[0]}'; DELETE FROM archive WHERE code = '{codes[1]}'"  # noqa: S608 - codes
    )
    out, _ = await told_of_database("check", code=1)
    assert "tables are damaged: 2.\n" in out
    assert all(f"Table {code}: lost. Missing entries: 0.\n" in out for code in codes)
    listed, _ = await told_of_database("list")
    assert listed.count("lost") == 2
    assert "is lost" in (await told_of_database("restore", codes[0], code=2))[1]
    assert await told_of_database("remove", "--yes", *codes) == ("", "")
    assert await told_of_database("check") == ("2 tables are intact.\n", "")


@pytest.mark.slow
async def test_what_a_running_server_has_is_not_changed(
    tables: Tables, told_of_database: Told, database: str
) -> None:
    """It is named; what is archived or set aside may be changed, and a restored table is taken up."""
    codes = {kind: peers[0].code for kind, peers in tables.items()}
    await PostgresStore(database).execute(last_but_one_changed(codes["ended"]))
    config = Config(database=database, node="first", lease_seconds=3.0)
    async with running(config) as server, resumed(server.port, *tables["playing"]) as players:
        await PostgresStore(database).execute(
            last_but_one_changed(codes["playing"])
        )  # of which the server does not know
        for words in (("remove", "--yes", codes["over"], codes["gathering"]), ("restore", codes["playing"])):
            err = (await told_of_database(*words, code=2))[1]
            assert f"table {words[-1]} is at the node first. Close it with" in err
        assert "2 tables are intact" in (await told_of_database("check", code=1))[0]
        restored = await told_of_database("restore", codes["ended"])
        assert restored[0] == f"Table {codes['ended']} continues after move 8.\n"
        assert await told_of_database("remove", "--yes", codes["over"]) == ("", "")
        await eventually(lambda: codes["ended"] in server.lobby.tables and not server.lobby.journal.archived)
        assert players[0].view is not None


async def test_what_a_dead_server_had_can_be_changed(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """If its lease has long run out; and if it was only asleep, it stores nothing any more."""
    monkeypatch.setattr(lease, "_SECONDS_TO_COME_BACK", 0.0)
    house = DatabaseTables(database)
    async with journal_at(database, "asleep") as asleep:
        await asleep.append("ONCE", 0, [OPENED])
        await asleep.append("MORE", 0, [OPENED])
        await PostgresStore(database).execute("UPDATE node SET expires = clock_timestamp()")
        await asyncio.to_thread(house.remove, ["ONCE"])
        for code in ("ONCE", "MORE"):
            with pytest.raises(TableLost):
                await asleep.append(code, 1, [Hosted(0)])
        assert await asyncio.to_thread(house.table, "ONCE") is None


async def test_a_database_that_cannot_be_used_is_told_in_one_line(
    told_of_database: Told, database: str
) -> None:
    """It has another version, or does not answer."""
    await PostgresStore(database).execute("UPDATE journal SET version = 99")
    for words in (("list",), ("check",), ("remove", "--yes", "AAAA"), ("restore", "AAAA")):
        out, err = await told_of_database(*words, code=2)
        assert (out, err.count("\n")) == ("", 1)
        assert "no journal of this version (99;" in err
    out, err = await told_of_database("--database", "postgresql://localhost:1/x", "check", code=2)
    assert "nothing answers at the database localhost:1/x. Start it, or choose" in err
