"""The commit list: a file beside the journal that says after each commit how far its tables have come.

It shows at the next start what SQLite cannot notice: that the end of the write-ahead log, or all of it, is
lost, or that a file is out of date. It is written before anything is told, and not synced: after a power cut,
its end or the journal's may be missing. At each start and above 256 KiB it is written again, under another
name that then replaces it.

Each line is a checksum (CRC-32, 8 hexadecimal digits) of the rest of the line, a space, and the rest. The
first line is `palatinus-commits-1`, the journal's number, the number of the last commit, and how many tables
follow, one on each line. Every other line has the numbers of the first and the last commit that it covers,
then for each table that these changed its code, or `evening`, a sign and what the sign stands for:

    = in use      the number of its entries, `:`, the last link of its chain in hexadecimal
    ~ archived    the same
    ! set aside   `0:`
    - removed     nothing

    5d0c6e1b 1042-1042 KXQT=17:9f86d081884c7d65
"""

import contextlib
import errno
import logging
import os
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from server.monitoring.logs import about
from server.probes import probe
from server.storage.names import EVENING, name_now
from server.storage.reasons import reason_of
from server.storage.stored_tables import Changes, StoredState, TablePlace

FILE_NAME: Final = "palatinus.commits"

_TITLE: Final = "palatinus-commits-1"
_SIZE_TO_REWRITE: Final = 256 * 1024  # bytes; 10,000 archived games need some 400 KB
_GONE: Final = "-"
_WORD: Final = re.compile(rf"([A-Z]+|{EVENING})([^A-Za-z])(.*)")
# The tables in a line, and the evening, but for those that are gone.
_NAMED: Final = re.compile(rf"\b(?:[A-Z]{{4,}}+|{EVENING})(?!-)".encode())

log = logging.getLogger(__name__)


@dataclass(slots=True)
class KnownCommits:
    """The contents of a commit list; `damaged` if a line does not fit, `named` the tables in such lines."""

    journal: str | None = None
    commits: int = 0
    tables: dict[str, StoredState] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    damaged: bool = False
    named: set[str] = field(default_factory=set)
    empty: bool = True  # or missing

    @property
    def tells_of_more(self) -> bool:
        """Whether there must have been a journal beside it that was not empty."""
        return bool(self.tables or self.named) or (self.damaged and not self.empty)


def known_commits(content: bytes) -> KnownCommits:
    """Return what the lines of a commit list say, as far as they are whole.

    A last line that is cut off is not damage: its commit was told to nobody.
    """
    known = KnownCommits(empty=not content)
    *lines, cut_off = content.split(b"\n")
    known.named.update(_names_in(cut_off))
    listed = 0
    for line in lines:
        try:
            words = _words(line)
            if words[0] == _TITLE:
                known.journal, known.commits, listed = words[1], int(words[2]), int(words[3])
                continue
            first, last = map(int, words[0].split("-"))
            changes = dict(map(_change, words[1:]))
        except (ValueError, IndexError):
            known.damaged = True
            known.named.update(_names_in(line))
            continue
        if known.journal is None or (first != known.commits + 1 and not (listed and first == known.commits)):
            known.damaged = True  # a line before it is missing
        listed = max(0, listed - 1)
        known.commits = max(known.commits, last)
        for code, standing in changes.items():
            if standing is None:
                known.tables.pop(code, None)
                known.gone.add(code)
            else:
                known.tables[code] = standing
                known.gone.discard(code)
    known.damaged |= known.journal is None or listed > 0
    return known


def _names_in(line: bytes) -> list[str]:
    return [name_now(name.decode()) for name in _NAMED.findall(line)]


def _words(line: bytes) -> list[str]:
    checksum, _, rest = line.partition(b" ")
    if int(checksum, 16) != zlib.crc32(rest):
        raise ValueError("the checksum does not fit")
    return rest.decode("ascii").split(" ")


def _change(word: str) -> tuple[str, StoredState | None]:
    if (parts := _WORD.fullmatch(word)) is None:
        raise ValueError("this is not what has become of a table")
    code, mark, rest = name_now(parts[1]), parts[2], parts[3]
    if mark == _GONE:
        return code, None
    length, _, link = rest.partition(":")
    return code, StoredState(TablePlace(mark), int(length), bytes.fromhex(link))


def _line(text: str) -> bytes:
    content = text.encode("ascii")
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _commit_line(first: int, last: int, changes: Changes) -> bytes:
    words = [f"{first}-{last}"]
    for code, standing in changes.items():
        if standing is None:
            words.append(code + _GONE)
        else:
            words.append(f"{code}{standing.place}{standing.length}:{standing.link.hex()}")
    return _line(" ".join(words))


def list_content(journal: str, commits: int, tables: Mapping[str, StoredState]) -> bytes:
    """Return a new commit list with the length of each of the `tables` after this number of commits."""
    lines = [_line(f"{_TITLE} {journal} {commits} {len(tables)}")]
    lines += [_commit_line(commits, commits, {code: standing}) for code, standing in tables.items()]
    return b"".join(lines)


class CommitList:
    """The commit list of an open journal, begun anew.

    A list that cannot be written stops no game: what it lacks is added as soon as it can be written again.
    """

    def __init__(self, path: Path, journal: str, commits: int, tables: Mapping[str, StoredState]) -> None:
        self._path = path
        self._journal = journal
        self._file = -1
        self._commits = commits  # up to which the file tells
        self._missing: dict[str, StoredState | None] = dict(tables)  # what it does not tell yet
        self._failing = False
        self._size = self._begun_with = 0
        try:
            self.rewrite(commits, tables)
        except OSError as error:
            self._tell_once(error)

    @property
    def long(self) -> bool:
        """Return whether the list has grown so long that it should be rewritten."""
        return self._size > max(_SIZE_TO_REWRITE, 2 * self._begun_with)

    def add(self, commits: int, changes: Changes) -> None:
        self._missing.update(changes)
        try:
            if self._file < 0:
                probe("a commit list that could not be written is begun again")
                self.rewrite(
                    commits, {code: each for code, each in self._missing.items() if each is not None}
                )
            else:
                self._write(_commit_line(self._commits + 1, commits, self._missing))
        except OSError as error:
            self._tell_once(error)
            return
        self._commits = commits
        self._missing.clear()
        self._failing = False

    def rewrite(self, commits: int, tables: Mapping[str, StoredState]) -> None:
        """Rewrite the list with all tables as of this number of commits; raises OSError."""
        content = list_content(self._journal, commits, tables)
        replace_file(self._path, content)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | getattr(os, "O_BINARY", 0))
        self.close()
        self._file = file
        self._size = self._begun_with = len(content)
        self._commits = commits
        self._missing = {}

    def _write(self, line: bytes) -> None:
        if os.write(self._file, line) < len(line):
            probe("a line of the commit list is cut off")
            os.ftruncate(self._file, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        self._size += len(line)

    def _tell_once(self, error: OSError) -> None:
        if not self._failing:
            log.warning("the commit list cannot be written", extra=about(reason=reason_of(error)))
        self._failing = True

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def replace_file(path: Path, content: bytes) -> None:
    """Write a private file atomically: after a crash it is complete or unchanged."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    with removed_if_it_fails(unfinished):
        unfinished.unlink(missing_ok=True)
        unfinished.touch(mode=0o600)
        with unfinished.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)


@contextlib.contextmanager
def removed_if_it_fails(path: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        path.unlink(missing_ok=True)
        raise
