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
    """The evening as a television shows it.

    `seconds` are left until the `awaited` event; `come` are the people who have arrived at their tables, and
    `before` is each person's place and score before the round.
    """

    evening: messages.Evening
    awaited: Awaited | None = None
    seconds: int = 0
    come: frozenset[messages.PersonNumber] = frozenset()
    before: Mapping[messages.PersonNumber, tuple[int, int]] = field(default_factory=dict)

    @property
    def calls(self) -> bool:
        """Return whether to ask people to their tables; without rounds, only if nobody plays."""
        stages = {table.stage for table in self.evening.tables}
        return "gathering" in stages and (self.evening.rounds > 0 or "playing" not in stages)
