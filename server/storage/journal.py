"""What tables need of storage: entries are committed before anyone is sent them."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias, runtime_checkable

from server.counts import Durations
from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Entry, LiveEntries
from server.storage.node import NodeState
from server.storage.stored_tables import ArchivedTable, Stored

# A table's code, the number of the first entry, and the entries.
Part: TypeAlias = tuple[str, int, Sequence[Entry]]


class Journal(Protocol):
    """What tables and the lobby need of storage; whatever fails raises JournalError and changes nothing.

    A task that waits for a change is cancelled only after it: what is stored is never left unfolded.
    """

    @property
    def archived(self) -> Collection[str]:
        """Return the codes of the archived tables."""

    @property
    def codes_set_aside(self) -> Collection[str]:
        """Return the codes of the damaged tables that were set aside."""

    @property
    def keeps_games(self) -> bool:
        """Return whether an archived game can be brought back."""

    @property
    def commits(self) -> Durations:
        """Return how long commits took."""

    @property
    def not_stored(self) -> int:
        """Return how many requests could not be stored."""

    @property
    def lapsed(self) -> bool:
        """Return whether this server may not speak for its tables: they may be another's by now."""

    def holds(self, code: str) -> bool:
        """Return whether a table in use is this server's: what it has just stored may be another's by now."""

    async def whereabouts(self, code: str) -> str | None:
        """Return the address of another server that has a table, None if there is none.

        A table that is nobody's is taken up first. Raises NotStored if it will be at some server soon.
        """

    async def storing(self) -> bool:
        """Return whether entries can be stored, by trying it if nothing was stored within the last second."""

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        """Store `entries` of the table `code`, from number `first`."""

    async def append_last(self, code: str, first: int, entries: Sequence[Entry], ended: int) -> None:
        """Store the entries that end a game, and that its record is due; `ended` is in seconds since 1970."""

    async def records_due(self) -> list[tuple[str, int]]:
        """Return the codes of the games whose records are due, and when the games ended."""

    async def record_written(self, code: str) -> None:
        """Store that a game's record is due no longer."""

    async def entries(self, code: str) -> list[Entry]:
        """Return the entries of a table, archived or not; none if there is none or it is damaged."""

    async def append_together(self, parts: Sequence[Part]) -> None:
        """Store entries of several tables, all or none."""

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:
        """Keep only the entries of a table that `live_entries` names; return how many there are."""

    async def tables(self) -> dict[str, list[Entry]]:
        """Return the entries of every table that is neither forgotten nor archived."""

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        """Keep a table, in use or archived, for its host: only its first `whole` entries make sense."""

    async def archive(self, code: str, game: ArchivedGame) -> None:
        """Archive a table without players; a journal without an archive forgets it."""

    async def archived_entries(self, code: str) -> list[Entry]:
        """Return the entries of an archived table, none if it is archived no longer.

        A damaged one is set aside, and raises TableDamaged.
        """

    async def bring_back(self, code: str) -> None:
        """Restore a table from the archive; further entries are appended to those it has."""

    async def remove(self, code: str) -> None:
        """Remove a table for good that is archived or was set aside; raises TableLost if it is not."""

    async def archived_tables(self, codes: Sequence[str]) -> list[ArchivedTable]:
        """Return what the archive says of those of these tables that are in it."""

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:
        """Return when the first and the last entry of these tables were stored, if they are not archived."""

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:
        """Return what is whole of those of these tables that were set aside."""

    async def restore(self, code: str, entries: int) -> None:
        """Put the first `entries` of a table that was set aside back into use."""

    async def copy(self, path: Path, *, exact: bool) -> bytes:
        """Copy everything as it is at one moment into the new file `path`; return its commit list.

        An `exact` copy belongs to that list; another one needs none, and can be put to use. Others go on
        appending meanwhile. Raises OSError too.
        """

    async def close(self) -> None: ...


class TableHolder(Protocol):
    """The server, as a journal that several servers share knows it."""

    def give_up(self) -> None:
        """End all tables without telling anybody anything: another server may have them."""

    def send_on(self) -> None:
        """Send players to other servers, if there are any: this one cannot store, and they may be able to."""

    async def take_up(self, tables: Mapping[str, Sequence[Entry]]) -> None:
        """Go on with tables that are this server's now."""

    def speak_again(self) -> None:
        """Send everybody the state of the tables, which this server could not do for a while."""

    def stop(self) -> None:
        """Stop the server: another one has its name."""


class Departure(Protocol):
    """The end of a server that shares its journal with others, and gives them its tables."""

    def address(self) -> str | None:
        """Return where newcomers may go, None if no other server stays."""

    async def give(self, code: str) -> str | None:
        """Give a table away, and return where it is now; None if nobody takes it, and it is still here.

        Nothing may be stored at the table meanwhile. Raises TableLost if nobody can tell.
        """

    def close(self) -> None:
        """Give nothing more away."""


@runtime_checkable
class SharedJournal(Journal, Protocol):
    """A journal that several servers share: each has tables of its own."""

    @property
    def term(self) -> int | None:
        """Return the number of this server's lease, None if it has none."""

    async def term_of(self, code: str) -> int | None:
        """Return the term of the server that has a table, None if none has it."""

    @property
    def node(self) -> NodeState:
        """Return how this server is doing."""

    async def keep(self, holder: TableHolder) -> None:
        """Keep what is this server's, and take up what is nobody's, as long as the server runs."""

    async def leave(self) -> Departure:
        """Take up nothing more, and begin to give tables away; raises NotStored."""


class NoJournal:
    """A journal that keeps nothing: for games that end with the process."""

    archived: Collection[str] = ()
    codes_set_aside: Collection[str] = ()
    keeps_games = False
    lapsed = False
    not_stored = 0

    def __init__(self) -> None:
        self.commits = Durations()

    def holds(self, code: str) -> bool:  # noqa: ARG002 - as Journal has it
        return True

    async def whereabouts(self, code: str) -> None:  # noqa: ARG002 - as Journal has it
        return None

    async def storing(self) -> bool:
        return True

    async def append(self, code: str, first: int, entries: Sequence[Entry]) -> None:
        pass

    async def append_last(self, code: str, first: int, entries: Sequence[Entry], ended: int) -> None:
        pass

    async def records_due(self) -> list[tuple[str, int]]:
        return []

    async def record_written(self, code: str) -> None:
        pass

    async def entries(self, code: str) -> list[Entry]:  # noqa: ARG002 - as Journal has it
        return []

    async def append_together(self, parts: Sequence[Part]) -> None:
        pass

    async def shorten(self, code: str, live_entries: LiveEntries) -> int:  # noqa: ARG002 - as Journal has it
        return 0

    async def tables(self) -> dict[str, list[Entry]]:
        return {}

    async def set_aside(self, code: str, whole: int, reason: str) -> None:
        pass

    async def archive(self, code: str, game: ArchivedGame) -> None:
        pass

    async def archived_entries(self, code: str) -> list[Entry]:  # noqa: ARG002 - as Journal has it
        return []

    async def bring_back(self, code: str) -> None:
        pass

    async def remove(self, code: str) -> None:
        pass

    async def archived_tables(self, codes: Sequence[str]) -> list[ArchivedTable]:  # noqa: ARG002 - as Journal has it
        return []

    async def times(self, codes: Sequence[str]) -> dict[str, tuple[int | None, int | None]]:  # noqa: ARG002 - as Journal has it
        return {}

    async def tables_set_aside(self, codes: Sequence[str]) -> list[Stored]:  # noqa: ARG002 - as Journal has it
        return []

    async def restore(self, code: str, entries: int) -> None:
        pass

    async def copy(self, path: Path, *, exact: bool) -> bytes:  # noqa: ARG002 - as Journal has it
        raise JournalError("with --memory there is no journal to copy")

    async def close(self) -> None:
        pass
