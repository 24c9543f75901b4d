"""The levels of a server's bots: the server knows no brains, and these no server."""

import argparse
from dataclasses import replace
from typing import Final

from client.bots.brains import BRAINS
from client.bots.levels import LEVELS
from client.bots.search.brain import SearchBrain
from client.language import _
from server.config import Brain, Config, InProcess

STAND_IN: Final = "citizen"  # the best level that moves at once
_FORMER: Final = ("random", "greedy")  # levels that bots of older tables have


def level_name(text: str) -> str:
    if text in LEVELS:
        return text
    said = _("{word} is not a level: choose one of {levels}")
    raise argparse.ArgumentTypeError(said.format(word=repr(text), levels=", ".join(LEVELS)))


def with_bots(config: Config, stand_in: str = STAND_IN, *, seated: bool = True) -> Config:
    """Return the configuration with a stand-in of that level, and with bots for hosts to seat, or none."""
    # A search thinks for long, and so in a process of its own.
    brains: dict[str, Brain] = {
        name: InProcess(brain) if isinstance(brain, SearchBrain) else brain for name, brain in LEVELS.items()
    }
    former = {name: BRAINS[name] for name in _FORMER}
    return replace(
        config, stand_in=brains[stand_in], brains=brains if seated else {}, former_brains={**brains, **former}
    )
