"""The write-ahead log: it stays small, and does not keep a disk full by itself."""

import asyncio
import contextlib
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from server.config import Durable
from server.errors import NotStored
from server.storage import commit_queue
from server.storage.entries import Entry, Hosted, Opened
from server.storage.sqlite import checkpoints, commit_list
from server.storage.sqlite.checkpoints import checkpoint
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME, connect
from server.storage.sqlite.open_files import OpenFiles
from tests.games import rest_slow
from tests.server.storage.conformance.stores import sqlite_journal
from tests.server.storage.test_journal import stored_entries

if sys.platform == "win32":
    pytest.skip("no process can limit what it writes", allow_module_level=True)
else:
    import resource

PAGE = 24 + 4096  # bytes in the log
ENTRIES: list[Entry] = [Opened(2, True, None), *(Hosted(number % 2) for number in range(3000))]


def size(data: Path, suffix: str = "") -> int:
    return (data / (FILE_NAME + suffix)).stat().st_size


@contextlib.contextmanager
def full_at(size: int) -> Iterator[None]:
    """Refuse whatever would be written beyond a size, in every file."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@contextlib.contextmanager
def reading(data: Path) -> Iterator[None]:
    """Read the journal as it is now, so that checkpoints leave later commits in the log."""
    with contextlib.closing(connect(data / FILE_NAME)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT id FROM journal").fetchone()
        yield


async def append(journal: SqliteJournal, first: int, end: int) -> None:
    for number in range(first, end):
        await journal.append("ABCD", number, [ENTRIES[number]])


@pytest.fixture
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storage is tried again and again without a pause."""
    monkeypatch.setattr(commit_queue, "_SECONDS_BETWEEN_PROBES", 0.0)
    monkeypatch.setattr(checkpoints, "_SECONDS_BETWEEN_ATTEMPTS", 0.0)


@pytest.mark.slow
async def test_steady_play_keeps_the_log_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Although something is committed during every checkpoint."""
    loop = asyncio.get_running_loop()
    number = 0

    async def append_next() -> None:
        nonlocal number
        number += 1
        await journal.append("ABCD", number - 1, [ENTRIES[number - 1]])

    def disturbed(database: sqlite3.Connection, files: OpenFiles) -> tuple[int, int]:
        with reading(tmp_path):
            asyncio.run_coroutine_threadsafe(append_next(), loop).result()
            return checkpoint(database, files)

    monkeypatch.setattr(checkpoints, "_ENTRIES_BETWEEN", 50)
    monkeypatch.setattr(checkpoints, "_MOST_BYTES", 2**20)
    monkeypatch.setattr(checkpoints, "checkpoint", disturbed)
    async with sqlite_journal(tmp_path) as journal:
        while number < 1000:
            await append_next()
            if (at_work := journal._checkpoints._at_work) is not None:
                await at_work
        assert size(tmp_path, "-wal") < 2**20
    assert await stored_entries(tmp_path) == {"ABCD": ENTRIES[:number]}


@pytest.mark.slow
async def test_steady_play_keeps_the_commit_list_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It grows with each commit, and begins anew with the log."""
    monkeypatch.setattr(checkpoints, "_ENTRIES_BETWEEN", 50)
    monkeypatch.setattr(commit_list, "_SIZE_TO_REWRITE", 1000)
    longest = 0
    async with sqlite_journal(tmp_path) as journal:
        for number in range(500):
            await append(journal, number, number + 1)
            if (at_work := journal._checkpoints._at_work) is not None:
                await at_work
            longest = max(longest, (tmp_path / commit_list.FILE_NAME).stat().st_size)
    assert 1000 < longest < 10_000


async def test_a_log_that_somebody_reads_is_not_called_freed(tmp_path: Path) -> None:
    """What could not be stored for lack of room is tried again immediately only if there is more of it."""
    async with sqlite_journal(tmp_path) as journal:
        await append(journal, 0, 5)
        with reading(tmp_path):
            await append(journal, 5, 10)
            assert not await journal._in_thread(lambda: journal._checkpoints.free_room(journal._database))


async def test_a_long_log_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It grows while a backup is read, and is as short as before after the next checkpoints."""
    monkeypatch.setattr(checkpoints, "_ENTRIES_BETWEEN", 50)
    monkeypatch.setattr(checkpoints, "_MOST_BYTES", 2**20)
    async with sqlite_journal(tmp_path) as journal:
        with reading(tmp_path):
            await append(journal, 0, 600)
            assert size(tmp_path, "-wal") > 2**21
        for number in range(600, 700):
            await append(journal, number, number + 1)
            if (at_work := journal._checkpoints._at_work) is not None:
                await at_work
        assert size(tmp_path, "-wal") <= 2**20


async def test_a_checkpoint_comes_early_where_there_is_little_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log takes half of the room, and the rest is for what it is moved to."""
    monkeypatch.setattr(checkpoints, "free_bytes", lambda _: 4 * 2**20)
    async with sqlite_journal(tmp_path) as journal:
        for number in range(1000):
            await append(journal, number, number + 1)
            if (at_work := journal._checkpoints._at_work) is not None:
                await at_work
        assert size(tmp_path, "-wal") <= 2 * 2**20


@pytest.mark.parametrize("durable", rest_slow("full", "normal"))
async def test_a_log_that_fills_the_disk_is_freed(tmp_path: Path, durable: Durable) -> None:
    """No move is refused while there is room for it in the main file."""
    journal = SqliteJournal(tmp_path, durable)
    try:
        with full_at(40 * PAGE):
            await append(journal, 0, 200)
            assert await journal.storing()
        await append(journal, 200, 201)
    finally:
        await journal.close()
    assert await stored_entries(tmp_path) == {"ABCD": ENTRIES[:201]}


async def test_other_changes_free_the_log_too(tmp_path: Path) -> None:
    """They are refused once."""
    async with sqlite_journal(tmp_path) as journal:
        await append(journal, 0, 30)
        before = size(tmp_path, "-wal")
        with full_at(before + PAGE):
            with pytest.raises(NotStored):
                await journal.shorten("ABCD", lambda _: [0, 1, 2])
            assert size(tmp_path, "-wal") < before
            await journal.shorten("ABCD", lambda _: [0, 1, 2])
    assert await stored_entries(tmp_path) == {"ABCD": ENTRIES[:3]}


@pytest.mark.usefixtures("_impatient")
async def test_a_full_disk_with_a_log_that_cannot_be_freed(tmp_path: Path) -> None:
    """Nothing is stored until the main file can grow; no restart is needed."""
    async with sqlite_journal(tmp_path) as journal:
        await append(journal, 0, 40)
        before = size(tmp_path)
        with full_at(before):
            with pytest.raises(NotStored):
                await append(journal, 40, 41)
            log_then = size(tmp_path, "-wal")
            for _ in range(3):
                assert not await journal.storing()
                with pytest.raises(NotStored):
                    await append(journal, 40, 41)
            assert size(tmp_path, "-wal") == log_then
        assert await journal.storing()
        assert size(tmp_path) > before
        assert size(tmp_path, "-wal") < log_then
        await append(journal, 40, 50)
    assert await stored_entries(tmp_path) == {"ABCD": ENTRIES[:50]}


@pytest.mark.usefixtures("_impatient")
async def test_storing_means_that_moves_can_be_stored(tmp_path: Path) -> None:
    """There is room for a small write, but not for a move, and a backup needs the log: moves are refused."""
    async with sqlite_journal(tmp_path) as journal:
        await append(journal, 0, 40)
        with reading(tmp_path), full_at(size(tmp_path, "-wal") + 5 * PAGE // 2):
            with pytest.raises(NotStored):
                await journal.append("ABCD", 40, ENTRIES[40:400])
            for _ in range(3):
                assert not await journal.storing()
        assert await journal.storing()
        await append(journal, 40, 50)
    assert await stored_entries(tmp_path) == {"ABCD": ENTRIES[:50]}


async def test_a_move_that_fits_does_not_mean_that_several_fit(tmp_path: Path) -> None:
    """As long as room is short, only a trial of several moves shows that they can be stored."""
    async with sqlite_journal(tmp_path) as journal:
        await append(journal, 0, 40)
        with reading(tmp_path), full_at(size(tmp_path, "-wal") + 11 * PAGE // 2):
            with pytest.raises(NotStored):
                await journal.append("ABCD", 40, ENTRIES[40:800])
            await append(journal, 40, 41)
            assert not await journal.storing()
