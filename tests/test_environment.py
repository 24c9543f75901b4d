"""The environment for reinforcement learning: a game of the engine that hides what a seat may not know."""

import copy
import importlib
import random
import re
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from hypothesis import given
from hypothesis import strategies as st
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import environment
from engine.board import Field, has_spring, tile_of
from engine.components import LAUREL_WORTH
from engine.errors import IllegalCommand
from engine.game import Game, GameOptions, RandomChance
from engine.knowledge import holdings
from engine.pieces import Piece, Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, Phase, View, eyes_of
from environment import palatinus_v0
from environment.actions import action_count, action_of, command_of
from environment.agents import PalatinusEnvironment
from environment.observation import Board, Observer, observed
from environment.planes import planes_of
from tests.games import begun, examples, games, seeds


@given(games())
def test_the_mask_has_what_is_legal_and_nothing_else(game: Game) -> None:
    """Bit for bit, for the seat to move; each command has one action, and each action its command."""
    for seat in map(Seat, range(game.view.seats)):
        view = snapshot(game.view, eyes_of(seat))
        mask = observed(view, game.legal())["action_mask"]
        commands = game.legal_commands() if seat == game.view.turn else []
        actions = np.flatnonzero(mask).tolist()
        assert sorted(action_of(view, command) for command in commands) == actions
        assert {command_of(view, seat, action) for action in actions} == set(commands)


@pytest.mark.parametrize("players", [2, 5])
def test_what_the_mask_forbids_is_refused(players: int) -> None:
    """Every such action, while tiles are laid, when pieces are placed and when a soldier is due."""
    taken = PalatinusEnvironment(3)
    taken.reset(seed=1)
    taken.step(0)
    with pytest.raises(IllegalCommand, match=r"\w\d is taken. Choose an empty field."):
        taken.step(0)
    env = PalatinusEnvironment(players, random_layout=False)
    for number, _ in enumerate(played_on(env, 3)):
        if number not in (0, 4, 6, 20):
            continue
        agent = env.agent_selection
        before = env.observe(agent)
        for action in np.flatnonzero(before["action_mask"] == 0):
            with pytest.raises(ValueError, match=r"\w"):
                env.step(action)
        for outside in (-1, len(before["action_mask"]), None):
            with pytest.raises(ValueError, match="action"):
                env.step(outside)
        assert env.agent_selection == agent
        assert (env.observe(agent)["observation"] == before["observation"]).all()


@examples(2)  # each is a whole game
@given(players=st.integers(2, 5), seed=seeds, random_layout=st.booleans())
def test_a_game_is_the_engines_game(players: int, seed: int, random_layout: bool) -> None:
    """The same seed and commands give the same result there, and rewards are the shares of the victory.

    R4.2: until then an agent gets what its seat's own view holds, and everybody what a spectator sees.
    """
    env = PalatinusEnvironment(players, random_layout=random_layout, render_mode="ansi")
    game = Game.new(GameOptions(players, random_layout=random_layout), RandomChance(random.Random(seed)))
    for number, (seat, action) in enumerate(played_on(env, seed)):
        assert seat == game.view.turn
        assert not re.search(r"[mf]\*", env.render() or "")
        observer = Seat(number % players)
        seen = env.observe(env.agents[observer])
        due = observed(snapshot(game.view, eyes_of(observer)), game.legal())
        assert (seen["observation"] == due["observation"]).all()
        assert (seen["action_mask"] == due["action_mask"]).all()
        assert not any(env.rewards.values())
        assert not any(env.infos.values())
        game.apply(command_of(game.view, Seat(seat), action))
    result = game.view.result
    assert result is not None
    assert [info["points"] for info in env.infos.values()] == [tally.points for tally in result.tallies]
    assert sum(info["victory"] for info in env.infos.values()) == pytest.approx(1)
    assert sum(env.rewards.values()) == pytest.approx(0)
    others = players - 1
    for seat, agent in enumerate(env.possible_agents):
        share = (Seat(seat) in result.winners) / len(result.winners)
        assert env.rewards[agent] == pytest.approx(share - (1 - share) / others)
    assert all(env.terminations.values())
    assert not any(env.truncations.values())


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_a_game_has_a_fixed_number_of_steps(players: int) -> None:
    """So it needs no limit: each tile, each piece, and None from each agent in the end."""
    env = PalatinusEnvironment(players, random_layout=False)
    assert sum(1 for _ in played_on(env, 1)) == 6 + {2: 32, 3: 36, 4: 32, 5: 35}[players]
    for _ in range(players):
        env.step(None)
    assert env.agents == []


def test_the_seed_decides_all_chance() -> None:
    """Resetting without one goes on, so that a run of games can be repeated from the first seed."""
    envs = [PalatinusEnvironment(4) for _ in range(2)]
    boards = []
    for env in envs:
        env.reset(seed=7)
        for _ in range(3):
            boards.append(env.observe("player_0")["observation"].tobytes())
            env.reset()
    assert boards[:3] == boards[3:]
    assert len(set(boards)) == 3


def test_a_copy_of_the_environment_goes_its_own_way() -> None:
    env = PalatinusEnvironment(3)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    agent, before = env.agent_selection, env.observe("player_1")["observation"]
    twin.step(legal_actions(twin)[0])
    assert env.agent_selection == agent != twin.agent_selection
    assert (env.observe("player_1")["observation"] == before).all()


def legal_actions(env: PalatinusEnvironment) -> list[int]:
    """Return the actions that the mask of the agent to move allows."""
    return [int(action) for action in np.flatnonzero(env.observe(env.agent_selection)["action_mask"])]


def played_on(env: PalatinusEnvironment, seed: int) -> Iterator[tuple[int, int]]:
    """Play a new game to its end; yield each seat and its action before it is played."""
    env.reset(seed=seed)
    chooser = random.Random(seed + 1)
    while not any(env.terminations.values()):
        action = chooser.choice(legal_actions(env))
        yield env.possible_agents.index(env.agent_selection), action
        env.step(action)


NAMES = {"m": "merchant", "f": "farmer", "s": "soldier"}


def shown(numbers: Board, names: list[str]) -> dict[str, int]:
    """Return what is not 0 in one place, by the planes' names."""
    return {name: int(number) for name, number in zip(names, numbers, strict=True) if number}


def expected_planes(view: View, seat: int) -> dict[str, int]:
    """Return what is the same everywhere, and not 0."""
    players = view.seats
    expected = Counter[str]()
    expected["laying"] = view.phase is Phase.LAYING
    expected[f"drawn {view.drawn}"] = view.drawn is not None
    if view.turn is not None:
        expected[f"turn of {(view.turn - seat) % players}"] = 1
    for holding in holdings(view):
        away = (holding.seat - seat) % players
        prefix = "second " if holding.people != view.start.peoples[holding.seat][0] else ""
        for count in holding.counts:
            face = count.piece[1:]
            if away == 0 and view.phase is not Phase.OVER:
                expected[f"hand {prefix}{face}"] = count.left.least
            name = f"left {prefix}{'*' if count.piece.wolf else face} of {away}"
            expected[name] += count.dealt - count.placed
        expected[f"left {prefix}* of {away}"] -= holding.wolves
    return {name: number for name, number in expected.items() if number}


def expected_field(view: View, seat: int, field: Field) -> dict[str, int]:
    """Return what is on a field, and not 0."""
    tile = tile_of(field)
    expected = {f"tile {tile}": 1}
    if has_spring(field):
        expected["spring"] = 1
    if tile in view.laurels:
        expected["laurel"] = LAUREL_WORTH[view.laurels[tile]]
    piece = view.placed.get(field)
    if piece is not None:
        owner = view.owners[field]
        away = (owner - seat) % view.seats
        expected["placed"] = list(view.placed).index(field) + 1
        if isinstance(piece, Piece):
            expected[f"{NAMES[piece.kind]} of {away}"] = 1
        if piece.endswith("*"):
            expected[f"wolf of {away}"] = 1
        if piece.people != view.start.peoples[owner][0]:
            expected["second people"] = 1
    return expected


@given(games())
def test_an_observation_is_what_the_seats_view_holds(game: Game) -> None:
    players = game.view.seats
    planes = planes_of(players)
    names, even = list(planes.most), planes.first_even
    space = PalatinusEnvironment(players).observation_space("player_0")
    for seat in range(players):
        view = snapshot(game.view, eyes_of(Seat(seat)))
        seen = observed(view, game.legal())
        assert space.contains(seen)
        board = seen["observation"]
        assert (board[:, :, even:] == board[0, 0, even:]).all()
        assert shown(board[0, 0, even:], names[even:]) == expected_planes(view, seat)
        found = {
            (column - 4, row - 4): shown(board[row, column, :even], names[:even])
            for row, column in np.ndindex(9, 9)
        }
        expected = {cell: expected_field(view, seat, field) for field, cell in view.layout.hexes.items()}
        for tile, cell in view.layout.hills.items():
            expected[cell] = {f"tile {tile}": 1}
            if tile in view.laurels:
                expected[cell]["laurel"] = LAUREL_WORTH[view.laurels[tile]]
        assert {cell: planes for cell, planes in found.items() if planes} == expected


@given(games())
def test_event_by_event_it_is_the_same_as_from_the_view(game: Game) -> None:
    """An observer that has followed the game sees what one sees that looks now."""
    for seat in range(game.view.seats):
        eyes = eyes_of(Seat(seat))
        observer = Observer(snapshot(Game(game.events[:1], RandomChance(random.Random(0))).view, eyes))
        for number, event in enumerate(game.events[1:]):
            observer.fold(redacted(event, eyes))
            if number % 5 == seat:
                observer.observation(None)  # looking in between changes nothing
        now, fresh = observer.observation(game.legal()), observed(snapshot(game.view, eyes), game.legal())
        assert (now["observation"] == fresh["observation"]).all()
        assert (now["action_mask"] == fresh["action_mask"]).all()


def test_an_observation_stays_as_it_was() -> None:
    env = PalatinusEnvironment(3)
    env.reset(seed=1)
    first = env.observe("player_0")
    kept = first["observation"].copy()
    env.step(legal_actions(env)[0])
    assert (first["observation"] == kept).all()


def test_only_one_seat_observes() -> None:
    game = begun(GameOptions(3), 1)
    for view, eyes in ((game.view, 3), (snapshot(game.view, SPECTATOR), 0)):
        with pytest.raises(ValueError, match=f"this is the view of {eyes}"):
            observed(view, None)


@pytest.mark.parametrize(("players", "planes"), [(2, 52), (3, 50), (4, 59), (5, 68)])
def test_the_shape_depends_on_the_number_of_players_alone(players: int, planes: int) -> None:
    """As docs/reinforcement-learning.md has it."""
    for random_layout in (True, False):
        space = PalatinusEnvironment(players, random_layout=random_layout).observation_space("player_0")
        assert isinstance(space, spaces.Dict)
        assert space["observation"].shape == (9, 9, planes)


pytestmark = [
    # What PettingZoo's test says of its own games with masks, too: it knows those by name.
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
    # No action is legal when the game is over.
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros"),
]
EACH = 50  # cycles: more than a game has


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_pettingzoos_api_and_seed_tests_pass(players: int) -> None:
    """By the registered id, as PettingZoo's users make environments.

    Two with the same seed and actions go the same way, also where tiles are drawn later.
    """
    for random_layout in (True, False):
        env = pettingzoo.make("aec", "palatinus-v0", players=players, random_layout=random_layout)
        api_test(env, num_cycles=EACH)
    seed_test(lambda: palatinus_v0.env(players, random_layout=False), num_cycles=EACH)


def test_pettingzoos_render_test_passes(capsys: pytest.CaptureFixture[str]) -> None:
    render_test(lambda **options: palatinus_v0.env(3, **options))
    assert "player_1 places a piece; to place" in capsys.readouterr().out


def test_the_environment_is_registered() -> None:
    assert pettingzoo.spec("aec", "palatinus-v0") is pettingzoo.spec("aec", "palatinus")
    made = pettingzoo.make("aec", "palatinus-v0")
    assert str(made) == str(palatinus_v0.raw_env()) == "palatinus_v0"
    assert made.possible_agents == ["player_0", "player_1"]


def test_an_illegal_action_can_end_the_game_instead() -> None:
    """PettingZoo's wrapper finds the mask where it looks for it."""
    env = TerminateIllegalWrapper(palatinus_v0.raw_env(3), illegal_reward=-1)
    env.reset(seed=1)
    first = env.agent_selection
    env.step(action_count(3) - 1)  # lays a tile, and all are laid
    assert env.rewards[first] == -1
    assert all(env.terminations.values())


def test_what_cannot_be_chosen_is_refused() -> None:
    with pytest.raises(ValueError, match="6 players cannot play: choose 2 to 5"):
        palatinus_v0.env(6)
    with pytest.raises(ValueError, match="'rgb_array' is not a render mode: choose ansi or human"):
        palatinus_v0.env(render_mode="rgb_array")
    env = palatinus_v0.raw_env()
    env.reset()
    with pytest.warns(UserWarning, match="choose render_mode='ansi' or 'human'"):
        assert env.render() is None


def test_without_pettingzoo_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'palatinus\[rl\]'"):
        importlib.reload(environment)
