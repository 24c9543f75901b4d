"""`palatinus tables --database`: as in a data folder, beside running servers, whose tables stay theirs."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest

from engine.record import replayed
from server.app import running
from server.config import Config
from server.errors import TableLost
from server.storage.entries import Hosted, Opened
from server.storage.postgresql import lease
from server.storage.postgresql.database_tables import DatabaseTables, fill_database
from server.storage.sqlite.data_folder import DataFolder
from tests.commands.serving.test_tables import Tables, last_but_one_changed
from tests.commands.serving.test_tables import tables as tables_in_folder
from tests.conftest import Run
from tests.server.peer import eventually
from tests.server.storage.conformance.stores import PostgresStore, journal_at
from tests.server.storage.test_journal import resumed

tables = tables_in_folder

Told = Callable[..., Awaitable[tuple[str, str]]]

OPENED = Opened(2, random_layout=True, starting=None)


@pytest.fixture
async def told(
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


async def test_damaged_tables_are_told_salvaged_and_restored(
    tables: Tables, told: Told, tmp_path: Path, database: str
) -> None:
    """Up to which move they are whole, as records, and back into play there; whole ones are left alone."""
    code, over = tables["playing"][0].code, tables["over"][0].code
    assert await told("check") == ("4 tables are intact.\n", "")
    await PostgresStore(database).execute(last_but_one_changed(code))
    line = f"Table {code}: damaged after move 7. Damaged or missing entries: 2.\n"
    out, _ = await told("check", code=1)
    assert out == f"Damaged: tables are damaged: 1.\n{line}3 tables are intact.\n"
    listed, _ = await told("list")
    assert "playing, damaged" in listed
    assert f"is damaged: table {code}: entry " in (await told("show", code, code=2))[1]
    out, _ = await told("salvage", "--to", str(tmp_path / "out"), code=1)
    assert f"Table {code}: only up to move 7, in " in out
    assert f"Table {over}: complete up to move 32, in " in out
    assert replayed((tmp_path / "out" / f"{over}.txt").read_text(encoding="utf-8")).over
    missing = await told("salvage", "AAAA", "--to", str(tmp_path), code=2)
    assert "no trace of table AAAA was found" in missing[1]
    assert "is not damaged" in (await told("restore", over, code=2))[1]
    restored = await told("restore", code)
    assert restored == (f"Table {code} goes on after move 7.\n", "")
    assert await told("check") == ("4 tables are intact.\n", "")
    async with running(Config(database=database)) as server, resumed(server.port, *tables["playing"]):
        assert code in server.lobby.tables


@pytest.mark.slow
async def test_a_table_of_which_nothing_is_left_is_lost(tables: Tables, told: Told, database: str) -> None:
    """In use or archived, it is listed and told, and can only be removed."""
    codes = [tables[name][0].code for name in ("playing", "over")]
    await PostgresStore(database).execute(
        f"DELETE FROM entry WHERE code = '{codes[0]}'; DELETE FROM archive WHERE code = '{codes[1]}'"  # noqa: S608 - codes
    )
    out, _ = await told("check", code=1)
    assert "tables are damaged: 2.\n" in out
    assert all(f"Table {code}: lost. Missing entries: 0.\n" in out for code in codes)
    listed, _ = await told("list")
    assert listed.count("lost") == 2
    assert "is lost" in (await told("restore", codes[0], code=2))[1]
    assert await told("remove", "--yes", *codes) == ("", "")
    assert await told("check") == ("2 tables are intact.\n", "")


@pytest.mark.slow
async def test_what_a_running_server_has_is_not_changed(tables: Tables, told: Told, database: str) -> None:
    """It is named; what is archived or set aside may be changed, and a restored table is taken up."""
    codes = {kind: peers[0].code for kind, peers in tables.items()}
    await PostgresStore(database).execute(last_but_one_changed(codes["ended"]))
    config = Config(database=database, node="first", lease_seconds=3.0)
    async with running(config) as server, resumed(server.port, *tables["playing"]) as players:
        await PostgresStore(database).execute(
            last_but_one_changed(codes["playing"])
        )  # of which the server does not know
        for words in (("remove", "--yes", codes["over"], codes["gathering"]), ("restore", codes["playing"])):
            err = (await told(*words, code=2))[1]
            assert f"table {words[-1]} is at the node first. Close it with" in err
        assert "2 tables are intact" in (await told("check", code=1))[0]
        restored = await told("restore", codes["ended"])
        assert restored[0] == f"Table {codes['ended']} goes on after move 8.\n"
        assert await told("remove", "--yes", codes["over"]) == ("", "")
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


async def test_a_database_that_cannot_be_used_is_told_in_one_line(told: Told, database: str) -> None:
    """It has another version, or does not answer."""
    await PostgresStore(database).execute("UPDATE journal SET version = 99")
    for words in (("list",), ("check",), ("remove", "--yes", "AAAA"), ("restore", "AAAA")):
        out, err = await told(*words, code=2)
        assert (out, err.count("\n")) == ("", 1)
        assert "no journal of this version (99;" in err
    out, err = await told("--database", "postgresql://localhost:1/x", "check", code=2)
    assert "nothing answers at the database localhost:1/x. Start it, or choose" in err
