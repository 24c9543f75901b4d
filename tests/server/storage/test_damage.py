"""Damage to the journal's files is found at the start, told, and harms no whole table."""

import asyncio
import contextlib
import os
import random
import resource
import sqlite3
import sys
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from server.errors import JournalError
from server.storage import repair
from server.storage.archive_index import ArchivedGame
from server.storage.commit_list import FILE_NAME as LIST_NAME
from server.storage.commit_list import known_commits, written
from server.storage.entries import Entry, Opened
from server.storage.journal_file import FILE_NAME
from server.storage.repair import make_ready
from server.storage.sqlite_journal import SqliteJournal
from server.storage.standing import Place, Standing
from tests.server.storage.damage_trials import (
    DAMAGES,
    GIVEN,
    LOG_NAME,
    Case,
    case_in,
    contents,
    copied,
    games_in,
    logged,
    trial,
)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return asyncio.run(case_in(tmp_path_factory.mktemp("case")))


@pytest.mark.parametrize("name", DAMAGES)
async def test_no_damage_passes_in_silence(name: str, case: Case, tmp_path: Path) -> None:
    """No game is shorter or another without a word, none holds up others, and the given files are kept."""
    for attempt in range(3):
        chance = random.Random(f"{name} {attempt}")
        _, wrong = await trial(case, DAMAGES[name], tmp_path / str(attempt), chance)
        assert not wrong


async def test_a_kill_alone_is_not_damage(case: Case, tmp_path: Path) -> None:
    """Also between a commit and its line in the commit list, or in the middle of that line."""
    content = (case.killed / LIST_NAME).read_bytes()
    last_line = content.rstrip(b"\n").rindex(b"\n") + 1
    for number, end in enumerate((len(content), len(content) - 5, last_line)):
        copied(case.killed, data := tmp_path / str(number))
        (data / LIST_NAME).write_bytes(content[:end])
        with logged() as lines:
            games, set_aside = await games_in(data)
        assert (games, set_aside, lines) == (case.told, set(), [])


async def test_looking_changes_nothing(case: Case, tmp_path: Path) -> None:
    """A journal that is refused after a kill keeps its log."""
    copied(case.killed, data := tmp_path / "data")
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
        wal = (data / LOG_NAME).read_bytes()
        database.execute("PRAGMA user_version = 99")
        database.commit()
        given = contents(data) | {LOG_NAME: (data / LOG_NAME).read_bytes()}
    assert wal
    for name in GIVEN:
        (data / name).write_bytes(given[name])
    before = contents(data)
    with pytest.raises(JournalError, match="newer Palatinus"):
        await games_in(data)
    assert contents(data) == before


@pytest.mark.parametrize("name", ["_write", "replace_file", "_keep"])
async def test_a_disk_too_full_for_a_repair_changes_nothing(
    name: str, case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server says so, and does not start."""
    copied(case.killed, data := tmp_path / "data")
    (data / LOG_NAME).write_bytes((data / LOG_NAME).read_bytes()[:50_000])
    before = contents(data)

    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(repair, name, full)
    with pytest.raises(JournalError, match=r"No space left on device. Nothing was changed"):
        await games_in(data)
    assert contents(data) == before
    monkeypatch.undo()
    assert (await games_in(data))[0]


ROOT = Path(__file__).parents[3]
KILLED = """
import os, signal, sys
from pathlib import Path
import server.storage.repair as repair

left = int(sys.argv[2])
def dying(function):
    def called(*words, **more):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*words, **more)
    return called

for name in ("link", "fsync", "unlink", "replace"):
    setattr(os, name, dying(getattr(os, name)))
repair.make_ready(Path(sys.argv[1]))
print("ready")
"""


async def test_a_repair_that_is_killed_is_done_again_or_finished(case: Case, tmp_path: Path) -> None:
    """Wherever it is killed: what a repair that was not killed has found is found."""
    data = tmp_path / "whole"
    copied(case.killed, data)
    content = bytearray((data / LOG_NAME).read_bytes())
    content[len(content) // 2] ^= 1
    (data / LOG_NAME).write_bytes(content)
    damaged = contents(data)
    expected = await games_in(data)
    for kills in range(100):
        data = tmp_path / str(kills)
        data.mkdir()
        for name, before in damaged.items():
            (data / name).write_bytes(before)
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", KILLED, data, str(kills), cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        assert await games_in(data) == expected
        kept = [path.read_bytes() for path in data.glob("*.damaged-*")]
        assert all(before in kept for before in damaged.values())
        assert not list(data.glob("*.unfinished")) + list(data.glob("*.repaired"))
        if said == b"ready\n":
            break
    assert kills > 5


OPENED = Opened(2, random_layout=True, starting=None)
MANY: list[Entry] = [OPENED] * 40


@contextlib.asynccontextmanager
async def journal_in(data: Path) -> AsyncIterator[SqliteJournal]:
    journal = SqliteJournal(data, most_archived=3)
    try:
        yield journal
    finally:
        await journal.close()


async def filled(data: Path) -> dict[str, int]:
    """Fill a journal with tables in use and archived ones; return the number of entries by table."""
    async with journal_in(data) as journal:
        for number, code in enumerate(("ARCA", "ARCB", "ARCC", "USEA", "USEB")):
            await journal.append(code, 0, MANY[number:])
            if code.startswith("ARC"):
                await journal.archive(code, ArchivedGame(code, played=True))
    return {code: 40 - number for number, code in enumerate(("ARCA", "ARCB", "ARCC", "USEA", "USEB"))}


async def everything(journal: SqliteJournal) -> dict[str, int]:
    tables = {code: len(entries) for code, entries in journal.tables().items()}
    archived = {code: len(await journal.archived_entries(code)) for code in journal.archived}
    assert not tables.keys() & archived.keys()
    return tables | archived


async def change_until_full(journal: SqliteJournal, told: dict[str, int]) -> bool:
    """Append, archive and bring back; keep in `told` what was confirmed, and return whether all was."""
    every = True
    works: dict[str, Awaitable[None]] = {
        "USEA": journal.append("USEA", told["USEA"], MANY),
        "USEB": journal.archive("USEB", ArchivedGame("USEB", played=True)),
        "ARCC": journal.bring_back("ARCC"),
        "USEC": journal.append("USEC", 0, MANY),
    }
    for code, work in works.items():
        try:
            await work
        except JournalError:
            every = False
        else:
            if code == "USEA":
                told["USEA"] += len(MANY)
            elif code == "USEC":
                told["USEC"] = len(MANY)
            elif code == "USEB":
                told.pop("ARCA")  # made room
        assert await everything(journal) == told
    return every


async def test_with_any_number_of_pages_every_game_is_whole_in_one_place(tmp_path: Path) -> None:
    """Whenever the disk is full: right after that, and after a restart with room again."""
    for pages in range(200):
        data = tmp_path / str(pages)
        told = await filled(data)
        async with journal_in(data) as journal:
            used = journal._database.execute("PRAGMA page_count").fetchone()[0]
            journal._database.execute(f"PRAGMA max_page_count = {used + pages}")
            every = await change_until_full(journal, told)
        async with journal_in(data) as journal:
            assert await everything(journal) == told
            assert not journal.codes_set_aside
        if every:
            break
    assert every
    assert pages > 2


async def test_with_any_size_of_the_log_every_game_is_whole_in_one_place(tmp_path: Path) -> None:
    """As on a full disk, where the write-ahead log and the commit list cannot grow."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    failed = 0
    for size in range(0, 120_000, 4_000):
        data = tmp_path / str(size)
        told = await filled(data)
        async with journal_in(data) as journal:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
            try:
                every = await change_until_full(journal, told)
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            failed += not every
        async with journal_in(data) as journal:
            assert await everything(journal) == told
            assert not journal.codes_set_aside
    assert failed > 2


def test_a_commit_list_says_what_was_written_to_it() -> None:
    tables = {"ABCD": Standing(Place.IN_USE, 17, b"12345678"), "EFGH": Standing(Place.SET_ASIDE, 0, b"")}
    known = known_commits(written("feed", 12, tables))
    assert (known.journal, known.commits, known.tables, known.damaged) == ("feed", 12, tables, False)


def test_an_unused_folder_is_ready(tmp_path: Path) -> None:
    make_ready(tmp_path / "none")
    make_ready(tmp_path)
    assert not list(tmp_path.iterdir())
