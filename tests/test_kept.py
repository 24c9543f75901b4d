"""What earlier versions have left behind (`trials/kept.py`), and each version beside the one before."""

import asyncio
import itertools
import os
import shutil
import signal
import subprocess
import tarfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from msgspec import json

from client.player.preferences import read_preferences
from client.player.seats import Seats
from engine.pieces import Seat
from engine.record import replayed
from engine.view import eyes_of, folded
from hosting.levels import with_bots
from past_games.records import past_games
from protocol.events import event_of
from protocol.messages import AskPause, StartGame
from server.app import Running, running
from server.config import Config, Limits
from server.storage.entries import JOURNAL_VERSION
from server.storage.postgresql.database import Database
from server.tables.table import Table
from tests.games import rest_slow
from tests.server.peer import connected
from tests.server.playing import check_views, table_of
from tests.server.process import TODAY, ServerProcess, output, program
from trials.downgrade import EARLIER, NEWER, mended, refused, way_back
from trials.kept import SCHEMA, URL, SeatThen, play
from trials.upgrade import PREVIOUS, check_records, games, make_moves, source, upgrade


@pytest.fixture(params=rest_slow("9bcc38d2", "f0bb0ac", "bb6664d", "3d000aa9", "176e03e4"))
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Return a folder with what a version has left behind."""
    with tarfile.open(Path(__file__).with_name("kept") / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    for path in tmp_path.rglob("*"):
        os.utime(path)  # a seat is kept for 100 days
    return tmp_path


def config(**places: Any) -> Config:
    limits = Limits(stand_in_seconds=0.001, burst=10_000, burst_per_address=10_000)
    return with_bots(Config(limits=limits, human_pace=False, **places))


def told(kept: Path, where: str) -> list[SeatThen]:
    return json.decode((kept / "told.json").read_bytes(), type=dict[str, list[SeatThen]]).get(where, [])


async def finish(server: Running, seats: list[SeatThen]) -> list[Table]:
    """Have the players of each table return, see what they saw, and play; return the tables newly scored."""
    finished = []
    for code, at_table in itertools.groupby(seats, lambda seat: seat.table):
        async with AsyncExitStack() as stack:
            peers = []
            for seat in at_table:
                peers.append(peer := await stack.enter_async_context(connected(server.port)))
                peer.id += 1_000_000  # those of its messages of then are taken
                await peer.resume(code, seat.token)
                if seat.events:
                    await peer.news()
                    assert peer.view == folded(map(event_of, seat.events), eyes_of(Seat(seat.seat)))
                    assert peer.seq == len(seat.events)
            host, table = peers[0], table_of(server, peers)
            if host.view is None:
                peers.append(late := await stack.enter_async_context(connected(server.port)))
                await late.join(code, "late")
                await host.done(StartGame(host.next_id()))
            elif table.state.paused is not None:
                await host.done(AskPause(host.next_id(), on=False))
            if host.view is None or host.view.result is None:
                finished.append(table)
            await play(peers)
            check_views(table, peers)
    return finished


async def check_kept_records(folder: Path, tables: list[Table]) -> None:
    """Wait for a record of each table, and fail unless it is that of its game."""
    for table in tables:
        while not (found := [*folder.glob(f"*-{table.code}.txt")]):  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.005)
        (record,) = found
        assert table.state.game is not None
        assert replayed(record.read_text(encoding="utf-8")).events == table.state.game.events


async def test_every_game_in_a_data_folder_is_played_to_its_scoring(kept: Path) -> None:
    """In use, archived, paused or not begun; and today's program reads the records that were there."""
    records = kept / "data" / "records"
    before = past_games(records)
    assert len(before) == 2
    async with running(config(data=kept / "data", records=records)) as server:
        tables = await finish(server, told(kept, "data"))
        assert len(tables) >= 4
        await check_kept_records(records, tables)
    assert len(past_games(records)) == len(before) + len(tables)


@pytest.mark.slow
async def test_every_game_in_a_database_is_played_to_its_scoring(kept: Path, database: str) -> None:
    if not (kept / "database.sql").exists():
        pytest.skip("this version used no database")
    async with Database(database).connection() as connection:
        await connection.execute(
            (kept / "database.sql").read_text().replace(SCHEMA, Database(database).schema)
        )
    async with running(config(database=database, node="first", records=kept / "new")) as server:
        tables = await finish(server, told(kept, "database"))
        assert len(tables) == 5
        await check_kept_records(kept / "new", tables)


def test_seats_and_preferences_are_found(kept: Path) -> None:
    folder = kept / "home" / "state" / "palatinus"
    seats = Seats(folder / "seats", URL)
    for seat in told(kept, "data"):
        held = seats.take(seat.table, seat.name)
        assert held is not None
        assert held.token == seat.token
        seats.forget(held)
    preferences = read_preferences(folder / "preferences.json")
    assert preferences is not None
    assert (preferences.servers, preferences.players, preferences.random_layout) == ((URL,), 4, True)


@pytest.fixture(scope="module")
def previous(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the source of the version before."""
    try:
        return source(PREVIOUS, tmp_path_factory.mktemp("previous"))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the history of the repository is missing")


@pytest.mark.slow
async def test_a_server_is_upgraded_in_the_middle_of_ten_games(previous: Path, tmp_path: Path) -> None:
    """It is killed: whatever it has told anybody is in its journal."""
    await upgrade(previous, 10, tmp_path, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("newer", ["server", "client"])
async def test_each_version_plays_on_a_server_of_the_other(
    previous: Path, tmp_path: Path, newer: str
) -> None:
    serves, plays = (TODAY, previous) if newer == "server" else (previous, TODAY)
    async with ServerProcess("--data", tmp_path, "--records", tmp_path / "records") as server:
        await server.start(serves)
        await output(await program(plays, "bot", "--players", "3", "--seats", "3", server.url))
        await server.end(signal.SIGTERM)
    await check_records(tmp_path / "records", 1)


@pytest.mark.slow
async def test_an_earlier_version_refuses_todays_journal(previous: Path, tmp_path: Path) -> None:
    await refused(previous, 2, tmp_path)


@pytest.mark.slow
async def test_the_copy_of_before_an_upgrade_is_the_way_back(previous: Path, tmp_path: Path) -> None:
    await way_back(previous, 2, tmp_path)


@pytest.mark.slow
async def test_games_that_an_earlier_version_could_not_read_come_back(tmp_path: Path) -> None:
    try:
        earlier, newer = (source(commit, tmp_path / commit) for commit in (EARLIER, NEWER))
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("the history of the repository is missing")
    await mended(earlier, newer, 3, tmp_path)


@pytest.fixture
def following(tmp_path: Path) -> Path:
    """Return the source of a version after today's, which writes what today's cannot read."""
    tree, left_out = tmp_path / "following", shutil.ignore_patterns(".*", "tests", "docs", "bench", "trials")
    shutil.copytree(TODAY, tree, ignore=left_out)
    entries = tree / "server" / "storage" / "entries.py"
    now, next_one = (f"JOURNAL_VERSION: Final = {JOURNAL_VERSION + more}\n" for more in range(2))
    text = entries.read_text(encoding="utf-8")
    assert now in text
    entries.write_text(text.replace(now, next_one), encoding="utf-8")
    return tree


@pytest.mark.slow
async def test_nodes_are_upgraded_one_after_the_other(following: Path, tmp_path: Path, database: str) -> None:
    """Tables go from old nodes to new ones, even from a killed one. None goes back; no old node starts."""
    records = ("--records", tmp_path / "records")
    first, second, late = (
        ServerProcess("--database", database, "--node", name, "--data", tmp_path / name, *records)
        for name in ("first", "second", "late")
    )
    async with first, second, late:
        await first.start()
        await second.start()
        async with games(TODAY, first.url, 2) as at_first, games(TODAY, second.url, 2) as at_second:
            await first.end(signal.SIGTERM)
            await first.start(following)
            await make_moves([*at_first, *at_second], 2)
            async with games(following, first.url, 2) as at_new:
                await first.end(signal.SIGTERM)
                await make_moves([*at_first, *at_second], 1)
                with pytest.raises(
                    RuntimeError, match=r"was written by a newer Palatinus .* Update Palatinus"
                ):
                    await late.start()
                await first.start(following)
                await make_moves(at_new, 1)
                await second.end(signal.SIGKILL)
                await make_moves([*at_first, *at_second, *at_new], 2)
                await second.start(following)
                words = ("admin", "--data", tmp_path / "second", "tables")
                tables = await output(await program(following, *words))
                assert tables.count("first") + tables.count("second") == 6
        for node in (first, second):
            await node.end(signal.SIGTERM)
        assert not [line for node in (first, second) for line in node.logged() if "set aside" in line]
    await check_records(tmp_path / "records", 6)
