"""The search: worlds that agree with what is public, exact endings, and processes that end."""

import asyncio
import contextlib
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import psutil
import pytest
from hypothesis import assume, given

from client.bots.brains import brain_named
from client.bots.processes import ProcessesLost
from client.bots.runner import search_move
from client.bots.search.brain import ALWAYS, HONEST, Ending, SearchBrain, Searched
from client.bots.search.tree import Move, TreeSearch, Visited, utilities
from client.bots.search.worlds import (
    MOST_INFERRED,
    MOTIVES,
    PRIOR,
    Clues,
    Hand,
    PossibleWorld,
    Worlds,
    beliefs_after,
    clues_in,
    error_after_next,
    hand_of_kinds,
)
from engine.board import FIELDS, Field
from engine.components import DEALS, PEOPLES
from engine.events import Command, GameEnded, Place
from engine.game import Game, GameOptions, RandomChance
from engine.knowledge import holdings, possible_kinds
from engine.legal import LegalPlaces
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import snapshot
from engine.scoring import Board, scored
from engine.terrain import EMPTY, FARMER, NUMBERS, POINT, occupant
from engine.view import SPECTATOR, Phase, View, eyes_of
from tests.games import begun, examples, game_options, games, played, rest_slow, seeds, some_command
from tests.server.peer import eventually

ROOT = Path(__file__).parents[3]
ENDLESS = SearchBrain(10**9, 600.0)


def seen(game: Game) -> View:
    """Return the view of the seat to move, in the placing phase."""
    assume(game.view.phase is Phase.PLACING)
    assert game.view.turn is not None
    return snapshot(game.view, eyes_of(game.view.turn))


def placing(players: int, placed: int = 0) -> tuple[View, LegalPlaces]:
    """Return what the seat to move sees and may do after so many placements."""
    game = played(GameOptions(players, random_layout=True), 1, placed)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    return snapshot(game.view, eyes_of(legal.seat)), legal


def check_world(world: PossibleWorld, view: View) -> None:
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


@examples(2)
@given(game_options(), seeds)
def test_hands_allow_what_the_game_does(options: GameOptions, seed: int) -> None:
    """R4.1, R4.3: the same kinds at every step, and the hand that is left is what an equal one is."""
    game, chooser = played(options, seed, 0), random.Random(seed)
    while game.view.phase is not Phase.PLACING:
        game.apply(some_command(game, chooser))
    hands = [*Worlds(game.view).draw(chooser).hands]
    while isinstance(legal := game.legal(), LegalPlaces):
        assert hands == [*Worlds(game.view).draw(chooser).hands]
        assert set(hands[legal.seat].after) == {piece.kind for piece in legal.pieces}
        piece = chooser.choice(legal.pieces)
        game.apply(Place(legal.seat, piece, chooser.choice(legal.fields)))
        hands[legal.seat] = hands[legal.seat].after[piece.kind]
    assert not any(hand.after for hand in hands)


def reachable(hand: Hand) -> set[Hand]:
    """Return the hand and all that can become of it."""
    return {hand}.union(*map(reachable, hand.after.values()))


@pytest.mark.parametrize("players", [3, pytest.param(2, marks=pytest.mark.slow), 4, 5])
def test_every_legal_kind_is_drawn_equally_often(players: int) -> None:
    """R4.3: a playout draws from a hand what may be placed, and goes on with the hand that is left."""
    deal = DEALS[players]
    dealt = deal.hand(PEOPLES[0], PEOPLES[1] if deal.second else None)
    counts = Counter(piece.kind for piece in Counter(dealt).elements())
    for hand in reachable(hand_of_kinds(1, *(counts[kind] for kind in Kind), deal.soldierless_at)):
        expected = {occupant(1, kind): after.draws for kind, after in hand.after.items()}
        times = Counter(drawn for drawn, _ in hand.draws)
        assert set(times) == set(expected)
        assert len(set(times.values())) <= 1
        assert all(expected[drawn] is draws for drawn, draws in hand.draws)
        assert hand.counts[2] == 0 or sum(hand.counts) > deal.soldierless_at  # R4.3


@examples(1)
@given(game=games(), seed=seeds)
def test_the_same_seed_and_number_lead_to_the_same_search(game: Game, seed: int) -> None:
    view = seen(game)
    brain = SearchBrain(150, math.inf)
    assert brain.visits(view, seed) == brain.visits(view, seed)


@pytest.mark.parametrize("players", rest_slow(*DEALS))
def test_a_search_makes_as_many_simulations_as_it_is_told(players: int) -> None:
    """Fewer only when the time is up; most of them go on with a shortlisted move."""
    view, _ = placing(players)
    ends: list[list[int]] = []
    search = TreeSearch(view, random.Random(1), [0.0] * players, ends=ends)
    visits = search.run(1030)
    assert len(ends) == 930
    for seat, dealt in enumerate(view.start.hands):
        kinds = Counter(occupant(seat, piece.kind) for piece in Counter(dealt).elements())
        assert all(board.count(found) == count for board in ends for found, count in kinds.items())
    assert search.simulations == 1030
    assert 500 < sum(visited.visits for visited in visits.values()) <= 930
    hurried = SearchBrain(1030, 0.0).visits(view, 1)
    assert 0 < sum(visited.visits for visited in hurried.values()) < 500
    assert all(0.0 <= visited.utility <= visited.visits for visited in visits.values())


def first_moves(games: int, *, keeping: bool) -> list[list[Command]]:
    """Return the first moves of a search in games of the same chance, which are played in turns."""
    brain = SearchBrain(150, 600.0)
    tables = [played(GameOptions(2, random_layout=True), 1, 0) for _ in range(games)]
    seats = [[brain.game_begins(game.view) if keeping else brain for _ in range(2)] for game in tables]
    found: list[list[Command]] = [[] for _ in tables]
    for number in range(6):
        for game, brains, moves in zip(tables, seats, found, strict=True):
            legal = game.legal()
            assert legal is not None
            view = snapshot(game.view, eyes_of(legal.seat))
            moves.append(brains[legal.seat](view, legal, random.Random(number)))
            game.apply(moves[-1])
    return found


@pytest.mark.slow
def test_a_search_begins_with_the_last_of_its_own_game() -> None:
    """So it chooses otherwise than without; what it plays in between makes no difference."""
    [alone] = first_moves(1, keeping=True)
    assert first_moves(2, keeping=True) == [alone, alone]
    assert first_moves(1, keeping=False) != [alone]


def test_searches_are_added_up() -> None:
    """What two cores prefer together wins, even if neither prefers it; of equal pieces it is the wolf."""
    view, legal = placing(3)
    assert {piece.wolf for piece in legal.pieces if piece.kind is Kind.FARMER} == {True, False}
    first, second, both = (Move(Kind.FARMER, field) for field in (1, 2, 3))
    visits = [{each: Visited(5, 3.0), both: Visited(4, 2.0)} for each in (first, second)]
    searches = [Searched(each, []) for each in visits]
    place = ENDLESS.choose_place(view, legal, searches, random.Random(1))
    assert (place.field, place.piece.wolf) == (FIELDS[both.field], True)


def test_a_liar_makes_the_move_that_misleads_most_if_it_costs_little() -> None:
    """It gives up so much utility, and no more; without a price it plays what is best."""
    view, legal = placing(3, 12)
    error = error_after_next(view, legal.seat)
    every = [Place(legal.seat, piece, field) for piece in legal.pieces for field in legal.fields]
    lie = max(every, key=lambda place: error(place.piece, place.field))
    other = next(kind for kind in Kind if kind in {piece.kind for piece in legal.pieces} - {lie.piece.kind})
    best, misleading = Move(other, NUMBERS[lie.field]), Move(lie.piece.kind, NUMBERS[lie.field])
    for visits, utility, lies, expected in (
        (80, 0.48, ALWAYS, misleading),
        (80, 0.48, HONEST, best),
        (80, 0.44, ALWAYS, best),
        (20, 0.48, ALWAYS, best),  # too seldom to know
    ):
        visited = {best: Visited(200, 100.0), misleading: Visited(visits, visits * utility)}
        searched = Searched(visited, [])
        place = SearchBrain(lies=lies).choose_place(view, legal, [searched], random.Random(1))
        assert place.piece.kind is expected.kind
        assert expected is best or error(place.piece, place.field) == error(lie.piece, lie.field)


def test_utilities() -> None:
    assert utilities([30 * POINT, 10 * POINT]) == pytest.approx([1.0, 0.0])
    assert utilities([10 * POINT, 10 * POINT]) == pytest.approx([0.5, 0.5])
    won, close, far = utilities([20 * POINT, 19 * POINT, 5 * POINT])
    assert won > 0.7 > close > far


# -- in processes ---------------------------------------------------------------------------------


def search_processes() -> list[psutil.Process]:
    found = []
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if "anyio.to_process" in child.cmdline():
                found.append(child)
    return found


async def working_process() -> psutil.Process:
    """Return the process of a search as soon as it works."""
    await eventually(lambda: bool(search_processes()))
    (process,) = search_processes()
    begun_with = process.cpu_times().user
    await eventually(lambda: process.cpu_times().user > begun_with)
    return process


@pytest.mark.slow
async def test_a_process_finds_the_same_move() -> None:
    """On one core it does not matter where a search runs."""
    view, legal = placing(4)
    brain = SearchBrain(400, math.inf)
    here = brain(view, legal, random.Random(5))
    assert await search_move(SearchBrain(400, 60.0), view, legal, random.Random(5)) == here
    two = [
        await search_move(SearchBrain(400, 60.0), view, legal, random.Random(5), cores=2) for _ in range(2)
    ]
    assert two[0] == two[1]
    assert len(search_processes()) <= 2


@pytest.mark.slow
@pytest.mark.parametrize("started", [False, True])
async def test_a_cancelled_search_leaves_no_process(started: bool) -> None:
    await eventually(lambda: not search_processes())  # those of the test before have ended
    view, legal = placing(4)
    if started:  # so the next search has a process immediately
        await search_move(SearchBrain(100, 60.0), view, legal, random.Random(1))
    search = asyncio.create_task(search_move(ENDLESS, view, legal, random.Random(1)))
    await eventually(lambda: bool(search_processes()))
    if started:
        await working_process()
    search.cancel()
    with pytest.raises(asyncio.CancelledError):
        await search
    await eventually(lambda: not search_processes())


@pytest.mark.slow
async def test_a_search_fails_if_its_processes_die_again_and_again() -> None:
    view, legal = placing(4)
    search = asyncio.create_task(search_move(ENDLESS, view, legal, random.Random(1), cores=2))

    def killed() -> bool:
        for process in search_processes():
            process.kill()
        return search.done()

    await eventually(killed)
    with pytest.raises(ProcessesLost, match="3 times in a row"):
        await search


SEARCHING = """
import asyncio, random
from client.bots.runner import search_move
from tests.client.bots.test_search import ENDLESS, placing

asyncio.run(search_move(ENDLESS, *placing(4), random.Random(1)))
"""


@pytest.mark.slow
async def test_a_search_ends_with_a_program_that_is_killed() -> None:
    """Its process is no orphan that searches on for nobody."""
    await eventually(lambda: not search_processes())  # those of the test before have ended
    program = await asyncio.create_subprocess_exec(sys.executable, "-c", SEARCHING, cwd=ROOT)
    try:
        process = await working_process()
    finally:
        program.kill()
        await program.wait()
    await eventually(lambda: not process.is_running() or process.status() == psutil.STATUS_ZOMBIE)


# -- motives --------------------------------------------------------------------------------------


@given(game=games())
def test_every_placement_is_judged_and_every_hidden_wolf_has_a_gain(game: Game) -> None:
    """At any moment of any game; the view stays as it is."""
    assume(game.view.phase is Phase.PLACING)
    view = snapshot(game.view, SPECTATOR)
    before = snapshot(game.view, SPECTATOR)
    gains, best = clues_in(view)
    assert view == before
    assert set(gains) == {NUMBERS[field] for field, piece in view.placed.items() if isinstance(piece, Wolf)}
    owners = list(view.owners.values())
    assert [len(each) for each in best] == [owners.count(Seat(seat)) for seat in range(view.seats)]
    everything = clues_in(game.view)  # of all eyes: nothing is hidden
    assert not everything.gains
    assert not any(everything.best)


@given(game=games())
def test_what_placements_tell_does_not_depend_on_what_is_hidden(game: Game) -> None:
    """R4.2: they tell the same to all who do not know their owner's secrets, whatever else these see."""
    found = clues_in(seen(game))
    public = clues_in(snapshot(game.view, SPECTATOR))
    assert all(public.gains[field] == gain for field, gain in found.gains.items())
    assert all(
        mine == everybodys or seat == game.view.turn
        for seat, (mine, everybodys) in enumerate(zip(found.best, public.best, strict=True))
    )


@pytest.mark.slow
@pytest.mark.parametrize(("name", "motive"), [("greedy", 0), ("gambler", 3)])
def test_what_is_revealed_tells_the_motives_of_players(name: str, motive: int) -> None:
    """Most wolves are drawn as what they are, more so after a game; by chance it would be half of them."""
    brain = brain_named(name)
    right, wolves, believed, best = [0.0, 0.0], 0.0, [], [0, 0]
    for players in (2, 4):
        game, rng = begun(GameOptions(players, random_layout=True), players), random.Random(players)
        while (legal := game.legal()) is not None:
            view = snapshot(game.view, eyes_of(Seat(0)))
            game.apply(brain.choose(snapshot(game.view, eyes_of(legal.seat)), legal, rng))
        learned = beliefs_after(snapshot(game.view, eyes_of(Seat(0))))
        assert learned[0] == pytest.approx(PRIOR)  # of itself it has nothing to learn
        assert all(sum(each) == pytest.approx(1.0) for each in learned)
        believed += [sum(each[motive :: len(MOTIVES)]) for each in learned[1:]]
        for each in clues_in(view).best:
            best = [sum(column) for column in zip(best, *each, strict=True)]
        for again, beliefs in enumerate(((), learned)):
            worlds = Worlds(view, clues_in(view), beliefs)
            boards = [worlds.draw(rng).board for _ in range(40)]
            for number in worlds.hidden:
                piece = game.view.placed[FIELDS[number]]
                assert isinstance(piece, Piece)
                kind = occupant(game.view.owners[FIELDS[number]], piece.kind)
                right[again] += sum(board[number] == kind for board in boards)
        wolves += len(worlds.hidden) * len(boards)
    assert sum(believed) / len(believed) > 0.5
    as_taken, contrary = best  # what they place promises most as they know their own wolves
    assert (as_taken > contrary) == (motive == 0)
    strangers, known = (each / wolves for each in right)
    assert 0.5 < strangers < known
    assert known > 0.8


def test_worlds_follow_beliefs() -> None:
    """What a wolf promises decides its kind, but as its owner's motives do."""
    game = played(GameOptions(2, random_layout=True), 1, 3)
    view = snapshot(game.view, SPECTATOR)
    hidden, rng = Worlds(view).hidden, random.Random(1)
    assert hidden

    def farmers(gain: float | None, *beliefs: float, best: Sequence[tuple[bool, bool]] = ()) -> float:
        told = Clues({} if gain is None else dict.fromkeys(hidden, gain), [best] * 2)
        worlds = Worlds(view, told, [(*beliefs, *[0.0] * (len(PRIOR) - len(beliefs)))] * 2)
        drawn = [worlds.draw(rng).board[field] // FARMER for _ in range(300) for field in hidden]
        return sum(drawn) / len(drawn)

    honest, bluffing = (1.0, 0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0, 0.0)
    assert farmers(-3.0, *honest) < 0.1
    assert farmers(3.0, *honest) > 0.9
    assert farmers(-0.5, *bluffing) > 0.9
    assert farmers(0.5, *bluffing) < 0.1
    assert 0.3 < farmers(None, *honest) < 0.7
    assert farmers(-0.9, *PRIOR, best=[(True, False)] * 8) < 0.2  # as of one who places what promises most
    assert farmers(-0.9, *PRIOR, best=[(False, True)] * 8) > 0.8  # ... given that the wolves lied
    assert 0.3 < farmers(-0.9, *PRIOR, best=[(False, False)] * 8) < 0.7


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 4])
def test_a_search_that_is_settled_chooses_the_same(players: int) -> None:
    """What it leaves out could not have changed which move is visited most."""
    run = []
    for placed in range(0, 25, 6):
        view = _own_view(GameOptions(players, random_layout=True), placed)
        chosen = set()
        for settled in (True, False):
            search = TreeSearch(view, random.Random(placed))
            visits = search.run(1500, settled=settled)
            chosen.add(max(visits, key=visits.__getitem__))
            run.append(search.simulations)
        assert len(chosen) == 1
    assert min(run) < max(run)


def _own_view(options: GameOptions, placed: int) -> View:
    """Return what the seat to move sees after so many placements."""
    game, chooser = begun(options, placed), random.Random(placed)
    while len(game.view.placed) < placed:
        game.apply(some_command(game, chooser))
    assert game.view.turn is not None
    return snapshot(game.view, eyes_of(game.view.turn))


def test_who_places_wolves_first_can_be_read() -> None:
    """With the first open merchant all wolf merchants are placed, so every later wolf is a farmer."""
    first = tuple(float(kind >= len(MOTIVES)) for kind in range(len(PRIOR)))
    citizen, certain = brain_named("citizen").choose, 0
    for seed in range(2):
        game, rng = begun(GameOptions(3, random_layout=True), seed), random.Random(seed)
        while (legal := game.legal()) is not None and game.view.to_place:
            game.apply(citizen(snapshot(game.view, eyes_of(legal.seat)), legal, rng))
            if game.view.to_place != 3:
                continue
            for group in Worlds(snapshot(game.view, SPECTATOR), beliefs=[first] * 3).groups:
                true = tuple(_piece_on(game, field).kind is Kind.FARMER for field in group.fields)
                possible = [way.farmers for way, odds in zip(group.ways, group.odds, strict=True) if odds]
                assert true in possible
                certain += len(possible) == 1 < len(group.ways)
    assert certain


def _piece_on(game: Game, field: int) -> Piece:
    piece = game.view.placed[FIELDS[field]]
    assert isinstance(piece, Piece)
    return piece


# -- the exact ending -----------------------------------------------------------------------------


def ending(players: int, left: int, seed: int) -> tuple[Game, LegalPlaces, View]:
    """Return a game with so many placements left, and what the seat to move sees and may do."""
    game, chooser = begun(GameOptions(players, random_layout=True), seed), random.Random(seed)
    while game.view.to_place > left:
        game.apply(some_command(game, chooser))
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    return game, legal, snapshot(game.view, eyes_of(legal.seat))


def replied(game: Game, asking: Seat) -> list[float]:
    """Return the utilities if everybody who has yet to place does what is best for their own seat.

    Of equal placements they make the worst for the seat that asks.
    """
    legal = game.legal()
    if legal is None:
        assert game.view.result is not None
        return utilities([tally.points * POINT + tally.items for tally in game.view.result.tallies])
    outcomes = []
    for command in legal.commands():
        twin = Game(game.events, RandomChance(random.Random(0)))
        twin.apply(command)
        outcomes.append(replied(twin, asking))
    return max(outcomes, key=lambda each: (each[legal.seat], -each[asking]))


@pytest.mark.parametrize(("players", "left"), [(2, 1), (2, 2), (3, 2), (5, 1)])
def test_an_ending_without_secrets_is_what_the_game_says(players: int, left: int) -> None:
    """R5 to R7: every move, followed by every reply, played and scored by the game."""
    game, legal, _ = ending(players, left, seed=players)
    exact = Ending(game.view, Worlds(game.view)).values()  # of all eyes: nothing is hidden
    assert exact is not None
    for command in legal.commands():
        twin = Game(game.events, RandomChance(random.Random(0)))
        twin.apply(command)
        expected = replied(twin, legal.seat)[legal.seat]
        assert exact[Move(command.piece.kind, FIELDS.index(command.field))] == pytest.approx(expected)
    assert len(exact) == len(legal.fields)


def possible_worlds(view: View) -> Iterator[tuple[int, dict[Field, Piece]]]:
    """Yield how many ways there are for each board that agrees with what is public, and its pieces."""
    wolves = [field for field, piece in view.placed.items() if isinstance(piece, Wolf)]
    for kinds in possible_kinds(view, wolves):
        pieces = {field: piece for field, piece in view.placed.items() if isinstance(piece, Piece)}
        ways, left = 1, [dict(hand) for hand in view.start.hands]
        for field in wolves:
            piece = Piece.of(view.placed[field].people, kinds[field], wolf=True)
            ways *= left[view.owners[field]][piece]
            left[view.owners[field]][piece] -= 1
            pieces[field] = piece
        yield ways, pieces


@pytest.mark.parametrize("players", rest_slow(*DEALS))
def test_the_last_placement_is_weighed_over_all_that_may_be_hidden(players: int) -> None:
    """R3.5, R4.2: without inference every dealt wolf piece is as likely; a move is worth the mean."""
    _, legal, view = ending(players, 1, seed=1)
    exact = Ending(view, Worlds(view)).values()
    assert exact is not None
    worlds = list(possible_worlds(view))
    assert len(worlds) > 1
    for command in list(legal.commands())[:2]:
        owners = {**view.owners, command.field: command.seat}
        total = 0.0
        for ways, pieces in worlds:
            board = Board(view.layout, {**pieces, command.field: command.piece}, owners)
            *_, end = scored(board, view.laurels, view.seats)
            assert isinstance(end, GameEnded)
            packed = [tally.points * POINT + tally.items for tally in end.tallies]
            total += ways * utilities(packed)[legal.seat]
        mean = total / sum(ways for ways, _ in worlds)
        assert exact[Move(command.piece.kind, FIELDS.index(command.field))] == pytest.approx(mean)


def test_inference_weighs_an_ending() -> None:
    """If wolves are better as merchants, a world is less likely the more of them are farmers."""
    _, _, view = ending(2, 1, seed=1)
    worlds = Worlds(view)
    before = [(world.board, weight) for weight, world in worlds.all_weighted()]
    worlds.infer([[-1.0 * (FARMER <= each < 2 * FARMER)] * len(FIELDS) for each in range(EMPTY)])
    after = [(world.board, weight) for weight, world in worlds.all_weighted()]
    assert len({board for board, _ in before}) == worlds.count > 1
    for (board, unweighed), (same, weighed) in zip(before, after, strict=True):
        farmers = sum(FARMER <= board[field] < 2 * FARMER for field in worlds.hidden)
        assert board == same
        assert weighed == pytest.approx(unweighed * math.exp(-MOST_INFERRED * farmers))


@pytest.mark.parametrize("players", DEALS)
def test_an_ending_begins_when_nobody_has_two_pieces(players: int) -> None:
    """Before that a seat's later choice could depend on what it learns."""
    _, _, view = ending(players, players + 1, seed=1)
    assert Ending(view, Worlds(view)).boards == math.inf
    _, legal, view = ending(players, 1, seed=1)
    worlds = Worlds(view)
    assert Ending(view, worlds).boards == len(legal.fields) * worlds.count


@pytest.mark.slow
def test_a_brain_plays_an_ending_exactly_if_it_may_try_enough_boards() -> None:
    """It counts boards as simulations; with fewer, or if the time is up, it samples."""
    _, _, view = ending(2, 1, seed=1)
    exact = SearchBrain(100, 600.0).visits(view, 1)
    assert {visits for visits, _ in exact.values()} == {1}
    assert exact == SearchBrain(100, 600.0).visits(view, 1)
    assert max(visits for visits, _ in SearchBrain(100, 0.0).visits(view, 1).values()) > 1
    for left, least, most in ((4, 0, 100), (3, 1_000, 10_000)):
        _, _, view = ending(4, left, seed=1)
        assert Ending(view, Worlds(view)).boards > most
        assert least < sum(visits for visits, _ in SearchBrain(100, 600.0).visits(view, 1).values()) <= most


def test_a_liar_does_not_lie_in_an_ending() -> None:
    """Nobody has a later choice that it could mislead."""
    _, legal, view = ending(2, 2, seed=1)
    first, *others = (Move(legal.pieces[0].kind, NUMBERS[field]) for field in legal.fields)
    searched = Searched({first: Visited(200, 100.0), **dict.fromkeys(others, Visited(100, 50.0))}, [])
    place = SearchBrain(lies=ALWAYS).choose_place(view, legal, [searched], random.Random(1))
    assert NUMBERS[place.field] == first.field
