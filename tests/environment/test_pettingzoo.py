"""PettingZoo's own tests, and what its users rely on."""

import importlib
import sys

import pettingzoo
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.wrappers import TerminateIllegalWrapper

import environment
from environment import palatinus_v0
from environment.actions import action_count

pytestmark = [
    # What PettingZoo's test says of its own games with masks, too: it knows those by name.
    pytest.mark.filterwarnings("ignore:Observation is not a NumPy array"),
    pytest.mark.filterwarnings("ignore:Observation space for each agent probably should be"),
    # No action is legal when the game is over.
    pytest.mark.filterwarnings("ignore:Action mask numpy array is all zeros"),
]
EACH = 50  # cycles: more than a game has


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
    """As text, and written out."""
    render_test(lambda **options: palatinus_v0.env(3, **options))
    assert "player_1 places a piece; to place" in capsys.readouterr().out


def test_the_environment_is_registered() -> None:
    """Under an id of PettingZoo's form, with and without the version."""
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
    """A number of players, a render mode; and rendering without a mode says which there are."""
    with pytest.raises(ValueError, match="6 players cannot play: choose 2 to 5"):
        palatinus_v0.env(6)
    with pytest.raises(ValueError, match="'rgb_array' is not a render mode: choose ansi or human"):
        palatinus_v0.env(render_mode="rgb_array")
    env = palatinus_v0.raw_env()
    env.reset()
    with pytest.warns(UserWarning, match="choose render_mode='ansi' or 'human'"):
        assert env.render() is None


def test_without_pettingzoo_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extra's name, and not only the module's."""
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'palatinus\[rl\]'"):
        importlib.reload(environment)
