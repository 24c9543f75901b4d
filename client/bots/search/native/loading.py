"""Having numba compile all of the search, or load it compiled."""

import random

import numpy as np

from client.bots.search.native import kernel
from client.bots.search.native.arrays import Arrays
from client.bots.search.native.building import TUNING, new_tree, position_of, state_of, whole
from client.bots.search.worlds import Worlds
from engine.view import View


def load(view: View) -> None:
    """Call every function that is kept, which takes long for the first time, with next to nothing to do."""
    worlds = Worlds(view)
    position = position_of(view, worlds)
    state = state_of(position, worlds, random.Random(0), [0.0] * view.seats)
    kernel.simulate(Arrays(position, state, new_tree(1), TUNING), 1, 0)
    kernel.play_ending(position, state, whole([0]), 0, np.empty(len(position.free)))
