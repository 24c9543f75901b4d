"""What a round has found wrong, and the journal that it is compared with, as servers have left it."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from server.errors import JournalError
from server.storage.names import EVENING
from server.storage.sqlite.commit_list import FILE_NAME as LIST_NAME
from server.storage.sqlite.journal import SqliteJournal
from server.storage.stored_tables import Everything, Kept
from server.tables.context import ENTRIES_BETWEEN_SHORTENINGS

_LENGTH: Final = re.compile(rf"\b([A-Z]{{4,8}}|{EVENING})[=~](\d+):")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong: what, and as far as that is known, at which table, when, and on which connection.

    `at` is a time of the system's clock, as in the taps; `since` is when what it was compared with was sent.
    """

    text: str
    table: str | None = None
    at: float | None = None
    connection: int | None = None
    since: float | None = None


@dataclass(slots=True)
class Verdict:
    """What was found wrong, by kind."""

    lost: list[Finding] = field(default_factory=list)
    doubled: list[Finding] = field(default_factory=list)
    invented: list[Finding] = field(default_factory=list)
    different: list[Finding] = field(default_factory=list)
    leaked: list[Finding] = field(default_factory=list)
    needless: list[Finding] = field(default_factory=list)
    stolen: list[Finding] = field(default_factory=list)
    unfinished: list[Finding] = field(default_factory=list)

    def add(self, other: "Verdict") -> None:
        for kind in self.__slots__:
            getattr(self, kind).extend(getattr(other, kind))

    def kinds(self) -> dict[str, list[Finding]]:
        return {kind: getattr(self, kind) for kind in self.__slots__}

    def __bool__(self) -> bool:
        """Return whether anything is wrong."""
        return any(self.kinds().values())


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A finding of some kind, how many there are of it, and what happened in the time before it, in lines."""

    kind: str
    number: int
    finding: Finding
    lines: list[str]


@dataclass(slots=True)
class Outcome:
    """What a simulation has found, and what happened in it."""

    verdict: Verdict = field(default_factory=Verdict)
    counts: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0  # that have passed in it
    cpu: float = 0.0  # seconds of a real processor
    failure: str = ""  # why the simulation itself failed
    slow: str = ""  # what it was doing when it had used up its CPU time
    digest: str = ""
    excerpts: list[Excerpt] = field(default_factory=list)  # from the trace, for the findings
    gave_way: set[str] = field(default_factory=set)  # tables that were to leave a full archive
    reached: set[str] = field(default_factory=set)  # probes of the server

    @property
    def failed(self) -> bool:
        return bool(self.verdict or self.failure)


async def journal_in(data: Path, most_archived: int = 10_000) -> Kept:
    """Return all entries in a data folder that no server uses, those of archived tables too.

    Raises JournalError if the archive has more than it should keep.
    """
    journal = SqliteJournal(data)
    try:
        if (number := len(journal.archived)) > most_archived:
            raise JournalError(f"there are {number} games in an archive of {most_archived}")
        kept = await journal.kept()
        for code in list(journal.archived):
            kept.tables[code] = await journal.archived_entries(code)
    finally:
        await journal.close()
    return kept


def stored_in(content: Everything) -> Kept:
    """Return all entries in a database; raises JournalError if a table is set aside."""
    if aside := [table.code for table in content.tables if table.since is not None]:
        raise JournalError(f"tables are set aside: {aside}")
    return Kept.of(content.tables)


def long_tables_in(data: Path) -> set[str]:
    """Return the tables with so many entries that the journal in a data folder may have dropped some."""
    try:
        listed = (data / LIST_NAME).read_text(encoding="ascii")
    except FileNotFoundError:
        return set()
    return {code for code, length in _LENGTH.findall(listed) if int(length) >= ENTRIES_BETWEEN_SHORTENINGS}
