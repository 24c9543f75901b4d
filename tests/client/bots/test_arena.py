"""The arena: schedules, games and standings, and seats that the league lends to players."""

import asyncio
import contextlib
import itertools
import logging
import random
import re
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from anyio import CapacityLimiter
from hypothesis import given
from hypothesis import strategies as st
from openskill.models import PlackettLuce

from client.bots.arena.games import (
    ArenaPlayer,
    GameOutcome,
    PlayerFailure,
    Schedule,
    SeatOutcome,
    outcome_of,
    play,
    play_all,
    play_in_process,
    play_to_end,
    start_game,
)
from client.bots.arena.lending import LentSeat, lent_seat
from client.bots.arena.sequential import SequentialTest
from client.bots.arena.standings import brain_standings, ratings_after, standings_json, tables
from client.bots.brain import Brain, BrainFailed, Forfeit
from client.bots.brains import at_random
from client.bots.processes import ProcessesLost
from client.bots.shares import wilson
from client.network.transport import ServerAddress
from engine.events import Command, LayTile, Place
from engine.legal import Legal, LegalLays, random_command
from engine.pieces import Piece, Seat
from engine.record import replayed
from engine.redaction import snapshot
from engine.view import View, eyes_of
from protocol import messages
from protocol.codec import encode
from protocol.messages import NEW
from tests.server.peer import TIMEOUT, Peer, connected
from tests.server.playing import memory_server, play_on


def outcome(number: int, *seats: tuple[int, int], items: tuple[int, ...] = ()) -> GameOutcome:
    """Return a game by its seats' brains and points, and their items, all equal by default."""
    items = items or (5,) * len(seats)
    scores = [(points, item) for (_, points), item in zip(seats, items, strict=True)]
    winners = scores.count(max(scores))
    return GameOutcome(
        number,
        tuple(
            SeatOutcome(entrant, (score == max(scores)) / winners, *score, moves=2, seconds=4.0, longest=3.0)
            for (entrant, _), score in zip(seats, scores, strict=True)
        ),
    )


def test_what_is_counted() -> None:
    """Shared victories by their part, items where points are equal, and a game once between two brains."""
    games = [outcome(1, (0, 20), (1, 20), (1, 10)), outcome(2, (1, 15), (0, 15), (1, 9), items=(4, 5, 6))]
    one, other = sorted(brain_standings("ab", 3, games), key=lambda each: each.name)
    totals = [(each.games, each.wins, each.mean_points) for each in (one.total, other.total)]
    assert totals == [(2, 1.5, 17.5), (4, 0.5, 13.5)]
    assert [(share.games, share.wins) for share in one.seats] == [(1, 0.5), (1, 1.0), (0, 0.0)]
    assert [(share.games, share.wins) for share in other.seats] == [(1, 0.0), (1, 0.5), (2, 0.0)]
    assert (one.against["b"].games, one.against["b"].share) == (2, 0.875)
    assert (other.against["a"].games, other.against["a"].share) == (2, 0.125)
    assert (one.mean_seconds, one.longest) == (2.0, 3.0)
    assert brain_standings("ab", 3, reversed(games)) == brain_standings(
        "ab", 3, games
    )  # however many are played at once


def test_forfeited_games_are_lost_and_have_no_points() -> None:
    failed = BrainFailed("no more", Forfeit.LATE)
    failed.seat = 1
    forfeited = outcome_of(2, (1, 0, 2), [[], [1.0], []], None, failed)
    found = {
        each.name: each for each in brain_standings("abc", 3, [outcome(1, (0, 9), (1, 7), (2, 5)), forfeited])
    }
    assert [(each.total.wins, each.total.mean_points) for each in map(found.get, "abc") if each] == [
        (1.0, 9),
        (0.5, 7),
        (0.5, 5),
    ]
    assert found["a"].forfeits == {Forfeit.LATE: 1}
    assert (found["b"].against["a"].share, found["b"].against["c"].share) == (0.5, 0.75)
    assert forfeited.failure == PlayerFailure(0, Forfeit.LATE, "no more", "")


@pytest.mark.parametrize(
    ("pairs", "better", "deals"),
    [
        ([1.0, 1.0, 1.0, 0.0], True, 31),
        ([1.0, 0.0], False, 28),
        ([1.0, 0.0, 1.0, 0.0, 1.0, 1.0, 0.0, 0.0], None, 40),
    ],
)
def test_the_sequential_test_ends_when_it_is_clear(
    pairs: list[float], better: bool | None, deals: int
) -> None:
    """After complete deals in the order of the schedule, in whatever order they end."""
    schedule = Schedule(("a", "b"), 2, 400, seed=1)
    test = SequentialTest(schedule, 35)
    first = (pairs * 400)[: 2 * (deals if better is None else 400)]
    games = [outcome(n, (0, round(20 * each)), (1, 10)) for n, each in enumerate(first, 1)]
    for game in random.Random(1).sample(games, len(games)):
        test.add(game)
    assert test.verdict is not None
    assert (test.verdict.better, test.verdict.deals, test.last_game) == (better, deals, 2 * deals)


def test_ratings_are_openskills_where_every_brain_has_one_seat() -> None:
    """Brains do not change, so nothing is added to the doubt from game to game."""
    model = PlackettLuce(tau=0.0)
    ratings = [model.rating(), model.rating(), model.rating()]
    games = [outcome(number, (0, 9), (1, 9 - number % 3), (2, 9 - number % 5)) for number in range(10)]
    for game in games:
        scores = [float(seat.rank[0]) for seat in game.seats]
        ratings = [rating for (rating,) in model.rate([[rating] for rating in ratings], scores=scores)]
    for found, expected in zip(ratings_after(3, games), ratings, strict=True):
        assert (found.mu, found.sigma) == pytest.approx((expected.mu, expected.sigma))


@pytest.mark.parametrize("seating", [(0, 1, 2), (0, 0, 1), (2, 2, 0, 1), (0, 1, 1, 2, 2)])
def test_ratings_put_brains_in_order(seating: tuple[int, ...]) -> None:
    """Each more points than the next on average: even if some have more seats than others."""
    rng = random.Random(2)
    games = [
        outcome(number, *[(entrant, round(rng.gauss(20 - 3 * entrant, 4))) for entrant in seating])
        for number in range(100)
    ]
    found = ratings_after(3, games)
    played = [found[entrant] for entrant in sorted(set(seating))]
    assert played == sorted(played, key=lambda rating: -rating.mu)
    for better, worse in itertools.pairwise(played):
        assert better.mu - worse.mu > 1.96 * better.sigma
    assert all(rating.sigma < 4 for rating in played)  # it was more than 8 before the first game


def test_a_brain_that_has_not_played_yet_is_in_no_table() -> None:
    """An arena may be interrupted at any time, also before the first game has ended."""
    schedule = Schedule(("a", "b", "c"), 2, 1, seed=4)
    none: list[GameOutcome] = []
    assert len(tables(schedule, 0, brain_standings(schedule.names, 2, none), times=True)) == 1
    found = brain_standings(schedule.names, 2, [outcome(1, (0, 9), (1, 5))])
    (above, _), (_, overall), *_ = tables(schedule, 1, found, times=False)
    assert above.startswith("1 of 6 games, seed 4. Equal brains would win 50.0%.")
    assert "ms a move" not in overall[0]
    assert [brain["name"] for brain in standings_json(schedule, 1, found, times=True)["brains"]] == ["a", "b"]
    assert standings_json(schedule, 1, found, times=True)["brains"][0]["seconds"] == {
        "mean": 2.0,
        "longest": 3.0,
    }


@st.composite
def schedules(draw: st.DrawFn, *, alone: bool) -> Schedule:
    """Some rounds of any number of players, with fewer brains, as many, or more."""
    brains, players = draw(st.integers(2, 6)), draw(st.integers(2, 5))
    names = tuple("abcdef"[:brains])
    return Schedule(names, players, draw(st.integers(1, 3)), draw(st.integers()), alone=alone)


@given(schedules(alone=False))
def test_every_brain_has_every_seat_and_every_rival_as_often(schedule: Schedule) -> None:
    in_seat, together = Counter[tuple[int, int]](), Counter[tuple[int, int]]()
    for pairing in schedule.pairings():
        in_seat.update((entrant, seat) for seat, entrant in enumerate(pairing.seating))
        met = itertools.permutations(pairing.seating, 2)
        together.update((one, other) for one, other in met if one != other)
    entrants = range(len(schedule.names))
    assert set(in_seat) == set(itertools.product(entrants, range(schedule.players)))
    assert len(set(in_seat.values())) == 1
    assert set(together) == set(itertools.permutations(entrants, 2))
    assert len(set(together.values())) == 1


@given(schedules(alone=True))
def test_a_brain_alone_meets_every_other_from_every_seat(schedule: Schedule) -> None:
    met = Counter[tuple[int, int]]()
    for pairing in schedule.pairings():
        assert pairing.seating.count(0) == 1
        (other,) = set(pairing.seating) - {0}
        met[pairing.seating.index(0), other] += 1
    assert set(met) == set(itertools.product(range(schedule.players), range(1, len(schedule.names))))
    assert set(met.values()) == {schedule.rounds}


@given(st.booleans().flatmap(lambda alone: schedules(alone=alone)))
def test_no_game_is_played_twice(schedule: Schedule) -> None:
    pairings = list(schedule.pairings())
    assert [pairing.number for pairing in pairings] == list(range(1, schedule.games + 1))
    assert len({(pairing.deal, pairing.seating) for pairing in pairings}) == schedule.games
    draws = {(pairing.deal, schedule.chance(pairing).random()) for pairing in pairings}
    assert len(draws) == len({draw for _, draw in draws}) == schedule.rounds


@given(schedules(alone=False))
def test_another_brain_changes_no_others_chance(schedule: Schedule) -> None:
    """Nor the draws, nor who sits where; every seat of every game has a chance of its own."""
    changed, chances = replace(schedule, names=("z", *schedule.names[1:])), set()
    for before, after in zip(schedule.pairings(), changed.pairings(), strict=True):
        assert before == after
        assert schedule.chance(before).random() == changed.chance(after).random()
        for seat in range(schedule.players):
            chance = schedule.chance_of(before, seat).random()
            assert chance == changed.chance_of(after, seat).random()
            chances.add((before.deal, before.rotation, seat, chance))
    assert len(chances) == len({chance for *_of, chance in chances})


@pytest.mark.parametrize(
    ("brains", "players", "circles"),
    [(3, 3, {"abc", "acb"}), (2, 4, {"aabb"}), (2, 3, {"aab", "abb"}), (4, 3, {"abc", "acb", "abd", "adb"})],
)
def test_who_sits_after_whom_differs_from_round_to_round(
    brains: int, players: int, circles: set[str]
) -> None:
    """All orders come up, but those that would have to play games twice."""
    schedule = Schedule(tuple("abcd"[:brains]), players, 2, seed=3)
    seatings = ("".join("abcd"[entrant] for entrant in pairing.seating) for pairing in schedule.pairings())
    seen = {min(seating[turn:] + seating[:turn] for turn in range(players)) for seating in seatings}
    assert circles <= seen


def test_wilsons_interval() -> None:
    """Checked against published values (Newcombe 1998, table I: 81 of 263; 0 of 20; 20 of 20)."""
    assert wilson(81 / 263, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert wilson(0.0, 20) == pytest.approx((0.0, 0.1611), abs=5e-5)
    assert wilson(1.0, 20) == pytest.approx((0.8389, 1.0), abs=5e-5)
    for games in range(1, 100):
        assert 0.0 <= wilson(0.0, games)[0] < wilson(1.0, games)[1] <= 1.0


def again(_number: int) -> None:
    """A process may be too late on a busy machine; then the game is played again."""


async def all_played(
    schedule: Schedule, processes: int = 1, lost: Callable[[int], None] = again, *, records: bool = False
) -> list[GameOutcome]:
    outcomes: list[GameOutcome] = []
    play = partial(play_in_process, schedule, CapacityLimiter(processes), lost, records)
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


@pytest.mark.slow
async def test_a_game_whose_process_ends_is_played_again(module: Callable[..., Path]) -> None:
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


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="a brain cannot be interrupted there")
async def test_a_brain_that_is_too_slow_is_interrupted(module: Callable[..., Path]) -> None:
    module("time.sleep(600)")
    # Time enough for the other brain, on a busy machine too.
    outcome = (await all_played(replace(BRAINY, move_seconds=1.0)))[0]
    assert [seat.forfeit for seat in outcome.seats if seat.entrant == 1] == [Forfeit.LATE]
    assert outcome.failure is not None
    assert outcome.failure.text == "brainy:choose took longer than 1 s for a move."


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


@pytest.mark.slow
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
        (failing, r"test_arena.py, line \d+: KeyError: "),
        (lambda _self: "well played", r"test_arena.py, line \d+: TypeError: "),
        (lambda _self, _view: "well played", "returned 'well played' from game_over instead of a brain"),
    ):
        monkeypatch.setattr(Learner, "game_over", game_over)
        players[0].choose = learner
        with pytest.raises(BrainFailed, match=told):
            play_to_end(start_game(2, rng, random_layout=True), players)


def test_brains_keep_things_within_a_game() -> None:
    """One that begins a game plays for its seat in this game alone, from what that sees at the start."""
    moves: list[int] = []

    class Counter:
        def __init__(self) -> None:
            self.moves = 0

        def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
            self.moves += 1
            return at_random(view, legal, rng)

        def game_begins(self, view: View) -> Brain:
            assert len(view.eyes) == 1
            assert not view.placed
            return Counter()

        def game_over(self, _view: View) -> None:
            moves.append(self.moves)

    counter, rng = Counter(), random.Random(1)
    players = [ArenaPlayer("counter", counter, rng) for _ in range(2)]
    for _ in range(2):
        play_to_end(start_game(2, rng, random_layout=True), players)
    dealt = start_game(2, rng).view.to_place
    assert moves == [dealt // 2] * 4
    assert counter.moves == 0


LONG = 600.0
NOT_IN_HAND = encode(messages.PlacePiece(1, "Am", "A1"))


@contextlib.asynccontextmanager
async def league_game(move_seconds: float = LONG) -> AsyncIterator[tuple[list[LentSeat], list[Peer]]]:
    """Lend two seats of a table whose tiles are laid, and start its game; the first player is to move."""
    async with memory_server() as server, contextlib.AsyncExitStack() as stack:
        address = ServerAddress(f"ws://127.0.0.1:{server.port}", "league")
        lent = [await stack.enter_async_context(lent_seat(name, address, move_seconds)) for name in "AB"]
        seats = [seat for seat, _url in lent]
        opened = messages.OpenTable(NEW, 2, "A", random_layout=True, starting=0, program=True)
        code = await seats[0].take(opened)
        await seats[1].take(messages.JoinTable(NEW, code, "B", 1, program=True))
        peers = []
        for seat, url in lent:
            peer = await stack.enter_async_context(connected(int(url.rpartition(":")[2])))
            await peer.join(code, "any name")
            assert seat.joined.is_set()
            peers.append(peer)
        await seats[0].ask(messages.StartGame(NEW), messages.Events)
        for peer in peers:
            while peer.seq == 0:
                await peer.receive()
        yield seats, peers


async def test_a_game_as_at_a_server() -> None:
    """The players need not start it; the host's powers are the league's, and it can read the record."""
    async with league_game() as (seats, peers):
        states = [each for peer in peers for each in peer.received if isinstance(each, messages.TableState)]
        assert all(state.stage == "playing" for state in states)
        await peers[0].refused(messages.EndGame(peers[0].next_id()))
        await play_on(peers, random.Random(1))
        results = [await seat.result for seat in seats]
        assert results[0] == results[1]
        record = await seats[0].ask(messages.GetRecord(NEW), messages.Record)
        assert "# seat 1 is B\n" in record.text
        assert [len(seat.times) for seat in seats] == [16, 16]


@pytest.mark.parametrize(
    ("sent", "kind", "told"),
    [
        (NOT_IN_HAND, Forfeit.ILLEGAL, "A made a move that is not allowed: There is no Am in your hand."),
        (b"\xc1", Forfeit.ILLEGAL, "A sent what is not a message: "),
        (None, Forfeit.LATE, "A took longer than 0.2 s for a move."),
        (None, Forfeit.SILENT, "A closed its connection and did not come back."),
    ],
)
async def test_how_a_player_loses(sent: bytes | None, kind: Forfeit, told: str) -> None:
    move_seconds = 0.2 if kind in {Forfeit.LATE, Forfeit.SILENT} else LONG
    async with league_game(move_seconds) as (seats, peers):
        if sent is not None:
            await peers[0].socket.send(sent)
        elif kind is Forfeit.SILENT:
            await peers[0].socket.close()
        with pytest.raises(BrainFailed, match=told) as failed:
            await seats[0].result
        assert failed.value.kind is kind
        assert not seats[1].result.done()


async def test_a_move_that_is_sent_again_is_no_move_of_the_next_turn() -> None:
    """The clock runs on for that turn, so a player that then stays silent loses."""
    async with league_game() as (seats, peers):
        rng = random.Random(1)
        move = peers[0].random_move(rng)
        await peers[0].done(move)
        await peers[1].caught_up(peers[0].seq)
        await peers[1].done(peers[1].random_move(rng))
        await peers[0].caught_up(peers[1].seq)
        await peers[0].done(move)
        assert len(seats[0].times) == 1
        await peers[0].done(peers[0].random_move(rng))
        assert len(seats[0].times) == 2


async def test_a_player_comes_back_to_its_seat() -> None:
    """With its token, or as if for the first time; the connection that it had before ends."""
    async with league_game() as (seats, peers):
        port = peers[0].socket.remote_address[1]
        before = peers[0]
        async with connected(port) as again:
            await again.resume(before.code, before.token)
            assert (await before.closed())[0] == 4000
            while again.legal is None:
                await again.receive()
            await again.done(again.random_move(random.Random(1)))
            await peers[1].caught_up(again.seq)
            async with connected(port) as third:
                await third.join(before.code, "somebody")
                while third.seq < again.seq:
                    await third.receive()
                await play_on([third, peers[1]], random.Random(1))
        assert await asyncio.wait_for(seats[0].result, TIMEOUT) == await seats[1].result
