"""What the host of a running server sees and does."""

import asyncio
import contextlib
import logging
import random
import re
import sqlite3
from pathlib import Path

from server.admin.endpoint import SOCKET_NAME
from server.admin.service import BACKUP_NAME
from server.app import running
from server.config import Config, Limits
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.inspection import inspect_folder
from server.storage.sqlite.journal_file import FILE_NAME
from tests.server.admin.admin_peer import answer, failure_of, raw_answer
from tests.server.admin.test_listener import administered
from tests.server.peer import connected, eventually, full_table, game, play_on


async def test_what_is_shown_of_tables_holds_no_secrets(tmp_path: Path) -> None:
    """Neither a piece nor a token: the host may be a player."""
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(3), moves=8)
        for do in (b"status", b"tables", b"who", b"stored"):
            shown = await raw_answer(tmp_path / SOCKET_NAME, b'{"v":1,"ask":{"do":"%s"}}\n' % do)
            assert shown
            assert not re.search(rb"[ESLMA][mfs]\b|[ESLMA][mf]\*", shown)
            assert not any(peer.token.encode() in shown for peer in peers)


async def test_the_level_of_the_log_can_be_changed(tmp_path: Path) -> None:
    root = logging.getLogger()
    before = root.level
    try:
        async with administered(tmp_path):
            for level in ("info", "error"):
                await answer(tmp_path, "log-level", level=level)
                assert (await answer(tmp_path, "status"))["log_level"] == level
    finally:
        root.setLevel(before)


async def test_stored_tables_are_listed_and_read_one_by_one(tmp_path: Path) -> None:
    """In memory and in the archive, without bringing any back."""
    config = Config(data=tmp_path, admin=tmp_path / SOCKET_NAME, limits=Limits(over_seconds=0.01))
    async with running(config) as server:
        async with game(server.port, 2) as over:
            await play_on(over, random.Random(1))
        await eventually(lambda: over[0].code in server.lobby.journal.archived)
        async with game(server.port, 2) as playing, full_table(server.port, 3):
            await play_on(playing, random.Random(2), moves=7)
            stored = {table["code"]: table for table in await answer(tmp_path, "stored")}
            assert len(stored) == 3
            assert stored[over[0].code]["archived"]
            assert stored[over[0].code]["moves"] == 32
            assert stored[playing[0].code]["moves"] == 7
            assert all(table["opened"] and table["changed"] for table in stored.values())
            for peers in (over, playing):
                found = await answer(tmp_path, "game", table=peers[0].code)
                assert len(found["events"]) == peers[0].seq
                assert found["table"] == stored[peers[0].code]
            assert (await failure_of(tmp_path, "game", table="ZZZZ"))["code"] == "no-such-table"
            assert over[0].code in server.lobby.journal.archived


async def backup_bytes(data: Path) -> bytes:
    """Return a backup, as soon as no other one is running."""
    line = b"backup-runs"
    while b"backup-runs" in line:
        whole = await raw_answer(data / SOCKET_NAME, b'{"v": 1, "ask": {"do": "backup"}}\n')
        line, _, content = whole.partition(b"\n")
    assert line == b'{"v":1,"ok":{"bytes":%d}}' % len(content)
    return content


async def test_a_server_that_starts_on_a_backup_has_every_game_as_it_was(tmp_path: Path) -> None:
    """Also those in the archive; what was played later is not there."""
    data, restored = tmp_path / "data", tmp_path / "restored"
    config = Config(data=data, admin=data / SOCKET_NAME, limits=Limits(over_seconds=0.01))
    async with running(config) as server:
        async with game(server.port, 2) as over:
            await play_on(over, random.Random(1))
        await eventually(lambda: over[0].code in server.lobby.journal.archived)
        async with game(server.port, 2) as peers:
            await play_on(peers, random.Random(2), moves=9)
            seq = peers[0].seq
            content = await backup_bytes(data)
            await play_on(peers, random.Random(3), moves=4)
            assert not (data / BACKUP_NAME).exists()
    restored.mkdir()
    (restored / FILE_NAME).write_bytes(content)
    assert not inspect_folder(restored, closely=True).faults
    async with running(Config(data=restored)) as server, connected(server.port) as peer:
        table = server.lobby.tables[peers[0].code]
        assert table.state.game is not None
        assert len(table.state.game.events) == seq
        await peer.resume(peers[1].code, peers[1].token)
        assert over[0].code in server.lobby.journal.archived
    (restored / LIST_NAME).unlink()
    assert inspect_folder(restored).faults  # from here on it is a journal like any other
    assert [path.name for path in restored.iterdir()] == [FILE_NAME]


async def test_moves_are_stored_while_a_backup_runs(tmp_path: Path) -> None:
    """They neither fail nor begin it again, and the copy is of one moment, sound and whole."""
    async with administered(tmp_path) as server, game(server.port, 5) as peers:
        journal = server.lobby.journal
        database = journal._database
        database.execute("CREATE TABLE ballast (content BLOB)")  # so that there are many steps
        database.executemany("INSERT INTO ballast VALUES (?)", [(bytes(4000),) for _ in range(3000)])
        database.commit()
        steps = 0
        done = journal._queue.do

        async def counted(work: object, *more: object) -> object:
            nonlocal steps
            steps += 1
            return await done(work, *more)

        journal._queue.do = counted
        copying = asyncio.create_task(backup_bytes(tmp_path))
        moves = 0
        while not copying.done() and moves < 60:
            await play_on(peers, random.Random(moves), moves=1)
            moves += 1
        content = await copying
        assert moves > 5
        assert steps < 200
    copy = tmp_path / "copy"
    copy.write_bytes(content)
    with contextlib.closing(sqlite3.connect(copy)) as opened:
        assert opened.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        numbers = [number for (number,) in opened.execute("SELECT number FROM entry ORDER BY id")]
        assert numbers == list(range(len(numbers)))


async def test_no_copy_is_left_behind(tmp_path: Path) -> None:
    """Neither that of a killed server nor that of a client that goes away: it holds hidden pieces."""
    (tmp_path / BACKUP_NAME).write_bytes(b"half")
    async with administered(tmp_path) as server, game(server.port, 2) as peers:
        assert not (tmp_path / BACKUP_NAME).exists()
        await play_on(peers, random.Random(1), moves=5)
        _, writer = await asyncio.open_unix_connection(str(tmp_path / SOCKET_NAME))
        writer.write(b'{"v": 1, "ask": {"do": "backup"}}\n')
        await writer.drain()
        writer.transport.abort()
        assert await backup_bytes(tmp_path)
        assert not (tmp_path / BACKUP_NAME).exists()


async def test_without_a_data_folder_there_is_nothing_to_back_up(tmp_path: Path) -> None:
    async with running(Config(admin=tmp_path / SOCKET_NAME)):
        assert (await failure_of(tmp_path, "backup"))["code"] == "nothing-stored"
        assert (await answer(tmp_path, "status"))["data"] is None
