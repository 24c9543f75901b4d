"""What a server and its page of an evening have in common."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from protocol import messages

EVENING: Final = "EVENING"  # the page of the evening, in place of a table's code: none has vowels

# What everybody in an evening waits for: that games begin, that the round's time is up, or the next draw.
Awaited: TypeAlias = Literal["begin", "end", "draw"]


@dataclass(frozen=True, slots=True)
class EveningShown:
    """How an `evening` stands, for a room that looks at it.

    What is `awaited` comes within so many `seconds`. Some people have `come` to the tables to which they were
    called. `before` has the place and the score of each person before the round.
    """

    evening: messages.Evening
    awaited: Awaited | None = None
    seconds: int = 0
    come: frozenset[messages.PersonNumber] = frozenset()
    before: Mapping[messages.PersonNumber, tuple[int, int]] = field(default_factory=dict)

    @property
    def calls(self) -> bool:
        """Return whether people are called to their tables; without rounds, only if nobody plays."""
        stages = {table.stage for table in self.evening.tables}
        return "gathering" in stages and (self.evening.rounds > 0 or "playing" not in stages)
