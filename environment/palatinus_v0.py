"""Version 0 of the environment, under the names that PettingZoo's users expect: `env` and `raw_env`."""

from typing import Any

from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from environment.agents import PalatinusEnvironment

__all__ = ["env", "raw_env"]

raw_env = PalatinusEnvironment


def env(
    players: int = 2, *, random_layout: bool = True, render_mode: str | None = None
) -> OrderEnforcingWrapper[str, Any, Any]:
    """Return the environment, which also refuses calls that come in the wrong order."""
    return OrderEnforcingWrapper(
        PalatinusEnvironment(players, random_layout=random_layout, render_mode=render_mode)
    )
