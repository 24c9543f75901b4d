"""How a server is broken: each mistake replaces one function of it before it starts."""

import inspect
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from engine.game import RandomChance
from server import app
from server.storage.entries import Entry
from server.storage.journal import Journal
from server.tables.state.persistent_state import PersistentState


@dataclass(frozen=True, slots=True)
class Mistake:
    """A mistake: what the server does wrong, and how that is arranged.

    `plan` is what the games need, beside the usual, to run into it soon.
    """

    wrong: str
    make: Callable[[], None]
    plan: Mapping[str, Any]


MISTAKES: Final[dict[str, Mistake]] = {}
times_made: Final[Counter[str]] = Counter()  # calls of what was replaced, by its name
LIVELY: Final[dict[str, Any]] = {"lively": 1.0}


def mistake(name: str, wrong: str, **plan: object) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Return what enters a function that makes a mistake under its name."""

    def entered(make: Callable[[], None]) -> Callable[[], None]:
        MISTAKES[name] = Mistake(wrong, make, plan)
        return make

    return entered


def exchange(owner: object, name: str, new: Callable[[Any], Any]) -> None:
    """Replace an attribute by `new` of what it was; raises AttributeError if there is none any more."""
    wrong = new(getattr(owner, name))

    def counted(*args: Any, **options: Any) -> Any:
        times_made[name] += 1
        return wrong(*args, **options)

    setattr(owner, name, counted if inspect.isfunction(wrong) else wrong)


def start_with(change: Callable[[PersistentState, list[Entry]], PersistentState]) -> None:
    """Have the server take something else for what a table's entries say when it starts."""

    def kept_tables(right: Any) -> Any:
        async def wrong(
            journal: Journal, chances: Iterator[RandomChance]
        ) -> tuple[dict[str, PersistentState], list[Entry]]:
            states, evening = await right(journal, chances)
            entries = await journal.tables()
            return {code: change(state, entries[code]) for code, state in states.items()}, evening

        return wrong

    exchange(app, "kept_tables", kept_tables)
