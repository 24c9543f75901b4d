"""A game as an agent-environment cycle of PettingZoo: each seat is an agent, and they act in turn."""

import operator
import random
import sys
from typing import Any, Final, SupportsIndex

import gymnasium
import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv

from engine.events import GameEnded
from engine.game import Game, GameOptions, RandomChance
from engine.legal import Legal
from engine.pieces import Seat
from engine.redaction import redacted, snapshot
from engine.view import SPECTATOR, eyes_of
from environment.actions import action_count, command_of
from environment.board_text import board_text
from environment.cells import SIZE
from environment.observation import Observation, Observer
from environment.planes import planes_of

_RENDER_MODES: Final = ("ansi", "human")


class PalatinusEnvironment(AECEnv[str, Any, Any]):
    """Games of 2 to 5 players, `player_0` to `player_4`; by default the tiles are laid at random.

    Observations hold what a seat may know. This object holds the whole game, like a server.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012 - so PettingZoo has it
        "name": "palatinus_v0",
        "render_modes": list(_RENDER_MODES),
        "is_parallelizable": False,
        "render_fps": 1,
    }

    def __init__(
        self, players: int = 2, *, random_layout: bool = True, render_mode: str | None = None
    ) -> None:
        """Raises ValueError for a number of players or a render mode that does not exist."""
        super().__init__()  # type: ignore[no-untyped-call]
        self._options = GameOptions(players, random_layout=random_layout)
        if render_mode not in (None, *_RENDER_MODES):
            raise ValueError(f"{render_mode!r} is not a render mode: choose {' or '.join(_RENDER_MODES)}")
        self.render_mode = render_mode
        self.possible_agents = [f"player_{seat}" for seat in range(players)]
        self.observation_spaces = {agent: _observation_space(players) for agent in self.possible_agents}
        self.action_spaces = {agent: spaces.Discrete(action_count(players)) for agent in self.possible_agents}
        self._eyes = {agent: eyes_of(Seat(seat)) for seat, agent in enumerate(self.possible_agents)}
        self._rng: random.Random | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return self.action_spaces[agent]

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:  # noqa: ARG002 - it has none
        """Start a game. All chance comes from `seed`; without one, it goes on from the last one given."""
        if seed is not None or self._rng is None:
            self._rng = random.Random(seed if seed is None else operator.index(seed))
        self._game = Game.new(self._options, RandomChance(self._rng))
        self._legal: Legal | None = self._game.legal()
        self.agents = list(self.possible_agents)
        self._observers = {
            agent: Observer(snapshot(self._game.view, eyes)) for agent, eyes in self._eyes.items()
        }
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self._select()

    def observe(self, agent: str) -> Observation:
        """Return what the agent's seat sees; its mask is empty while others are to move."""
        return self._observers[agent].observation(self._legal)

    def step(self, action: SupportsIndex | None) -> None:
        """Play the action of the agent to move; after the end, each agent's is None.

        Raises ValueError, and changes nothing, if the action is not legal; the game's own refusals say why.
        """
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(action)
            return
        if action is None:
            raise ValueError(f"The game of {agent} is not over: choose an action that the mask allows.")
        view = self._game.view
        seat = Seat(self.possible_agents.index(agent))
        for event in self._game.apply(command_of(view, seat, operator.index(action))):
            for name, observer in self._observers.items():
                observer.fold(redacted(event, self._eyes[name]))
        self._legal = self._game.legal()
        self._cumulative_rewards[agent] = 0.0
        if view.result is not None:
            self._end(view.result)
        self._select()
        if self.render_mode == "human":
            self.render()

    def _end(self, result: GameEnded) -> None:
        players = len(self.agents)
        for seat, (agent, tally) in enumerate(zip(self.agents, result.tallies, strict=True)):
            victory = 1 / len(result.winners) if seat in result.winners else 0.0
            self.rewards[agent] = (players * victory - 1) / (players - 1)
            self.infos[agent] = {"points": tally.points, "victory": victory}
        self.terminations = dict.fromkeys(self.agents, True)
        self._accumulate_rewards()

    def _select(self) -> None:
        turn = self._game.view.turn
        self.agent_selection = self.agents[turn or 0]

    def render(self) -> str | None:
        """Return the board as a spectator sees it, as text; in the mode `human` write it instead."""
        if self.render_mode is None:
            gymnasium.logger.warn("There is nothing to render: choose render_mode='ansi' or 'human'.")
            return None
        text = board_text(snapshot(self._game.view, SPECTATOR))
        if self.render_mode == "ansi":
            return text
        sys.stdout.write(text)
        return None

    def close(self) -> None:
        """Do nothing: there is nothing to close."""


def _observation_space(players: int) -> spaces.Dict:
    most = np.array(list(planes_of(players).most.values()), np.int8)
    high = np.broadcast_to(most, (SIZE, SIZE, len(most)))
    return spaces.Dict(
        {
            "observation": spaces.Box(np.zeros_like(high), high, dtype=np.int8),
            "action_mask": spaces.Box(0, 1, (action_count(players),), np.int8),
        }
    )
