"""Records of finished games that could not be written immediately: each is written later, and once."""

import asyncio
import contextlib
import random
from pathlib import Path

import pytest

from engine.record import replayed
from protocol.messages import StartGame
from server.app import Running, running
from server.config import Config
from server.monitoring.failures import Tasks
from server.storage.archive_index import ArchivedGame
from server.storage.entries import EndedByHost, Opened, Played
from server.storage.journal import NoJournal
from server.storage.operations import records_due
from server.storage.records import RETRY_SECONDS, Records, write_record
from server.storage.sqlite.journal import SqliteJournal
from server.storage.sqlite.journal_file import connect
from server.storage.sqlite.rows import carry_out
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, eventually, game, play_on
from tests.server.process import serving
from tests.server.storage.test_journal import journal_of


def block(records: Path) -> None:
    """Make it impossible to write into the folder."""
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


@pytest.mark.parametrize("blocked", [True, pytest.param(False, marks=pytest.mark.slow)])
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
            clock.advance(RETRY_SECONDS)
        unblock(records)

        def written() -> bool:
            clock.advance(RETRY_SECONDS)
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
        clock.advance(RETRY_SECONDS)
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


def test_the_latest_records_are_kept(tmp_path: Path) -> None:
    for day in (1, 3, 2):
        write_record(tmp_path / f"1970010{day}-000000-ONCE.txt", "", 2)
    assert sorted(path.name[7] for path in tmp_path.iterdir()) == ["2", "3"]
