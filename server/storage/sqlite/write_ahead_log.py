"""Whether SQLite shows all commits in a write-ahead log: it stops at the first damaged page.

Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

import array
import sys
from typing import Final, TypeAlias

_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_MAGIC: Final = {0x377F0682: "little", 0x377F0683: "big"}  # and the order of the bytes that are summed up

_Sum: TypeAlias = tuple[int, int]


def is_intact(log: bytes) -> bool:
    """Return whether no commit comes after a damaged page. A damaged end may be what a kill left."""
    page_bytes = _number(log, 8)
    order = _MAGIC.get(_number(log, 0))
    if order is None or not page_bytes:
        return not any(log)
    total = _add((0, 0), log[:24], order)
    if total != (_number(log, 24), _number(log, 28)):
        return False
    salts = log[16:24]
    broken = False
    step = _FRAME_HEADER_BYTES + page_bytes
    for start in range(_HEADER_BYTES, len(log) - step + 1, step):
        page = log[start + _FRAME_HEADER_BYTES : start + step]
        stored = (_number(log, start + 16), _number(log, start + 20))
        is_current = log[start + 8 : start + 16] == salts  # and not of before the log was begun anew
        if is_current:
            total = _add(_add(total, log[start : start + 8], order), page, order)
        if not is_current or total != stored:
            broken, total = True, stored
            continue
        if broken and _number(log, start + 4):
            return False  # a commit; pages without one are what a full disk left of a transaction
    return True


def _add(total: _Sum, content: bytes, order: str) -> _Sum:
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
