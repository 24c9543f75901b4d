"""Whether the journal's files are still those that were opened, under the same names.

A system lets a process write to a file that was deleted or moved away as if nothing had happened; but nobody
would find there what was stored.
"""

import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from server.monitoring.logs import about
from server.storage import reasons

log = logging.getLogger(__name__)

_HEADER_BYTES: Final = 100  # of an SQLite file; they hold a counter of its changes


@dataclass(frozen=True, slots=True)
class FileFault:
    """A fault of one of the files, with a remedy for the host."""

    path: Path
    reason: str
    remedy: str


class NotInPlace(reasons.StorageFault):
    """The files were replaced or cannot be read, so stored entries might be lost with them."""


class OpenFiles:
    """The journal's file at `path` and its write-ahead log, just opened by SQLite.

    Each fault is logged once, and so is its end. May be asked from any thread.
    """

    def __init__(self, path: Path) -> None:
        self.fault: FileFault | None = None
        self._path = path
        self._log_path = path.with_name(f"{path.name}-wal")
        self._names = str(path), str(self._log_path)  # which the system takes without conversion
        self._lock = threading.Lock()
        # Closed after SQLite's own: a process that closes a file loses all its locks on the file.
        self._descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
        self._file = _identity(os.fstat(self._descriptor))
        self._log = _identity(self._log_path.stat())
        self._being_written = 0  # by so many checkpoints: at other times the file does not change
        # What the last look has shown, nothing if it failed.
        self._header, self._known = self._read()

    @property
    def log_is_gone(self) -> bool:
        """Return whether it is only the write-ahead log that is missing."""
        return self.fault is not None and self.fault.path == self._log_path

    @property
    def deleted(self) -> bool:
        """Return whether the main file has been unlinked, so that it ends with the process."""
        return os.fstat(self._descriptor).st_nlink == 0

    def close(self) -> None:
        """Close the file, which SQLite must have closed before."""
        os.close(self._descriptor)

    def check(self) -> None:
        """Raise NotInPlace, which undoes a transaction, unless the files are in place.

        What becomes of them after this look might as well become of them after the commit.
        """
        if not self.in_place():
            raise NotInPlace("its file is not in its place" if self.fault is None else self.fault.reason)

    def in_place(self) -> bool:
        """Return whether the files are those that were opened, and only this process writes to the main one.

        The usual answer takes two calls of the system.
        """
        name, log_name = self._names
        try:
            # Not Path.stat, which takes twice as long: this is asked at every commit.
            file, log_file = os.stat(name), os.stat(log_name)  # noqa: PTH116
        except OSError:
            return self._look_closely()
        seen = (file.st_dev, file.st_ino, file.st_mtime_ns, file.st_size, log_file.st_dev, log_file.st_ino)
        return (seen == self._known and self.fault is None) or self._look_closely()

    @contextlib.contextmanager
    def changing(self) -> Iterator[None]:
        """Let a checkpoint change the main file; record it afterwards, or else at the next look."""
        with self._lock:
            self._being_written += 1
        try:
            yield
        finally:
            with self._lock:
                self._being_written -= 1
                self._known = ()
                with contextlib.suppress(OSError):
                    self._header, self._known = self._read()

    def _read(self) -> tuple[bytes, tuple[int, ...]]:
        """Return what shows whether the main file has changed; raises OSError."""
        now = os.fstat(self._descriptor)
        os.lseek(self._descriptor, 0, os.SEEK_SET)
        header = b""
        while len(header) < _HEADER_BYTES and (
            more := os.read(self._descriptor, _HEADER_BYTES - len(header))
        ):
            header += more
        return header, (*self._file, now.st_mtime_ns, now.st_size, *self._log)

    def _look_closely(self) -> bool:
        with self._lock:
            before, self.fault = self.fault, self._find_fault()
            if self.fault is not None and before is None:
                fault = self.fault
                log.error(
                    "the journal is missing or cannot be read, and nothing can be stored",
                    extra=about(path=str(fault.path), reason=fault.reason, remedy=fault.remedy),
                )
            elif self.fault is None and before is not None:
                log.warning("the journal is back in its place", extra=about(path=str(before.path)))
            return self.fault is None

    def _find_fault(self) -> FileFault | None:
        try:
            if (change := _change(self._path, self._file)) is not None:
                remedy = "put the same file back; if it was deleted, stop the server, which writes a copy"
                return FileFault(self._path, change, remedy)
            if (change := _change(self._log_path, self._log)) is not None:
                remedy = "restart the server: it stores all games in the main file when it stops"
                return FileFault(self._log_path, change, remedy)
            if self._overwritten():
                remedy = "stop the server, and restore all files of the journal from a backup"
                return FileFault(self._path, "another program has written to it", remedy)
        except OSError as error:
            remedy = "see whether the disk works, and whether the server may read the folder"
            return FileFault(self._path, reasons.reason_of(error), remedy)
        return None

    def _overwritten(self) -> bool:
        """Return whether another program has changed the main file, and not only touched it."""
        if self._being_written:
            return False
        header, known = self._read()
        if self._known and (header, known[3]) != (self._header, self._known[3]):
            return True
        self._header, self._known = header, known
        return False


def _identity(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _change(path: Path, identity: tuple[int, int]) -> str | None:
    """Return what has become of the file at `path`, None if it is still there; raises OSError."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return "it was deleted or moved"
    return None if _identity(found) == identity else "another file is in its place"
