"""A game in the environment is a game of the engine, and tells an agent nothing that is hidden from it."""

import copy
import random
import re
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.errors import IllegalCommand
from engine.game import Game, GameOptions, RandomChance
from engine.pieces import Seat
from engine.redaction import snapshot
from engine.view import eyes_of
from environment.actions import action_of, command_of
from environment.agents import PalatinusEnvironment
from environment.observation import observed
from tests.examples import examples
from tests.games import games, seeds


@given(games())
def test_the_mask_has_what_is_legal_and_nothing_else(game: Game) -> None:
    """Bit for bit, for the seat on turn; each command has one action, and each action its command."""
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


@examples(6)  # each is a whole game
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
    """As a search in the environment needs it."""
    env = PalatinusEnvironment(3)
    env.reset(seed=1)
    twin = copy.deepcopy(env)
    agent, before = env.agent_selection, env.observe("player_1")["observation"]
    twin.step(legal_actions(twin)[0])
    assert env.agent_selection == agent != twin.agent_selection
    assert (env.observe("player_1")["observation"] == before).all()


def legal_actions(env: PalatinusEnvironment) -> list[int]:
    """Return the actions that the mask of the agent on turn allows."""
    return [int(action) for action in np.flatnonzero(env.observe(env.agent_selection)["action_mask"])]


def played_on(env: PalatinusEnvironment, seed: int) -> Iterator[tuple[int, int]]:
    """Play a new game to its end; yield each seat and its action before it is played."""
    env.reset(seed=seed)
    chooser = random.Random(seed + 1)
    while not any(env.terminations.values()):
        action = chooser.choice(legal_actions(env))
        yield env.possible_agents.index(env.agent_selection), action
        env.step(action)
