"""Palatinus for reinforcement learning: a PettingZoo environment, registered as `palatinus-v0`.

Needs the extra `palatinus[rl]`. docs/reinforcement-learning.md describes observations, actions and rewards.
"""

try:
    import pettingzoo
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        f"The environment needs {error.name}, which is not installed: pip install 'palatinus[rl]'",
        name=error.name,
    ) from error

pettingzoo.register("aec", "palatinus-v0", entry_point="environment.palatinus_v0:env")
