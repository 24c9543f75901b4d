"""Rows read out of the pages of a damaged SQLite file, one by one, without the tables that lead to them.

A page of the write-ahead log counts like one of the file, whether or not its checksum fits. So a row may be
damaged, or older than others: the caller has to check it.

The file may be a stranger's, made so that many rows share the same pages. So every page is read only a few
times, however many rows there seem to be in it: what it takes grows with the size of the file alone.
Source: https://www.sqlite.org/fileformat2.html
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

Value: TypeAlias = int | float | str | bytes | None

_PAGE_BYTES: Final = 4096  # unless a header says otherwise
_TABLE_LEAF: Final = 0x0D
_CELLS: Final = {_TABLE_LEAF: (8, 0), 0x0A: (8, 0), 0x02: (12, 4)}  # bytes before pointers, and in cells
_LOG_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_FILE_HEADER_BYTES: Final = 100  # at the beginning of page 1
_INTEGER_BYTES: Final = (0, 1, 2, 3, 4, 6, 8)  # by serial type
_LONGEST_ROW: Final = 1 << 20  # bytes; what claims to be longer is damaged
_MOST_VALUES: Final = 100  # in a row; the journal's have eleven at most
# Where nothing is damaged, cells do not overlap, and a page continues one row until it is written again; that
# row is read again when the page on which it begins has changed. Damage makes some more of both.
_TIMES_READ: Final = 4  # the bytes of a page that has rows or keys
_TIMES_CONTINUED: Final = 16


@dataclass(slots=True)
class _Pages:
    """The pages as a commit left them, and how many rows each has continued since it was written."""

    content: dict[int, bytes]
    continued: Counter[int] = field(default_factory=Counter)

    def write(self, number: int, page: bytes) -> None:
        self.content[number] = page
        del self.continued[number]

    def continuation(self, number: int) -> bytes:
        """Return a page that continues a row; raises ValueError if it is missing or continues too many."""
        page = self.content.get(number, b"")
        self.continued[number] += 1
        if len(page) <= 4 or self.continued[number] > _TIMES_CONTINUED:
            raise ValueError("the rest of the row is missing")
        return page


def rows_in(file: bytes, log: bytes) -> Iterator[list[Value]]:
    """Yield the rows of all tables in an SQLite file and its log, and the first value of each index key."""
    size = _page_bytes(file, log)
    pages = _Pages({start // size + 1: file[start : start + size] for start in range(0, len(file), size)})
    yield from _rows(pages.content, pages)
    changed: dict[int, bytes] = {}
    for number, page, commits in _frames(log, size):
        changed[number] = page
        pages.write(number, page)
        if commits:
            yield from _rows(changed, pages)
            changed = {}
    yield from _rows(changed, pages)


def _page_bytes(file: bytes, log: bytes) -> int:
    for size in (int.from_bytes(file[16:18], "big"), int.from_bytes(log[8:12], "big")):
        if size in {512 << power for power in range(7)}:
            return size
    return _PAGE_BYTES


def _frames(log: bytes, size: int) -> Iterator[tuple[int, bytes, bool]]:
    """Yield the number and content of each page in the log, and whether it is the last of a commit."""
    step = _FRAME_HEADER_BYTES + size
    for start in range(_LOG_HEADER_BYTES, len(log), step):
        number = int.from_bytes(log[start : start + 4], "big")
        commits = any(log[start + 4 : start + 8])
        yield number, log[start + _FRAME_HEADER_BYTES : start + step], commits


def _rows(found: Mapping[int, bytes], pages: _Pages) -> Iterator[list[Value]]:
    for number, page in found.items():
        start = _FILE_HEADER_BYTES if number == 1 else 0
        kind = int.from_bytes(page[start : start + 1], "big")
        if kind not in _CELLS:
            continue
        header_bytes, before_content = _CELLS[kind]
        cells = int.from_bytes(page[start + 3 : start + 5], "big")
        pointers = page[start + header_bytes : start + header_bytes + 2 * cells]
        left = _TIMES_READ * len(page)
        for place in range(0, len(pointers) - 1, 2):
            cell = int.from_bytes(pointers[place : place + 2], "big") + before_content
            try:
                length, content = _varint(page, cell)
                if kind == _TABLE_LEAF:
                    _, content = _varint(page, content)  # its number
                    here = _bytes_here(length, len(page))
                else:
                    here = length
                left -= min(here, len(page)) + content - cell
                if left < 0:
                    break
                first = page[content : content + here]
                if kind == _TABLE_LEAF:
                    following = page[content + here : content + here + 4]
                    yield _values(_continued(first, length, following, pages))
                else:  # without the row's number; the journal's keys are short
                    yield _values(first)[:1]
            except (ValueError, IndexError):  # damaged
                continue


def _bytes_here(length: int, usable: int) -> int:
    """Return how many bytes of a row are on its own page."""
    if length <= usable - 35:
        return length
    least = (usable - 12) * 32 // 255 - 23
    here = least + (length - least) % (usable - 4)
    return least if here > usable - 35 else here


def _continued(first: bytes, length: int, following: bytes, pages: _Pages) -> bytes:
    """Return the bytes of a row that begins with `first` and goes on in page number `following`."""
    if length > _LONGEST_ROW:
        raise ValueError("the row is too long")
    parts, missing = [first], length - len(first)
    while missing > 0:
        page = pages.continuation(int.from_bytes(following, "big"))
        following = page[:4]
        parts.append(page[4:])
        missing -= len(page) - 4
    return b"".join(parts)[:length]


def _values(content: bytes) -> list[Value]:
    header_bytes, place = _varint(content, 0)
    kinds: list[int] = []
    while place < header_bytes:
        if len(kinds) == _MOST_VALUES:
            raise ValueError("no table of the journal has as many columns")
        kind, place = _varint(content, place)
        kinds.append(kind)
    found = []
    for kind in kinds:
        value, place = _value(content, kind, place)
        found.append(value)
    if place != len(content):
        raise ValueError("the row has another length")
    return found


def _value(content: bytes, kind: int, start: int) -> tuple[Value, int]:
    match kind:
        case 0:
            return None, start
        case 7:
            raise ValueError("no table of the journal holds fractions")
        case 8 | 9:
            return kind - 8, start
        case 10 | 11:
            raise ValueError("the kind of a value is unknown")
        case _ if kind < 7:
            end = start + _INTEGER_BYTES[kind]
            return int.from_bytes(content[start:end], "big", signed=True), end
        case _:
            end = start + (kind - 12) // 2
            part = content[start:end]
            return (part.decode() if kind % 2 else part), end


def _varint(content: bytes, start: int) -> tuple[int, int]:
    """Return the number of one to nine bytes at `start`, and where it ends."""
    number = 0
    for place in range(start, start + 8):
        number = number << 7 | content[place] & 0x7F
        if content[place] < 0x80:
            return number, place + 1
    return number << 8 | content[start + 8], start + 9
