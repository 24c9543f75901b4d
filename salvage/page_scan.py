"""Rows read out of the pages of a damaged SQLite file, one by one, without the tables that lead to them.

A page of the write-ahead log counts like one of the file, whether or not its checksum fits. So a row may be
damaged, or older than others: the caller has to check it.
Source: https://www.sqlite.org/fileformat2.html
"""

from collections.abc import Iterator, Mapping
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


def rows_in(file: bytes, log: bytes) -> Iterator[list[Value]]:
    """Yield the rows of all tables in an SQLite file and its log, and the first value of each index key."""
    size = _page_bytes(file, log)
    pages = {start // size + 1: file[start : start + size] for start in range(0, len(file), size)}
    yield from _rows(pages, pages)
    changed: dict[int, bytes] = {}
    for number, page, commits in _frames(log, size):
        changed[number] = pages[number] = page
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


def _rows(found: Mapping[int, bytes], pages: Mapping[int, bytes]) -> Iterator[list[Value]]:
    for number, page in found.items():
        start = _FILE_HEADER_BYTES if number == 1 else 0
        kind = int.from_bytes(page[start : start + 1], "big")
        if kind not in _CELLS:
            continue
        header_bytes, before_content = _CELLS[kind]
        cells = int.from_bytes(page[start + 3 : start + 5], "big")
        pointers = page[start + header_bytes : start + header_bytes + 2 * cells]
        for place in range(0, len(pointers) - 1, 2):
            cell = int.from_bytes(pointers[place : place + 2], "big") + before_content
            try:
                yield _row(page, cell, pages) if kind == _TABLE_LEAF else _key(page, cell)
            except (ValueError, IndexError):  # damaged
                continue


def _row(page: bytes, start: int, pages: Mapping[int, bytes]) -> list[Value]:
    length, start = _varint(page, start)
    _, start = _varint(page, start)  # its number
    return _values(_content(page, start, length, pages))


def _key(page: bytes, start: int) -> list[Value]:
    """Return what an index says of a row, without the row's number; the journal's keys are short."""
    length, start = _varint(page, start)
    return _values(page[start : start + length])[:1]


def _content(page: bytes, start: int, length: int, pages: Mapping[int, bytes]) -> bytes:
    """Return a row's bytes, of which a long row has only the first on its own page."""
    if length > _LONGEST_ROW:
        raise ValueError("the row is too long")
    usable = len(page)
    here = length
    if length > usable - 35:
        least = (usable - 12) * 32 // 255 - 23
        here = least + (length - least) % (usable - 4)
        if here > usable - 35:
            here = least
    content = page[start : start + here]
    following = page[start + here : start + here + 4]
    while len(content) < length:
        more = pages.get(int.from_bytes(following, "big"), b"")
        if len(more) <= 4:
            raise ValueError("the rest of the row is missing")
        following = more[:4]
        content += more[4:]
    return content[:length]


def _values(content: bytes) -> list[Value]:
    header_bytes, place = _varint(content, 0)
    kinds = []
    while place < header_bytes:
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
