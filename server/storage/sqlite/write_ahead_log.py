"""Whether SQLite shows all commits in a write-ahead log: it stops at the first damaged page.

Source: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
"""

import array
import sys
from collections.abc import Iterator
from typing import Final, TypeAlias

_Words: TypeAlias = "array.array[int]"

_HEADER_BYTES: Final = 32
_FRAME_HEADER_BYTES: Final = 24
_SUMMED_UP: Final = 8  # bytes of a frame's header, and all of its page
_WORD_BYTES: Final = 4
_MAGIC: Final = {0x377F0682: "little", 0x377F0683: "big"}  # and the order of the bytes that are summed up
_FRAMES_AT_ONCE: Final = 1024
_WORD: Final = 0xFFFFFFFF


def is_intact(log: bytes) -> bool:
    """Return whether no commit follows a damaged page; a damaged end can be the trace of a kill."""
    page_bytes = _number(log, 8)
    order = _MAGIC.get(_number(log, 0))
    if order is None or not page_bytes:
        return not any(log)
    if _sum(_words(log[:24], order)) != (_number(log, 24), _number(log, 28)):
        return False
    salts = log[16:24]
    broken = False
    step = _FRAME_HEADER_BYTES + page_bytes
    starts = range(_HEADER_BYTES, len(log) - step + 1, step)
    for start, fits in zip(starts, _fitting(log, len(starts), step, order), strict=True):
        if not fits or log[start + 8 : start + 16] != salts:  # of before the log was begun anew
            broken = True
        elif broken and _number(log, start + 4):
            return False  # a commit; pages without one are what a full disk left of a transaction
    return True


def _sum(words: _Words) -> tuple[int, int]:
    first = second = 0
    for one, other in zip(words[::2], words[1::2], strict=True):
        first = (first + one + second) & _WORD
        second = (second + other + first) & _WORD
    return first, second


def _fitting(log: bytes, frames: int, step: int, order: str) -> Iterator[bool]:
    """Yield for each frame whether its sum is what follows from that of the frame before it.

    Many frames are summed up together, which takes a tenth of the time: words that are at the same place in
    each of them are added as one large number.
    """
    length = step // _WORD_BYTES
    places = (*range(0, _SUMMED_UP // _WORD_BYTES, 2), *range(_FRAME_HEADER_BYTES // _WORD_BYTES, length, 2))
    end = _HEADER_BYTES + frames * step
    before = _words(log[24:_HEADER_BYTES], "big")
    for begin in range(_HEADER_BYTES, end, _FRAMES_AT_ONCE * step):
        content = log[begin : min(begin + _FRAMES_AT_ONCE * step, end)]
        words, stored = _words(content, order), _words(content, "big")
        firsts, seconds = stored[4::length], stored[5::length]
        first, second = _spread(before[:1] + firsts[:-1]), _spread(before[1:] + seconds[:-1])
        mask = _spread(array.array("I", [_WORD]) * len(firsts))
        for place in places:
            first = (first + _spread(words[place::length]) + second) & mask
            second = (second + _spread(words[place + 1 :: length]) + first) & mask
        wrong = (first ^ _spread(firsts)) | (second ^ _spread(seconds))
        yield from (not each for each in array.array("Q", wrong.to_bytes(8 * len(firsts), sys.byteorder)))
        before = array.array("I", (firsts[-1], seconds[-1]))


def _spread(words: _Words) -> int:
    """Return a number that has 64 bits for each word, in which it can carry."""
    wide = array.array("I", bytes(2 * _WORD_BYTES * len(words)))
    wide[sys.byteorder == "big" :: 2] = words
    return int.from_bytes(wide.tobytes(), sys.byteorder)


def _words(content: bytes, order: str) -> _Words:
    words = array.array("I", content)
    if order != sys.byteorder:
        words.byteswap()
    return words


def _number(content: bytes, start: int) -> int:
    return int.from_bytes(content[start : start + _WORD_BYTES], "big")
