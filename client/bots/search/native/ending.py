"""The compiled ending: the same values as `client.bots.search.ending.Ending`, sooner."""

import random

import numpy as np

from client.bots.search.ending import Ending
from client.bots.search.native import kernel
from client.bots.search.native.building import position_of, state_of, whole
from client.bots.search.worlds import World, Worlds
from engine.terrain import Occupant
from engine.view import View


class NativeEnding(Ending):
    """The ending that the seat on turn of `view` sees, if it is one."""

    def __init__(self, view: View, worlds: Worlds) -> None:
        super().__init__(view, worlds)
        self._position = position_of(view, worlds)
        self._state = state_of(self._position, worlds, random.Random(0), [0.0] * view.seats)

    def _worths(self, world: World, occupants: list[Occupant]) -> list[float]:
        self._state.board[:] = world.board
        values = np.empty(len(self._free))
        kernel.play_ending(self._position, self._state, whole(occupants), self._seat, values)
        return values.tolist()
