"""An SQLite file and its write-ahead log merged in memory, as SQLite would merge them on the disk.

Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

import array
import sys
from typing import Final, TypeAlias

_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_MAGIC: Final = {0x377F0682: "little", 0x377F0683: "big"}  # and the order of the bytes that are summed up
_MODE: Final = slice(18, 20)  # in the file's header: whether it has a log
_WITH_LOG: Final = b"\x02\x02"
_WITHOUT_LOG: Final = b"\x01\x01"

_Sum: TypeAlias = tuple[int, int]


def merged(file: bytes, log: bytes) -> tuple[bytes, bool]:
    """Return a file with its log, up to any damage, as a file without a log; and whether the log is intact.

    It is not if a commit comes after a damaged page. A damaged end may be what a kill left.
    """
    content = bytearray(file)
    intact = True
    if content[_MODE] == _WITH_LOG:
        intact = _apply(content, log)
        content[_MODE] = _WITHOUT_LOG
    return bytes(content), intact


def belongs_to_none(file: bytes, log: bytes) -> bool:
    """Return whether there is a log beside a file that says it has none: a copy took the place of another."""
    return bool(log) and file[_MODE] == _WITHOUT_LOG


def _apply(content: bytearray, log: bytes) -> bool:
    """Put the commits of a log into the file; return False if a damaged page comes before some of them."""
    page_bytes = _number(log, 8)
    order = _MAGIC.get(_number(log, 0))
    if order is None or not page_bytes:
        return not any(log)
    total = _added((0, 0), log[:24], order)
    if total != (_number(log, 24), _number(log, 28)):
        return False
    salts = log[16:24]
    pages: dict[int, bytes] = {}
    broken = False
    step = _FRAME_HEADER_BYTES + page_bytes
    for start in range(_HEADER_BYTES, len(log) - step + 1, step):
        page = log[start + _FRAME_HEADER_BYTES : start + step]
        stored = (_number(log, start + 16), _number(log, start + 20))
        is_current = log[start + 8 : start + 16] == salts  # and not of before the log was begun anew
        if is_current:
            total = _added(_added(total, log[start : start + 8], order), page, order)
        if not is_current or total != stored:
            broken, total = True, stored
            continue
        size = _number(log, start + 4)
        if broken:
            if size:  # a commit; pages without one are what a full disk left of a transaction
                return False
            continue
        pages[_number(log, start)] = page
        if size:
            _put(content, pages, size * page_bytes)
            pages = {}
    return True


def _put(content: bytearray, pages: dict[int, bytes], size: int) -> None:
    """Put pages in their places in a file of `size` bytes."""
    del content[size:]
    content.extend(bytes(size - len(content)))
    for number, page in pages.items():
        if (start := (number - 1) * len(page)) < size:
            content[start : start + len(page)] = page


def _added(total: _Sum, content: bytes, order: str) -> _Sum:
    """Return a checksum after more content."""
    words = array.array("I", content)
    if order != sys.byteorder:
        words.byteswap()
    first, second = total
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & 0xFFFFFFFF
        second = (second + other + first) & 0xFFFFFFFF
    return first, second


def _number(content: bytes, start: int) -> int:
    return int.from_bytes(content[start : start + 4], "big")
