"""The short form of `python -m bench.chaos`: docs/testing.md tells of the long one."""

import asyncio
import io
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from bench.chaos.broken_server import broken_main
from bench.chaos.progress import Progress
from bench.chaos.proof import games_until_noticed
from bench.chaos.round import Round
from bench.chaos.servers import server_process
from bench.chaos.servers.power_cut import compiler
from bench.chaos.stopping import Stop
from engine.pieces import Seat
from protocol.absence import WAIT, ByBot
from protocol.messages import Done, PlacePiece, Refused, ServerMessage
from server.storage.entries import Played
from simulation.broken.mistakes import MISTAKES
from simulation.judging.answers import check_answers
from simulation.people.plan import Disturbance, Plan
from simulation.verdict import Verdict
from simulation.wiretap import Asked, Heard, Wiretap
from tests.program import Program, started_with_log

LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="fills the disk of another process")
POWER_CUTS = pytest.mark.skipif(compiler() is None, reason="power cuts need Linux and a C compiler")
QUICK: dict[str, Any] = {"longest_hold": 0.2, "policies": (WAIT, ByBot(0)), "patience": 60.0}
SEAT = Seat(1)
QUIET: dict[str, Any] = {"lively": 0.0, "with_bots": 0.0, "operated": False}  # bots take a second for a move


@pytest.fixture(autouse=True)
def forked_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fork the servers, unless they have to be started from nothing."""
    start = server_process.started

    async def started(
        words: Sequence[str], log: Path, environment: Mapping[str, str], broken: str | None
    ) -> Program:
        if "LD_PRELOAD" in environment:
            forked = None
        elif broken is None:
            forked = await started_with_log(words, log, environment)
        else:
            forked = await started_with_log((broken, *words), log, environment, broken_main)
        return forked or await start(words, log, environment, broken)

    monkeypatch.setattr(server_process, "started", started)


@pytest.mark.parametrize(
    ("seed", "plan"),
    [
        pytest.param("plain", {"pauses": 1, "played_again": 0.5, "lively": 1.0}, id="plain, lively"),
        pytest.param("disk", QUIET | {"full_disks": 2}, id="full disk", marks=[LINUX, pytest.mark.slow]),
        pytest.param(
            "power",
            QUIET | {"durable": True, "power_cuts": True},
            id="power cuts",
            marks=[POWER_CUTS, pytest.mark.slow],
        ),
        pytest.param(
            "left",
            QUIET | {"tls": True, "most_tables": 2, "policies": (WAIT,)},
            id="archive, over TLS",
            marks=pytest.mark.slow,
        ),
    ],
)
async def test_games_on_a_bad_network_and_a_killed_server_are_the_ones_that_everybody_saw(
    seed: str, plan: dict[str, Any], tmp_path: Path
) -> None:
    """Nothing is lost, doubled, invented or leaked, and every game ends."""
    played = Round(Plan(seed=seed, games=2, kills=2, tables=2, **QUICK | plan), tmp_path)
    await played.run()
    assert not played.verdict, played.verdict.kinds()
    assert played.counts["games"] >= 2
    assert played.counts["kills"] == 2
    assert played.counts["cuts"] > 0
    assert played.counts["gaps sent"] > 0
    assert played.counts["full disks"] == plan.get("full_disks", 0)


@LINUX
@pytest.mark.slow
async def test_games_over_two_nodes_are_the_ones_that_everybody_saw(tmp_path: Path) -> None:
    """While one sleeps past its lease, one is killed, and the database is."""
    faults = (Disturbance.SLEEP, Disturbance.CRASH)
    plan = QUICK | QUIET | {"policies": (WAIT,), "played_again": 0.0}
    played = Round(Plan(seed="nodes", games=2, kills=2, tables=2, nodes=2, faults=faults, **plan), tmp_path)
    await played.run()
    assert not played.verdict, played.verdict.kinds()
    assert played.counts["games"] >= 2
    assert played.disturbances == 4
    assert played.counts["tables that went to another node"] > 0


@pytest.mark.parametrize(
    "name",
    [
        "any-token",
        pytest.param("seed-shown", marks=pytest.mark.slow),
        pytest.param("legal-moves-shown", marks=pytest.mark.slow),
        pytest.param("synchronous-off", marks=[POWER_CUTS, pytest.mark.slow]),
    ],
)
async def test_chaos_notices_a_broken_server(name: str) -> None:
    """Some of the mistakes here; `python -m bench.chaos --broken all` tries all of them."""
    few = QUICK | {"games": 2, "tables": 2, "policies": (WAIT,), "played_again": 0.0, "patience": 5.0}
    _, noticed = await games_until_noticed(name, "suite", **few)
    assert noticed


@pytest.mark.parametrize(
    ("stored", "answer", "found"),
    [
        (1, Done(7), set()),
        (0, Done(7), {"lost"}),
        (0, Refused("not-stored", "", 7), set()),
        (1, Refused("not-stored", "", 7), {"invented"}),
        (1, Refused("not-at-a-table", "", 7), set()),
        (2, Done(7), {"doubled"}),
    ],
)
def test_what_a_mover_was_told_is_compared_with_the_journal(
    stored: int, answer: ServerMessage, found: set[str]
) -> None:
    """A refusal says that the move was not made, unless the mover has no seat any more."""
    move = PlacePiece(7, "Em", "A1")
    tap = Wiretap(1)
    tap.asked.append(Asked(move, 0, 0.0, "ROMA", SEAT))
    tap.heard.append(Heard("ROMA", SEAT, b"", answer, 0.0, 0))
    verdict = Verdict()
    check_answers("ROMA", [Played(SEAT, move, [])] * stored, [tap], verdict)
    assert {kind for kind, cases in verdict.kinds().items() if cases} == found


def test_a_refusal_on_a_connection_that_is_lost_may_be_followed_by_the_move() -> None:
    """The client has sent it again, and has not heard that it was refused."""
    move = PlacePiece(7, "Em", "A1")
    before, after = Wiretap(1), Wiretap(1)
    for time, tap in enumerate((before, after)):
        tap.asked.append(Asked(move, 0, float(time), "ROMA", SEAT))
    refused = Heard("ROMA", SEAT, b"", Refused("not-stored", "", 7), 0.5, 0)
    before.heard.append(refused)
    verdict = Verdict()
    check_answers("ROMA", [Played(SEAT, move, [])], [before, after], verdict)
    assert not verdict
    after.heard.append(refused)
    check_answers("ROMA", [Played(SEAT, move, [])], [before, after], verdict)
    assert verdict.invented


@pytest.mark.parametrize(("table", "seat"), [("ROMA", Seat(2)), ("ROMA", None), ("ALBA", Seat(1))])
def test_a_stored_move_was_sent_by_its_seat(table: str, seat: Seat | None) -> None:
    """And not by another one, a spectator, or at another table."""
    move = PlacePiece(7, "Em", "A1")
    tap = Wiretap(1)
    tap.asked.append(Asked(move, 0, 0.0, table, seat))
    verdict = Verdict()
    check_answers("ROMA", [Played(SEAT, move, [])], [tap], verdict)
    assert verdict.kinds().pop("invented")


def test_what_is_no_message_is_found() -> None:
    """Whatever the server sends is judged, or said to be no message."""
    tap = Wiretap(1)
    tap.feed(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + b"\x82\x02{}" + b"\x81\x02{}")
    assert len(tap.damaged) == 2
    assert not tap.heard
    page = Wiretap(1)
    page.feed(b"HTTP/1.1 426 Upgrade Required\r\n\r\n\x82\x02{}")
    assert not page.damaged


@pytest.mark.skipif(sys.platform == "win32", reason="its loops take no signals")
async def test_the_first_signal_asks_for_an_orderly_end_and_the_second_ends_it_at_once() -> None:
    asked = asyncio.Event()

    async def run() -> None:
        stop = Stop()
        with stop.by_signals(), stop.calling(asked.set):
            signal.raise_signal(signal.SIGTERM)
            await asked.wait()
            signal.raise_signal(signal.SIGTERM)
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    await asyncio.wait((running,))
    assert asked.is_set()
    assert running.cancelled()


def test_progress_tells_what_is_done_of_all_rounds() -> None:
    plans = [Plan(f"round {number}", games=2, kills=2, tables=2) for number in range(3)]
    progress, told = Progress(plans, out := io.StringIO()), Counter({"games": 3, "kills": 2, "moves": 99})
    progress.round_begins(2, told, Counter({"games": 1, "kills": 1}))
    progress.say(progress.line())
    assert out.getvalue() == "0:00  round 2 of 3, 4 games (6 planned), 3 of 6 faults, 99 moves\n"


def test_every_mistake_can_be_made() -> None:
    """What the mistakes replace is still there."""
    make = "from simulation.broken.mistakes import MISTAKES as m\nfor each in m.values(): each.make()"
    done = subprocess.run([sys.executable, "-c", make], cwd=Path(__file__).parents[1], check=False)
    assert done.returncode == 0
    assert len(MISTAKES) >= 12
