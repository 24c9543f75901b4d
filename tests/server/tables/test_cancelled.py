"""A task that is cancelled while the journal stores what it asked for: the table has it, too."""

import asyncio
import contextlib
import random
import threading
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path

import pytest

from engine.pieces import Seat
from protocol.messages import Leave
from server.app import Running, running
from server.config import Config
from tests.server.peer import all_caught_up, eventually, game, play_on, table_of
from tests.server.storage.test_journal import journal_of, resumed, table_facts


@contextlib.asynccontextmanager
async def disk_that_waits(server: Running) -> AsyncIterator[None]:
    """Let nothing be stored before the context ends."""
    on = threading.Event()
    journal = journal_of(server)
    journal._thread.submit(on.wait)
    try:
        yield
    finally:
        on.set()


async def cancelled_while_stored(server: Running, work: Awaitable[object]) -> None:
    """Cancel `work` in the middle of a commit, twice, and wait until it has ended."""
    async with disk_that_waits(server):
        task = asyncio.ensure_future(work)
        await eventually(lambda: journal_of(server)._queue._at_work is not None)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_move_that_is_stored_is_played(tmp_path: Path) -> None:
    """Everybody sees it, the next player moves, and a restart finds the same game."""
    config = Config(data=tmp_path, durable="full")
    async with running(config) as server, game(server.port, 3) as peers:
        table, mover = table_of(server, peers), peers[0]
        session = table._context.audience.seated[Seat(0)]
        await cancelled_while_stored(server, table.handle(session, mover.random_move(random.Random(1))))
        await all_caught_up(peers, mover.seq + 1)
        await play_on(peers, random.Random(2), moves=3)
        before = table_facts(table.state)
    async with running(config) as server, resumed(server.port, *peers) as again:
        assert table_facts(table_of(server, again).state) == before


async def test_a_table_that_is_archived_can_be_brought_back(tmp_path: Path) -> None:
    """The archive knows it, though the task that archived it was cancelled."""
    config = Config(data=tmp_path, durable="full")
    async with running(config) as server, game(server.port, 2) as peers:
        for peer in peers:
            await peer.done(Leave(peer.next_id()))
        table = table_of(server, peers)
        await cancelled_while_stored(server, table.archive(attended=False))
        assert peers[0].code in server.lobby.archived
        await peers[0].resume(peers[0].code, peers[0].token)
