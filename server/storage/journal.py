"""What tables need of storage: entries are committed before anyone is sent them."""

# ruff: noqa: ARG002 - a journal that keeps nothing has no use for what it is given

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from server.counts import Durations
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, LiveEntries
from server.storage.stored_tables import ArchivedTable, Stored

# A table's code, the number of the first entry, and the entries.
Part: TypeAlias = tuple[str, int, Sequence[Entry]]


@dataclass(frozen=True, slots=True)
class NodeState:
    """The server `name`, whose lease with the number `term` runs for `seconds_left`, 0 if it has none.

    `answers` tells whether the database did, the last time, and `answer_seconds` how long a renewal took. The
    rest counts since the start: leases begun, round trips for commits, and tables taken up, handed over to
    others, and lost with a lease.
    """

    name: str
    term: int
    seconds_left: float
    answers: bool
    answer_seconds: float
    leases: int
    round_trips: int
    taken_up: int
    handed_over: int
    lost: int


class Journal:
    """What tables and the lobby need of storage; whatever fails raises JournalError and changes nothing.

    This one keeps nothing: for games that end with the process. In others, a task that waits for a change is
    cancelled only after it: what is stored is never left unfolded.
    """

    keeps_games = False  # whether an archived game can be brought back
    lapsed = False  # whether this server may not speak for its tables: they may be another's by now

    @property
    def archived(self) -> Collection[str]:
        """Return the codes of the archived tables."""
        return ()

    @property
    def codes_set_aside(self) -> Collection[str]:
        """Return the codes of the damaged tables that were set aside."""
        return ()

    @property
    def commits(self) -> Durations:
        """Return how long commits took."""
        return Durations()

    @property
    def not_stored(self) -> int:
        """Return how many requests could not be stored."""
        return 0

    @property
    def node(self) -> NodeState | None:
        """Return how this server is doing among those that share the journal, None if none do."""
        return None

    def holds(self, code: str) -> bool:
        """Return whether a table in use is this server's: what it has just stored may be another's by now."""
        return True

    async def whereabouts(self, code: str) -> str | None:
        """Return the address of another server that has a table, None if there is none.

        A table that is nobody's is taken up first. Raises NotStored if it will be at some server soon.
        """
        return None

    async def storing(self) -> bool:
        """Return whether entries can be stored, by trying it if nothing was stored within the last second."""
        return True

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        """Store `entries` of the table `code`, from number `first`."""

    async def append_last(self, code: str, first: int, entries: Sequence[Entry], ended: int) -> None:
        """Store the entries that end a game, and that its record is due; `ended` is in seconds since 1970."""

    async def records_due(self) -> list[tuple[str, int]]:
        """Return the codes of the games whose records are due, and when the games ended."""
        return []

    async def record_written(self, code: str) -> None:
        """Store that a game's record is due no longer."""

    async def entries(self, code: str) -> list[Entry]:
        """Return the entries of a table, archived or not; none if there is none or it is damaged."""
        return []

    async def append_together(self, parts: Sequence[Part]) -> None:
        """Store entries of several tables, all or none."""

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:
        """Keep only the entries of a table that `live_entries` names; return how many there are."""
        return 0

    async def tables(self) -> dict[str, list[Entry]]:
        """Return the entries of every table that is neither forgotten nor archived."""
        return {}

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        """Keep a table, in use or archived, for its host: only its first `whole` entries make sense."""

    async def archive(self, code: str, game: ArchivedGame) -> None:
        """Archive a table without players; a journal without an archive forgets it."""

    async def archived_entries(self, code: str) -> list[Entry]:
        """Return the entries of an archived table, none if it is archived no longer.

        A damaged one is set aside, and raises TableDamaged.
        """
        return []

    async def bring_back(self, code: str) -> None:
        """Restore a table from the archive; further entries are appended to those it has."""

    async def remove(self, code: str) -> None:
        """Remove a table for good that is archived or was set aside; raises TableLost if it is not."""

    async def archived_tables(self, codes: Sequence[str]) -> list[ArchivedTable]:
        """Return what the archive says of those of these tables that are in it."""
        return []

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
        """Return when the first and the last entry of these tables were stored, if they are not archived."""
        return {}

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:
        """Return what is whole of those of these tables that were set aside."""
        return []

    async def restore(self, code: str, entries: int) -> None:
        """Put the first `entries` of a table that was set aside back into use."""

    async def copy(self, path: Path, *, exact: bool) -> bytes:
        """Copy everything as it is at one moment into the new file `path`; return its commit list.

        An `exact` copy belongs to that list; another one needs none, and can be put to use. Others go on
        appending meanwhile. Raises OSError too.
        """
        raise JournalError("with --memory there is no journal to copy")

    async def close(self) -> None:
        """Finish what was asked for, and close everything."""
