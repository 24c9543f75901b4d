"""Brains and levels: always legal, each stronger than the one before and with a temper of its own."""

import pickle
import random
import re
import sys
import types
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given

from client import levels
from client.bots.brain import Brain, brain_failure
from client.bots.brains import BRAINS, LEVELS, NamedBrain, NoSuchBrain, at_random, brain_named
from client.bots.greedy import Outlook
from client.bots.search.brain import SearchBrain
from client.levels import describe_level, describe_temper, usual_level
from engine.board import FIELDS, TILES
from engine.components import LAUREL_WORTH
from engine.events import HillScored, Place, Placed
from engine.game import Game, GameOptions, RandomChance
from engine.legal import LegalPlaces
from engine.pieces import Piece, Seat
from engine.redaction import snapshot
from engine.scoring import Board, influences
from engine.view import View, eyes_of
from hosting.levels import STAND_IN, with_bots
from server.config import Config, InProcess
from tests.cases import cases
from tests.games import begun, examples, finished_games, games, played, seeds

EVERY_BRAIN = pytest.mark.parametrize(
    "brain",
    [
        brain_named(name)
        for name in ("random", "greedy", "bluffer", "gambler", "search:100", "liar:100", *LEVELS)
        if not isinstance(LEVELS.get(name), SearchBrain)  # the others search like search:100
    ],
    ids=lambda brain: brain.name,
)


def view_of_seat(game: Game, seat: Seat) -> View:
    return snapshot(game.view, eyes_of(seat))


@EVERY_BRAIN
@examples(1)
@given(game=games(), seed=seeds)
def test_any_position_has_a_legal_answer(brain: NamedBrain, game: Game, seed: int) -> None:
    """From a redacted view alone, which stays as it is; the same seed leads to the same choice."""
    legal = game.legal()
    assume(legal is not None)
    assert legal is not None
    view = view_of_seat(game, legal.seat)
    choices = [brain.choose(view, legal, random.Random(seed)) for _ in range(2)]
    assert choices[0] == choices[1]
    assert choices[0] in set(legal.commands())
    assert view == view_of_seat(game, legal.seat)


@given(finished_games())
def test_the_outlook_on_the_last_placement_is_the_result(game: Game) -> None:
    """R5, R6: with nothing hidden and nothing to come, the expected score is the actual one."""
    last = max(number for number, event in enumerate(game.events) if isinstance(event, Placed))
    placed = game.events[last]
    assert isinstance(placed, Placed)
    before = Game(game.events[:last], RandomChance(random.Random(0)))
    seat, others = placed.seat, before.view.seats - 1
    assert game.view.result is not None
    taken = [tally.captives + tally.ones for tally in game.view.result.tallies]
    score = taken[seat] - (sum(taken) - taken[seat]) / others
    for event in game.events:
        if isinstance(event, HillScored):
            leaders = [
                each for each, influence in enumerate(event.influence) if influence == max(event.influence)
            ]
            chance = (seat in leaders) / len(leaders)  # the outlook shares the laurel of a tie
            score += LAUREL_WORTH[event.laurel] * (chance - (1 - chance) / others)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("client.bots.greedy.DOUBT", 1e-6)
        patch.setattr("client.bots.greedy.DOUBT_PER_CHANGE", 0.0)
        expected = Outlook(before.view, seat).after(placed.field, placed.piece.kind)
    assert expected == pytest.approx(score, abs=1e-4)


@given(finished_games())
def test_certain_odds_give_the_influence_of_the_scoring(game: Game) -> None:
    """R6.1 to R6.4: where all pieces are certain, the outlook's sums are those of the rules."""
    last = max(number for number, event in enumerate(game.events) if isinstance(event, Placed))
    view = Game(game.events[:last], RandomChance(random.Random(0))).view
    assert view.turn is not None
    expected = Outlook(view, view.turn)
    pieces = {field: piece for field, piece in view.placed.items() if isinstance(piece, Piece)}
    board = Board(view.layout, pieces, view.owners)
    for number, hill in enumerate(TILES):
        totals = [0] * view.seats
        for piece in influences(board, hill):
            totals[piece.seat] += piece.amount
        assert expected._influence(expected._boards[0], number) == totals


@given(game=games())
def test_scoring_only_what_changed_equals_scoring_everything(game: Game) -> None:
    """A placement changes only some hills, so the outlook scores only these."""
    legal = game.legal()
    assume(isinstance(legal, LegalPlaces))
    assert isinstance(legal, LegalPlaces)
    places = list(legal.commands())[::7]
    quick = Outlook(view_of_seat(game, legal.seat), legal.seat)
    scores = [quick.after(place.field, place.piece.kind) for place in places]
    assert scores == [quick.after(place.field, place.piece.kind) for place in places]  # it changes nothing
    for place, score in zip(places, scores, strict=True):
        index = FIELDS.index(place.field)
        quick._owners[index] = place.seat
        assert quick._replay(index, place.piece.kind, 0) == pytest.approx(score)  # from the first hill on
        quick._owners[index] = -1


def test_brains_written_by_users(monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType("my_brains")
    module.__dict__.update(mine=at_random, choose=at_random, number=3)
    monkeypatch.setitem(sys.modules, "my_brains", module)
    assert brain_named("my_brains:mine").choose is at_random
    assert brain_named("my_brains:mine").name == "mine"
    assert brain_named("my_brains:choose").name == "my_brains"
    assert brain_named("greedy").choose is BRAINS["greedy"]
    endless = f"search:{'9' * 5000}", "A search makes 100 to 1000000"
    for text, reason in (*cases(__file__, "wrong_brains"), endless):
        with pytest.raises(NoSuchBrain, match=reason):
            brain_named(text)


def test_a_brain_with_other_parameters_is_shown_where_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "brain_of_one.py"
    file.write_text('"""A brain."""\n\ndef mine(view):\n    pass\n', encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    choose = brain_named("brain_of_one:mine").choose
    with pytest.raises(TypeError) as error:
        choose(View(eyes_of(Seat(0))), LegalPlaces(Seat(0), (), ()), random.Random(0))
    told = str(brain_failure("mine", choose, error.value))
    assert told.startswith(f"The brain mine failed in {file}, line 3: TypeError: mine() takes 1 positional")


@pytest.mark.parametrize(
    ("code", "line", "reason"),
    [
        ("def mine(view, legal, rng)\n    pass\n", 1, "SyntaxError: expected ':'"),
        ("import json\n\njson.loads('{')\n", 3, "json.decoder.JSONDecodeError: .*"),
        ("def helped():\n    return [][0]\n\nhelped()\n", 2, "IndexError: list index out of range"),
        ("import sys\n\nsys.exit('done')\n", 3, "SystemExit: done"),
    ],
)
def test_a_module_that_fails_is_reported_in_one_line(
    code: str, line: int, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the line of the user's own file, even if the error arose in a library."""
    file = tmp_path / "failing_brain.py"
    file.write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NoSuchBrain) as failed:
        brain_named("failing_brain:mine")
    sentence = rf"The brain failing_brain:mine failed in {re.escape(str(file))}, line {line}: {reason}\."
    assert re.fullmatch(sentence, str(failed.value))


def quick(brain: Brain) -> Brain:
    """Return the brain with few simulations, and without a limit to its time."""
    if not isinstance(brain, SearchBrain):
        return brain
    return replace(brain, simulations=brain.simulations // 50, seconds=600.0)


def match(first: Brain, second: Brain, games: int) -> float:
    """Return how many games the first wins, with the seats changed after each."""
    won = 0.0
    for number in range(games):
        game, rng = begun(GameOptions(2, random_layout=True), number), random.Random(number)
        own = Seat(number % 2)
        while (legal := game.legal()) is not None:
            brain = first if legal.seat == own else second
            game.apply(brain(snapshot(game.view, eyes_of(legal.seat)), legal, rng))
        assert game.view.result is not None
        winners = game.view.result.winners
        won += (own in winners) / len(winners)
    return won


def places(brain: Brain) -> Iterator[tuple[View, LegalPlaces, Place]]:
    """Yield what the brain saw, might do and did in a game against itself."""
    game, rng = begun(GameOptions(2, random_layout=True), 1), random.Random(1)
    while isinstance(legal := game.legal(), LegalPlaces):
        view = view_of_seat(game, legal.seat)
        command = brain(view, legal, rng)
        assert isinstance(command, Place)
        yield view, legal, command
        game.apply(command)


@pytest.mark.parametrize(
    ("weaker", "stronger"),
    [
        ("slave", "plebeian"),
        pytest.param("plebeian", "citizen", marks=pytest.mark.slow),
        pytest.param("citizen", "senator", marks=pytest.mark.slow),
        pytest.param("senator", "consul", marks=pytest.mark.slow),
    ],
)
def test_levels_are_in_the_order_of_their_strength(weaker: str, stronger: str) -> None:
    """A short match; `palatinus arena` measures by how much. The same seeds play the same games."""
    first, second = LEVELS[stronger], LEVELS[weaker]
    if weaker != "citizen":  # with few simulations, a senator would not beat one
        first, second = quick(first), quick(second)
    assert match(first, second, 3) >= 2


def test_a_slave_stays_close_to_its_own() -> None:
    """From its second placement on, as long as there is a free field beside its pieces."""
    for view, legal, place in places(LEVELS["slave"]):
        own = {field for field, seat in view.owners.items() if seat == legal.seat}
        beside = {field for field in legal.fields if own.intersection(view.layout.adjacent(field))}
        assert not beside or place.field in beside


@pytest.mark.parametrize(("name", "wolf"), [("plebeian", False), ("citizen", True)])
def test_who_loves_wolves_and_who_does_not(name: str, wolf: bool) -> None:
    chosen = []
    for _, legal, place in places(LEVELS[name]):
        if len({each.wolf for each in legal.pieces if each.kind is place.piece.kind}) > 1:
            chosen.append(place.piece.wolf)
    assert chosen == [wolf] * len(chosen)
    assert len(chosen) > 5


def unpickled(brain: Any) -> Any:
    """Return what a process gets that is sent the brain."""
    return pickle.loads(pickle.dumps(brain))  # noqa: S301 - our own


def test_a_server_seats_the_levels_and_has_searches_think_elsewhere() -> None:
    """Those that search are sent to processes as the brains themselves; by default none of them stands in."""
    config = with_bots(Config())
    assert list(config.brains) == list(LEVELS)
    for name, level in LEVELS.items():
        brain = config.brains[name]
        assert isinstance(brain, InProcess) == isinstance(level, SearchBrain)
        assert unpickled(brain.choose if isinstance(brain, InProcess) else brain) == level
    assert config.stand_in == config.brains[STAND_IN]
    assert not isinstance(config.stand_in, InProcess)


def test_levels_that_search_learn_in_a_process_from_the_games_before() -> None:
    """The process calls `game_over` of what it is sent, if there is such a method."""
    game = played(GameOptions(2), 1)
    view = snapshot(game.view, eyes_of(Seat(0)))
    for name, brain in with_bots(Config()).brains.items():
        level = LEVELS[name]
        assert isinstance(brain, InProcess) == isinstance(level, SearchBrain)
        if isinstance(brain, InProcess) and isinstance(level, SearchBrain):
            learned = unpickled(brain.choose).game_over(view)
            assert learned == level.game_over(view)
            assert learned != level


def test_bots_of_older_tables_keep_their_brains() -> None:
    config = with_bots(Config(), "consul", seated=False)
    assert not config.brains
    assert unpickled(config.former_brains["greedy"]) is BRAINS["greedy"]
    assert unpickled(config.former_brains["random"]) is BRAINS["random"]
    assert set(LEVELS) < set(config.former_brains)
    assert isinstance(config.stand_in, InProcess)
    assert unpickled(config.stand_in.choose) == LEVELS["consul"]


def test_levels_are_brains_and_told_with_their_temper() -> None:
    for name, brain in LEVELS.items():
        assert brain_named(name) == NamedBrain(name, brain)
    assert [level.name for level in levels.LEVELS] == list(LEVELS)
    for level in levels.LEVELS:
        assert describe_level(level.name) == level.title
        assert describe_temper(level.name) == level.temper
    assert (describe_level("greedy"), describe_temper("greedy")) == ("greedy", "")
    assert usual_level(tuple(LEVELS)) == "plebeian"
    assert usual_level(("random", "greedy")) == "greedy"
