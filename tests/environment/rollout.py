"""Games in the environment, played by random actions."""

import random
from collections.abc import Iterator

import numpy as np

from environment.agents import PalatinusEnvironment


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
