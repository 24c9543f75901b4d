"""Tables, and the evening, as a journal holds them, and their rows in every database.

A table in use has a row for each entry; any other table is packed into one row. The entries are linked: each
link is a hash of its entry and of the link before it, so a changed, missing or swapped entry breaks the chain
there. The hash has no key, because the key would have to lie beside the file: it is against accidents, and
not against somebody who writes to the file.
"""

import enum
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from protocol.admin import StoredReport
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Contents, Entry, contents, entry_of
from server.storage.names import EVENING
from server.storage.reasons import Misfit


class TablePlace(enum.StrEnum):
    """Where a table is kept; the values are those of the commit list."""

    IN_USE = "="
    ARCHIVED = "~"
    SET_ASIDE = "!"


IN_USE: Final = TablePlace.IN_USE  # at hand: to Python 3.11 each use of an enum's name is a call


class StoredState(msgspec.Struct, frozen=True):  # a struct, because one is made at each move
    """A table's place, the number of its entries, and the last link of their chain."""

    place: TablePlace
    length: int
    link: bytes


SET_ASIDE: Final = StoredState(TablePlace.SET_ASIDE, 0, b"")

# What a commit changed: tables by their codes, None for those that are gone.
Changes: TypeAlias = Mapping[str, StoredState | None]


_LINK_BYTES: Final = 8


def first_link(code: str) -> bytes:
    """Return the link before the first entry of table `code`.

    Without its capital letters, the chain of an evening would begin otherwise than before journal 6.
    """
    return _hash(code.upper())


def next_link(previous: bytes, number: int, time: int | None, body: str) -> bytes:
    """Return the link of entry `number`, stored at `time` if that is known."""
    return _hash(f"{previous.hex()} {number} {time or 0} {body}")


def seal(*content: object) -> bytes:
    return _hash(repr(content))


def _hash(text: str) -> bytes:
    # Damaged text need not be UTF-8, and is hashed all the same.
    return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=_LINK_BYTES).digest()


_INFLATED_AT_ONCE: Final = 64  # bytes
_MOST_INFLATED: Final = 16 * 2**20  # bytes of a table; a few hundred entries are far shorter
# What `check_table` says of an entry that is the one that was stored, but that this version cannot read.
_UNREADABLE: Final = re.compile(r"entry \d+ makes no sense: ")


class Row(NamedTuple):
    """A stored entry: its time, if known, its text, and its link in the table's chain."""

    time: int | None
    body: str
    link: bytes


class Condition(enum.Enum):
    """How much of a table is left: all, all but its end, a part that cannot be played on, or nothing."""

    WHOLE = "whole"
    SHORTER = "shorter"
    DAMAGED = "damaged"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as a journal holds it: its rows, its entries up to the first damaged one, and the damage.

    `length` is how many entries it is known to have had, if it has lost any, and `shorter` says why one has
    that shows no damage.
    """

    code: str
    rows: list[Row]
    entries: list[Entry]
    archived: int | None = None  # when; None: it is not archived
    damage: str | None = None
    game: ArchivedGame | None = None  # if it is archived
    since: int | None = None  # when it was set aside; None: it was not
    length: int = field(default=0, compare=False)
    shorter: str = field(default="", compare=False)

    @property
    def place(self) -> TablePlace:
        if self.since is not None:
            return TablePlace.SET_ASIDE
        return TablePlace.IN_USE if self.archived is None else TablePlace.ARCHIVED

    @property
    def standing(self) -> StoredState:
        if self.since is not None:
            return SET_ASIDE
        return StoredState(self.place, len(self.rows), self.rows[-1].link if self.rows else b"")

    @property
    def condition(self) -> Condition:
        if self.damage is not None:
            return Condition.DAMAGED if self.entries else Condition.LOST
        return Condition.SHORTER if self.shorter else Condition.WHOLE

    @property
    def readable_again(self) -> bool:
        """Whether it was set aside only because an older version could not read it."""
        unreadable = self.since is not None and _UNREADABLE.match(self.damage or "") is not None
        return unreadable and len(self.entries) == len(self.rows) >= max(1, self.length)

    @property
    def whole_entries(self) -> list[Entry]:
        """All entries; raises ValueError if the table is damaged."""
        if self.damage is not None:
            raise Misfit(self.damage)
        return self.entries


class Kept(NamedTuple):
    """The entries of tables, by their codes, and those of the evening, none if there is none."""

    tables: dict[str, list[Entry]]
    evening: list[Entry]

    @classmethod
    def of(cls, found: Iterable[Stored]) -> "Kept":
        """Return all that was found; raises Misfit if any of it is damaged."""
        tables = {each.code: each.whole_entries for each in found}
        evening = tables.pop(EVENING, [])
        return cls(tables, evening)


@dataclass(frozen=True, slots=True)
class ArchivedTable:
    """The archive's facts about a table, which can be read without unpacking it."""

    standing: StoredState
    game: ArchivedGame
    report: StoredReport


def link_rows(code: str, rows: Iterable[tuple[int | None, str]]) -> list[Row]:
    """Return rows with a new chain."""
    link = first_link(code)
    found = []
    for number, (when, body) in enumerate(rows):
        link = next_link(link, number, when, body)
        found.append(Row(when, body, link))
    return found


def pack(rows: Iterable[Row]) -> bytes:
    """Return the entries of a table, compressed: they are some 40, and much alike."""
    return zlib.compress("\n".join(f"{row.time or 0} {row.link.hex()} {row.body}" for row in rows).encode())


def unpack(content: bytes) -> list[Row]:
    """Return the entries that `content` packs; of a damaged one those before the damage."""
    rows = []
    for line in inflate(content)[0].split("\n"):
        try:
            when, link, body = line.split(" ", 2)
            rows.append(Row(int(when) or None, body, bytes.fromhex(link)))
        except ValueError:  # cut off
            break
    return rows


def inflate(content: bytes) -> tuple[str, bool]:
    """Return the text that `content` packs, up to any damage, and whether it is whole."""
    inflater = zlib.decompressobj()
    found = bytearray()
    whole = False
    try:
        for start in range(0, len(content), _INFLATED_AT_ONCE):  # an error loses what is inflated with it
            found += inflater.decompress(content[start : start + _INFLATED_AT_ONCE])
            if len(found) > _MOST_INFLATED:
                break
        else:
            whole = inflater.eof
    except zlib.error:
        pass
    return found.decode("utf-8", "surrogateescape"), whole


def check_table(
    code: str, numbered: Iterable[tuple[Any, Any, Any, Any]], archived: int | None = None
) -> Stored:
    """Return the table `code` from rows of number, body, time and link, whatever is in them.

    Those after an entry that cannot be read are kept if the chain goes on: another version may read it.
    """
    rows: list[Row] = []
    entries: list[Entry] = []
    unreadable: str | None = None
    link = first_link(code)
    found = sorted(numbered, key=_by_number)
    for number, body, when, stored_link in found:
        expected = len(rows)
        damage = None
        if number != expected:
            damage = f"entry {expected} is missing"
        elif not (isinstance(body, str) and isinstance(when, int | None)):
            damage = f"entry {expected} is not text"
        elif (link := next_link(link, expected, when, body)) != stored_link:
            damage = f"entry {expected} is not the one that was stored"
        elif unreadable is None:
            try:
                entries.append(entry_of(body))
            except (msgspec.DecodeError, ValueError) as error:
                unreadable = (
                    f"entry {expected} makes no sense: {type(error).__name__}"  # no piece that it names
                )
        if damage is not None:
            last = max((each[0] for each in found if isinstance(each[0], int)), default=-1)
            length = max(len(found), last + 1)
            return Stored(code, rows, entries, archived, unreadable or damage, length=length)
        rows.append(Row(when, body, link))
    return Stored(code, rows, entries, archived, unreadable or (None if rows else "it has no entries"))


def recheck_table(code: str, rows: Iterable[Row], archived: int | None = None) -> Stored:
    """Return the table `code` from rows that may have been damaged since they were linked."""
    numbered = ((number, row.body, row.time, row.link) for number, row in enumerate(rows))
    return check_table(code, numbered, archived)


def _by_number(row: tuple[Any, Any, Any, Any]) -> tuple[bool, int]:
    number = row[0]
    return (False, number) if isinstance(number, int) else (True, 0)


@dataclass(frozen=True, slots=True)
class Everything:
    """All tables of a journal, and the games whose records are due."""

    tables: Sequence[Stored]
    records_due: Sequence[tuple[str, int]] = ()

    @property
    def damaged(self) -> list[str]:
        """Return the codes of tables that are damaged, and have not been set aside."""
        return [each.code for each in self.tables if each.since is None and each.damage is not None]


COLUMNS: Final = {
    "entry": "code, number, body, time, chain",
    "archive": "code, archived, entries, origin, played, length, chain, opened, changed, contents, seal",
    "set_aside": "code, since, reason, entries, whole, length",
    "record_due": "code, ended",
}
KEPT_IN: Final = {
    TablePlace.IN_USE: "entry",
    TablePlace.ARCHIVED: "archive",
    TablePlace.SET_ASIDE: "set_aside",
}


def rows_of(table: Stored) -> tuple[str, list[tuple[Any, ...]]]:
    """Return which table of the database holds a table, and its rows there."""
    if table.since is not None:
        content = pack(table.rows)
        whole = len(table.entries)
        return "set_aside", [(table.code, table.since, table.damage, content, whole, table.length)]
    if table.archived is not None:
        return "archive", [_archive_row(table)]
    return "entry", [
        (table.code, number, body, when, link) for number, (when, body, link) in enumerate(table.rows)
    ]


def _archive_row(table: Stored) -> tuple[Any, ...]:
    rows = table.rows
    game = table.game or ArchivedGame(table.code, played=True)  # nobody knows who opened it
    row = (
        table.code,
        table.archived,
        pack(rows),
        game.origin,
        int(game.played),
        len(rows),
        rows[-1].link,
        rows[0].time,
        rows[-1].time,
        msgspec.json.encode(contents(table.entries)).decode(),
    )
    return (*row, seal(*row))


def tables_from(rows: Iterable[Sequence[Any]]) -> list[Stored]:
    """Return the tables in rows of entries, even damaged ones, in the order of their first rows."""
    tables: dict[str, list[tuple[Any, Any, Any, Any]]] = {}
    for code, number, body, when, link in rows:
        tables.setdefault(str(code), []).append((number, body, when, link))
    return [check_table(code, numbered) for code, numbered in tables.items()]


def archived_from(row: Sequence[Any]) -> Stored:
    """Return the table in a row of the archive, even a damaged one."""
    code, when, content, origin, played, length, *_ = row
    game = ArchivedGame(str(origin), bool(played))
    found = recheck_table(code, unpack(content) if isinstance(content, bytes) else [], when)
    damage = found.damage
    if damage is None and seal(*row[:-1]) != row[-1]:
        damage = "its row in the archive is damaged"
    return replace(found, damage=damage, game=game, length=length if isinstance(length, int) else 0)


def listed_from(row: Sequence[Any]) -> ArchivedTable:
    """Return the facts in a row of the archive without unpacking it; raises ValueError if they make no sense.

    Only the place of a damaged table is read.
    """
    code, _, _, origin, played, length, link, opened, changed, text, stored_seal = row
    whole = seal(*row[:-1]) == stored_seal
    found = msgspec.json.decode(text, type=Contents) if whole else Contents("playing", (), 0)
    report = StoredReport(code, found.stage, True, found.names, found.moves, opened, changed, not whole)
    state = StoredState(TablePlace.ARCHIVED, length, link)
    return ArchivedTable(state, ArchivedGame(origin, bool(played)), report)


def set_aside_from(row: Sequence[Any]) -> Stored:
    """Return the table in a row of those that were set aside, with all of it that this version can read."""
    code, since, reason, content, whole, length = row
    rows = unpack(content)
    entries = recheck_table(code, rows if _UNREADABLE.match(reason) else rows[:whole]).entries
    return Stored(code, rows, entries, damage=reason, since=since, length=length)
