"""Tables as a journal holds them: their entries in a chain, in use, packed, or set aside as damaged."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from server.storage.archive_index import ArchivedGame
from server.storage.chain import first_link, next_link
from server.storage.entries import Entry, entry_of, entry_text
from server.storage.reasons import Misfit
from server.storage.standing import SET_ASIDE, Place, Standing
from server.storage.table_summary import Contents

_INFLATED_AT_ONCE: Final = 64  # bytes


class Row(NamedTuple):
    """An entry as it is stored: when, if that is known, its text, and its link in the table's chain."""

    time: int | None
    body: str
    link: bytes


@dataclass(frozen=True, slots=True)
class Stored:
    """A table as a journal holds it: its entries up to the first damaged one, and what is damaged there."""

    code: str
    rows: list[Row]
    entries: list[Entry]
    archived: int | None = None  # when; None: it is not archived
    damage: str | None = None
    game: ArchivedGame | None = None  # if it is archived

    @property
    def standing(self) -> Standing:
        place = Place.IN_USE if self.archived is None else Place.ARCHIVED
        return Standing(place, len(self.rows), self.rows[-1].link if self.rows else b"")

    @property
    def whole_entries(self) -> list[Entry]:
        """All entries; raises ValueError if the table is damaged."""
        if self.damage is not None:
            raise Misfit(self.damage)
        return self.entries


@dataclass(frozen=True, slots=True)
class SetAside:
    """A damaged table: since when, why, its entries that are left, and how many of them make a whole table.

    `length` is how many entries it is known to have had.
    """

    code: str
    since: int
    reason: str
    rows: list[Row]
    whole: int
    length: int

    @property
    def whole_part(self) -> Stored:
        """The table up to the damage; it has no entries if nothing is left."""
        return rechecked(self.code, self.rows[: self.whole])

    @property
    def standing(self) -> Standing:
        return SET_ASIDE


Table: TypeAlias = Stored | SetAside


@dataclass(frozen=True, slots=True)
class ArchivedTable:
    """What the archive says of a table without unpacking it."""

    code: str
    archived: int
    standing: Standing
    game: ArchivedGame
    opened: int | None
    changed: int | None
    contents: Contents
    whole: bool


def linked(code: str, previous: Standing | None, now: int, entries: Iterable[Entry]) -> list[Row]:
    """Return rows for the `entries` that come after those of the table so far."""
    number, link = (0, first_link(code)) if previous is None else (previous.length, previous.link)
    rows = []
    for offset, entry in enumerate(entries):
        body = entry_text(entry)
        link = next_link(link, number + offset, now, body)
        rows.append(Row(now, body, link))
    return rows


def relinked(code: str, rows: Iterable[tuple[int | None, str]]) -> list[Row]:
    """Return rows with a new chain."""
    link = first_link(code)
    found = []
    for number, (when, body) in enumerate(rows):
        link = next_link(link, number, when, body)
        found.append(Row(when, body, link))
    return found


def packed(rows: Iterable[Row]) -> bytes:
    """Return the entries of a table, compressed: they are some 40, and much alike."""
    return zlib.compress("\n".join(f"{row.time or 0} {row.link.hex()} {row.body}" for row in rows).encode())


def unpacked(content: bytes) -> list[Row]:
    """Return the entries that `content` packs; of a damaged one those before the damage."""
    rows = []
    for line in inflated(content)[0].split("\n"):
        try:
            when, link, body = line.split(" ", 2)
            rows.append(Row(int(when) or None, body, bytes.fromhex(link)))
        except ValueError:  # cut off
            break
    return rows


def inflated(content: bytes) -> tuple[str, bool]:
    """Return the text that `content` packs, up to any damage, and whether it is whole."""
    inflater = zlib.decompressobj()
    found = b""
    try:
        for start in range(0, len(content), _INFLATED_AT_ONCE):  # an error loses what is inflated with it
            found += inflater.decompress(content[start : start + _INFLATED_AT_ONCE])
    except zlib.error:
        return found.decode("utf-8", "surrogateescape"), False
    return found.decode("utf-8", "surrogateescape"), inflater.eof


def checked(code: str, numbered: Iterable[tuple[Any, Any, Any, Any]], archived: int | None = None) -> Stored:
    """Return the table `code` from rows of number, body, time and link, whatever is in them."""
    rows: list[Row] = []
    entries: list[Entry] = []
    link = first_link(code)
    for number, body, when, stored_link in sorted(numbered, key=_by_number):
        expected = len(rows)
        damage = None
        if number != expected:
            damage = f"entry {expected} is missing"
        elif not (isinstance(body, str) and isinstance(when, int | None)):
            damage = f"entry {expected} is not text"
        elif (link := next_link(link, expected, when, body)) != stored_link:
            damage = f"entry {expected} is not the one that was stored"
        else:
            try:
                entries.append(entry_of(body))
            except (msgspec.DecodeError, ValueError) as error:
                damage = f"entry {expected} makes no sense: {type(error).__name__}"  # no piece that it names
        if damage is not None:
            return Stored(code, rows, entries, archived, damage)
        rows.append(Row(when, body, link))
    return Stored(code, rows, entries, archived, None if rows else "it has no entries")


def rechecked(code: str, rows: Iterable[Row], archived: int | None = None) -> Stored:
    """Return the table `code` from rows that may have been damaged since they were linked."""
    numbered = ((number, row.body, row.time, row.link) for number, row in enumerate(rows))
    return checked(code, numbered, archived)


def _by_number(row: tuple[Any, Any, Any, Any]) -> tuple[bool, int]:
    number = row[0]
    return (False, number) if isinstance(number, int) else (True, 0)
