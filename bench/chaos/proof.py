"""How soon chaos notices a mistake."""

import tempfile
from pathlib import Path
from typing import Any, Final

from bench.chaos.round import Round
from simulation.broken.mistakes import MISTAKES
from simulation.people.plan import Plan

# Short, for a mistake that needs a long run is found by none: six games at once, and a kill every few moves.
_ROUND: Final[dict[str, Any]] = {
    "games": 6,
    "kills": 4,
    "tables": 6,
    "longest_hold": 0.5,
    "patience": 12.0,
    "lively": 0.0,
    "with_bots": 0.0,
    "operated": False,
}
_MOST_ROUNDS: Final = 10


async def games_until_noticed(name: str, seed: str, **plan: Any) -> tuple[int, list[str]]:
    """Play rounds with a broken server; return how many games it took, and as what the mistake was noticed.

    `plan` overrides what a round is like. If nothing was noticed, the list is empty.
    """
    games = 0
    for number in range(_MOST_ROUNDS):
        options = _ROUND | dict(MISTAKES[name].plan) | plan
        with tempfile.TemporaryDirectory(prefix="palatinus-chaos-") as folder:
            one = Round(Plan(f"{seed}/{name}/{number}", broken=name, **options), Path(folder))
            await one.run()
        games += options["games"]
        if one.verdict:
            return games, [kind for kind, cases in one.verdict.kinds().items() if cases]
    return games, []
