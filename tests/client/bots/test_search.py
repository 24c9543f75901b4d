"""The search: worlds that agree with what is public, choices that can be repeated, and processes that end."""

import asyncio
import contextlib
import math
import random
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import assume, given

from client.bots.search.brain import SearchBrain, SearchFailed, chosen, searched
from client.bots.search.tree import Move, Search, Visited, utilities
from client.bots.search.worlds import World, Worlds
from engine.board import FIELDS
from engine.components import DEALS
from engine.game import Game, GameOptions, RandomChance
from engine.knowledge import holdings, possible_kinds
from engine.legal import LegalPlaces
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.terrain import EMPTY, FARMER, NUMBERS, POINT, occupant
from engine.view import Phase, View, eyes_of
from server.app import running
from server.config import Config
from tests.client.bots.test_runner import options, run_to_the_end
from tests.examples import examples
from tests.games import begun, games, played, seeds, some_command
from tests.server.peer import eventually

ROOT = Path(__file__).parents[3]
ENDLESS = SearchBrain(10**9, 600.0)


def seen(game: Game) -> View:
    """Return the view of the seat on turn, in the placing phase."""
    assume(game.view.phase is Phase.PLACING)
    assert game.view.turn is not None
    return snapshot(game.view, eyes_of(game.view.turn))


def placing(players: int, placed: int = 0) -> tuple[View, LegalPlaces]:
    """Return what the seat on turn sees and may do after so many placements."""
    game = played(GameOptions(players, random_layout=True), 1, placed)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    return snapshot(game.view, eyes_of(legal.seat)), legal


def check_world(world: World, view: View) -> None:
    """Compare a world with what the view shows and implies."""
    for field, piece in view.placed.items():
        found = world.board[NUMBERS[field]]
        kinds = [piece.kind] if isinstance(piece, Piece) else [Kind.MERCHANT, Kind.FARMER]
        assert found in [occupant(view.owners[field], kind) for kind in kinds]
    assert world.board.count(EMPTY) == len(FIELDS) - len(view.placed)
    for seat, hand in enumerate(world.hands):
        assert sum(hand.counts) == view.remaining[seat]
        held = [holding for holding in holdings(view) if holding.seat == seat]
        for kind, count in zip(Kind, hand.counts, strict=True):
            bounds = [each.left for holding in held for each in holding.counts if each.piece.kind is kind]
            assert sum(left.least for left in bounds) <= count <= sum(left.most for left in bounds)
            if seat in view.hands:
                assert count == sum(n for piece, n in view.hands[Seat(seat)].items() if piece.kind is kind)
        dealt = view.start.hands[seat].items()
        for kind, count in zip(Kind, hand.counts, strict=True):
            placed = world.board.count(occupant(seat, kind))
            assert count + placed == sum(n for piece, n in dealt if piece.kind is kind)


@given(game=games(), seed=seeds)
def test_worlds_agree_with_what_is_public(game: Game, seed: int) -> None:
    """R3.5, R4.2: whatever is drawn, with inference or without, can be so for all that the seat knows."""
    view = seen(game)
    worlds, rng = Worlds(view), random.Random(seed)
    for _ in range(20):
        check_world(worlds.draw(rng), view)
    worlds.infer([[rng.random() for _ in FIELDS] for _ in range(EMPTY)])
    for _ in range(20):
        check_world(worlds.draw(rng), view)


@given(game=games())
def test_no_world_is_left_out(game: Game) -> None:
    """R4.2: the ways in which the wolves can be are all ways that agree with what is public."""
    view = seen(game)
    wolves = [field for field, piece in view.placed.items() if isinstance(piece, Wolf)]
    assume(len(wolves) <= 10)
    worlds = Worlds(view)
    assert sorted(worlds.hidden) == sorted(NUMBERS[field] for field in wolves)
    ways = math.prod(len(group.ways) for group in worlds.groups)
    assert ways == len(list(possible_kinds(view, wolves)))


def test_wolves_are_what_helps_their_owners() -> None:
    """A wolf that is worth more to its owner as a farmer is drawn as one more often than before."""
    game = begun(GameOptions(2, random_layout=True), 1)
    rng = random.Random(1)
    while True:
        legal = game.legal()
        assert isinstance(legal, LegalPlaces)
        view = snapshot(game.view, eyes_of(legal.seat))
        if hidden := Worlds(view).hidden:
            break
        wolves = [place for place in legal.commands() if place.piece.wolf]
        game.apply(rng.choice(wolves))

    def farmers(gain: float) -> int:
        worlds = Worlds(view)
        worlds.infer([[0.5 + gain * (FARMER <= each < 2 * FARMER) for _ in FIELDS] for each in range(EMPTY)])
        drawn = (worlds.draw(rng).board[field] for _ in range(500) for field in hidden)
        return sum(FARMER <= found < 2 * FARMER for found in drawn)

    assert farmers(-0.1) < farmers(0.0) < farmers(0.1)


@examples(10)
@given(game=games(), seed=seeds)
def test_the_same_seed_and_number_lead_to_the_same_search(game: Game, seed: int) -> None:
    """Not only the choice but every number is the same."""
    view = seen(game)
    brain = SearchBrain(300, math.inf)
    assert brain.visits(view, seed) == brain.visits(view, seed)


@pytest.mark.parametrize("players", DEALS)
def test_a_search_makes_as_many_simulations_as_it_is_told(players: int) -> None:
    """Neither more nor fewer, and most of them go on with a shortlisted move."""
    search = Search(placing(players)[0], random.Random(1))
    visits = search.run(1030)
    assert search.simulations == 1030
    assert 500 < sum(visited.visits for visited in visits.values()) <= 930
    assert all(0.0 <= visited.utility <= visited.visits for visited in visits.values())


def test_the_time_is_up() -> None:
    """A search without time still answers."""
    view, legal = placing(3)
    assert SearchBrain(10**9, 0.0)(view, legal, random.Random(1)) in set(legal.commands())


def test_the_last_move_is_found() -> None:
    """With one piece to place, the search takes a field that nothing else beats."""
    for seed in range(5):
        game = begun(GameOptions(2, random_layout=True), seed)
        chooser = random.Random(seed)
        while game.view.to_place > 1:
            game.apply(some_command(game, chooser))
        legal = game.legal()
        assert isinstance(legal, LegalPlaces)
        view = game.view  # that of all eyes: nothing is hidden
        outcomes = {}
        for place in legal.commands():
            twin = Game(game.events, RandomChance(chooser))
            twin.apply(place)
            assert twin.view.result is not None
            tallies = twin.view.result.tallies
            packed = [tally.points * POINT + tally.items for tally in tallies]
            outcomes[place.piece.kind, place.field] = utilities(packed)[legal.seat]
        command = SearchBrain(2_000, math.inf)(view, legal, random.Random(seed))
        assert outcomes[command.piece.kind, command.field] == max(outcomes.values())  # type: ignore[union-attr]


def test_of_equal_pieces_a_search_places_the_wolf() -> None:
    """The others do not see a wolf's kind."""
    _, legal = placing(3)
    assert {piece.wolf for piece in legal.pieces if piece.kind is Kind.FARMER} == {True, False}
    place = chosen(legal, [{Move(Kind.FARMER, 7): Visited(1, 0.5)}], random.Random(1))
    assert place.piece.wolf


def test_searches_are_added_up() -> None:
    """What two cores prefer together wins, even if neither prefers it."""
    _, legal = placing(3)
    first, second, both = Move(Kind.FARMER, 1), Move(Kind.FARMER, 2), Move(Kind.FARMER, 3)
    searches = [
        {first: Visited(5, 3.0), both: Visited(4, 2.0)},
        {second: Visited(5, 3.0), both: Visited(4, 2.0)},
    ]
    assert chosen(legal, searches, random.Random(1)).field == FIELDS[both.field]


def test_utilities() -> None:
    """A win counts most, shared ones are shared, and the margin decides between lost games."""
    assert utilities([30 * POINT, 10 * POINT]) == pytest.approx([1.0, 0.0])
    assert utilities([10 * POINT, 10 * POINT]) == pytest.approx([0.5, 0.5])
    won, close, far = utilities([20 * POINT, 19 * POINT, 5 * POINT])
    assert won > 0.7 > close > far


# -- in processes ---------------------------------------------------------------------------------


def search_processes() -> list[psutil.Process]:
    def processes() -> Iterator[psutil.Process]:
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if "anyio.to_process" in child.cmdline():
                    yield child

    return list(processes())


@pytest.mark.slow
async def test_a_process_finds_the_same_move() -> None:
    """On one core it does not matter where a search runs."""
    view, legal = placing(4)
    brain = SearchBrain(400, math.inf)
    here = brain(view, legal, random.Random(5))
    assert await searched(SearchBrain(400, 60.0), view, legal, random.Random(5)) == here
    two = [await searched(SearchBrain(400, 60.0), view, legal, random.Random(5), cores=2) for _ in range(2)]
    assert two[0] == two[1]
    assert len(search_processes()) <= 2


@pytest.mark.parametrize("started", [False, True])
async def test_a_cancelled_search_leaves_no_process(started: bool) -> None:
    """Neither while it starts nor while it runs."""
    await eventually(lambda: not search_processes())  # those of the test before have ended
    view, legal = placing(4)
    if started:  # so the next search has a process immediately
        await searched(SearchBrain(100, 60.0), view, legal, random.Random(1))
    search = asyncio.create_task(searched(ENDLESS, view, legal, random.Random(1)))
    await eventually(lambda: bool(search_processes()))
    if started:
        (process,) = search_processes()
        begun_with = process.cpu_times().user
        await eventually(lambda: process.cpu_times().user > begun_with)
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await eventually(lambda: not search_processes())


async def test_a_search_fails_if_its_processes_die_again_and_again() -> None:
    """It does not try for ever, and says what happened."""
    view, legal = placing(4)
    search = asyncio.create_task(searched(ENDLESS, view, legal, random.Random(1), cores=2))

    def killed() -> bool:
        for process in search_processes():
            process.kill()
        return search.done()

    await eventually(killed)
    with pytest.raises(SearchFailed, match="3 times in a row"):
        await search


SEARCHING = """
import asyncio, random
from client.bots.search.brain import SearchBrain
from client.bots.search.brain import searched
from engine.game import Game, GameOptions, RandomChance
from engine.redaction import snapshot
from engine.view import eyes_of

game = Game.new(GameOptions(4, random_layout=True), RandomChance(random.Random(1)))
view = snapshot(game.view, eyes_of(game.view.turn))
asyncio.run(searched(SearchBrain(10**9, 600.0), view, game.legal(), random.Random(1)))
"""


@pytest.mark.slow
async def test_a_search_ends_with_a_program_that_is_killed() -> None:
    """Its process is no orphan that searches on for nobody."""
    await eventually(lambda: not search_processes())  # those of the test before have ended
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", SEARCHING, cwd=ROOT)
    try:
        await eventually(lambda: bool(search_processes()))
        (process,) = search_processes()
        begun_with = process.cpu_times().user
        await eventually(lambda: process.cpu_times().user > begun_with)
    finally:
        program.kill()
        await program.wait()
    await eventually(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


@pytest.mark.slow
async def test_a_dead_process_is_replaced_and_the_game_goes_on() -> None:
    """Nobody at the table notices."""
    async with running(Config(seed=1)) as server:
        chosen_options = options(server, seats=2, brains=("search:300",), random_layout=True)
        game = asyncio.create_task(run_to_the_end(chosen_options))
        for _ in range(2):
            await eventually(lambda: bool(search_processes()))
            for process in search_processes():
                process.kill()
        code, out, errors = await game
    assert (code, errors) == (0, "")
    assert "Game 1: search-1" in out
