"""Traces of moves: what each step took, and nothing that is hidden."""

import logging
import random
import sys
import threading
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from opentelemetry.trace import StatusCode

from protocol.absence import MoveClock
from protocol.messages import ChangeSetting, Lay
from protocol.settings import Private
from server.app import running
from server.config import Config
from server.monitoring import tracing
from server.monitoring.tracing import move_span, span, traced_as_asked
from tests.server.manual_clock import ManualClock
from tests.server.monitoring.traces import traces
from tests.server.peer import eventually, game, memory_server, peer_on_turn, play_on
from tests.server.storage.test_journal import full_disk
from tests.server.tables.hosted import served

STEPS = ["decide", "store", "tell"]


async def test_every_move_is_traced_step_by_step() -> None:
    """Each in a trace of its own, with the table's code unless it is private."""
    async with memory_server() as server, game(server.port, 2) as peers:
        with traces() as found:
            await play_on(peers, random.Random(1), moves=2)
            await peers[0].done(ChangeSetting, Private(on=True))
            await play_on(peers, random.Random(1), moves=1)
        await play_on(peers, random.Random(1), moves=1)  # which nobody asks for
    moves = found.moves()
    assert [[step.name for step in steps] for _, steps in moves] == [STEPS] * 3
    assert [dict(move.attributes or {}) for move, _ in moves] == [
        {"palatinus.move": "PlacePiece", "palatinus.table": peers[0].code},
        {"palatinus.move": "PlacePiece", "palatinus.table": peers[0].code},
        {"palatinus.move": "PlacePiece"},
    ]
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
    assert [dict(move.attributes or {})["palatinus.move"] for move, _ in found.moves()][:2] == [
        "PlacePiece",
        "StandIn",
    ]


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
    answering = threading.Event()

    def export(_exporter: ConsoleSpanExporter, spans: list[ReadableSpan]) -> None:
        sent.extend(f"{each.name} {each.resource.attributes['service.instance.id']!r}" for each in spans)
        answering.wait()

    monkeypatch.setattr(ConsoleSpanExporter, "export", export)
    monkeypatch.setattr(tracing, "_SECONDS_TO_SEND", 0.2)
    monkeypatch.setenv("OTEL_TRACES_EXPORTER", "console")
    try:
        with traced_as_asked("first"), move_span("Lay", "ABCD"), span("decide"):
            pass
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
