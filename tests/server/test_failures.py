"""Failures of the server's own code harm one table or one file, and the others play on."""

import asyncio
import contextlib
import random
from typing import Any

import pytest

from protocol.codes import CloseCode, Code
from protocol.messages import EnterLobby, JoinTable, Leave, ListTables, Online, Refused, Sync, Tables
from server.app import running
from server.config import Config
from server.failures import Tasks
from server.logs import describe
from server.storage.journal import Journal
from server.tables.online.lobby_chat import LobbyChat
from server.tables.requests import Requests
from tests.server.manual_clock import FastClock
from tests.server.peer import (
    TIMEOUT,
    Peer,
    connected,
    eventually,
    game,
    memory_server,
    peer_on_turn,
    play_on,
    table_of,
)


async def test_a_failing_table_does_not_harm_the_others(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its players are told and return to the lobby, the log has the reason, and other tables play on."""
    async with (
        memory_server() as server,
        game(server.port, 2, watched=True) as bad,
        game(server.port, 2) as good,
    ):
        table = table_of(server, bad)
        do = Requests._do

        async def failing(self: Requests, session: object, message: object) -> object:
            if self._table is table:
                raise RuntimeError("a mistake of ours")
            return await do(self, session, message)  # type: ignore[arg-type, func-returns-value]

        monkeypatch.setattr(Requests, "_do", failing)
        for peer in bad:
            await peer.send(*(Sync(number) for number in range(5)))
        for peer in bad:
            await wait_until_closed(peer)
            tables = await peer.ask(ListTables(peer.next_id()))
            assert isinstance(tables, Tables)
            assert [line.table for line in tables.tables] == [good[0].code]
        for peer in bad:
            await peer.open(2)
        await play_on(good, random.Random(1), moves=3)
        assert [describe(record) for record in caplog.records if record.exc_info] == [
            f"table failed and is closed: table={table.code}"
        ]


async def test_what_fails_in_one_task_ends_nothing_else(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log names the task; the next round of the lobby is told, and games go on."""

    def failing(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    async with (
        running(Config(timers=FastClock)) as server,
        game(server.port, 2) as peers,
        connected(server.port) as listener,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(LobbyChat, "_list_people", failing)
            await listener.ask(EnterLobby(listener.next_id(), "Carla"))
            await eventually(lambda: "a task failed" in caplog.text)
        await listener.ask(EnterLobby(listener.next_id(), "Clara"))
        await listener.until(Online)
        await play_on(peers, random.Random(1), moves=3)
    failed = [describe(each) for each in caplog.records if each.exc_info and "task" in each.getMessage()]
    assert set(failed) == {'a task failed: task="telling the lobby"'}


async def test_work_that_the_server_cannot_do_without_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.failures._SECONDS_BEFORE_RESTART", 0)
    attempts: list[None] = []

    async def works_the_third_time() -> None:
        attempts.append(None)
        if len(attempts) < 3:
            raise RuntimeError("a mistake of ours")

    async with Tasks() as tasks:
        tasks.keep(works_the_third_time, "working")
    assert len(attempts) == 3


async def test_a_context_that_fails_or_is_cancelled_leaves_no_task() -> None:
    with contextlib.suppress(ZeroDivisionError):
        async with Tasks() as tasks:
            sleeping = tasks.start(asyncio.sleep(TIMEOUT), "sleeping")
            raise ZeroDivisionError
    assert sleeping.cancelled()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0), Tasks() as tasks:
            sleeping = tasks.start(asyncio.sleep(TIMEOUT), "sleeping")
    assert sleeping.cancelled()


async def test_a_table_that_is_lost_while_a_move_is_stored_has_not_failed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The move counts, wherever the table is now, and the players are sent to find it."""
    async with memory_server() as server, game(server.port, 2) as peers:
        append = Journal.append

        async def lost(*arguments: Any) -> None:
            await append(*arguments)
            server.lobby.give_up()

        monkeypatch.setattr(Journal, "append", lost)
        mover = peer_on_turn(peers)
        assert mover is not None
        await mover.send(mover.random_move(random.Random(1)))
        for peer in peers:
            assert (await peer.closed())[0] == CloseCode.SERVICE_RESTART
    assert not [record for record in caplog.records if record.exc_info]


async def wait_until_closed(peer: Peer) -> None:
    while True:
        refused = await peer.until(Refused)
        assert refused.code in {Code.TABLE_CLOSED, Code.LEFT_THE_TABLE, Code.NOT_AT_A_TABLE}
        if refused.code == Code.TABLE_CLOSED and refused.id is None:
            return


async def test_a_player_who_leaves_a_failing_table_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player who joins a failing table is answered too, and is in the lobby afterwards."""

    def failing(*_: object) -> None:
        raise RuntimeError("a mistake of ours")

    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as newcomer:
        seated = await newcomer.open(2)
        with monkeypatch.context() as patch:
            patch.setattr("server.tables.context.table_state", failing)
            assert (await peers[0].refused(Leave(peers[0].next_id()))).code == Code.TABLE_CLOSED
            patch.setattr("server.tables.seats.seat_admission.check_name", failing)
            asking = JoinTable(peers[0].next_id(), seated.table, "Anna")
            assert (await peers[0].refused(asking)).code == Code.TABLE_CLOSED
        await peers[0].open(2)
