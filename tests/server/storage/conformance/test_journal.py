"""What `Journal` promises, wherever it is: one suite for all of them."""

import asyncio
import contextlib
import sqlite3
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import asyncpg
import msgspec
import pytest

from protocol.admin import EveningPlan
from salvage.repair import repair
from server.errors import JournalError, NotStored, TableDamaged
from server.storage import entries as entries_module
from server.storage.archive_index import ArchivedGame
from server.storage.entries import (
    Continued,
    Entry,
    EveningBegun,
    Forgotten,
    Freed,
    Hosted,
    Opened,
    PersonEntered,
    RoundDrawn,
)
from server.storage.journal import Journal, NoJournal
from server.storage.names import EVENING
from server.tables.evening.state import live_entries
from tests.games import rest_slow
from tests.server.peer import TIMEOUT
from tests.server.storage.conformance.stores import PostgresStore, SqliteStore, Store

OPENED = Opened(2, random_layout=True, starting=None)
ENTRIES: list[Entry] = [OPENED, Hosted(0), Freed(1), Hosted(1)]
NOT_PLAYED = ArchivedGame("", played=False)


@pytest.fixture(params=rest_slow("sqlite", "postgresql"))
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "sqlite":
        return SqliteStore(tmp_path)
    return PostgresStore(request.getfixturevalue("database"))


async def everything(journal: Journal) -> dict[str, list[Entry]]:
    """Return the entries of all tables in use and in the archive."""
    archived = {code: await journal.archived_entries(code) for code in journal.archived}
    tables = (await journal.kept()).tables
    assert not tables.keys() & archived.keys()
    return tables | archived


async def test_what_is_appended_is_there_after_a_restart(store: Store) -> None:
    """In the order in which it came, table by table, with its time; and a table may go on from there."""
    before = int(time.time())
    async with store.opened() as journal:
        assert (await journal.kept()).tables == {}
        once = journal.append("ONCE", 0, ENTRIES[:2])
        both = journal.append_together([("THEN", 0, ENTRIES[:1]), ("NEXT", 0, ENTRIES[:2])])
        await asyncio.gather(once, both)
        await journal.append("ONCE", 2, ENTRIES[2:3])
    async with store.opened() as journal:
        await journal.append("ONCE", 3, ENTRIES[3:])
        assert await journal.entries("ONCE") == ENTRIES
        assert await journal.entries("NONE") == []
    async with store.opened() as journal:
        tables = (await journal.kept()).tables
        assert list(tables.items()) == [("ONCE", ENTRIES), ("THEN", ENTRIES[:1]), ("NEXT", ENTRIES[:2])]
        times = await journal.times(["ONCE", "NONE"])
    assert times["NONE"] == (None, None)
    first, last = times["ONCE"]
    assert before <= (first or 0) <= (last or 0) <= time.time()


async def test_no_number_is_stored_twice(store: Store) -> None:
    """The database itself sees to that, whatever the program gets wrong."""
    async with store.opened() as journal:
        await journal.append("ONCE", 0, ENTRIES)
    again = "INSERT INTO entry (code, number, body, chain) SELECT code, number, body, chain FROM entry"
    with pytest.raises((sqlite3.IntegrityError, asyncpg.UniqueViolationError)):
        await store.execute(f"{again} WHERE code = 'ONCE' AND number = 2")
    async with store.opened() as journal:
        assert await journal.entries("ONCE") == ENTRIES


async def test_entries_that_are_not_the_next_ones_are_refused(store: Store) -> None:
    """Nothing is missing, nothing is there twice, and what belongs together is stored all or none.

    Nor does an error that nobody foresaw stop the journal: whoever has caused it is told.
    """
    async with store.opened() as journal, asyncio.timeout(TIMEOUT):
        for number in range(2):  # SQLite's first commit is made in a thread
            with pytest.raises(NotStored):
                await journal.append("MINE", 0, [object()])  # type: ignore[list-item]
            await journal.append("ONCE", number, [ENTRIES[number]])
        for number in (0, 1, 3):
            with pytest.raises(NotStored):
                await journal.append_together([("NEXT", 0, [OPENED]), ("ONCE", number, ENTRIES[number:])])
        assert journal.not_stored == 5
        await journal.append("ONCE", 2, ENTRIES[2:])
        await journal.append_together([("THEN", 0, [OPENED]), ("ONCE", 4, [Continued("THEN")])])
    async with store.opened() as journal:
        assert (await journal.kept()).tables == {"ONCE": [*ENTRIES, Continued("THEN")], "THEN": [OPENED]}


async def test_a_forgotten_table_is_gone_and_a_shortened_one_keeps_what_counts(store: Store) -> None:
    """The code of the one can be given to another; what the other appends afterwards fits."""
    async with store.opened() as journal:
        await journal.append("ONCE", 0, ENTRIES)
        await journal.append("ONCE", 4, [Forgotten()])
        assert await journal.entries("ONCE") == []
        await journal.append("ONCE", 0, [OPENED])
        await journal.append("THEN", 0, [OPENED])
        await journal.append("THEN", 1, [Forgotten()])
        await journal.append("LONG", 0, ENTRIES)
        assert await journal.shorten("LONG", lambda entries: [0, len(entries) - 1]) == 2
        await journal.append("LONG", 2, [Freed(0)])
    async with store.opened() as journal:
        assert (await journal.kept()).tables == {"ONCE": [OPENED], "LONG": [OPENED, Hosted(1), Freed(0)]}


async def test_an_archived_table_can_be_brought_back_or_removed(store: Store) -> None:
    before = int(time.time())
    async with store.opened() as journal:
        await journal.append("ONCE", 0, ENTRIES)
        await journal.archive("ONCE", ArchivedGame("home", played=True))
        assert (await journal.kept()).tables == {}
    async with store.opened() as journal:
        assert list(journal.archived) == ["ONCE"]
        assert (await journal.kept()).tables == {}
        assert await journal.entries("ONCE") == ENTRIES == await journal.archived_entries("ONCE")
        (listed,) = await journal.reports(["ONCE", "NONE"])
        assert (listed.code, listed.archived, listed.damaged) == ("ONCE", True, False)
        assert before <= (listed.opened or 0) <= (listed.changed or 0) <= time.time()
        assert journal._archive._games["ONCE"] == ArchivedGame("home", played=True)
        await journal.bring_back("ONCE")
        await journal.append("ONCE", 4, [Freed(0)])
        assert not journal.archived
        assert await journal.archived_entries("ONCE") == []
    async with store.opened() as journal:
        assert await everything(journal) == {"ONCE": [*ENTRIES, Freed(0)]}
        await journal.archive("ONCE", NOT_PLAYED)
        await journal.remove("ONCE")
        assert await everything(journal) == {}


async def test_archiving_and_making_room_for_it_succeed_together_or_not_at_all(store: Store) -> None:
    async with store.opened(most_archived=2) as journal:
        for code in ("ONCE", "THEN", "HURT", "NEXT"):
            await journal.append(code, 0, [OPENED])
        await journal.archive("ONCE", NOT_PLAYED)
        await journal.archive("THEN", NOT_PLAYED)
        await store.execute("UPDATE entry SET body = '{' WHERE code = 'HURT'")
        with pytest.raises(JournalError, match="is damaged"):
            await journal.archive("HURT", NOT_PLAYED)
        assert list(journal.archived) == ["ONCE", "THEN"]
        assert await journal.archived_entries("ONCE") == [OPENED]
        await journal.archive("NEXT", NOT_PLAYED)
        assert list(journal.archived) == ["THEN", "NEXT"]
    async with store.opened() as journal:
        assert list(journal.archived) == ["THEN", "NEXT"]
        assert (await everything(journal)).keys() == {"THEN", "NEXT"}


async def test_what_is_not_where_it_has_to_be_stays_as_it_is(store: Store) -> None:
    """Archiving a table again, as when an answer was lost, replaces no archived game by an empty one."""
    async with store.opened() as journal:
        for code in ("ONCE", "NEXT"):
            await journal.append(code, 0, [OPENED])
        await journal.archive("ONCE", NOT_PLAYED)
        with pytest.raises(JournalError, match="no entries"):
            await journal.archive("ONCE", NOT_PLAYED)
        for work in (journal.bring_back, journal.remove, lambda code: journal.restore(code, 1)):
            for code in ("NEXT", "NONE"):
                with pytest.raises(JournalError):
                    await work(code)
        assert list(journal.archived) == ["ONCE"]
        assert await everything(journal) == {"ONCE": [OPENED], "NEXT": [OPENED]}


async def test_games_that_come_and_go_at_once_make_room_for_each_other(store: Store) -> None:
    """The latest are kept, and one that is restored while the archive is full."""
    async with store.opened(most_archived=2) as journal:
        for code in ("ONCE", "THEN", "NEXT", "LAST", "BACK"):
            await journal.append(code, 0, [OPENED])
        archiving = [journal.archive(code, NOT_PLAYED) for code in ("ONCE", "THEN", "NEXT", "BACK")]
        await asyncio.gather(*archiving)
        assert list(journal.archived) == ["NEXT", "BACK"]
        await asyncio.gather(journal.archive("LAST", NOT_PLAYED), journal.bring_back("BACK"))
    async with store.opened() as journal:
        assert (set((await journal.kept()).tables), set(journal.archived)) == ({"BACK"}, {"NEXT", "LAST"})


async def test_a_game_that_nobody_played_gives_way_to_a_full_archive_of_played_ones(store: Store) -> None:
    """It is gone, like any game that gives way, and its code can be given to another table."""
    played = ArchivedGame("", played=True)
    async with store.opened(most_archived=2) as journal:
        for code in ("ONCE", "THEN", "LEFT"):
            await journal.append(code, 0, [OPENED])
        for code in ("ONCE", "THEN"):
            await journal.archive(code, played)
        await journal.archive("LEFT", NOT_PLAYED)
        assert list(journal.archived) == ["ONCE", "THEN"]
        assert await everything(journal) == {"ONCE": [OPENED], "THEN": [OPENED]}
        await journal.append("LEFT", 0, ENTRIES)
        await journal.archive("LEFT", played)
        assert list(journal.archived) == ["THEN", "LEFT"]
        await journal.bring_back("LEFT")
    for _ in range(2):
        async with store.opened(most_archived=2) as journal:
            assert await everything(journal) == {"THEN": [OPENED], "LEFT": ENTRIES}
            assert not journal.codes_set_aside


@pytest.mark.parametrize("archived", [False, True])
async def test_a_table_set_aside_is_kept_for_its_host(store: Store, archived: bool) -> None:
    async with store.opened() as journal:
        for code in ("PART", "GONE"):
            await journal.append(code, 0, ENTRIES)
            if archived:
                await journal.archive(code, NOT_PLAYED)
            await journal.set_aside(code, 3, "it makes no sense")
        assert await everything(journal) == {}
    async with store.opened() as journal:
        assert set(journal.codes_set_aside) == {"PART", "GONE"}
        assert await journal.entries("PART") == []
        (whole,) = await journal.tables_set_aside(["PART"])
        assert whole.entries == ENTRIES[:3]
        with pytest.raises(JournalError, match="only 3 whole entries"):
            await journal.restore("PART", 4)
        await journal.restore("PART", 2)
        await journal.append("PART", 2, ENTRIES[2:])
        await journal.remove("GONE")
        assert not journal.codes_set_aside
    async with store.opened() as journal:
        assert await everything(journal) == {"PART": ENTRIES}
        assert not journal.codes_set_aside


async def test_an_evening_is_stored_with_its_tables_and_is_none_of_them(store: Store) -> None:
    """In one commit or not at all; it is shortened, set aside, restored and removed as they are."""
    begun, drawn = EveningBegun(EveningPlan("Friday")), RoundDrawn([("ONCE", [1, 2])])
    anna = [PersonEntered(1, "Anna", "", how) for how in ("play", "pause")]
    async with store.opened() as journal:
        await journal.append(EVENING, 0, [begun, *anna])
        with pytest.raises(NotStored):
            await journal.append_together([("ONCE", 0, ENTRIES), (EVENING, 2, [drawn])])
        await journal.append_together([("ONCE", 0, ENTRIES), (EVENING, 3, [drawn])])
    async with store.opened() as journal:
        assert await journal.kept() == ({"ONCE": ENTRIES}, [begun, *anna, drawn])
        assert await journal.shorten(EVENING, live_entries) == 3
        await journal.set_aside(EVENING, 2, "it makes no sense")
        assert await journal.kept() == ({"ONCE": ENTRIES}, [])
    assert await asyncio.to_thread(lambda: (set(store.listed()), store.damaged())) == (
        {"ONCE", EVENING},
        [EVENING],
    )
    async with store.opened() as journal:
        await journal.restore(EVENING, 2)
        await journal.append(EVENING, 2, [drawn])
    async with store.opened() as journal:
        assert await journal.kept() == ({"ONCE": ENTRIES}, [begun, anna[1], drawn])
    assert await asyncio.to_thread(lambda: (store.listed(), store.damaged())) == (["ONCE"], [])


class Invented(msgspec.Struct, tag_field="t", tag="invented"):
    """A kind of entry that today's version does not know."""

    seat: int


OF_NEXT_VERSION: list[Entry] = [OPENED, Invented(1), Hosted(1)]  # type: ignore[list-item]


@pytest.fixture
def next_version(monkeypatch: pytest.MonkeyPatch) -> Callable[[], contextlib.AbstractContextManager[None]]:
    """Return a context in which a version runs that knows it."""

    @contextlib.contextmanager
    def run() -> Iterator[None]:
        known = msgspec.json.Decoder(Opened | Hosted | Invented)
        with monkeypatch.context() as patch:
            patch.setattr(entries_module, "_DECODER", known)
            yield

    return run


@pytest.mark.parametrize("how", ["by a server", "by its owner", "by a salvage"])
async def test_what_one_version_could_not_read_another_one_restores(
    store: Store,
    how: str,
    next_version: Callable[[], contextlib.AbstractContextManager[None]],
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing of a table is lost by being set aside, not even what follows the entry that makes no sense."""
    if how == "by a salvage" and isinstance(store, PostgresStore):
        pytest.skip("there is none for a database")
    async with store.opened() as journal:
        await journal.append("NEWS", 0, OF_NEXT_VERSION)
        await journal.append("PART", 0, [*OF_NEXT_VERSION, Freed(1)])
        await journal.append("ONCE", 0, ENTRIES)
    async with store.opened() as journal:
        assert await everything(journal) == {"ONCE": ENTRIES}
        (known,) = await journal.tables_set_aside(["NEWS"])
        assert (known.entries, len(known.rows)) == ([OPENED], 3)
        await journal.set_aside("ONCE", 2, "entry 2 does not fit the game: KeyError")
    with next_version():
        if how == "by a salvage":
            assert isinstance(store, SqliteStore)
            async with store.opened():
                assert "tables that another version set aside can be read" in caplog.messages
            repair(store.folder)
        elif how == "by its owner":
            await asyncio.to_thread(store.restore, "NEWS")
        else:
            async with store.opened() as journal:
                (known,) = await journal.tables_set_aside(["NEWS"])
                await journal.restore("NEWS", len(known.entries))
        async with store.opened() as journal:
            assert await everything(journal) == {"NEWS": OF_NEXT_VERSION}
            aside = await journal.tables_set_aside(["PART", "ONCE"])
            # One still cannot be read to its end; the other can, but no server could go on with it.
            assert {table.code: table.entries for table in aside} == {
                "PART": OF_NEXT_VERSION,
                "ONCE": ENTRIES[:2],
            }


async def test_the_journal_knows_whose_records_are_due(store: Store) -> None:
    async with store.opened() as journal:
        await journal.append("ONCE", 0, ENTRIES[:3])
        await journal.append("ONCE", 3, ENTRIES[3:], 1_000)
        await journal.append("THEN", 0, ENTRIES, 900)
        await journal.archive("THEN", NOT_PLAYED)
    async with store.opened() as journal:
        assert await journal.records_due() == [("THEN", 900), ("ONCE", 1_000)]
        await journal.record_written("THEN")
    async with store.opened() as journal:
        assert await journal.records_due() == [("ONCE", 1_000)]


async def test_a_task_that_is_cancelled_takes_in_what_is_stored(store: Store) -> None:
    """It ends only when it knows what has become of its change, and that is stored."""
    folded = []

    async def change(work: Awaitable[object], name: str) -> None:
        await work
        folded.append(name)
        await asyncio.sleep(0)
        folded.append("not cancelled")

    async with store.opened() as journal:
        await journal.append("ONCE", 0, ENTRIES)
        tasks = [
            asyncio.create_task(change(journal.append("THEN", 0, ENTRIES), "append")),
            asyncio.create_task(change(journal.archive("ONCE", NOT_PLAYED), "archive")),
        ]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        for task in tasks:
            with contextlib.suppress(asyncio.CancelledError):
                await task
        assert sorted(folded) == ["append", "archive"]
        assert (set((await journal.kept()).tables), set(journal.archived)) == ({"THEN"}, {"ONCE"})


DAMAGES = {
    "BODY": "UPDATE entry SET body = '{'",
    "SIGN": "UPDATE entry SET body = replace(body, '1', '0')",
    "JUMP": "UPDATE entry SET number = 9",
    "GONE": "DELETE FROM entry",
}


async def test_damaged_tables_are_set_aside(store: Store) -> None:
    async with store.opened() as journal:
        for code in ("ELSE", *DAMAGES):
            await journal.append(code, 0, ENTRIES)
    for code, damage in DAMAGES.items():
        await store.execute(f"{damage} WHERE code = '{code}' AND number = 2")
    for _ in range(2):
        async with store.opened() as journal:
            assert await everything(journal) == {"ELSE": ENTRIES}
            assert set(journal.codes_set_aside) == DAMAGES.keys()
            for whole in await journal.tables_set_aside([*DAMAGES]):
                assert whole.entries == ENTRIES[:2]


async def test_a_damaged_number_is_not_taken_for_a_length(tmp_path: Path) -> None:
    """The largest one would make a length that SQLite cannot store, and the server could not start."""
    store = SqliteStore(tmp_path)
    async with store.opened() as journal:
        await journal.append("JUMP", 0, ENTRIES)
    await store.execute("UPDATE entry SET number = 9223372036854775807 WHERE number = 2")
    async with store.opened() as journal:
        (table,) = await journal.tables_set_aside(["JUMP"])
        assert (len(table.entries), table.length) == (2, 2)  # nothing else says how long it was


@pytest.mark.parametrize("damage", ["played = 1", "contents = '{x'"])
async def test_a_damaged_archived_table_is_set_aside(store: Store, damage: str) -> None:
    """When somebody wants it, or at the start; what is wrong with it keeps no other out."""
    async with store.opened() as journal:
        for code in ("HURT", "ELSE"):
            await journal.append(code, 0, ENTRIES)
            await journal.archive(code, NOT_PLAYED)
    await store.execute(f"UPDATE archive SET {damage} WHERE code = 'HURT'")  # noqa: S608 - ours
    async with store.opened() as journal:
        if "HURT" in journal.archived:
            with pytest.raises(TableDamaged):
                await journal.archived_entries("HURT")
        assert await everything(journal) == {"ELSE": ENTRIES}
        assert set(journal.codes_set_aside) == {"HURT"}


async def test_a_journal_that_keeps_nothing_takes_everything() -> None:
    journal = NoJournal()
    await journal.append("ONCE", 0, ENTRIES)
    await journal.append("ONCE", 4, ENTRIES, 1)
    await journal.append_together([("THEN", 0, ENTRIES)])
    await journal.archive("ONCE", NOT_PLAYED)
    assert not journal.keeps_games
    assert await journal.storing()
    assert await everything(journal) == {}
    assert await journal.records_due() == []
    await journal.close()
