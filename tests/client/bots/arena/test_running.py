"""Games of an arena: the same wherever they are played, and what happens when one fails."""

import itertools
import logging
import random
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from client.bots.arena.games import (
    ArenaPlayer,
    GameOutcome,
    InProcesses,
    Schedule,
    play,
    play_all,
    play_to_end,
    start_game,
)
from client.bots.brain import Brain, BrainFailed, Forfeit
from client.bots.brains import at_random
from client.bots.processes import ProcessesLost
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, random_command
from engine.pieces import Piece, Seat
from engine.record import replayed
from engine.redaction import snapshot
from engine.view import View, eyes_of


def again(_number: int) -> None:
    """A process may be too late on a busy machine; then the game is played again."""


async def all_played(
    schedule: Schedule, processes: int = 1, lost: Callable[[int], None] = again, *, records: bool = False
) -> list[GameOutcome]:
    outcomes: list[GameOutcome] = []
    play = InProcesses(schedule, processes, lost, records=records)
    await play_all(schedule, processes, outcomes.append, play)
    return outcomes


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return what writes a module `brainy`, which processes import too; its folder has a place for marks."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "brainy", raising=False)

    def write(body: str, more: str = "") -> Path:
        lines = ["import os, time", "from pathlib import Path", f"MARK = Path({str(tmp_path / 'mark')!r})"]
        lines += ["def choose(view, legal, rng):", *(f"    {line}" for line in body.splitlines())]
        lines += ["    return next(legal.commands())", more]
        (tmp_path / "brainy.py").write_text("\n".join(lines), encoding="utf-8")
        return tmp_path / "mark"

    return write


BRAINY = Schedule(("random", "brainy:choose"), 2, 1, seed=1)


async def test_a_game_whose_process_ends_is_played_again(module: Callable[..., Path]) -> None:
    """And somebody is told."""
    mark = module("if not MARK.exists():\n    MARK.touch()\n    os.kill(os.getpid(), 9)")
    lost: list[int] = []
    outcomes = await all_played(BRAINY, lost=lost.append)
    assert mark.exists()
    assert 1 in lost
    assert [outcome.number for outcome in outcomes] == [1, 2]


@pytest.mark.slow
async def test_a_process_that_ends_again_and_again_ends_the_arena(module: Callable[..., Path]) -> None:
    module("os.kill(os.getpid(), 9)")
    lost: list[int] = []
    with pytest.raises(ProcessesLost, match="game 1 ended, 3 times in a row"):
        await all_played(BRAINY, lost=lost.append)
    assert lost == [1, 1]


def test_processes_end_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    """Whether asyncio has seen their exit codes or not; other warnings are heard."""
    for warning in ("Unknown child process pid %d, will report returncode 255", "Something else: %d"):
        logging.getLogger("asyncio").warning(warning, 7)
    assert caplog.messages == ["Something else: 7"]


def test_a_brain_that_fails_loses_the_game(module: Callable[..., Path]) -> None:
    """Saying where in the author's file; the record is the game so far."""
    module("if len(view.placed) > 5:\n    raise SystemExit('no more')")
    (outcome, _) = (play(BRAINY, pairing, "en", records=True)[0] for pairing in BRAINY.pairings())
    assert [(seat.entrant, seat.share, seat.points, seat.forfeit) for seat in outcome.seats] == [
        (0, 1.0, None, None),
        (1, 0.0, None, Forfeit.FAILED),
    ]
    assert outcome.failure is not None
    assert re.fullmatch(
        r".* brain brainy:choose failed in .*brainy.py, line 6: SystemExit: no more\.", outcome.failure.text
    )
    trace = r"Traceback .*:\n  File .*brainy.py\", line 6, in choose\n.*\nSystemExit: no more"
    assert re.fullmatch(trace, outcome.failure.trace, re.DOTALL)
    assert outcome.record is not None
    assert len(replayed(outcome.record).view.placed) == 7


@pytest.mark.skipif(sys.platform == "win32", reason="a brain cannot be interrupted there")
async def test_a_brain_that_is_too_slow_is_interrupted(module: Callable[..., Path]) -> None:
    module("time.sleep(600)")
    outcome = (await all_played(replace(BRAINY, move_seconds=0.01)))[0]
    assert [seat.forfeit for seat in outcome.seats if seat.entrant == 1] == [Forfeit.LATE]
    assert outcome.failure is not None
    assert outcome.failure.text == "brainy:choose took longer than 0.01 s for a move."


class Unspeakable:
    def __repr__(self) -> str:
        raise ValueError("not even printed")


def no_such_piece(_view: View, legal: Legal, _rng: random.Random) -> Command:
    return LayTile(legal.seat, "1", 0) if isinstance(legal, LegalLays) else Place(legal.seat, "Xm", "A1")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("brain", "told"),
    [
        (lambda *_: None, "returned None instead of a command."),
        (
            lambda _view, legal, _: list(legal.commands()),
            r"returned \[LayTile.{,300}\] instead of a command.",
        ),
        (lambda *_: Unspeakable(), "returned <Unspeakable instance at .*> instead of a command."),
        (lambda _view, legal, _: Place(legal.seat, [], {}), "returned Place.* instead of a command."),  # type: ignore[arg-type]
        (no_such_piece, "returned LayTile.* instead of a command."),
        (
            lambda _view, legal, _: LayTile(legal.seat, 7, 0),
            "chose .*position=7.*, which is not allowed: 7 is not an outer position",
        ),
    ],
)
def test_what_is_no_move_is_told(brain: Brain, told: str) -> None:
    """With the reason that a server would give."""
    game = start_game(2, random.Random(1))
    seated = [
        ArenaPlayer("mine", brain, random.Random(1)),
        ArenaPlayer("random", at_random, random.Random(1)),
    ]
    with pytest.raises(BrainFailed, match=f"The brain mine {told}"):
        play_to_end(game, seated)


def test_a_brain_may_name_pieces_and_fields_by_plain_strings() -> None:
    """As documents write them, even when a soldier is due."""

    def plain(_view: View, legal: Legal, rng: random.Random) -> Command:
        command = random_command(legal, rng)
        if isinstance(command, LayTile):
            return command
        return Place(command.seat, str(command.piece), str(command.field))  # type: ignore[arg-type]

    seated = [
        ArenaPlayer("mine", plain, random.Random(1)),
        ArenaPlayer("random", at_random, random.Random(1)),
    ]
    game = start_game(2, random.Random(1), random_layout=True)
    play_to_end(game, seated)
    assert all(type(piece) is Piece for piece in game.view.placed.values())
    failing = ArenaPlayer("mine", no_such_piece, random.Random(1))
    with pytest.raises(BrainFailed, match="There is no Xm in your hand"):
        play_to_end(start_game(2, random.Random(1), random_layout=True), [failing, failing])


def test_brains_learn_from_game_to_game_of_a_series(module: Callable[..., Path]) -> None:
    """Another seat starts each time, and the next series is again one of strangers."""
    mark = module("", LEARNER)
    schedule = LEARNING
    series = [play(schedule, pairing, "en", records=True) for pairing in schedule.pairings()]
    outcomes = list(itertools.chain(*series))
    assert [outcome.number for outcome in outcomes] == list(range(1, schedule.games + 1))
    assert [outcome.seats[0].entrant for outcome in outcomes] == [0, 1, 0, 1, 0, 1]
    assert mark.read_text(encoding="utf-8").split() == ["0", "1", "2"] * 2
    laid = {re.findall("^tile.*", outcome.record or "", re.MULTILINE)[1] for outcome in outcomes}
    assert len(laid) == schedule.series


LEARNING = Schedule(("brainy:learner", "random"), 2, 1, seed=5, random_layout=True, series=3)
LEARNER = """
class Learner:
    def __init__(self, games):
        self.games = games
    def __call__(self, view, legal, rng):
        return next(legal.commands())
    def game_over(self, view):
        with MARK.open("a") as file:
            print(self.games, file=file)
        return Learner(self.games + 1)
learner = Learner(0)
"""


async def test_a_failure_in_a_series_ends_its_game_alone(module: Callable[..., Path]) -> None:
    module("", LEARNER.replace("return next(", "return self.games != 1 and next("))
    outcomes = await all_played(LEARNING)
    forfeits = [{seat.entrant: seat.forfeit for seat in outcome.seats}[0] for outcome in outcomes]
    assert forfeits == [None, Forfeit.ILLEGAL, Forfeit.ILLEGAL] * 2


def test_brains_learn_from_the_end_of_a_game(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those with a method for it see what their seat sees then, and may be another brain in the next game."""
    seen: list[View] = []

    class Learner:
        def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
            return at_random(view, legal, rng)

        def game_over(self, view: View) -> Brain | None:
            seen.append(view)
            return None if len(seen) < 2 else at_random

    learner, rng = Learner(), random.Random(1)
    players = [ArenaPlayer("learner", learner, rng), ArenaPlayer("random", at_random, rng)]
    for expected in (learner, at_random, at_random):
        game = start_game(2, rng, random_layout=True)
        play_to_end(game, players)
        assert players[0].choose is expected
        if expected is learner:
            assert seen == [snapshot(game.view, eyes_of(Seat(0)))]
    assert len(seen) == 2

    def failing(_self: Learner, view: View) -> None:
        raise KeyError(view.phase)

    for game_over, told in (
        (failing, r"test_running.py, line \d+: KeyError: "),
        (lambda _self: "well played", r"test_running.py, line \d+: TypeError: "),
        (lambda _self, _view: "well played", "returned 'well played' from game_over instead of a brain"),
    ):
        monkeypatch.setattr(Learner, "game_over", game_over)
        players[0].choose = learner
        with pytest.raises(BrainFailed, match=told):
            play_to_end(start_game(2, rng, random_layout=True), players)
