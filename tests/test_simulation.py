"""The short form of `python -m simulation`: docs/testing.md tells of the long one."""

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from engine.pieces import Seat
from protocol.messages import Ask, Done, PlacePiece, Refused, ServerMessage, TableState
from server.storage.entries import Answered, Played, Taken, TookBack
from simulation.judging.protocol_model import check_granted
from simulation.judging.wire_checks import check_answers, check_requests
from simulation.people.plan import games
from simulation.plan import Choice, parts_of, plan_of
from simulation.verdict import Verdict
from simulation.wiretap import Heard, TappedMessage, Wiretap

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the simulation needs Linux")
# Each simulation has a limit of its own, of CPU time; the machine may be as busy as it likes.
ROOT = Path(__file__).parents[1]
SEAT = Seat(1)


def simulate(*options: str, hash_seed: str = "0") -> subprocess.CompletedProcess[str]:
    """Run it in a process of its own: it forks, and this one has threads."""
    return subprocess.run(
        [sys.executable, "-m", "simulation", *options],
        cwd=ROOT,
        env=os.environ | {"PYTHONHASHSEED": hash_seed},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "nodes"), [("3", "3"), ("901237", "1")])
def test_a_seed_is_the_same_simulation_byte_for_byte_in_every_process(
    tmp_path: Path, seed: str, nodes: str
) -> None:
    """Whatever the order of sets, and the addresses of objects; nothing fails: faults that overlap end."""
    traces = []
    for hash_seed in ("1", "2"):
        file = tmp_path / hash_seed
        options = ["--first", seed, "--nodes", nodes, "--seeds", "1", "--trace", str(file)]
        done = simulate(*options, hash_seed=hash_seed)
        assert done.returncode == 0, done.stdout
        traces.append(file.read_bytes())
    assert traces[0] == traces[1]
    assert traces[0].count(b"\n") > 1000


@pytest.mark.slow
def test_an_evening_goes_on_after_a_kill() -> None:
    """Everybody who has signed up has one result for each round, and nobody sits at two tables."""
    done = simulate("--first", "300", "--seeds", "1")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^moves of the evening +[1-9]", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_games_over_days_keep_their_clocks_through_restarts() -> None:
    """No move is made for a player too early, nor later than restarts can delay it; all are called once."""
    done = simulate("--first", "1", "--seeds", "2", "--letters")
    assert done.returncode == 0, done.stdout
    for count in ("turns timed", "turns with a notice", "planned moves made"):
        assert re.search(rf"^{count} +[1-9]", done.stdout, re.MULTILINE), count


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "first"),
    [
        ("told-before-stored", 1),
        ("synchronous-off", 1),
        ("commits-not-fenced", 4),  # needs a silence at an odd moment, as few seeds have
        ("own-tables-given-up", 1),
    ],
)
def test_the_simulation_finds_a_broken_server(name: str, first: int) -> None:
    """Some of the mistakes here; `python -m simulation --broken all` tries all of them."""
    done = simulate("--first", str(first), "--broken", name)
    assert done.returncode == 0, done.stdout


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
    tap.asked.append(TappedMessage(move, 0, 0.0, "ROMA", SEAT))
    tap.heard.append(Heard("ROMA", SEAT, b"", answer, 0.0, 0))
    verdict = Verdict()
    check_answers("ROMA", [Played(SEAT, move, [])] * stored, [tap], verdict)
    assert {kind for kind, cases in verdict.kinds().items() if cases} == found


def test_a_refusal_on_a_connection_that_is_lost_may_be_followed_by_the_move() -> None:
    """The client has sent it again, and has not heard that it was refused."""
    move = PlacePiece(7, "Em", "A1")
    before, after = Wiretap(1), Wiretap(1)
    for time, tap in enumerate((before, after)):
        tap.asked.append(TappedMessage(move, 0, float(time), "ROMA", SEAT))
    refused = Heard("ROMA", SEAT, b"", Refused("not-stored", "", 7), 0.5, 0)
    before.heard.append(refused)
    verdict = Verdict()
    check_answers("ROMA", [Played(SEAT, move, [])], [before, after], verdict)
    assert not verdict
    after.heard.append(refused)
    check_answers("ROMA", [Played(SEAT, move, [])], [before, after], verdict)
    assert verdict.invented


@pytest.mark.parametrize(
    ("sent", "seats", "doubled"),
    [([7], [SEAT], False), ([7], [SEAT] * 2, True), ([7, 7], [SEAT] * 2, True), ([7, 8], [SEAT] * 2, False)],
)
def test_a_request_takes_effect_once(sent: list[int], seats: list[Seat], *, doubled: bool) -> None:
    """However often it is sent; a second request, with another id, is another matter."""
    taps = [Wiretap(1) for _ in sent]
    for tap, number in zip(taps, sent, strict=True):
        tap.asked.append(TappedMessage(Ask(number, "take-back", True), 0, 0.0, "ROMA", SEAT))
    verdict = Verdict()
    check_requests("ROMA", [TookBack(seat, []) for seat in seats], taps, verdict)
    assert bool(verdict.doubled) == doubled


def test_an_id_that_is_stored_twice_is_a_request_that_was_carried_out_twice() -> None:
    """Unless somebody else has the seat by then, or the same player has been given it again."""
    answered, taken = Answered(SEAT, [(7, 1)]), Taken(SEAT, "Anna", "x")
    for entries, doubled in (([taken, answered, taken, answered], False), ([answered, answered], True)):
        verdict = Verdict()
        check_requests("ROMA", entries, [], verdict)
        assert bool(verdict.doubled) == doubled


@pytest.mark.parametrize("sent_before", [True, False])
def test_a_move_is_not_granted_after_the_end(*, sent_before: bool) -> None:
    """Unless it was sent before, even to a server that was closing: then its answer is repeated."""
    move = PlacePiece(7, "Em", "A1")
    closed, tap = Wiretap(1), Wiretap(1)
    if sent_before:
        closed.asked.append(TappedMessage(move, 0, 0.0, None, None))
    over = Heard("ROMA", SEAT, b"", TableState("ROMA", "over", [], 0), 1.0, 0)
    tap.heard += [over, Heard("ROMA", SEAT, b"", Done(7), 2.0, 0), over]
    tap.asked.append(TappedMessage(move, 1, 2.0, "ROMA", SEAT))
    verdict = Verdict()
    check_granted("ROMA", [closed, tap], verdict)
    assert bool(verdict.invented) != sent_before


@pytest.mark.parametrize(("table", "seat"), [("ROMA", Seat(2)), ("ROMA", None), ("ALBA", Seat(1))])
def test_a_stored_move_was_sent_by_its_seat(table: str, seat: Seat | None) -> None:
    """And not by another one, a spectator, or at another table."""
    move = PlacePiece(7, "Em", "A1")
    tap = Wiretap(1)
    tap.asked.append(TappedMessage(move, 0, 0.0, table, seat))
    verdict = Verdict()
    check_answers("ROMA", [Played(SEAT, move, [])], [tap], verdict)
    assert verdict.kinds().pop("invented")


@pytest.mark.parametrize("seed", range(5))
def test_each_part_of_a_simulation_can_be_left_out(seed: int) -> None:
    """And nothing else changes with it, but that there is less to leave out."""
    choice = Choice(seed, nodes=1)
    every = parts_of(plan_of(choice), 0)
    assert len(every) == len(set(every))
    for part in every:
        fewer = parts_of(plan_of(replace(choice, without=frozenset({part}))), 0)
        assert part not in fewer
        assert set(fewer) < set(every)
    assert games(plan_of(replace(choice, without=frozenset({"game0"}))).people).keys() == set(
        games(plan_of(choice).people)
    ) - {0}


def test_what_is_no_message_is_found() -> None:
    """Whatever the server sends is judged, or said to be no message."""
    tap = Wiretap(1)
    tap.feed(b"HTTP/1.1 101 Switching Protocols\r\n\r\n" + b"\x82\x02{}" + b"\x81\x02{}")
    assert len(tap.damaged) == 2
    assert not tap.heard
    page = Wiretap(1)
    page.feed(b"HTTP/1.1 426 Upgrade Required\r\n\r\n\x82\x02{}")
    assert not page.damaged
