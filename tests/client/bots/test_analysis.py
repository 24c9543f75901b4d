"""Games analysed: chances that add up, better moves, processes that end; and moves suggested to people."""

import asyncio
import itertools
import random
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client.bots.analysis import Effort, NothingToAnalyse, Verdict, judge_moment, moments, run_analysis
from client.bots.greedy import greedy
from client.bots.hints import suggest_move
from client.bots.processes import ProcessesLost
from client.bots.search.advice import (
    CLEARLY_BETTER,
    advise,
    better,
    chances_of,
    compare_moves,
    holds,
    unknown,
)
from client.bots.search.brain import exact_ending
from client.bots.search.tree import utilities, win_shares
from client.reasons import aim_of, reason_for
from client.records import Analysis, Captives, Contest, Recording
from engine.board import FIELDS, Field
from engine.events import Captured, Command, GameEnded, HillScored, LayTile, Place, Placed
from engine.forecast import forecast
from engine.game import Game, GameOptions, RandomChance
from engine.knowledge import NONE
from engine.legal import Legal, LegalPlaces
from engine.pieces import Kind, Piece, Seat, Wolf
from engine.redaction import redacted_legal, snapshot
from engine.scoring import Board, scored
from engine.terrain import FARMER, Occupant
from engine.view import Phase, View, eyes_of
from tests.client.bots.test_search import possible_worlds, search_processes
from tests.games import examples, games, played
from tests.server.peer import eventually

EFFORT = Effort(simulations=20, seed=3)
BLUNDER = 21  # a game of this seed is won before its last move, and lost by it


def with_a_blunder(seed: int) -> Game:
    """Return a game of two greedy bots, of which one throws its victory away with the very last piece."""
    rng = random.Random(seed)
    game = Game.new(GameOptions(2, random_layout=True), RandomChance(rng))
    while (legal := game.legal()) is not None:
        if game.view.to_place > 1:
            game.apply(greedy(snapshot(game.view, eyes_of(legal.seat)), legal, rng))
            continue
        for command in legal.commands():
            end = Game(game.events, RandomChance(random.Random(0)))
            end.apply(command)
            assert end.view.result is not None
            if end.view.result.winners != (legal.seat,):
                return end
    raise AssertionError("the last player cannot but win")


@pytest.fixture(scope="module")
def recording() -> Recording:
    return Recording.of(with_a_blunder(BLUNDER).events, {0: "Anna", 1: "Bruno"})


@pytest.fixture(scope="module")
def analysis(recording: Recording) -> Analysis:
    return asyncio.run(run_analysis(recording, EFFORT, lambda _: None))


@pytest.mark.slow
def test_the_chances_add_up_and_end_with_the_result(recording: Recording, analysis: Analysis) -> None:
    assert analysis.complete
    assert [sum(chances) for chances in analysis.curve] == pytest.approx([1.0] * len(analysis.curve))
    assert analysis.curve[-1] == analysis.result
    assert [move.before for move in analysis.moves] == list(analysis.curve[:-1])
    placed = [event for event in recording.events if isinstance(event, Placed)]
    assert len(placed) == len(analysis.moves) == analysis.wanted
    assert [move.number for move in analysis.moves] == list(range(1, len(placed) + 1))
    found = [analysis.move_at(stop) for stop in range(recording.moves + 1)]
    assert [each and each.after for each in found[1:]] == list(map(analysis.at, range(1, len(found))))
    assert (found[0], analysis.at(recording.end)) == (None, None)


@pytest.mark.slow
def test_a_blunder_decides_the_game(recording: Recording, analysis: Analysis) -> None:
    blunder = analysis.deciding[0]
    assert blunder.number == recording.moves
    assert blunder.before[blunder.seat] > 0.7
    assert blunder.after[blunder.seat] < 0.6
    assert blunder.better is not None
    assert blunder.better.gain > 0.1
    assert blunder.better.reasons
    before = recording.view(recording.moves - 1, eyes_of(blunder.seat))
    assert blunder.better.move.piece in before.hands[blunder.seat]
    assert blunder.better.move.field not in before.placed


@pytest.mark.slow
def test_a_moment_is_judged_alike_anywhere(recording: Recording, analysis: Analysis) -> None:
    """In this process as in another one, and whatever else is judged there."""
    moment = moments(recording, analysis.result)[-3]
    found = judge_moment(moment, EFFORT.simulations, EFFORT.seed)
    judged = analysis.moves[-3]
    assert found == Verdict(judged.after, judged.better, judged.unknown)


@pytest.mark.slow
async def test_a_cancelled_analysis_leaves_no_process_and_what_there_is(recording: Recording) -> None:
    """What is there so far has been told, move by move."""
    await eventually(lambda: not search_processes())
    told: list[Analysis] = []
    working = asyncio.create_task(run_analysis(recording, Effort(100), told.append))
    await eventually(lambda: bool(told) and len(told[-1].moves) > 1)
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await working
    await eventually(lambda: not search_processes())
    assert not told[-1].complete
    assert [each.judged for each in told] == sorted(each.judged for each in told)
    assert told[0].curve == ()


@pytest.mark.slow
def test_an_analysis_that_was_left_is_continued(recording: Recording, analysis: Analysis) -> None:
    """What was judged before is not judged again, and the whole is the same."""
    begun = replace(analysis, moves=analysis.moves[:-2])
    told = list[Analysis]()
    assert asyncio.run(run_analysis(recording, EFFORT, told.append, begun)) == analysis
    assert [each.judged for each in told] == list(range(begun.judged, analysis.judged + 1))


async def test_an_unfinished_game_is_not_analysed() -> None:
    """Its hidden pieces are still hidden from somebody."""
    game = played(GameOptions(3, random_layout=True), seed=1, commands=20)
    with pytest.raises(NothingToAnalyse):
        await run_analysis(Recording.of(game.events, {}), EFFORT, lambda _: None)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_there_is_a_moment_for_every_placement(players: int) -> None:
    game = played(GameOptions(players, random_layout=players % 2 == 0), seed=players)
    recording = Recording.of(game.events, {})
    result = (1.0, *[0.0] * (players - 1))
    start, *moves = moments(recording, result)
    assert (start.move, start.open.phase, start.open.eyes) == (None, Phase.PLACING, recording.all_eyes)
    placed = [event for event in game.events if isinstance(event, Placed)]
    assert [each.move for each in moves] == [Place(each.seat, each.piece, each.field) for each in placed]
    assert [each.own and each.own.eyes for each in moves] == [eyes_of(each.seat) for each in placed]
    assert moves[-1].came_to == result


@pytest.mark.parametrize(
    ("gains", "advised"),
    [
        ([0.1] * 12, True),
        ([0.9] + [0.0] * 11, True),  # much in one world, and never worse
        ([0.9] * 6 + [-0.05] * 6, True),  # hardly worse
        ([0.5] * 10 + [-0.2] * 2, True),  # clearly worse in few worlds
        ([0.9] * 9 + [-0.2] * 3, False),
    ],
)
def test_advice_is_clearly_worse_in_few_worlds(gains: list[float], *, advised: bool) -> None:
    assert holds(gains) is advised


@pytest.mark.slow
def test_the_last_move_is_judged_exactly() -> None:
    """With everything open it wins or not; so each that does not is advised against, and no other."""
    game = played(GameOptions(2, random_layout=True), seed=0, commands=31)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    for move in legal.commands():
        end = Game(game.events, RandomChance(random.Random(0)))
        end.apply(move)
        assert end.view.result is not None
        found = better(game.view, move, 20, "seed")
        if move.seat in end.view.result.winners:
            assert found is None
        else:
            assert found is not None
            assert (found.chance, found.instead_of) == (1.0, 0.0)
            assert better(game.view, found.move, 20, "seed") is None


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 1, 19, 32])
def test_a_condition_names_a_wolf_that_matters(seed: int) -> None:
    """Over all that may be hidden, the move gains more if that wolf is of the kind that is named."""
    game = played(GameOptions(2, random_layout=True), seed, commands=31)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    own = snapshot(game.view, eyes_of(legal.seat))
    move = next(iter(legal.commands()))
    found = better(own, move, 20, "seed")
    assert found is not None
    assert found.condition is not None
    wolf = found.condition
    assert own.owners[wolf.field] == wolf.seat != legal.seat
    gains: dict[bool, list[tuple[int, float]]] = {True: [], False: []}
    for ways, pieces in possible_worlds(own):
        gain = won(own, pieces, found.move) - won(own, pieces, move)
        gains[pieces[wolf.field].kind is wolf.kind].append((ways, gain))
    with_it, without = (
        sum(ways * gain for ways, gain in gains[is_so]) / sum(ways for ways, _ in gains[is_so])
        for is_so in (True, False)
    )
    assert with_it > CLEARLY_BETTER
    assert without < with_it


@pytest.mark.slow
@pytest.mark.parametrize("seed", [7, 19, 32])
def test_the_reasons_of_a_last_move_come_from_all_worlds(seed: int) -> None:
    """They are true about as often as the worlds are likely, not as often as in a few of them."""
    game = played(GameOptions(2, random_layout=True), seed, commands=31)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    own = snapshot(game.view, eyes_of(legal.seat))
    move = next(iter(legal.commands()))
    found = better(own, move, 200, "seed")
    assert found is not None
    ending = exact_ending(own, 1000, random.Random("seed").getrandbits(64))
    assert ending is not None
    worlds = [(weight, world.board) for weight, world, _ in ending.outcomes()]
    for reason in found.reasons:
        assert isinstance(reason, Contest | Captives)
        for last, often in ((found.move, reason.often), (move, reason.instead)):
            exact = sum(weight * times_true(reason, own, board, last) for weight, board in worlds)
            exact /= sum(weight for weight, _ in worlds)
            assert often == pytest.approx(exact, abs=0.05 if isinstance(reason, Contest) else 0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("seed", "commands", "piece", "field", "best"),
    [(1, 22, "Es", "A1", "B3"), (3, 18, "Ef*", "A5", "D1"), (7, 22, "Mm", "D4", "C4")],
)
def test_a_move_is_named_where_a_venture_promises_more(
    seed: int, commands: int, piece: str, field: str, best: str
) -> None:
    """The best move on average loses in some worlds; the next best is better nearly everywhere."""
    game = played(GameOptions(2, random_layout=True), seed, commands)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    move = Place(legal.seat, Piece(piece), Field(field))
    found = better(snapshot(game.view, eyes_of(legal.seat)), move, 60, "seed")
    assert found is not None
    assert found.move.field == best


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "commands"), [(0, 18), (0, 22), (1, 22), (3, 14), (5, 26)])
def test_no_move_is_advised_if_the_next_best_is_clearly_better(seed: int, commands: int) -> None:
    """A comparison in the same worlds is more certain than the search that found the two."""
    game = played(GameOptions(2, random_layout=True), seed, commands)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    own = snapshot(game.view, eyes_of(legal.seat))
    move, other, found = advise(own, legal.seat, 60, "seed")
    assert compare_moves(own, other, move, 60, "seed") is None
    if found is not None:
        assert (found.move, found.gain >= CLEARLY_BETTER) == (move, True)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_a_small_difference_is_a_reason_only_if_there_is_no_other(seed: int) -> None:
    """Where two moves lead to laurels about as often, which comes first is mostly chance."""
    game = played(GameOptions(2, random_layout=True), seed, commands=24)
    legal = game.legal()
    assert isinstance(legal, LegalPlaces)
    own = snapshot(game.view, eyes_of(legal.seat))
    advised = [better(own, move, 40, "seed") for move in itertools.islice(legal.commands(), 0, None, 5)]
    contests = [
        [reason for reason in found.reasons if isinstance(reason, Contest)] for found in advised if found
    ]
    assert sum(map(len, contests)) > len(contests)
    for _first, *others in filter(None, contests):
        assert all(abs(other.often - other.instead) >= 0.12 for other in others)


def times_true(reason: Contest | Captives, own: View, board: Sequence[Occupant], last: Place) -> int:
    """Return whether a laurel is taken, or how many pieces are, if the game ends with this placement."""
    pieces = {
        field: piece
        if isinstance(piece, Piece)
        else Piece.of(
            piece.people, Kind.FARMER if board[FIELDS.index(field)] >= FARMER else Kind.MERCHANT, wolf=True
        )
        for field, piece in own.placed.items()
    }
    owners = {**own.owners, last.field: last.seat}
    events = scored(Board(own.layout, {**pieces, last.field: last.piece}, owners), own.laurels, own.seats)
    if isinstance(reason, Contest):
        hills = [event for event in events if isinstance(event, HillScored) and event.hill == reason.hill]
        return int(hills[0].leaders == (reason.seat,))
    return sum(
        owners[field] == reason.owner
        for event in events
        if isinstance(event, Captured) and event.seat == reason.captor
        for field in (*event.taken, *event.shared)
    )


@pytest.mark.slow
def test_what_nobody_could_know_is_named() -> None:
    """A move was right as its player saw the game, and lost it because of a wolf of the other kind."""
    game = played(GameOptions(2, random_layout=True), seed=0, commands=25)
    own = snapshot(game.view, eyes_of(Seat(0)))
    move = Place(Seat(0), Piece("Em*"), Field("G6"))
    assert better(own, move, 20, "seed") is None
    instead = better(game.view, move, 20, "seed")
    assert instead is not None
    wolf = unknown(own, game.view, move, 20, "seed")
    assert wolf is not None
    pieces = {field: piece for field, piece in game.view.placed.items() if isinstance(piece, Piece)}
    assert (own.owners[wolf.field], pieces[wolf.field].kind) == (wolf.seat, wolf.kind)
    assert isinstance(own.placed[wolf.field], Wolf)
    # Nothing is unknown to somebody who sees everything.
    assert unknown(game.view, game.view, move, 20, "seed") is None


def won(view: View, pieces: dict[Field, Piece], last: Place) -> float:
    """Return the seat's share of the victory after the last placement of a game with these pieces."""
    owners = {**view.owners, last.field: last.seat}
    *_, end = scored(Board(view.layout, {**pieces, last.field: last.piece}, owners), view.laurels, view.seats)
    assert isinstance(end, GameEnded)
    return (last.seat in end.winners) / len(end.winners)


shares = st.lists(st.floats(0.001, 1.0), min_size=2, max_size=5).map(
    lambda parts: tuple(part / sum(parts) for part in parts)
)


@given(shares, st.floats(0.0, 1.0))
def test_a_stretch_keeps_the_order(found: tuple[float, ...], placed: float) -> None:
    chances = chances_of(found, placed)
    assert sum(chances) == pytest.approx(1.0)
    order = sorted(range(len(found)), key=found.__getitem__)
    assert [chances[seat] for seat in order] == pytest.approx(sorted(chances))


@given(st.lists(st.integers(0, 60 * 256), min_size=2, max_size=5))
def test_winners_are_told_from_the_utilities(scores: list[int]) -> None:
    winners = scores.count(max(scores))
    expected = [1 / winners if score == max(scores) else 0.0 for score in scores]
    assert win_shares(utilities(scores)) == pytest.approx(expected)


def on_turn(commands: int) -> tuple[View, Legal]:
    """Return what the seat to move sees and may do after so many moves."""
    game = played(GameOptions(2), 1, commands)
    legal = game.legal()
    assert legal is not None
    return snapshot(game.view, eyes_of(legal.seat)), legal


@given(games())
def test_a_move_has_a_reason_where_its_effect_is_none(game: Game) -> None:
    """Laying a tile has one, a merchant alone, and a wolf that could be placed openly."""
    legal = game.legal()
    if legal is None:
        return
    eyes = eyes_of(legal.seat)
    assert redacted_legal(legal, eyes) == legal
    view = snapshot(game.view, eyes)
    command = greedy(view, legal, random.Random(1))
    reason = reason_for(command, view, legal)
    match command:
        case LayTile():
            assert reason.startswith("Springs lie ")
        case Place(piece=piece, field=field):
            assert isinstance(legal, LegalPlaces)
            alone = not any(beside in view.placed for beside in view.layout.adjacent(field))
            assert bool(reason) or piece.kind is not Kind.MERCHANT or not alone
            hides = piece.wolf and Piece(str(piece)[:-1]) in legal.pieces
            assert ("As a wolf" in reason) == hides
            given = forecast(view, legal.seat, piece, field)
            sure = any(each.least for each in given.captives.values()) or (given.gives or NONE).least
            if given.taken_first is None:
                assert bool(aim_of(command, view)) == bool(reason.partition("As a wolf")[0] or sure)


@examples(3)
@given(games())
def test_no_reason_is_what_a_soldier_takes_first(game: Game) -> None:
    """Neither springs nor company count for a piece that is captured before its hill is scored (R5, R6)."""
    legal = game.legal()
    if not isinstance(legal, LegalPlaces):
        return
    view = snapshot(game.view, eyes_of(legal.seat))
    for command in legal.commands():
        found = forecast(view, legal.seat, command.piece, command.field)
        if (soldier := found.taken_first) is not None:
            own = f"as prey for your soldier on {soldier.field}" if soldier.seat == legal.seat else ""
            assert aim_of(command, view) == own
            assert reason_for(command, view, legal).partition("As a wolf")[0] == ""


@pytest.mark.slow
async def test_a_hint_is_a_legal_move_and_compared_with_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found in another process, as the screen goes on; without one, a simpler move is suggested."""
    monkeypatch.setattr("client.bots.hints.SIMULATIONS", 100)
    view, legal = on_turn(10)
    suggesting = asyncio.create_task(suggest_move(view, legal))
    beats = 0
    while not suggesting.done():
        await asyncio.sleep(0)
        beats += 1
    found = await suggesting
    assert {found.command, found.other} <= set(legal.commands())
    assert found.other != found.command
    assert beats > 1

    async def lost(*_arguments: object, **_options: object) -> Command:
        raise ProcessesLost

    monkeypatch.setattr("client.bots.hints.in_process", lost)
    assert (await suggest_move(view, legal)).command in list(legal.commands())
    view, legal = on_turn(0)
    assert isinstance((await suggest_move(view, legal)).command, LayTile)
