"""The levels of a server's bots: the server knows no brains, and these no server."""

import random
from dataclasses import dataclass, replace
from typing import Any, Final

from client.bots import brain_of
from client.levels import LEVELS
from engine.events import Command
from engine.legal import Legal
from engine.view import View
from server.config import Brain, Config, InProcess

STAND_IN: Final = "citizen"  # the best level that moves at once
_LEVELS: Final = tuple(level.name for level in LEVELS)
_SEARCHING: Final = ("senator", "consul")  # a search thinks for long, and so in a process of its own
_FORMER: Final = ("random", "greedy")  # levels that bots of older tables have


@dataclass(frozen=True, slots=True)
class Level:
    """A brain by its name, imported where it first thinks, so that a server starts without it.

    It is pickled as the brain itself, which can learn from earlier games (`game_over`) where it thinks.
    """

    name: str

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command:
        command: Command = brain_of(self.name)(view, legal, rng)
        return command

    def __reduce__(self) -> Any:
        return brain_of, (self.name,)


def with_bots(config: Config, stand_in: str = STAND_IN, *, seated: bool = True) -> Config:
    """Return the configuration with a stand-in of that level, and with bots for hosts to seat, or none."""
    brains: dict[str, Brain] = {
        name: InProcess(Level(name)) if name in _SEARCHING else Level(name) for name in _LEVELS
    }
    former = {name: Level(name) for name in _FORMER}
    return replace(
        config, stand_in=brains[stand_in], brains=brains if seated else {}, former_brains={**brains, **former}
    )
