"""Damage to the journal's files is found at the start, told, and harms no whole table."""

import asyncio
import contextlib
import os
import random
import shutil
import sqlite3
import sys
import zlib
from pathlib import Path

import pytest

from salvage import repair as salvage
from salvage.inspection import Traces
from salvage.page_scan import rows_in
from server.app import running
from server.config import Config, Limits
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, Forgotten, Opened, entry_text
from server.storage.reasons import reason_of
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import CommitList, _commit_line, known_commits, list_content
from server.storage.sqlite.data_folder import DataFolder, make_folder
from server.storage.sqlite.inspection import REPAIRED
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.sqlite.ready import make_ready
from server.storage.sqlite.rows import write_copy
from server.storage.stored_tables import (
    Everything,
    Row,
    Stored,
    StoredState,
    TablePlace,
    first_link,
    inflate,
    link_rows,
    next_link,
)
from tests.server.playing import game, play_on
from tests.server.storage.conformance.stores import sqlite_journal
from trials.damage import (
    DAMAGES,
    GIVEN,
    LOG_NAME,
    Case,
    case_in,
    contents,
    copy_files,
    games_in,
    logged,
    several,
    trial,
)


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return asyncio.run(case_in(tmp_path_factory.mktemp("case")))


@pytest.fixture(scope="module")
def new_case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """Return the journal of two games as a server leaves it that is killed before its first checkpoint."""

    async def played(folder: Path) -> Case:
        async with running(Config(data=folder / "data", seed=0, limits=Limits())) as server:
            for moves in (4, 9):
                async with game(server.port, 2) as peers:
                    await play_on(peers, random.Random(moves), moves=moves)
            copy_files(folder / "data", killed := folder / "killed")
        copy_files(killed, folder / "told")
        told, _ = await games_in(folder / "told")
        assert len(told) == 2
        return Case(killed, killed, told)

    return asyncio.run(played(tmp_path_factory.mktemp("new")))


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGES)
async def test_no_damage_passes_in_silence(name: str, case: Case, tmp_path: Path) -> None:
    """No game is shorter or another without a word, none holds up others, and the given files are kept."""
    for attempt in range(5):
        chance = random.Random(f"{name} {attempt}")
        _, wrong = await trial(case, DAMAGES[name], tmp_path / str(attempt), chance)
        assert not wrong


@pytest.mark.slow
async def test_no_damage_to_several_files_is_silent(case: Case, tmp_path: Path) -> None:
    """What any of them still holds of a table that is not left as it was is reported."""
    for attempt in range(60):
        name, damage = several(chance := random.Random(attempt))
        _, wrong = await trial(case, damage, tmp_path / str(attempt), chance, to_several=True)
        assert not wrong, name


@pytest.mark.parametrize(
    ("emptied", "missing"),
    [
        *(((), (LOG_NAME,)), ((LOG_NAME,), ()), ((FILE_NAME,), ()), ((FILE_NAME, LOG_NAME), ())),
        *(((), (FILE_NAME, LOG_NAME)), ((FILE_NAME,), (LIST_NAME,))),
    ],
)
async def test_no_damage_to_a_new_journal_passes_in_silence(
    new_case: Case, emptied: tuple[str, ...], missing: tuple[str, ...], tmp_path: Path
) -> None:
    """Before the first checkpoint all games are in the log alone, and the main file holds nothing."""

    def damage(data: Path, _earlier: Path, _chance: random.Random) -> None:
        for name in emptied:
            (data / name).write_bytes(b"")
        for name in missing:
            (data / name).unlink()

    _, wrong = await trial(new_case, damage, tmp_path / "trial", random.Random())
    assert not wrong


@pytest.mark.parametrize("content", [bytes(4000), b"palatinus-commits-1", b"x\n"])
async def test_a_journal_that_is_empty_beside_a_spoilt_commit_list_is_not_taken_for_a_new_one(
    content: bytes, new_case: Case, tmp_path: Path
) -> None:
    """Nothing is left of any table, but something was there; a salvage then begins it again."""
    copy_files(new_case.killed, data := tmp_path / "data")
    (data / FILE_NAME).write_bytes(b"")
    (data / LOG_NAME).unlink()
    (data / LIST_NAME).write_bytes(content)
    given = contents(data)
    with pytest.raises(JournalError, match="is malformed: it is missing or empty"):
        await games_in(data)
    assert contents(data) == given
    _, kept = salvage.repair(data)
    assert kept is not None
    assert [text for name, text in contents(data).items() if LIST_NAME in name and "salvaged" in name] == [
        content
    ]
    assert await games_in(data) == ({}, set())


async def test_a_copy_that_is_put_over_the_journal_alone_is_used(case: Case, tmp_path: Path) -> None:
    """The log and the list that were left beside it are of the journal that it replaced."""
    copy_files(case.earlier, earlier := tmp_path / "earlier")
    in_copy, _ = await games_in(earlier)
    copy_files(case.killed, data := tmp_path / "data")
    copy = tmp_path / "copy"
    with contextlib.closing(sqlite3.connect(earlier / FILE_NAME)) as database:
        write_copy(database, copy, exact=False)
    (data / FILE_NAME).write_bytes(copy.read_bytes())
    given = contents(data)
    with logged() as lines:
        games, set_aside = await games_in(data)
    assert (games, set_aside) == (in_copy, set())
    assert f"the log {LOG_NAME} belongs to another journal" in lines[0]
    kept = [content for name, content in contents(data).items() if ".damaged-" in name]
    assert all(content in kept for content in given.values())


def test_a_journal_that_cannot_be_opened_is_told(tmp_path: Path) -> None:
    """SQLite's own error, which does not name the file, reaches nobody."""
    (tmp_path / FILE_NAME).mkdir()
    with pytest.raises(JournalError, match=f"cannot use the journal .*{FILE_NAME}"):
        make_ready(tmp_path)


def test_nothing_is_changed_before_an_interrupted_salvage_has_ended(tmp_path: Path) -> None:
    """It would put files in place that know nothing of the change."""
    entries: list[Entry] = [Opened(3, True, None)]
    rows = link_rows("WZBN", [(1, entry_text(entries[0]))])
    make_folder(tmp_path, Everything([Stored("WZBN", rows, entries, archived=5)]))
    (tmp_path / f"{FILE_NAME}{REPAIRED}").write_bytes((tmp_path / FILE_NAME).read_bytes())
    before = contents(tmp_path)
    with DataFolder(tmp_path) as folder:
        for use in (folder.everything, folder.check, lambda: folder.remove(["WZBN"])):
            with pytest.raises(JournalError, match="salvage was interrupted"):
                use()
    with pytest.raises(JournalError, match="salvage was interrupted"):
        make_ready(tmp_path)
    assert contents(tmp_path) == before
    with DataFolder(tmp_path):  # as the command opens it
        salvage.repair(tmp_path)
    with DataFolder(tmp_path) as folder:
        folder.remove(["WZBN"])


async def test_a_salvage_gives_back_what_a_start_could_not_read(case: Case, tmp_path: Path) -> None:
    """The start went on from the last entries before the damaged page, and kept copies of the files."""
    copy_files(case.killed, data := tmp_path / "data")
    content = bytearray((data / LOG_NAME).read_bytes())
    content[len(content) // 2] ^= 1
    (data / LOG_NAME).write_bytes(content)
    with logged() as lines:
        games, _ = await games_in(data)
    assert games != case.told
    assert "palatinus tables salvage" in lines[-1]
    salvage.repair(data)
    assert await games_in(data) == (case.told, set())


async def test_a_kill_alone_is_not_damage(case: Case, tmp_path: Path) -> None:
    """Also between a commit and its line in the commit list, or in the middle of that line."""
    content = (case.killed / LIST_NAME).read_bytes()
    last_line = content.rstrip(b"\n").rindex(b"\n") + 1
    for number, end in enumerate((len(content), len(content) - 5, last_line)):
        copy_files(case.killed, data := tmp_path / str(number))
        (data / LIST_NAME).write_bytes(content[:end])
        with logged() as lines:
            games, set_aside = await games_in(data)
        assert (games, set_aside, lines) == (case.told, set(), [])


async def test_looking_changes_nothing(case: Case, tmp_path: Path) -> None:
    """A journal that is refused after a kill keeps its log."""
    copy_files(case.killed, data := tmp_path / "data")
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


async def test_a_disk_too_full_for_copies(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the server nor a salvage goes on: what they write would cost what can still be read."""
    copy_files(case.killed, data := tmp_path / "data")
    (data / LOG_NAME).write_bytes((data / LOG_NAME).read_bytes()[:50_000])
    before = contents(data)
    copy = shutil.copy2

    def full(given: Path, to: Path) -> None:
        copy(given, to)
        if given.name == LIST_NAME:
            raise OSError(28, os.strerror(28))

    monkeypatch.setattr(shutil, "copy2", full)
    with pytest.raises(JournalError, match=r"No space left on device. Nothing was changed"):
        await games_in(data)
    with pytest.raises(JournalError, match=r"No space left on device. Nothing was changed"):
        salvage.repair(data)
    assert contents(data) == before
    monkeypatch.undo()
    assert (await games_in(data))[0]


ROOT = Path(__file__).parents[3]
KILLED = """
import os, shutil, signal, sys
from pathlib import Path
import salvage.repair as repair

left = 0
def dying(function):
    def called(*words, **more):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*words, **more)
    return called

data = Path(sys.argv[1])
for kills in range(100):
    again = data.with_name(str(kills))
    shutil.copytree(data, again)
    if (child := os.fork()) == 0:
        left = kills
        for name in ("link", "fsync", "unlink", "replace"):
            setattr(os, name, dying(getattr(os, name)))
        repair.repair(again)
        os._exit(0)
    if os.waitpid(child, 0)[1] == 0:
        print(kills)
        break
"""


@pytest.mark.slow
async def test_a_repair_that_is_killed_is_done_again_or_finished(case: Case, tmp_path: Path) -> None:
    """Wherever it is killed: what a repair that was not killed has found is found."""
    copy_files(case.killed, whole := tmp_path / "whole")
    content = bytearray((whole / LOG_NAME).read_bytes())
    content[len(content) // 2] ^= 1
    (whole / LOG_NAME).write_bytes(content)
    damaged = contents(whole)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED, whole, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    salvage.repair(whole)
    expected = await games_in(whole)
    for kills in range(int(said) + 1):
        data = tmp_path / str(kills)
        if (data / f"{FILE_NAME}.repaired").exists():
            with pytest.raises(JournalError, match="palatinus tables salvage was interrupted"):
                await games_in(data)
        salvage.repair(data)
        assert await games_in(data) == expected
        files = contents(data)
        kept = [before for name, before in files.items() if ".salvaged-" in name]
        assert all(before in kept for before in damaged.values())
        assert not [name for name in files if name.endswith((".unfinished", ".repaired"))]
    assert int(said) > 5


def test_every_row_is_found_in_the_pages(tmp_path: Path) -> None:
    chance = random.Random(1)
    path = tmp_path / "rows"
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("CREATE TABLE kept (id INTEGER PRIMARY KEY, text, number, content)")
        for _ in range(100):
            text, content = "x" * chance.randrange(9000), chance.randbytes(chance.randrange(9000))
            row = (text, chance.randrange(-(2**62), 2**62), content)
            database.execute("INSERT INTO kept (text, number, content) VALUES (?, ?, ?)", row)
            database.commit()
        rows = {(None, *row) for row in database.execute("SELECT text, number, content FROM kept")}
        log = path.with_name("rows-wal").read_bytes()
        assert rows <= set(map(tuple, rows_in(path.read_bytes(), log)))
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    assert rows <= set(map(tuple, rows_in(path.read_bytes(), b"")))


def crowded_page(cells: int, pages: int, following: int) -> bytes:
    """Return a page where many rows begin at the same byte, and go on in other pages."""
    here = (4096 - 12) * 32 // 255 - 23
    length = here + 4092 * pages
    row = varint(length) + b"\x01\x04" + varint(13 + 2 * (length - 4))
    row = row.ljust(here + 4, b"x") + following.to_bytes(4, "big")
    head = b"\x0d\0\0" + cells.to_bytes(2, "big") + b"\0\0\0" + b"\x08\0" * cells
    return (head.ljust(2048, b"\0") + row).ljust(4096, b"\0")


def varint(number: int) -> bytes:
    return bytes([0x80 | number >> 14 & 0x7F, 0x80 | number >> 7 & 0x7F, number & 0x7F])


def test_a_page_that_seems_to_continue_many_rows_is_read_a_few_times() -> None:
    """All rows of a stranger's file may share the same pages: 16 KiB of it held 5,032 rows of a mebibyte."""
    pages, crowds = 100, 20
    chain = [(crowds + 3 + number).to_bytes(4, "big") + b"x" * 4092 for number in range(pages)]
    leaves = [crowded_page(256, pages, crowds + 2) for _ in range(crowds)]
    file = b"".join([bytes(4096), *leaves, *chain])
    (text,) = {value for row in rows_in(file, b"") for value in row}
    assert isinstance(text, str)
    assert set(text) == {"x"}
    found = sum(len(str(value)) for row in rows_in(file, b"") for value in row)
    assert found < 20 * len(file)
    frames = b"".join(
        number.to_bytes(4, "big") + b"\0\0\0\x01" + bytes(16) + leaves[0] for number in range(100)
    )
    log = bytes(32) + frames
    found = sum(len(str(value)) for row in rows_in(file, log) for value in row)
    assert found < 20 * (len(file) + len(log))


@pytest.mark.slow
def test_a_packed_table_is_not_longer_than_any_can_be() -> None:
    text, whole = inflate(zlib.compress(bytes(40 * 2**20)))
    assert not whole
    assert len(text) < 20 * 2**20
    assert inflate(zlib.compress(b"some entries")) == ("some entries", True)


def test_a_table_whose_rows_all_fit_each_other_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    traces, compared = Traces(), 0
    first = [Row(time, "", next_link(first_link("ABCD"), 0, time, "")) for time in range(100)]
    second = [Row(time, "", next_link(first[time].link, 1, time, "")) for time in range(100)]
    traces.rows["ABCD"] = {0: set(first), 1: set(second)}

    def compare(previous: bytes, number: int, time: int | None, body: str) -> bytes:
        nonlocal compared
        compared += 1
        return next_link(previous, number, time, body)

    monkeypatch.setattr("salvage.inspection.next_link", compare)
    assert len(traces.best("ABCD", None)) == 2
    assert compared == 100 + 100 * 100
    monkeypatch.setattr("salvage.inspection._MOST_COMPARISONS", traces.comparisons + 200)
    assert len(traces.best("ABCD", None)) == 1
    assert compared == 2 * 100 + 100 * 100


OPENED = Opened(2, random_layout=True, starting=None)
MANY: list[Entry] = [OPENED] * 40


async def test_a_last_commit_that_is_not_listed_is_no_damage(tmp_path: Path) -> None:
    """As a kill between the two leaves it, even if the commit removed a table."""
    async with sqlite_journal(tmp_path, 3) as journal:
        for code in ("GONE", "USEA"):
            await journal.append(code, 0, MANY)
        listed = (tmp_path / LIST_NAME).read_bytes()
        await journal.append("GONE", 40, [Forgotten()])
    (tmp_path / LIST_NAME).write_bytes(listed)
    with DataFolder(tmp_path) as folder:
        assert folder.check().whole


@pytest.mark.parametrize("damaged", [False, True], ids=["only that", "a table is damaged as well"])
async def test_a_list_that_ends_earlier_takes_nothing_back(damaged: bool, tmp_path: Path) -> None:
    """As a power cut leaves it. A table was shortened since, so its chain does not lead to what is listed."""

    def damage() -> None:
        with journal._database as database:
            database.execute("UPDATE entry SET body = 'x' WHERE code = 'USEE' AND number = 79")

    data, cut = tmp_path / "data", tmp_path / "cut"
    async with sqlite_journal(data, 3) as journal:
        for code in ("USEA", "USEB", "USEC", "USED", "USEE"):
            await journal.append(code, 0, MANY)
        listed = (data / LIST_NAME).read_bytes()
        await journal.shorten("USEA", lambda _: [*range(10)])
        await journal.append("USEA", 10, MANY[:5])
        await journal.shorten("USEB", lambda _: [*range(10)])
        await journal.append("USEC", 40, [Forgotten()])
        await journal.shorten("USED", lambda _: [*range(10)])
        if not damaged:
            await journal.archive("USED", ArchivedGame("USED", played=True))
        await journal.append("USEE", 40, MANY)
        told = await everything(journal)
        if damaged:
            await journal._queue.do(lambda: journal._in_thread(damage))
        copy_files(data, cut)
    assert told["USEA"] == 15
    (cut / LIST_NAME).write_bytes(listed)
    with logged() as lines:
        async with sqlite_journal(cut, 3) as journal:
            found = await everything(journal)
    if damaged:
        assert (found["USEA"], found["USEB"], found["USED"]) == (15, 10, 10)
        assert "the journal is damaged" in lines[-1]
    else:
        assert (found, lines) == (told, ["the commit list lacked the last commits: commits=7"])
        assert not [name for name in contents(cut) if ".damaged-" in name]
        assert known_commits((cut / LIST_NAME).read_bytes()).tables.keys() == told.keys()


async def everything(journal: SqliteJournal) -> dict[str, int]:
    tables = {code: len(entries) for code, entries in (await journal.kept()).tables.items()}
    archived = {code: len(await journal.archived_entries(code)) for code in journal.archived}
    assert not tables.keys() & archived.keys()
    return tables | archived


def test_a_commit_list_says_what_was_written_to_it() -> None:
    tables = {
        "ABCD": StoredState(TablePlace.IN_USE, 17, b"12345678"),
        "EFGHIJKL": StoredState(TablePlace.SET_ASIDE, 0, b""),
    }
    content = list_content("feed", 12, tables)
    known = known_commits(content)
    assert (known.journal, known.commits, known.tables, known.damaged) == ("feed", 12, tables, False)
    without_13 = content + _commit_line(14, 14, tables)
    assert known_commits(without_13).damaged


def test_half_a_line_does_not_stay_in_a_commit_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What could not be written as a whole is told with the next commit."""
    tables = {"ABCD": StoredState(TablePlace.IN_USE, 17, b"12345678")}
    commits, write = CommitList(tmp_path / LIST_NAME, "feed", 12, {}), os.write
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda file, line: write(file, line[: len(line) // 2]))
        commits.add(13, tables)
    commits.add(14, {})
    commits.close()
    known = known_commits((tmp_path / LIST_NAME).read_bytes())
    assert (known.commits, known.tables, known.damaged) == (14, tables, False)


def test_a_file_of_something_else_is_called_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no journal" * 500)
    with (
        contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as database,
        pytest.raises(sqlite3.Error) as raised,
    ):
        database.execute("SELECT * FROM sqlite_schema")
    assert reason_of(raised.value) == "it is not a database"


def test_a_link_depends_on_all_before_it() -> None:
    """So entries that were swapped between tables, or in one, do not fit."""
    one, other = (next_link(first_link(code), 0, None, "the same") for code in ("ABCD", "EFGH"))
    assert next_link(one, 1, None, "the same") != next_link(other, 1, None, "the same")


def test_an_unused_folder_is_ready(tmp_path: Path) -> None:
    make_ready(tmp_path / "none")
    make_ready(tmp_path)
    assert not list(tmp_path.iterdir())
