"""The lock on a data folder: one process at a time uses it, whatever becomes of the files in it."""

import errno
import logging
import os
import sys
from pathlib import Path
from typing import Final

from server.logs import about

log = logging.getLogger(__name__)

_HELD: Final = frozenset({errno.EACCES, errno.EAGAIN, errno.EDEADLK})


class FolderInUse(Exception):
    """Another process has locked the folder."""


class FolderLock:
    """A lock on the folder `data`, which has to exist, until `close` or the end of the process.

    The folder itself is locked, so nobody can remove the lock by deleting a file; Windows, where a folder
    cannot be locked, has a file for it, which nobody can delete while it is open.
    A file system without such locks is logged, and SQLite's own lock on the journal has to do.
    Raises FolderInUse, or OSError if the folder cannot be opened.
    """

    def __init__(self, data: Path) -> None:
        self._descriptor = _opened(data)
        try:
            _lock(self._descriptor)
        except OSError as error:
            if error.errno in _HELD:
                self.close()
                raise FolderInUse from error
            log.warning(
                "the folder cannot be locked", extra=about(path=str(data), reason=str(error.strerror))
            )

    def close(self) -> None:
        """Release the folder for other processes."""
        os.close(self._descriptor)


if sys.platform == "win32":
    import msvcrt

    def _opened(data: Path) -> int:
        return os.open(data / "palatinus.lock", os.O_RDWR | os.O_CREAT)

    def _lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _opened(data: Path) -> int:
        return os.open(data, os.O_RDONLY | os.O_DIRECTORY)

    def _lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
