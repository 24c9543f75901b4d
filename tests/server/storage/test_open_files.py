"""A journal that is deleted, moved or replaced under a running server, or whose disk is full."""

import asyncio
import contextlib
import errno
import logging
import os
import random
import resource
import shutil
import sqlite3
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from protocol.codes import Code
from protocol.messages import OpenTable
from server.admin.endpoint import SOCKET_NAME
from server.app import running
from server.config import Config
from server.errors import JournalInUse, NotStored
from server.monitoring.failures import RepeatedFailure
from server.monitoring.logs import HumanFormatter
from server.storage.commit_queue import Health
from server.storage.entries import Entry, Hosted, Opened
from server.storage.sqlite import checkpoints
from server.storage.sqlite.checkpoints import checkpoint
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.sqlite.open_files import OpenFiles
from tests.server.admin.admin_peer import answer
from tests.server.peer import TIMEOUT, Peer, connected, eventually, http_get
from tests.server.playing import all_caught_up, check_views, game, play_on, table_of
from tests.server.process import serving
from tests.server.storage.conformance.stores import sqlite_journal
from tests.server.storage.test_journal import full_disk, journal_of, resumed, stored_entries

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it lets nobody delete or move an open file")

LOG = f"{FILE_NAME}-wal"


async def check_nothing_is_stored(peers: list[Peer], port: int) -> None:
    """Fail unless moves are refused, nobody is sent them, and the server is unhealthy."""
    for _ in range(3):
        assert await peers[0].refusal(peers[0].random_move(random.Random(1))) == Code.NOT_STORED
    for peer in peers:
        await peer.nothing_but_pong()
    assert (await http_get(port, "/healthz"))[0] == 503


Harm = Callable[[Path], object]


def delete(name: str) -> Harm:
    return lambda data: (data / name).unlink()


def replace(name: str) -> Harm:
    def harm(data: Path) -> None:
        shutil.copy(data / name, other := data.with_name("other"))
        other.replace(data / name)

    return harm


def replace_folder(data: Path) -> None:
    shutil.copytree(data.rename(data.with_name("elsewhere")), data, ignore=shutil.ignore_patterns("*.sock"))


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return the journal's warnings and errors, as the server writes them."""
    ours = [record for record in caplog.records if record.name.startswith("server.storage")]
    return [HumanFormatter().format(each) for each in ours if each.levelno >= logging.WARNING]


GONE = "deleted or moved"
OTHER = "another file is in its place"
# What is done to the files, which of them the log names and why, and whether the journal's is deleted.
HARMS: dict[str, tuple[Harm, str, str, bool]] = {
    "file deleted": (delete(FILE_NAME), FILE_NAME, GONE, True),
    "folder deleted": (shutil.rmtree, FILE_NAME, GONE, True),
    "folder moved": (lambda data: data.rename(data.with_name("elsewhere")), FILE_NAME, GONE, False),
    "file replaced": (replace(FILE_NAME), FILE_NAME, OTHER, True),
    "folder replaced": (replace_folder, FILE_NAME, OTHER, False),
    "file written to": (
        lambda data: (data / FILE_NAME).write_bytes(b"an older backup" * 1000),
        *(FILE_NAME, "another program has written to it", False),
    ),
    "log deleted": (delete(LOG), LOG, GONE, False),
    "log replaced": (replace(LOG), LOG, OTHER, False),
}


@pytest.mark.parametrize("name", HARMS)
async def test_a_journal_that_is_gone_is_noticed_before_anything_is_told(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    """Moves are refused, no table is set aside, the health page says so, and the log says once what to do.

    Of a deleted one a copy is saved when the server stops; put in the journal's place, all games go on.
    """
    data = tmp_path / "data"
    harm, file, reason, deleted = HARMS[name]
    async with running(Config(data=data, watched=True)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=4)
        harm(data)
        with pytest.raises(NotStored):
            await server.lobby.journal.set_aside(table_of(server, peers).code, 0, "damaged")
        await check_nothing_is_stored(peers, server.port)
    line, *saved = told(caplog)
    assert "ERROR the journal is missing" in line
    assert str(data / file) in line
    assert reason in line
    assert "remedy=" in line
    copy = data / f"{FILE_NAME}.rescued"
    assert copy.exists() == deleted == any(str(copy) in each for each in saved)
    if deleted:
        assert copy.stat().st_mode & 0o077 == 0
        copy.replace(data / FILE_NAME)
        async with running(Config(data=data)) as again, resumed(again.port, *peers) as back:
            check_views(table_of(again, back), back)


@pytest.mark.parametrize("alone", [False, True], ids=["the folder", "the file"])
async def test_the_same_file_is_put_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, alone: bool
) -> None:
    data, killed, elsewhere = tmp_path / "data", tmp_path / "killed", tmp_path / "elsewhere"
    async with running(Config(data=data, watched=True)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=4)
        moved, kept = (data / FILE_NAME, elsewhere / FILE_NAME) if alone else (data, elsewhere)
        kept.parent.mkdir(exist_ok=True)
        moved.rename(kept)
        if alone:
            shutil.copy(kept, moved)
        await check_nothing_is_stored(peers, server.port)
        kept.replace(moved)
        await play_on(peers, random.Random(2), moves=6)
        shutil.copytree(data, killed, ignore=shutil.ignore_patterns("*.sock"))
    assert [line.split(":")[2].split(" ", 1)[1].split(": ")[0] for line in told(caplog)] == [
        "ERROR the journal is missing or cannot be read, and nothing can be stored",
        "WARNING the journal is back in its place",
    ]
    async with running(Config(data=killed)) as again, resumed(again.port, *peers) as back:
        check_views(table_of(again, back), back)
        await play_on(back, random.Random(3), moves=2)


async def test_a_deleted_log_costs_no_move(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is noticed while nobody moves, and all that was told reaches the main file, in case of a kill."""
    monkeypatch.setattr("server.storage.sqlite.journal._SECONDS_BETWEEN_LOOKS", 0.01)
    data, killed = tmp_path / "data", tmp_path / "killed"
    async with running(Config(data=data)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=4)
        checkpoints = journal_of(server)._checkpoints
        before = (data / FILE_NAME).stat().st_mtime_ns
        delete(LOG)(data)
        await eventually(lambda: (data / FILE_NAME).stat().st_mtime_ns != before and not checkpoints._at_work)
        assert LOG in told(caplog)[0]
        shutil.copytree(data, killed)
    async with running(Config(data=killed)) as again, resumed(again.port, *peers) as back:
        check_views(table_of(again, back), back)


async def test_a_folder_is_one_servers_whatever_became_of_its_files(tmp_path: Path) -> None:
    """Two would each tell their players what the other does not have; it may have another name, or a link."""
    data, link, elsewhere = (tmp_path / name for name in ("data", "link", "elsewhere"))
    async with running(Config(data=data)):
        delete(FILE_NAME)(data)
        link.symlink_to(data)
        before = {path.name for path in data.iterdir()}
        for name in (data, link):
            with pytest.raises(JournalInUse, match="another server, or palatinus tables, is using"):
                SqliteJournal(name)
        assert {path.name for path in data.iterdir()} == before
        data.rename(elsewhere)
        with pytest.raises(JournalInUse):
            SqliteJournal(elsewhere)


async def test_commits_go_on_during_a_checkpoint(tmp_path: Path) -> None:
    """The main file changes in the meantime, and that is not taken for another program's doing."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        journal = journal_of(server)
        with journal._files.changing():
            with (tmp_path / FILE_NAME).open("r+b") as file:
                file.seek(24)
                file.write(b"\0\0\0\1")
            await play_on(peers, random.Random(1), moves=2)
        await play_on(peers, random.Random(1), moves=2)
        await all_caught_up(peers, peers[0].seq)
        assert await journal.storing()


async def test_the_log_reaches_the_main_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After so many entries, or the log would grow for ever; tables go on meanwhile, and nothing is lost."""
    monkeypatch.setattr(checkpoints, "_ENTRIES_BETWEEN", 3)
    entries: list[Entry] = [Opened(2, True, None), *(Hosted(number % 2) for number in range(12))]
    codes = [f"AAA{letter}" for letter in "BCDFGH"]

    async def append_all(code: str) -> None:
        for number, entry in enumerate(entries):
            await journal.append(code, number, [entry])

    async with sqlite_journal(tmp_path) as journal:
        await asyncio.gather(*map(append_all, codes))
        await eventually(lambda: b"AAAB" in (tmp_path / FILE_NAME).read_bytes())
    assert await stored_entries(tmp_path) == dict.fromkeys(codes, entries)


def test_a_checkpoint_waits_for_a_commit_that_writes_the_index_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite answers then that it did nothing; the log would reach the main file much later."""
    path, index = tmp_path / FILE_NAME, tmp_path / f"{FILE_NAME}-shm"
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as writer,
        contextlib.closing(sqlite3.connect(path)) as database,
    ):
        for statement in ("PRAGMA journal_mode = WAL", "CREATE TABLE moves (move)", "BEGIN IMMEDIATE"):
            writer.execute(statement)
        database.execute("SELECT * FROM moves")
        whole = index.read_bytes()
        first_header = bytes(48)  # of the two that have to be equal
        overwrite(index, first_header)
        monkeypatch.setattr(time, "sleep", lambda _seconds: overwrite(index, whole))
        with contextlib.closing(OpenFiles(path)) as files:
            pages, moved = checkpoint(database, files)
    assert pages == moved > 0


def overwrite(path: Path, content: bytes) -> None:
    with path.open("r+b") as file:
        file.write(content)


async def test_a_look_that_fails_is_no_other_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cannot be read after a checkpoint, then half at a time, then at a commit: that alone is refused."""
    failing = True

    def read(file: int, most: int, real: Callable[[int, int], bytes] = os.read) -> bytes:
        if failing:
            raise OSError(errno.EIO, "Input/output error")
        return real(file, most // 2 + 1)

    journal = SqliteJournal(tmp_path)
    await journal.append("ABCD", 0, [Hosted(0)])
    monkeypatch.setattr(os, "read", read)
    checkpoint(journal._database, journal._files)
    failing = False
    await journal.append("ABCD", 1, [Hosted(0)])
    os.utime(tmp_path / FILE_NAME)
    failing = True
    with pytest.raises(NotStored, match="Input/output error"):
        await journal.append("ABCD", 2, [Hosted(0)])
    failing = False
    await journal.append("ABCD", 2, [Hosted(0)])
    await journal.close()


if sys.platform == "win32":
    pytest.skip("no process can limit what another one writes", allow_module_level=True)

# No file may grow beyond it: too little for a page of the journal, but enough for the small file beside it.
SMALL = 3000


async def test_the_host_and_the_metrics_see_that_a_disk_is_free_again(tmp_path: Path) -> None:
    """Even if nothing has been stored since, and nobody has asked for the health page."""
    config = Config(data=tmp_path, admin=tmp_path / SOCKET_NAME, watched=True)
    async with running(config) as server, connected(server.port) as peer:
        with full_disk(server):
            await peer.refused(OpenTable(1, 2, "Anna"))
            assert (await answer(tmp_path, "status"))["journal_failing"]
            assert "palatinus_storing 0.0" in (await http_get(server.port, "/metrics"))[1]
        async with asyncio.timeout(TIMEOUT):
            while (await answer(tmp_path, "status"))["journal_failing"]:  # noqa: ASYNC110 - nor does this
                await asyncio.sleep(0.05)
        assert "palatinus_storing 1.0" in (await http_get(server.port, "/metrics"))[1]


@pytest.mark.slow
async def test_a_server_that_starts_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first answer of the health page is right."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")  # or it leaves truncated files for all who come later
    async with running(Config(data=tmp_path)) as before, game(before.port, 2):
        pass
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (SMALL, hard))  # which the server inherits
    try:
        process = serving("--data", str(tmp_path), imported=False)
        server = await process.__aenter__()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    try:
        assert (await http_get(server.port, "/healthz"))[0] == 503
    finally:
        await process.__aexit__(None, None, None)


async def test_a_crowd_that_asks_for_the_health_page_writes_little() -> None:
    """Strangers may ask, so storing is tried once for all of them, and not again soon after."""
    tried: list[None] = []

    async def probe() -> None:
        tried.append(None)
        tracked.record_commit(failed=False)

    tracked = Health(probe)
    for _ in range(2):
        assert await asyncio.gather(*(tracked.works() for _ in range(10))) == [True] * 10
    assert len(tried) == 1


def test_a_repeated_failure_is_logged_once_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    failure = RepeatedFailure()
    assert failure.works() == 0
    assert [failure.add(), failure.add(), failure.add(4)] == [1, 0, 0]
    now = 60.0
    assert failure.add() == 6
    assert failure.add() == 0
    assert failure.works() == 8
    assert failure.works() == 0
    for _ in range(5):
        assert failure.add() == 0
        assert failure.works() == 0
    now = 120.0
    assert failure.add() == 6
    assert failure.works() == 6
    assert failure.count == 14
