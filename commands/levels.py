"""The levels of a server's bots: the server knows no brains, and these no server."""

import argparse
from dataclasses import replace
from functools import partial
from typing import Final

from client.bots import think
from client.language import _
from client.levels import LEVELS
from server.config import Brain, Config, InProcess

STAND_IN: Final = "citizen"  # the best level that moves at once
_LEVELS: Final = tuple(level.name for level in LEVELS)
_SEARCHING: Final = ("senator", "consul")  # a search thinks for long, and so in a process of its own
_FORMER: Final = ("random", "greedy")  # levels that bots of older tables have


def level_name(text: str) -> str:
    if text in _LEVELS:
        return text
    said = _("{word} is not a level: choose one of {levels}")
    raise argparse.ArgumentTypeError(said.format(word=repr(text), levels=", ".join(_LEVELS)))


def with_bots(config: Config, stand_in: str = STAND_IN, *, seated: bool = True) -> Config:
    """Return the configuration with a stand-in of that level, and with bots for hosts to seat, or none."""
    thinking = {name: partial(think, name) for name in (*_LEVELS, *_FORMER)}
    brains: dict[str, Brain] = {
        name: InProcess(thinking[name]) if name in _SEARCHING else thinking[name] for name in _LEVELS
    }
    return replace(
        config,
        stand_in=brains[stand_in],
        brains=brains if seated else {},
        former_brains={**thinking, **brains},
    )
