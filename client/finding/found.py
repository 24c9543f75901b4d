"""The servers that were found, as values."""

from typing import TypeAlias

from msgspec import Struct

from protocol.messages import TableSummary


class Asking(Struct, frozen=True):
    """The server has not answered yet."""


class Listed(Struct, frozen=True):
    """The server has told its tables; these can be joined, and there are `more` that are not listed here."""

    tables: tuple[TableSummary, ...] = ()
    more: int = 0


class Locked(Struct, frozen=True):
    """The server tells nothing without a password."""


class Silent(Struct, frozen=True):
    """The server does not answer, for the reason in the sentence."""

    reason: str


Answer: TypeAlias = Asking | Listed | Locked | Silent


class FoundServer(Struct, frozen=True):
    """A server on the network; its `name` is empty if it has none that can be shown."""

    name: str
    url: str
    answer: Answer = Asking()


class Found(Struct, frozen=True):
    """What was found so far; `deaf` is why nothing can be found, empty if there is no network."""

    servers: tuple[FoundServer, ...] = ()
    deaf: str | None = None


NOTHING = Found()


def named(found: Found, name: str) -> FoundServer | None:
    """Return the first server of that name, in any case."""
    wanted = name.casefold()
    return next((each for each in found.servers if each.name and each.name.casefold() == wanted), None)
