"""Failures harm one table or one file; what is traced of moves, and the lines of the log."""

import asyncio
import contextlib
import io
import json
import logging
import pkgutil
import random
import re
import sys
import threading
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from opentelemetry.trace import StatusCode

from engine.pieces import Seat
from protocol import messages
from protocol.absence import MoveClock
from protocol.codes import CloseCode, Code
from protocol.messages import ChangeSetting, Lay
from protocol.settings import Private
from server.app import Running, running
from server.config import Config
from server.monitoring import tracing
from server.monitoring.failures import Tasks
from server.monitoring.logs import about, describe, log_to
from server.monitoring.tracing import move_span, span, traced_as_asked
from server.refusal import Refusal
from server.storage.entries import Entry, Opened, Taken
from server.storage.postgresql.journal import PostgresJournal
from server.storage.sqlite.journal import SqliteJournal
from server.tables import requests
from server.tables.absence.deadlines import Due
from server.tables.context import TableContext
from server.tables.feature import Happening
from server.tables.online.lobby_chat import LobbyChat
from server.tables.priority_lock import PriorityLock
from server.tables.registry import table_registry
from server.tables.table import Table
from tests.server.cluster.running_cluster import cluster
from tests.server.manual_clock import FastClock, ManualClock
from tests.server.monitoring.traces import traces
from tests.server.peer import TIMEOUT, connected, eventually
from tests.server.playing import (
    all_caught_up,
    full_table,
    game,
    memory_server,
    peer_on_turn,
    play_on,
    table_of,
)
from tests.server.storage.conformance.stores import journal_at, rows
from tests.server.storage.test_journal import full_disk, journal_of, resumed, table_facts
from tests.server.storage.test_postgresql import logged
from tests.server.tables.hosted import served

FAILING = Mock(side_effect=RuntimeError("a mistake of ours"))


async def test_a_failing_table_does_not_harm_the_others(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its players return to the lobby, the log has the reason, and others play on; a restart restores it."""
    async with (
        running(Config(data=tmp_path)) as server,
        game(server.port, 2, watched=True) as bad,
        game(server.port, 2) as good,
    ):
        table = table_of(server, bad)
        synchronize = requests.HANDLERS[messages.Sync]

        def failing(context: TableContext, *request: object) -> Sequence[Happening]:
            if context.table is table:
                raise RuntimeError("a mistake of ours")
            return synchronize.by(context, *request)

        monkeypatch.setitem(requests.HANDLERS, messages.Sync, synchronize._replace(by=failing))
        for peer in bad:
            await peer.send(*(messages.Sync(number) for number in range(5)))
        for peer in bad:
            while (refused := await peer.until(messages.Refused)).id is not None:
                assert refused.code in {Code.TABLE_CLOSED, Code.LEFT_THE_TABLE, Code.NOT_AT_A_TABLE}
            assert refused.code == Code.TABLE_CLOSED
            tables = await peer.answer(messages.Tables, messages.ListTables)
            assert [line.table for line in tables.tables] == [good[0].code]
        for peer in bad:
            await peer.open(2)
        await play_on(good, random.Random(1), moves=3)
        assert [describe(record) for record in caplog.records if record.exc_info] == [
            f"table failed and is closed: table={table.code}"
        ]
    async with running(Config(data=tmp_path)) as server:
        assert server.lobby.tables[table.code].state.entry_count == table.state.entry_count


@pytest.mark.parametrize(
    "after", ["server.tables.context.TableContext.await_rooms", "server.tables.table.Table._look_who_is_here"]
)
async def test_what_fails_after_a_request_closes_the_table(
    after: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the connection of whoever has asked: all who are at it are in the lobby again."""
    async with memory_server() as server, game(server.port, 2, watched=True) as bad:
        async with full_table(server.port, 2) as good:
            table = table_of(server, bad)
            look, parts_of_bad = pkgutil.resolve_name(after), (table, table._context)

            def failing(looked_at: Table | TableContext) -> None:
                if looked_at in parts_of_bad:
                    raise RuntimeError("a mistake of ours")
                look(looked_at)

            monkeypatch.setattr(after, failing)
            await bad[0].done(messages.Say, "hello")
            for peer in bad:
                while (refused := await peer.until(messages.Refused)).id is not None:
                    pass
                assert refused.code == Code.TABLE_CLOSED
                assert await peer.refusal(messages.Say, "here?") == Code.NOT_AT_A_TABLE
            assert list(server.lobby.tables) == [good[0].code]
            await good[0].done(messages.StartGame)
        assert [describe(record) for record in caplog.records if record.exc_info] == [
            f"table failed and is closed: table={table.code}"
        ]


@pytest.mark.parametrize(
    "failing",
    [
        "server.tables.context.TableContext.stop",
        "server.tables.audience.Audience.remove",
        "server.tables.registry.public_tables.PublicTables.table_changed",
    ],
)
async def test_a_table_ends_whatever_fails_in_that(
    failing: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with memory_server() as server, game(server.port, 2, watched=True) as bad:
        table = table_of(server, bad)
        with monkeypatch.context() as patch:
            patch.setattr(failing, FAILING)
            await server.lobby.registry.close(table.code, "closed")
        for peer in bad:
            while (refused := await peer.until(messages.Refused)).id is not None:
                pass
            assert refused.code == Code.CLOSED_BY_SERVER
        assert not server.lobby.tables
        with pytest.raises(Refusal):
            table.as_seen()
        assert [describe(record) for record in caplog.records if record.exc_info] == [
            f"table failed and is closed: table={table.code}"
        ]


async def test_a_new_table_that_fails_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with memory_server() as server, connected(server.port) as opener:
        with monkeypatch.context() as patch:
            patch.setattr("server.tables.seats.seat_admission.sit", FAILING)
            assert await opener.refusal(messages.OpenTable, 2, "Anna") == Code.TABLE_CLOSED
        assert not server.lobby.tables
        await opener.open(2)


async def test_one_failing_task(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log names the task; the next round of the lobby is told, and games go on."""
    monkeypatch.setattr("server.monitoring.failures._SECONDS_BEFORE_RESTART", 0)

    async with (
        running(Config(timers=FastClock)) as server,
        game(server.port, 2) as peers,
        connected(server.port) as listener,
    ):
        with monkeypatch.context() as patch:
            patch.setattr(LobbyChat, "_list_people", FAILING)
            await listener.ask(messages.EnterLobby, "Carla")
            await eventually(lambda: "a task failed" in caplog.text)
        await listener.ask(messages.EnterLobby, "Clara")
        await listener.until(messages.Online)
        await play_on(peers, random.Random(1), moves=3)
    failed = [describe(each) for each in caplog.records if each.exc_info and "task" in each.getMessage()]
    assert set(failed) == {'a task failed: task="telling the lobby"'}


async def test_work_that_the_server_cannot_do_without_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.monitoring.failures._SECONDS_BEFORE_RESTART", 0)
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


async def test_a_table_that_is_lost_while_a_request_is_stored_has_not_failed(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All who are at it, and whoever comes just then, are sent on."""
    async with memory_server() as server, game(server.port, 2) as peers, full_table(server.port, 3) as others:
        await others[2].done(messages.Leave)
        journal = server.lobby.journal
        append = journal.append

        async def lost(code: str, *entries: Any) -> None:
            await append(code, *entries)
            server.lobby.tables[code].give_up()

        monkeypatch.setattr(journal, "append", lost)
        await peers[0].send(peers[0].random_move(random.Random(1)))
        await others[2].send(messages.JoinTable(others[2].next_id(), others[0].code, "Bruno"))
        for peer in (*peers, *others):
            assert (await peer.closed())[0] == CloseCode.SERVICE_RESTART
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_player_who_leaves_a_failing_table_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """A player who joins a failing table is answered too, and is in the lobby afterwards."""

    async with memory_server() as server, game(server.port, 2) as peers, connected(server.port) as newcomer:
        seated = await newcomer.open(2)
        with monkeypatch.context() as patch:
            patch.setattr("server.tables.context.TableContext.table_state", FAILING)
            assert await peers[0].refusal(messages.Leave) == Code.TABLE_CLOSED
            patch.setattr("server.tables.seats.seat_admission.check_name", FAILING)
            asking = messages.JoinTable(peers[0].next_id(), seated.table, "Anna")
            assert await peers[0].refusal(asking) == Code.TABLE_CLOSED
        await peers[0].open(2)


ENTRIES: list[Entry] = [Opened(2, random_layout=True, starting=None), Taken(0, "Anna", "0" * 64)]


class Unfit(Table):
    """A table that fails with a state that nobody has thought of, when it has begun."""

    def summary(self) -> Any:
        if self.code == "ODDS":
            self._context.deadlines.set(Due.UNATTENDED, 0)
            raise ZeroDivisionError("Em*")
        return super().summary()


@pytest.fixture
def unfit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table_registry, "Table", Unfit)


async def refusal(port: int, code: str) -> str:
    """Return why somebody cannot join a table."""
    async with connected(port) as peer:
        return await peer.refusal(messages.JoinTable(1, code, "Bruno"))


@pytest.mark.usefixtures("unfit")
async def test_a_start_sets_aside_what_cannot_go_on(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    journal = SqliteJournal(tmp_path)
    for code in ("WELL", "ODDS", "FINE"):
        await journal.append(code, 0, ENTRIES)
    await journal.close()
    async with running(Config(data=tmp_path)) as server:
        assert sorted(server.lobby.tables) == ["FINE", "WELL"]
        assert await refusal(server.port, "ODDS") == Code.TABLE_DAMAGED
    log = logged(caplog)
    assert 'aside: table=ODDS entries=2 reason="it cannot go on: ZeroDivisionError"' in log
    assert "Em*" not in log


@pytest.mark.usefixtures("unfit")
async def test_a_server_sets_aside_what_it_takes_up_and_cannot_go_on(database: str) -> None:
    async with cluster(database, "one") as (one,):
        async with journal_at(database, "gone") as journal:
            for code in ("WELL", "ODDS", "FINE"):
                await journal.append(code, 0, ENTRIES)
            await rows(database, "INSERT INTO game_table (code) VALUES ('NONE') RETURNING code")
        await eventually(lambda: sorted(one.lobby.tables) == ["FINE", "WELL"])
        await eventually(lambda: {"NONE", "ODDS"} <= set(one.lobby.journal.codes_set_aside))
        assert [await refusal(one.port, code) for code in ("ODDS", "NONE")] == [Code.TABLE_DAMAGED] * 2


async def lose_the_lease_after(
    patch: pytest.MonkeyPatch, journal: PostgresJournal, owner: object, name: str
) -> None:
    """Let the lease be lost once, just when something has been done."""
    work: Callable[..., Any] = getattr(owner, name)

    async def done(*args: Any) -> Any:
        result = await work(*args)
        patch.undo()
        journal._lease._give_up()
        return result

    patch.setattr(owner, name, done)


async def test_a_table_opened_when_the_lease_is_lost(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody learns of it, and it goes on where it is taken up: here, under the next lease."""
    async with cluster(database, "one") as (one,), connected(one.port) as peer:
        journal = one.lobby.journal
        assert isinstance(journal, PostgresJournal)
        await lose_the_lease_after(monkeypatch, journal, journal, "append_together")
        await peer.send(messages.OpenTable(1, 2, "Anna"))
        assert (await peer.closed())[0] == CloseCode.SERVICE_RESTART
        await eventually(lambda: bool(one.lobby.tables))
        assert all(journal.holds(code) for code in one.lobby.tables)


async def test_a_table_taken_up_when_the_lease_is_lost(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is taken up again, by whoever comes first."""
    async with cluster(database, "one") as (one,):
        journal = one.lobby.journal
        assert isinstance(journal, PostgresJournal)
        begun: list[str] = []

        def noted(context: TableContext) -> Table:
            assert journal.holds(context.code)
            begun.append(context.code)
            return Table(context)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(table_registry, "Table", noted)
            await lose_the_lease_after(monkeypatch, journal, table_registry, "fold_or_set_aside")
            async with journal_at(database, "gone") as gone:
                await gone.append("ONCE", 0, ENTRIES)
            await eventually(lambda: list(one.lobby.tables) == ["ONCE"])
            await asyncio.sleep(0)
        assert begun == ["ONCE"]


async def cancelled_while_stored(server: Running, work: Awaitable[object]) -> None:
    """Cancel `work` in the middle of a commit, twice, and wait until it has ended."""
    stored = threading.Event()
    journal_of(server)._thread.submit(stored.wait)
    try:
        task = asyncio.ensure_future(work)
        await eventually(lambda: journal_of(server)._queue._at_work is not None)
        for _ in range(2):
            task.cancel()
            await asyncio.sleep(0)
    finally:
        stored.set()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_move_that_is_stored_is_played(tmp_path: Path) -> None:
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


async def let_all_tasks_run() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_urgent_work_comes_first_and_all_other_in_order() -> None:
    lock, order = PriorityLock(), list[str]()

    async def work(name: str) -> None:
        await lock.acquire(urgent=name.isupper())
        order.append(name)
        await asyncio.sleep(0)
        lock.release()

    await lock.acquire()
    async with asyncio.TaskGroup() as tasks:
        for name in "abXcY":
            tasks.create_task(work(name))
        await let_all_tasks_run()
        assert (order, len(lock)) == ([], 5)
        lock.release()
    assert "".join(order) == "XYabc"


async def test_the_lock_is_not_lost_with_a_cancelled_task() -> None:
    lock = PriorityLock()
    await lock.acquire()
    early, late, last = (asyncio.create_task(lock.acquire()) for _ in range(3))
    await let_all_tasks_run()
    early.cancel()
    await let_all_tasks_run()
    assert len(lock) == 2
    lock.release()
    late.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await late
    await asyncio.wait_for(last, TIMEOUT)
    lock.release()
    await asyncio.wait_for(lock.acquire(), TIMEOUT)


STEPS = ["decide", "store", "tell"]


async def test_every_move_is_traced_step_by_step() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        with traces() as found:
            await play_on(peers, random.Random(1), moves=2)
            await peers[0].done(ChangeSetting, Private(on=True))
            await play_on(peers, random.Random(1), moves=1)
        await play_on(peers, random.Random(1), moves=1)  # which nobody asks for
    moves = found.moves()
    assert [[step.name for step in steps] for _, steps in moves] == [STEPS] * 3
    named, private = {"palatinus.table": peers[0].code}, {"palatinus.move": "PlacePiece"}
    assert [dict(move.attributes or {}) for move, _ in moves] == [private | named] * 2 + [private]
    assert not any(step.attributes for _, steps in moves for step in steps)
    assert len({move.context.trace_id for move, _ in moves}) == 3


async def test_of_a_refusal_only_its_kind_is_traced(tmp_path: Path) -> None:
    """Its text may name what only the mover may know; that nothing can be stored is an error."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        mover = peer_on_turn(peers)
        assert mover is not None
        with traces() as found:
            await mover.refused(Lay, 1, 0)
            with full_disk(server):
                await mover.refused(mover.random_move(random.Random(1)))
    unset, failed = (str(code) for code in (StatusCode.UNSET, StatusCode.ERROR))
    assert found.lines() == [
        f"move, palatinus.move='Lay', {unset}, None",
        f"decide, error.type='IllegalCommand', {unset}, None",
        f"move, error.type='NotStored', palatinus.move='PlacePiece', {failed}, None",
        f"decide, {unset}, None",
        f"store, error.type='NotStored', {failed}, None",
    ]


async def test_a_move_of_the_stand_in_is_a_trace_of_its_own() -> None:
    """Though it is set for a time during the move before."""
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 2, absence=MoveClock(60)) as peers:
        with traces() as found:
            await play_on(peers, random.Random(1), moves=1)
            clock.advance(60)
            await eventually(lambda: len(found.moves()) >= 2)
    moves = [dict(move.attributes or {})["palatinus.move"] for move, _ in found.moves()]
    assert moves[:2] == ["PlacePiece", "StandIn"]


def test_nothing_is_loaded_unasked(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """Nothing of OpenTelemetry; and if it is asked for but is not there, the log says so."""
    for name in [name for name in sys.modules if name.startswith("opentelemetry")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with traced_as_asked("node"), move_span("Lay", "ABCD"), span("decide"):
        assert not caplog.records
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    with traced_as_asked("node"), move_span("Lay", "ABCD"):
        pass
    assert [record.getMessage() for record in caplog.records] == ["traces are not sent"]
    assert "palatinus[traces]" in str(vars(caplog.records[0]))


def test_where_traces_are_sent(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    """As OpenTelemetry's own variables have it; what is left is sent at the end, however long that takes."""
    sent: list[str] = []
    sending, answering = threading.Event(), threading.Event()

    def export(_exporter: ConsoleSpanExporter, spans: list[ReadableSpan]) -> None:
        sent.extend(f"{each.name} {each.resource.attributes['service.instance.id']!r}" for each in spans)
        sending.set()
        answering.wait()

    monkeypatch.setattr(ConsoleSpanExporter, "export", export)
    monkeypatch.setattr(tracing, "_SECONDS_TO_SEND", 0.2)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    try:
        with traced_as_asked("first"), move_span("Lay", "ABCD"), span("decide"):
            pass
        assert sending.wait(TIMEOUT)
        assert sent == ["decide 'first'", "move 'first'"]
    finally:
        answering.set()
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    with traced_as_asked("first"), move_span("Lay", "ABCD"):
        pass
    assert len(sent) == 2
    monkeypatch.setenv("OTEL_SDK_DISABLED", "")
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "nowhere")
    caplog.set_level(logging.WARNING)
    with traced_as_asked("first"), move_span("Lay", "ABCD"):
        pass
    assert "there is no exporter 'nowhere'" in str(vars(caplog.records[-1]))


log = logging.getLogger("server.somewhere")
pytestmark = pytest.mark.usefixtures("restored_logging")


def log_lines(*, as_json: bool, verbose: bool = True) -> list[str]:
    out = io.StringIO()
    log_to(out, verbose=verbose, as_json=as_json)
    log.info("took seat", extra=about(table="KXQT", seat=2, address="192.0.2.1:4711"))
    log.error("sent away", extra=about(reason='a "very"\n\x1b[31mred line'))
    hand: dict[str, int] = {}
    try:
        hand["Em*"]
    except KeyError:
        log.exception("table failed and is closed", extra=about(table="KXQT"))
    try:
        Path("/nowhere").read_bytes()
    except OSError:
        log.exception("not read")
    return out.getvalue().splitlines()


def test_each_event_is_one_line_of_text() -> None:
    """A traceback is shortened to the error and its origin; only errors of the system keep their text."""
    took_seat, sent_away, failed, not_read = (line.partition(" ")[2] for line in log_lines(as_json=False))
    assert took_seat == "INFO took seat: table=KXQT seat=2 address=192.0.2.1:4711"
    assert sent_away == 'ERROR sent away: reason="a \\"very\\"\\n\\u001b[31mred line"'
    assert re.fullmatch(r"ERROR table failed and is closed: table=KXQT  KeyError at log_lines:\d+", failed)
    assert "FileNotFoundError: [Errno 2] No such file or directory: '/nowhere' at " in not_read


def test_each_event_is_one_json_object() -> None:
    took_seat, sent_away, failed, _ = (json.loads(line) for line in log_lines(as_json=True))
    assert datetime.fromisoformat(took_seat.pop("time")).tzinfo is not None
    facts = {"table": "KXQT", "seat": 2, "address": "192.0.2.1:4711"}
    assert took_seat == {"level": "info", "logger": "server.somewhere", "event": "took seat"} | facts
    assert sent_away["reason"] == 'a "very"\n\x1b[31mred line'
    assert failed["error"].startswith("KeyError at log_lines:")
    told = [json.loads(line)["event"] for line in log_lines(as_json=True, verbose=False)]
    assert told == ["sent away", "table failed and is closed", "not read"]
