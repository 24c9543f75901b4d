"""Everything a client was sent is stored, and records are written: restarts and kills lose nothing."""

import asyncio
import contextlib
import copy
import random
import re
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from operator import attrgetter
from pathlib import Path

import pytest

from engine.game import GameOptions
from engine.pieces import Seat
from engine.record import replayed
from protocol.admin import EveningPlan
from protocol.codes import Code
from protocol.events import event_map
from protocol.messages import (
    Done,
    EventMap,
    JoinTable,
    Leave,
    OpenTable,
    Resume,
    SayReady,
    StartGame,
    TableState,
)
from salvage.repair import repair
from server.app import Running, running
from server.config import Config, Durable
from server.errors import JournalError, TableLost
from server.monitoring.failures import Tasks
from server.monitoring.logs import describe
from server.storage.archive_index import ArchivedGame
from server.storage.commit_queue import CommitQueue, Health
from server.storage.entries import (
    JOURNAL_VERSION,
    EndedByHost,
    Entry,
    EveningBegun,
    EveningClosed,
    Opened,
    PersonEntered,
    Played,
    RoundDrawn,
    Taken,
    entry_text,
)
from server.storage.journal import NoJournal
from server.storage.names import EVENING
from server.storage.operations import insert, records_due
from server.storage.records import MOST_KEPT, Records, evening_name, record_name, remove_older, write_record
from server.storage.records import RETRY_SECONDS as RECORD_RETRY_SECONDS
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.commit_list import list_content
from server.storage.sqlite.data_folder import DataFolder
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import FILE_NAME, connect, open_journal
from server.storage.sqlite.rows import carry_out, commits, standings
from server.storage.stored_tables import Everything, Stored, link_rows
from server.tables.state.persistent_state import PersistentState
from simulation.judging.table_model import slice_of
from tests.games import begun, rest_slow
from tests.server.manual_clock import ManualClock
from tests.server.peer import TIMEOUT, Peer, connected, eventually
from tests.server.playing import all_caught_up, check_views, full_table, game, held_back, play_on, table_of
from tests.server.process import serving
from tests.server.storage.conformance.stores import sqlite_journal


def journal_of(server: Running) -> SqliteJournal:
    journal = server.lobby.journal
    assert isinstance(journal, SqliteJournal)
    return journal


def count_rows(data: Path) -> int:
    """Return the number of entries in a journal that no server uses."""
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
        return int(database.execute("SELECT count(*) FROM entry").fetchone()[0])


OF_PLAYERS = attrgetter("name", "token_hash", "program", "kept", "vacant", "level", "people")


def table_facts(state: PersistentState) -> dict[str, object]:
    """Return everything about a table that survives a restart."""
    game, seats = state.game, range(len(state.players))
    return {
        "options": (state.options, state.absence, state.title),
        "settings": (state.switches, state.settings),
        "seats": [player and OF_PLAYERS(player) for player in state.players],
        "held": state.bot_seats,
        "clocks": [
            (
                state.clocks.left(Seat(seat)),
                state.clocks.allowance(Seat(seat)),
                state.clocks.reserve(Seat(seat)),
            )
            for seat in seats
        ],
        "limit": state.clocks.limit,
        "ready": state.ready,
        "paused": (state.paused, state.paused_until),
        "rooms": [
            slice_of(room)
            for room in state.rooms.values()
            if any(issubclass(kind, Entry) for kind in room.own)  # else it forgets all
        ],
        "moved": (state.stood_in, state._movers),
        "answered": [player and player.answers.stored for player in state.players],
        "entries": state.entry_count,
        "stage": (state.stage, state.ended, state.host),
        "game": game and (game.events, game.view, game.legal()),
    }


@contextlib.asynccontextmanager
async def resumed(port: int, *peers: Peer) -> AsyncIterator[list[Peer]]:
    """Bring players and spectators back over new connections, from what they last knew."""
    async with contextlib.AsyncExitStack() as stack:
        again = []
        for peer in peers:
            other = await stack.enter_async_context(connected(port))
            other.code, other.token, other.seat, other.id = peer.code, peer.token, peer.seat, peer.id
            other.view, other.seq, other.seen = copy.deepcopy(peer.view), peer.seq, list(peer.seen)
            if peer.seat is None:
                await other.watch(peer.code, after=peer.seq)
            else:
                await other.resume(peer.code, peer.token, after=peer.seq)
            if peer.seq or peer.view:
                await other.news()
            again.append(other)
        yield again


async def test_a_move_is_stored_before_anyone_sees_it(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path)) as server, game(server.port, 2, watched=True) as peers:
        async with held_back(journal_of(server), "append") as waiting:
            await peers[0].send(peers[0].random_move(random.Random(1)))
            await waiting.wait()
            for peer in peers[1:]:
                await peer.nothing_but_pong()
            with pytest.raises(TimeoutError):  # the mover's own ping would wait for its move
                await asyncio.wait_for(peers[0].socket.recv(), 0.05)
            check_views(table_of(server, peers), peers)
        await all_caught_up(peers, peers[0].seq + 1)
        check_views(table_of(server, peers), peers)


async def test_answers_survive_a_restart(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        move = peers[0].random_move(random.Random(3))
        await peers[0].done(move)
        await all_caught_up(peers, peers[0].seq)
    async with running(Config(data=tmp_path)) as server, resumed(server.port, *peers) as again:
        entries = table_of(server, again).state.entry_count
        assert await again[0].ask(move) == Done(move.id)
        assert (await again[0].refused(SayReady(move.id, on=True))).code == Code.ID_REUSED
        assert table_of(server, again).state.entry_count == entries
        check_views(table_of(server, again), again)


@contextlib.contextmanager
def full_disk(server: Running) -> Iterator[None]:
    """Make every write to the journal fail."""
    database = journal_of(server)._database
    database.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        database.execute("PRAGMA query_only = OFF")


async def test_a_request_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    async with (
        running(Config(data=tmp_path)) as server,
        full_table(server.port, 2, random_layout=True, starting=0) as peers,
        connected(server.port) as late,
    ):
        table = table_of(server, peers)
        host, other = peers

        async def check_fails(peer: Peer, message: OpenTable | JoinTable | StartGame | Leave) -> None:
            before = table_facts(table.state)
            with full_disk(server):
                refused = await peer.refused(message)
                assert (refused.code, refused.rule) == (Code.NOT_STORED, None)
                for each in (*peers, late):
                    await each.nothing_but_pong()
            assert table_facts(table.state) == before
            assert list(server.lobby.tables) == [host.code]

        await check_fails(late, OpenTable(1, 2, "Late"))
        await check_fails(other, Leave(2))
        await other.done(Leave(2))
        await host.until(TableState)
        await check_fails(other, JoinTable(3, host.code, "Other"))
        await other.join(host.code, "Other")
        await other.until(TableState)
        await host.until(TableState)
        start = StartGame(4)
        await check_fails(host, start)
        await host.done(start)
        await other.news()
        for peer in peers:
            await peer.until(TableState)
        move = host.random_move(random.Random(5))
        await check_fails(host, move)  # type: ignore[arg-type]
        await host.done(move)
        await all_caught_up(peers, host.seq)
        check_views(table, peers)
    assert count_rows(tmp_path) == table.state.entry_count


def replace_entry(entry: Entry) -> Callable[[Path], None]:
    """Let the entries of the first table make no sense, with a chain that fits."""

    def damage(data: Path) -> None:
        with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
            (code,) = database.execute("SELECT code FROM entry ORDER BY id").fetchone()
            rows = database.execute("SELECT time, body FROM entry WHERE code = ? ORDER BY number", (code,))
            bodies = [
                (when, entry_text(entry) if number == 3 else body) for number, (when, body) in enumerate(rows)
            ]
            database.execute("DELETE FROM entry WHERE code = ?", (code,))
            carry_out(database, insert(Everything([Stored(code, link_rows(code, bodies), [])])))
            database.commit()
        (data / LIST_NAME).unlink()

    return damage


async def damaged_folder(data: Path, damage: Callable[[Path], None]) -> tuple[str, str]:
    """Play two games in a folder and damage it; return the codes of the first and of the other."""
    async with (
        running(Config(data=data)) as server,
        game(server.port, 2) as peers,
        game(server.port, 2) as others,
    ):
        await play_on(peers, random.Random(6), moves=8)
        await play_on(others, random.Random(6), moves=3)
    damage(data)
    return peers[0].code, others[0].code


PIECE = re.compile(r"[ESLMA][mfs]\*")
BEGUN = begun(GameOptions(2, random_layout=True), 1).events
NOT_IN_HAND: EventMap = {"t": "placed", "seat": 0, "piece": "Am*", "field": "A1"}


@pytest.mark.parametrize(
    "damage",
    rest_slow(
        replace_entry(Taken(9, "Nobody", "")),
        replace_entry(Opened(17, random_layout=False, starting=None)),
        replace_entry(Played(0, StartGame(1), [{"t": "unheard of"}])),
        replace_entry(Played(0, StartGame(1), [{"t": "placed", "seat": 0, "piece": "Es*", "field": "A1"}])),
        replace_entry(Played(0, StartGame(1), [])),
        replace_entry(Played(0, StartGame(1), [*map(event_map, BEGUN), NOT_IN_HAND])),
    ),
)
async def test_a_damaged_table_is_set_aside_and_the_others_play_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: Callable[[Path], None]
) -> None:
    """The log says which one and names no piece; the server holds it back, and gives its code to nobody."""
    damaged, other = await damaged_folder(tmp_path, damage)
    for _ in range(2):
        async with running(Config(data=tmp_path)) as server, connected(server.port) as peer:
            assert server.lobby.tables.keys() == {other}
            assert server.lobby.journal.codes_set_aside == {damaged}
            assert await peer.refusal(Resume(peer.next_id(), damaged, "x" * 43)) == Code.TABLE_DAMAGED
    told = [record for record in caplog.records if record.levelname == "WARNING" and record.name != "asyncio"]
    assert sum(f"table={damaged}" in describe(record) for record in told) == 1
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        ((reason,),) = database.execute("SELECT reason FROM set_aside").fetchall()
    assert not any(PIECE.search(text) for text in (reason, *map(describe, told)))


async def test_nobody_waits_for_a_store_that_was_cancelled() -> None:
    """A server that ends cancels its tasks; what waits for a commit cannot be cancelled, so it is told."""
    store = asyncio.get_running_loop().create_future()
    queue = CommitQueue(lambda _: store, Health(lambda: asyncio.sleep(0)))
    appended = asyncio.create_task(queue.append([("KXQT", 0, [Opened(3, True, None)])]))
    done = asyncio.create_task(queue.do(lambda: store))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    store.cancel()
    for waiting in (appended, done):
        with pytest.raises(TableLost):
            await asyncio.wait_for(waiting, TIMEOUT)


async def test_the_journal_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    """It holds hidden pieces: no other user of the machine may read any of its files. It holds no tokens."""
    data = tmp_path / "new" / "folder"
    async with running(Config(data=data)) as server, game(server.port, 2) as peers:
        assert {path.stat().st_mode & 0o077 for path in (data, *data.iterdir())} == {0}
    content = (data / FILE_NAME).read_bytes()
    assert peers[0].code.encode() in content
    assert not any(peer.token.encode() in content for peer in peers)


def block(records: Path) -> None:
    records.rmdir()
    records.write_text("in its place")


def unblock(records: Path) -> None:
    """Let the server make the folder again, which it may do at any moment."""
    records.unlink()


def check_record(records: Path, peers: list[Peer]) -> None:
    """Fail unless there is one file, the record of the peers' game."""
    (path,) = records.iterdir()
    assert path.name.endswith(f"-{peers[0].code}.txt")
    events = replayed(path.read_text(encoding="utf-8")).events
    assert peers[0].view is not None
    assert events[-1] == peers[0].view.result


def due_now(server: Running) -> list[tuple[str, int]]:
    """Return the games whose records are due, as the journal's file has it."""
    with contextlib.closing(connect(journal_of(server).path)) as database:
        return carry_out(database, records_due())


async def finished_game(port: int, seed: int = 1) -> list[Peer]:
    async with game(port, 2) as peers:
        await play_on(peers, random.Random(seed))
    return peers


@pytest.mark.parametrize("blocked", rest_slow(True, False))
async def test_a_server_killed_at_the_games_end(tmp_path: Path, blocked: bool) -> None:
    """At the next start, from the journal."""
    data, records = tmp_path / "data", tmp_path / "records"
    options = ("--data", str(data), "--records", str(records))
    async with serving(*options) as server:
        async with game(server.port, 2) as peers:
            if blocked:
                block(records)
            await play_on(peers, random.Random(1))
            server.process.kill()
        await server.ended()
    if blocked:
        unblock(records)
    async with serving(*options):
        await eventually(lambda: bool(list(records.glob("*.txt"))))
        check_record(records, peers)


async def test_a_record_waits_until_there_is_room(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """While the server runs, with one line of the log however often it fails, and never again after that."""
    data, records, clock = tmp_path / "data", tmp_path / "records", ManualClock()
    config = Config(data=data, records=records, timers=lambda: clock)
    async with running(config) as server:
        block(records)
        peers = await finished_game(server.port)
        for _ in range(3):
            await eventually(lambda: "could not be written" in caplog.text)
            clock.advance(RECORD_RETRY_SECONDS)
        unblock(records)

        def written() -> bool:
            clock.advance(RECORD_RETRY_SECONDS)
            return bool(list(records.glob("*.txt")))

        await eventually(written)
        check_record(records, peers)
        assert caplog.text.count("could not be written") == 1
    for path in records.iterdir():
        path.unlink()
    async with running(config) as server:
        await finished_game(server.port, seed=2)
        await eventually(lambda: bool(list(records.glob("*.txt"))))
        assert len(list(records.iterdir())) == 1


async def test_a_record_that_was_written_before_a_kill_is_not_written_again(tmp_path: Path) -> None:
    """The server had no time to take note of it, nor of a table that was removed in the meantime."""
    records, clock = tmp_path / "records", ManualClock()
    config = Config(data=tmp_path / "data", records=records, timers=lambda: clock)

    def none_due() -> bool:
        clock.advance(RECORD_RETRY_SECONDS)
        return not due_now(server)

    async with running(config) as server:
        block(records)
        await finished_game(server.port)
        due = [*due_now(server), ("GONE", 1)]
        assert len(due) == 2
        unblock(records)
        await eventually(none_due)
        journal_of(server)._database.executemany("INSERT INTO record_due VALUES (?, ?)", due)
        journal_of(server)._database.commit()
        (path,) = records.iterdir()
        before = path.stat().st_mtime_ns
    async with running(config) as server:
        await eventually(none_due)
    assert [each.stat().st_mtime_ns for each in records.iterdir()] == [before]


def test_an_archived_game_that_cannot_be_read_costs_one_record(tmp_path: Path) -> None:
    """A later version of the program may have written it."""
    seated, ended = Opened(2, random_layout=False, starting=None), EndedByHost()

    async def write_missing() -> None:
        journal = SqliteJournal(tmp_path / "data")
        async with Tasks() as tasks:
            await journal.append("BADD", 0, [seated, Played(0, StartGame(1), [{"t": "new"}]), ended], 5)
            await journal.append("GOOD", 0, [seated, ended], 6)
            for code in ("BADD", "GOOD"):
                await journal.archive(code, ArchivedGame("", played=True))
            await Records(tmp_path, None, journal, tasks, ManualClock()).write_missing()
        await journal.close()

    asyncio.run(write_missing())
    assert [path.name[-8:] for path in tmp_path.glob("*.txt")] == ["GOOD.txt"]


async def test_the_record_of_a_game_that_was_set_aside_is_written_once_it_is_restored(tmp_path: Path) -> None:
    over: list[Entry] = [Opened(2, random_layout=True, starting=None), EndedByHost()]
    async with sqlite_journal(tmp_path) as journal, Tasks() as tasks:
        records = Records(tmp_path, None, journal, tasks, ManualClock())
        await journal.append("ONCE", 0, over, 5)
        await journal.set_aside("ONCE", 2, "it cannot go on: KeyError")
        await records.write_missing()
        assert not list(tmp_path.glob("*.txt"))  # noqa: ASYNC240 - a test alone
        await journal.restore("ONCE", 2)
        await records.write_missing()
        assert [path.name for path in tmp_path.glob("*.txt")] == ["19700101-000005-ONCE.txt"]  # noqa: ASYNC240
        assert await journal.records_due() == []


async def test_a_record_that_fails_keeps_no_other_from_being_written(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a mistake of ours, or because somebody has written a time that makes no sense into the database."""

    written = []

    def write(path: Path, _text: str, _most: int | None) -> None:
        if "ONCE" in path.name:
            raise RuntimeError("a mistake of ours")
        written.append(path.name)

    monkeypatch.setattr("server.storage.records.write_record", write)
    async with Tasks() as tasks:
        records = Records(tmp_path, None, NoJournal(), tasks, ManualClock())
        for code, ended in (("ONCE", 0), ("THEN", 2**60), ("NEXT", 0)):
            records.game_over(code, (), ("Anna", "Bruno"), ended)
    assert written == ["19700101-000000-NEXT.txt"]
    assert caplog.text.count("the record could not be written") == 2


async def test_old_records_are_removed_at_the_start_and_daily(tmp_path: Path) -> None:
    """And results of evenings; what is no record stays."""
    clock, old, kept = ManualClock(), time.time() - 31 * 86_400, time.time() - 29 * 86_400

    def write(seconds: float) -> None:
        for name in (record_name("ONCE", seconds), evening_name(int(seconds))):
            (tmp_path / name).write_text("")

    def names() -> set[str]:
        return {path.name for path in tmp_path.iterdir()}

    (tmp_path / "mine.txt").write_text("")
    write(old)
    write(kept)
    left = {record_name("ONCE", kept), evening_name(int(kept)), "mine.txt"}
    async with Tasks() as tasks:
        records = Records(tmp_path, None, NoJournal(), tasks, clock, days=30)
        await eventually(lambda: names() == left and bool(clock.waiting))
        write(old)
        clock.advance(86_399)
        assert names() > left
        clock.advance(2)
        await eventually(lambda: names() == left and bool(clock.waiting))
        records.close()
        write(old)
        clock.advance(2 * 86_400)
    assert names() > left


def test_records_can_be_kept_for_longer_than_there_were_computers(tmp_path: Path) -> None:
    (tmp_path / record_name("ONCE", 1)).write_text("")
    remove_older(tmp_path, 10**400)
    assert len(list(tmp_path.iterdir())) == 1


def test_the_latest_records_are_kept(tmp_path: Path) -> None:
    for day in (1, 3, 2):
        write_record(tmp_path / f"1970010{day}-000000-ONCE.txt", "", 2)
    assert sorted(path.name[7] for path in tmp_path.iterdir()) == ["2", "3"]


@pytest.mark.parametrize(
    ("kept", "shared", "warned"),
    [("records", False, True), ("journal", False, False), ("records", True, False)],
)
async def test_records_beside_a_new_journal_deserve_a_word(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, kept: str, shared: bool, warned: bool
) -> None:
    """They are of games that no journal knows, unless they are merely kept there from before.

    A player's own folder has the latest games of many journals, each of them new.
    """
    data, records = tmp_path / "data", tmp_path / "records"
    config = Config(data=data, records=records, shared_records=shared, most_records=MOST_KEPT)
    async with running(config):
        pass
    (records / "19700101-000000-ONCE.txt").write_text("the record of a game")
    if kept == "records":
        shutil.rmtree(data)
    caplog.clear()
    async with running(config):
        pass
    said = [describe(record) for record in caplog.records if "the journal is new" in record.message]
    assert [f"path={records} records=1 remedy=" in line for line in said] == [True] * warned


# As version 1 made it.
VERSION_1 = """
    CREATE TABLE entry (
        id INTEGER PRIMARY KEY, code TEXT NOT NULL, number INTEGER NOT NULL, body TEXT NOT NULL
    );
    CREATE INDEX entry_of_table ON entry (code);
    PRAGMA user_version = 1;
    PRAGMA journal_mode = WAL;
"""


@pytest.fixture(scope="module")
def entries(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Entry]]:
    data = tmp_path_factory.mktemp("before")

    async def played() -> dict[str, list[Entry]]:
        async with (
            running(Config(data=data)) as server,
            game(server.port, 2) as first,
            game(server.port, 3) as second,
        ):
            await play_on(first, random.Random(1), moves=5)
            await play_on(second, random.Random(1), moves=7)
        return await stored_entries(data)

    return asyncio.run(played())


async def stored_entries(data: Path) -> dict[str, list[Entry]]:
    async with sqlite_journal(data) as journal:
        return (await journal.kept()).tables


def write_version_1(data: Path, entries: dict[str, list[Entry]]) -> Path:
    data.mkdir(exist_ok=True)
    path = data / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.executescript(VERSION_1)
        for code, known in entries.items():
            database.executemany(
                "INSERT INTO entry (code, number, body) VALUES (?, ?, ?)",
                [(code, number, entry_text(entry)) for number, entry in enumerate(known)],
            )
        database.commit()
    return path


def version(path: Path) -> int:
    with contextlib.closing(sqlite3.connect(path)) as database:
        return int(database.execute("PRAGMA user_version").fetchone()[0])


async def test_a_file_of_version_1_is_migrated(tmp_path: Path, entries: dict[str, list[Entry]]) -> None:
    older, copy = (tmp_path / f"{FILE_NAME}.{suffix}" for suffix in ("v1", "v1-2"))
    older.write_text("dear to somebody")
    path = write_version_1(tmp_path, entries)
    assert await stored_entries(tmp_path) == entries
    assert (version(path), version(copy)) == (JOURNAL_VERSION, 1)
    assert older.read_text() == "dear to somebody"
    assert copy.stat().st_mode & 0o077 == 0
    with contextlib.closing(sqlite3.connect(copy)) as database:
        kept = database.execute("SELECT code, body FROM entry ORDER BY id").fetchall()
    assert kept == [(code, entry_text(entry)) for code, known in entries.items() for entry in known]


def make_older(path: Path, version: int = 4) -> None:
    """Make this version of a journal that no server uses, whose tables were those of today."""
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        for rows in ("entry", "set_aside"):
            database.execute(f"UPDATE {rows} SET code = 'EVENING' WHERE code = 'evening'")  # noqa: S608 - ours
        database.execute(f"PRAGMA user_version = {version}")
        commits_so_far, known = commits(database), standings(database)
        (journal,) = database.execute("SELECT id FROM journal").fetchone()
    path.with_name(LIST_NAME).write_bytes(list_content(journal, commits_so_far, known))


async def test_a_file_of_version_4_is_upgraded_and_its_copy_is_the_way_back(
    tmp_path: Path, entries: dict[str, list[Entry]], caplog: pytest.LogCaptureFixture
) -> None:
    """The copy needs no commit list, so the one that the newer version goes on with says nothing of it."""
    path, copy = tmp_path / FILE_NAME, tmp_path / f"{FILE_NAME}.v4"
    async with sqlite_journal(tmp_path) as journal:
        for code, known in entries.items():
            await journal.append(code, 0, known)
    make_older(path)
    first = next(iter(entries))
    async with sqlite_journal(tmp_path) as journal:
        assert (await journal.kept()).tables == entries
        await journal.append("ELSE", 0, [Opened(2, random_layout=True, starting=None)])
        await journal.append(first, len(entries[first]), [EndedByHost()])
    assert (version(path), version(copy)) == (JOURNAL_VERSION, 4)
    copy.replace(path)
    assert await stored_entries(tmp_path) == entries
    assert not caplog.records
    assert version(copy) == 4  # it was kept again, by a newer version that came after all


EVENING_ENTRIES: list[Entry] = [
    EveningBegun(EveningPlan("Friday")),
    PersonEntered(1, "Anna", "", "play"),
    RoundDrawn([("ONCE", [1])]),
]


@pytest.mark.parametrize("aside", [False, True])
async def test_an_evening_that_was_a_table_becomes_one_and_its_copy_is_the_way_back(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, aside: bool
) -> None:
    """Until version 5, it was called as a table could be."""
    path, copy, opened = tmp_path / FILE_NAME, tmp_path / f"{FILE_NAME}.v5", Opened(2, True, None)
    async with sqlite_journal(tmp_path) as journal:
        await journal.append_together([("ONCE", 0, [opened]), (EVENING, 0, EVENING_ENTRIES)])
        if aside:
            await journal.set_aside(EVENING, 2, "it makes no sense")
    caplog.clear()
    make_older(path, version=5)
    for _ in range(2):
        async with sqlite_journal(tmp_path) as journal:
            assert await journal.kept() == ({"ONCE": [opened]}, [] if aside else EVENING_ENTRIES)
            assert journal.codes_set_aside == ({EVENING} if aside else set())
            if aside:
                await journal.restore(EVENING, 2)
            else:
                await journal.append(EVENING, 3, [EveningClosed()])
        assert (version(path), version(copy)) == (JOURNAL_VERSION, 5)
        with contextlib.closing(sqlite3.connect(copy)) as database:
            assert standings(database).keys() == {"ONCE", "EVENING"}
        async with sqlite_journal(tmp_path) as journal:
            assert (await journal.kept()).evening == (
                EVENING_ENTRIES[:2] if aside else [*EVENING_ENTRIES, EveningClosed()]
            )
        copy.replace(path)
    assert not caplog.records


@pytest.mark.parametrize("malformed", [False, True])
async def test_an_evening_damaged_before_the_upgrade_is_noticed_and_salvaged(
    tmp_path: Path, malformed: bool
) -> None:
    """Its chain and the commit list count for as much after it."""
    path = tmp_path / FILE_NAME
    async with sqlite_journal(tmp_path) as journal:
        await journal.append_together([("ONCE", 0, [Opened(2, True, None)]), (EVENING, 0, EVENING_ENTRIES)])
    make_older(path, version=5)
    if malformed:
        content = bytearray(path.read_bytes())
        content[100:108] = bytes(8)  # the schema
        path.write_bytes(content)
        with DataFolder(tmp_path) as folder, pytest.raises(JournalError, match="malformed"):
            folder.check()
        repair(tmp_path)
    else:
        listed = path.with_name(LIST_NAME).read_bytes()
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("DELETE FROM entry WHERE code = 'EVENING' AND number = 2")
        path.with_name(LIST_NAME).write_bytes(listed)
    async with sqlite_journal(tmp_path) as journal:
        assert (await journal.kept()).evening == EVENING_ENTRIES[: 3 if malformed else 2]
        assert list((await journal.kept()).tables) == ["ONCE"]
    assert bool([*tmp_path.glob(f"{FILE_NAME}.damaged-*")]) is not malformed  # noqa: ASYNC240


async def test_a_code_that_was_given_away_twice_is_that_of_the_table_in_use(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Version 4 left the row of a game that had given way in the archive, and its code counted as free."""
    path, opened = tmp_path / FILE_NAME, Opened(2, random_layout=True, starting=None)
    async with sqlite_journal(tmp_path) as journal:
        await journal.append("ONCE", 0, [opened])
        await journal.archive("ONCE", ArchivedGame("", played=False))
    with contextlib.closing(sqlite3.connect(path)) as database:
        (leftover,) = database.execute("SELECT * FROM archive").fetchall()
    async with sqlite_journal(tmp_path) as journal:
        await journal.remove("ONCE")
        await journal.append("ONCE", 0, [opened, EndedByHost()])
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        marks = ", ".join("?" * len(leftover))
        database.execute(f"INSERT INTO archive VALUES ({marks})", leftover)  # noqa: S608 - ours
    make_older(path)
    async with sqlite_journal(tmp_path) as journal:
        assert (await journal.kept()).tables == {"ONCE": [opened, EndedByHost()]}
        await journal.archive("ONCE", ArchivedGame("", played=True))
    assert not caplog.records


async def test_a_journal_of_a_newer_version_is_refused_and_not_changed(
    tmp_path: Path, entries: dict[str, list[Entry]]
) -> None:
    async with sqlite_journal(tmp_path) as journal:
        for code, known in entries.items():
            await journal.append(code, 0, known)
    with contextlib.closing(sqlite3.connect(tmp_path / FILE_NAME)) as database:
        database.execute(f"PRAGMA user_version = {JOURNAL_VERSION + 1}")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}  # noqa: ASYNC240 - a test alone
    with pytest.raises(JournalError, match="was written by a newer Palatinus"):
        SqliteJournal(tmp_path)
    for use in (DataFolder.everything, DataFolder.check, lambda folder: folder.restore("ONCE")):
        with DataFolder(tmp_path) as folder, pytest.raises(JournalError, match="newer Palatinus"):
            use(folder)
    with pytest.raises(JournalError, match="newer Palatinus"):
        repair(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before  # noqa: ASYNC240


KILLED_WHILE_MIGRATING = """
import os, signal, sqlite3, sys
from functools import partial
from pathlib import Path

class Dying(sqlite3.Connection):
    def execute(self, statement, *values):
        found = super().execute(statement, *values)
        if sys.argv[2] in statement:
            os.kill(os.getpid(), signal.SIGKILL)
        return found
    def backup(self, copy):
        super().backup(copy)
        if sys.argv[2] == "backup":
            os.kill(os.getpid(), signal.SIGKILL)

sqlite3.connect = partial(sqlite3.connect, factory=Dying)
from server.storage.sqlite.journal_file import open_journal
open_journal(Path(sys.argv[1]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["backup", "DROP TABLE", "CREATE TABLE archive", "user_version = "])
async def test_a_killed_migration(tmp_path: Path, entries: dict[str, list[Entry]], moment: str) -> None:
    path = write_version_1(tmp_path, entries)
    root = Path(__file__).parents[3]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", KILLED_WHILE_MIGRATING, str(path), moment, cwd=root
    )
    assert await process.wait() == -signal.SIGKILL
    assert await stored_entries(tmp_path) == entries
    assert version(path) == JOURNAL_VERSION
    assert not list(tmp_path.glob("*.unfinished"))  # noqa: ASYNC240


@pytest.mark.parametrize("number", [0, 1, JOURNAL_VERSION])
def test_a_foreign_database_is_refused_and_not_changed(tmp_path: Path, number: int) -> None:
    """Its version number makes no difference."""
    path = tmp_path / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE bookmark (address)")
        database.execute(f"PRAGMA user_version = {number}")
    before = path.read_bytes()
    with pytest.raises(JournalError, match="is not a Palatinus journal"):
        open_journal(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(("durable", "level"), [("normal", 1), ("full", 2)])
async def test_sqlite_is_set_to_the_durability(tmp_path: Path, durable: Durable, level: int) -> None:
    async with running(Config(data=tmp_path, durable=durable)) as server:
        journal = journal_of(server)
        assert journal._database.execute("PRAGMA synchronous").fetchone() == (level,)
