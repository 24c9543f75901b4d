"""Nothing hidden is in what an agent gets: observations, masks, rewards, infos, their order and number."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from environment.agents import PalatinusEnvironment
from tests.environment.rollout import legal_actions, played_on
from tests.examples import examples
from tests.games import seeds

CELLS = 42
# The faces of a hand in the order of the actions, by number of players; (2) is the second people.
FACES = {
    players: ["m", "m*", "f", "f*", "s", *(["m(2)", "m*(2)", "f(2)", "f*(2)"] if players == 2 else [])]
    for players in (2, 3, 4, 5)
}


def told(env: PalatinusEnvironment, seat: int) -> list[object]:
    """Return all that the environment tells an agent, and all that it tells everybody."""
    agent = env.possible_agents[seat]
    seen = env.observe(agent)
    return [
        seen["observation"].tobytes(),
        seen["action_mask"].tobytes(),
        env.agent_selection,
        list(env.agents),
        dict(env.rewards),
        dict(env.terminations),
        dict(env.truncations),
        {name: dict(info) for name, info in env.infos.items()},
        env.render(),
    ]


def twin_action(env: PalatinusEnvironment, action: int, chooser: random.Random) -> int:
    """Return an action that others cannot tell from this one: a wolf of the same people in the same cell."""
    faces = FACES[len(env.possible_agents)]
    piece, cell = divmod(action, CELLS)
    if piece >= len(faces) or "*" not in faces[piece]:
        return action
    alike = [number for number, face in enumerate(faces) if face[1:] == faces[piece][1:]]
    return chooser.choice([act for act in legal_actions(env) if act in [CELLS * n + cell for n in alike]])


def game_and_twin(
    players: int, seat: int, seed: int, *, random_layout: bool
) -> tuple[Sequence[object], Sequence[object], int]:
    """Return all that a seat is told in a game, and in a twin whose hidden wolves may be of the other kind.

    And how many of these are.
    """
    env, twin = (PalatinusEnvironment(players, random_layout=random_layout, render_mode="ansi") for _ in "12")
    twin.reset(seed=seed)
    chooser = random.Random(seed + 2)
    seen: tuple[list[object], list[object]] = ([], [])
    changed = 0
    for mover, action in played_on(env, seed):
        other = action if mover == seat else twin_action(twin, action, chooser)
        changed += other != action
        for side, each in zip(seen, (env, twin), strict=True):
            side.append(told(each, seat))
        twin.step(other)
    assert all(twin.terminations.values())
    return *seen, changed


@examples(6)  # each is two whole games
@given(players=st.integers(2, 5), seat=st.integers(0, 4), seed=seeds, random_layout=st.booleans())
def test_hidden_kinds_change_nothing_that_another_agent_gets(
    players: int, seat: int, seed: int, random_layout: bool
) -> None:
    """R4.2: until the game is over, games that differ in hidden kinds alone are the same to a seat."""
    game, twin, _ = game_and_twin(players, seat % players, seed, random_layout=random_layout)
    assert game == twin


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_the_twins_are_different_games(players: int) -> None:
    """Else the test above would prove nothing."""
    assert game_and_twin(players, 0, players, random_layout=True)[2] > 2


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_a_mask_is_only_for_the_agent_on_turn(players: int) -> None:
    """R3.5: what may be placed shows what the hand holds."""
    env = PalatinusEnvironment(players, random_layout=False)
    for mover, _ in played_on(env, players):
        for seat, agent in enumerate(env.possible_agents):
            assert env.observe(agent)["action_mask"].any() == (seat == mover)
