"""The type of a brain."""

import random
from typing import Protocol

from engine.events import Command
from engine.legal import Legal
from engine.view import View


class Brain(Protocol):
    """A function from what a seat sees and may do to its command; all its randomness comes from `rng`."""

    def __call__(self, view: View, legal: Legal, rng: random.Random, /) -> Command: ...
