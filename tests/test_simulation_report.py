"""What a simulation says of a failure: where it was, what came before it, and what it does not need."""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
import pytest
from websockets.frames import Frame, Opcode

from engine.pieces import Seat
from protocol.codec import encode
from protocol.messages import Said, Say, Seated, SeatSummary, TableState
from simulation import running
from simulation.disturbing import Excuses
from simulation.judging.wire_checks import check_chat
from simulation.machine.loop import EPOCH
from simulation.plan import Choice, parts_of, plan_of
from simulation.report import excerpts, in_words, report
from simulation.running import shrink
from simulation.server import LogLine
from simulation.trace import Event, Trace
from simulation.verdict import Finding, Outcome, Verdict
from simulation.wiretap import Heard, Wiretap

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the simulation needs Linux")
ROOT = Path(__file__).parents[1]
SEAT = Seat(0)


def event(
    at: float, kind: str, what: msgspec.Struct | str, connection: int = 1, table: str = "ROMA"
) -> Event:
    return Event(at, "server", kind, what, connection, table, SEAT)


def lines_before(finding: Finding, events: list[Event]) -> str:
    (excerpt,) = excerpts(Verdict(doubled=[finding]), events)
    return "\n".join(excerpt.lines)


def test_both_sides_of_a_failure_are_shown_in_one_list() -> None:
    """With what was done to the server, and without other tables and what was long before."""
    events = [
        event(9.0, "client", Say(1, "too early")),
        event(60.0, "client", Say(2, "elsewhere"), 2, "ALBA"),
        event(61.0, "client", Say(3, "twice")),
        event(61.0, "server", Said("twice", number=1)),
        Event(62.0, "server", "fault", "fault 0 begins: kill"),
        Event(63.0, "server", "network", "ended by the server", 1),
        Event(63.0, "server", "network", "ended by the server", 2),
        Event(64.0, "server", "log", "12:00:00 INFO of no interest"),
        Event(64.0, "server", "log", "12:00:00 WARNING it hurts"),
        event(65.0, "server", Said("twice", number=2)),
        event(65.1, "server", Said("too late", number=3)),
    ]
    said = lines_before(Finding("twice", "ROMA", EPOCH + 65, 1, EPOCH + 61), events)
    parts = ["say id=3", "said text='twice' number=1", "kill", "#1", "it hurts", "said text='twice' number=2"]
    assert re.search(".*".join(map(re.escape, parts)), said, re.DOTALL)
    assert [line.split()[0] for line in said.splitlines()].count("=>") == 3
    assert not re.search("too early|elsewhere|#2|no interest|too late", said)


def test_what_a_finding_is_compared_with_is_shown_however_long_ago() -> None:
    events = [event(float(at), "client", Say(at, f"remark {at}")) for at in range(200)]
    said = lines_before(Finding("twice", "ROMA", EPOCH + 190, 1, EPOCH + 20), events)
    assert "remark 20" in said
    assert "remark 190" in said
    assert "remark 100" not in said


def test_nothing_after_a_finding_is_shown() -> None:
    """Even if what it is compared with was just before."""
    events = [event(at / 10, "client", Say(at, f"remark {at}")) for at in range(30)]
    said = lines_before(Finding("twice", "ROMA", EPOCH + 2, 1, EPOCH + 1.8), events)
    assert "remark 20" in said
    assert "remark 21" not in said


def test_a_long_list_is_cut_in_the_middle() -> None:
    """But not where the finding is."""
    events = [event(at / 100, "client", Say(at, f"remark {at}")) for at in range(500)]
    said = lines_before(Finding("twice", "ROMA", EPOCH + 4.99, 1, EPOCH + 2), events)
    shown = set(map(int, re.findall(r"remark (\d+)", said)))
    assert {0, 200, 499} <= shown
    assert len(shown) + sum(map(int, re.findall(r"(\d+) lines left out", said))) == 500
    assert len(shown) < 60


def test_a_finding_without_a_time_is_shown_with_the_last_of_its_table() -> None:
    events = [
        event(1.0, "client", Say(1, "the last")),
        event(90.0, "client", Say(2, "another"), 2, "ALBA"),
        Event(99.0, "server", "fault", "fault 0 begins: kill"),
    ]
    said = lines_before(Finding("no game in the journal", "ROMA"), events)
    assert "the last" in said
    assert "another" not in said


def test_of_a_tables_state_what_has_changed_is_shown() -> None:
    """To each connection by itself; what several are sent at one moment is one line."""
    seats = [SeatSummary("Anna", here=True), SeatSummary("Ben")]
    before = TableState("ROMA", "gathering", seats, 0, random_layout=True)
    after = msgspec.structs.replace(before, stage="playing")
    events = [
        event(at, "server", state, each) for at, state in ((1.0, before), (2.0, after)) for each in (1, 2)
    ]
    first, second = in_words(events)
    assert "#1 seat 0, #2 seat 0" in first
    assert "seats.0.name='Anna'" in first
    assert second.endswith("table stage='playing'")


def test_the_earliest_kind_of_finding_comes_first() -> None:
    verdict = Verdict(
        lost=[Finding("b", at=EPOCH + 2), Finding("c", at=EPOCH + 1.5)], stolen=[Finding("a", at=EPOCH)]
    )
    outcome = Outcome(verdict, excerpts=excerpts(verdict, []))
    said = "\n".join(report(Choice(1), outcome))
    assert re.search("stolen: 0.000 s: a\n.*lost: 1.500 s: c\n.*1 more", said, re.DOTALL)


def test_a_remark_that_comes_twice_is_found_with_both_times() -> None:
    """On two connections of the same seat."""
    taps = [Wiretap(1, number=number) for number in (7, 8)]
    for tap in taps:
        told = Seated(1, "ROMA", SEAT), Said("Ave", seat=1)
        tap.heard += [Heard("ROMA", SEAT, b"", each, 10.0 * tap.number, 0) for each in told]
    verdict = Verdict()
    check_chat("ROMA", taps, taps, verdict, archives=False)
    assert verdict.doubled == [Finding("seat 0 was sent 'Ave' 2 times", "ROMA", 80.0, 8, 70.0)]


def test_messages_of_clients_are_decoded_though_they_are_masked() -> None:
    trace = Trace()
    tap = Wiretap(1, "node1", 7, trace.note)
    frame = Frame(Opcode.BINARY, encode(Say(5, "Ave"))).serialize(mask=True)
    assert b"Ave" not in frame
    tap.feed_request(b"GET / HTTP/1.1\r\n\r\n" + frame)
    assert [(each.node, each.kind, each.connection, each.what) for each in trace.events] == [
        ("node1", "client", 7, Say(5, "Ave"))
    ]


def test_a_trace_is_lines_of_json(tmp_path: Path) -> None:
    with (tmp_path / "trace").open("w+") as file:
        trace = Trace(file)
        trace.now = lambda: 1.5
        trace.note("node1", "client", Say(5, "Ave"), connection=7, table="ROMA", seat=SEAT)
        trace.note("node1", "fault", "fault 0 begins: kill")
        file.seek(0)
        assert list(map(json.loads, file)) == [
            {
                "time": 1.5,
                "node": "node1",
                "connection": 7,
                "table": "ROMA",
                "seat": 0,
                "sender": "client",
                "message": {"t": "say", "id": 5, "text": "Ave"},
            },
            {"time": 1.5, "node": "node1", "fault": "fault 0 begins: kill"},
        ]


def test_a_failure_is_shrunk_to_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Games and people go as well as faults, and what has come of the smaller simulation is returned."""
    tried = []

    def live(choices: Iterable[Choice], _jobs: int) -> Iterator[tuple[Choice, Outcome]]:
        for choice in choices:
            tried.append(choice)
            lost = not {"game1", "fault2"} & choice.without
            verdict = Verdict(lost=[Finding("it is gone")] if lost else [], different=[Finding("another")])
            yield choice, Outcome(verdict, digest=str(choice))

    monkeypatch.setattr(running, "outcomes", live)
    choice = next(each for each in map(Choice, range(100)) if len(plan_of(each).faults) > 4)
    failed = Outcome(Verdict(lost=[Finding("it is gone")]), Counter(faults=8))
    small, outcome = shrink(choice, failed, 2)
    assert outcome.digest == str(small)
    assert parts_of(plan_of(small), 8) == ["game1", "fault2"]
    assert small.calm
    assert "game0" in small.command()
    assert "bots0" not in small.command()
    assert len(tried) < 100


def test_a_log_is_excused_until_a_while_after_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """For the server that it happens to, and for what it can lead to."""
    now = 100.0
    monkeypatch.setattr("simulation.disturbing.time.time", lambda: now)
    excuses = Excuses()
    with excuses.excuse("node1", re.compile("disk")):
        assert excuses.explain("node1", LogLine(500.0, "the disk is full"))
        now = 1000.0
    for server, at, text, explained in (
        ("node1", 99.0, "the disk is full", False),
        ("node1", 1001.0, "the disk is full", True),
        ("node1", 2000.0, "the disk is full", False),
        ("node1", 500.0, "the lease is lost", False),
        ("node2", 500.0, "the disk is full", False),
    ):
        assert excuses.explain(server, LogLine(at, text)) == explained, (server, at, text)


# The limit falls due once the circle is reached: how long that takes depends on the machine.
_RUNS_IN_A_CIRCLE = """
import signal
import sys
from simulation import running
from simulation.__main__ import main
from simulation.people.players import SimulatedPlayer

def think(*_):
    running._SECONDS_BETWEEN_LOOKS = 0.004
    signal.setitimer(signal.ITIMER_PROF, 0.001)
    while True:
        sum(range(1000))

SimulatedPlayer._may_start = think
sys.exit(main())
"""


@pytest.mark.slow
def test_what_runs_in_a_circle_is_reported(tmp_path: Path) -> None:
    """With an exit status of its own; the trace has what happened before."""
    trace = tmp_path / "trace"
    options = ["--first", "5", "--seeds", "1", "--shrink", "--trace", str(trace)]
    done = subprocess.run(
        [sys.executable, "-c", _RUNS_IN_A_CIRCLE, *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3, done.stdout + done.stderr
    assert re.search(
        r"100 times, people: task \w+\._play_seat\n.*in think\n.*last that happened:", done.stdout, re.DOTALL
    )
    assert json.loads(trace.read_text(encoding="utf-8").splitlines()[-1])["time"] > 0.1
