"""The disk of a simulation: SQLite's own writes and syncs pass through here, and those of the commit list.

A disk can be full, fail, be slow, lose what was not synced, and stop in the middle of any write. Files are
real ones, in memory; SQLite's way to the system (its VFS) is replaced in this process by ctypes.
"""

import ctypes
import errno
import os
import random
import shutil
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from simulation.machine.loop import Clock

_OK: Final = 0
_FULL: Final = 13
_IOERR_WRITE: Final = 10 | 3 << 8
_IOERR_FSYNC: Final = 10 | 4 << 8
_IOERR_TRUNCATE: Final = 10 | 6 << 8
_MUCH_ROOM: Final = 2**40
_SECTOR: Final = 512  # bytes that are written at once, or not at all
_VFS: Final = (b"unix-excl", b"unix")

_Ptr = ctypes.c_void_p
_Int = ctypes.c_int
_WRITE: Final = ctypes.CFUNCTYPE(_Int, _Ptr, _Ptr, _Int, ctypes.c_int64)
_TRUNCATE: Final = ctypes.CFUNCTYPE(_Int, _Ptr, ctypes.c_int64)
_SYNC: Final = ctypes.CFUNCTYPE(_Int, _Ptr, _Int)
# The name is a pointer, not bytes: SQLite keeps it.
_OPEN: Final = ctypes.CFUNCTYPE(_Int, _Ptr, _Ptr, _Ptr, _Int, _Ptr)
_RANDOM: Final = ctypes.CFUNCTYPE(_Int, _Ptr, _Int, _Ptr)


class _Methods(ctypes.Structure):
    """`sqlite3_io_methods`."""

    _fields_ = (
        ("version", _Int),
        ("close", _Ptr),
        ("read", _Ptr),
        ("write", _Ptr),
        ("truncate", _Ptr),
        ("sync", _Ptr),
        ("rest", _Ptr * 13),
    )


class _Vfs(ctypes.Structure):
    """`sqlite3_vfs`."""

    _fields_ = (
        ("version", _Int),
        ("file_size", _Int),
        ("longest_path", _Int),
        ("next", _Ptr),
        ("name", ctypes.c_char_p),
        ("data", _Ptr),
        ("open", _Ptr),
        ("delete", _Ptr),
        ("access", _Ptr),
        ("full_path", _Ptr),
        ("libraries", _Ptr * 4),
        ("randomness", _Ptr),
    )


class DiskFailed(OSError):
    """The process is dead, or its disk refuses."""


@dataclass(slots=True)
class Disk:
    """The disk of one server, with its files in `folder`; `died` is called when it stops in a write."""

    folder: Path
    rng: random.Random
    died: Callable[[], None]
    room: int | None = None  # bytes that files may still grow by; None is enough for all
    failing: float = 0.0  # the share of the writes and syncs that fail
    writes_left: int | None = None  # until the process dies in the middle of one
    dead: bool = False
    keeps_undo: bool = False  # power may be cut
    writes: int = 0
    syncs: int = 0
    faults: int = 0
    _undo: defaultdict[str, list[tuple[int, bytes, int]]] = field(default_factory=lambda: defaultdict(list))

    def allows(self, path: str, offset: int, size: int) -> int:
        """Return an error number for a write, 0 if it is to be done."""
        if self.dead:
            return errno.EIO
        self.writes += 1
        if self.writes_left is not None:
            self.writes_left -= 1
            if self.writes_left < 0:
                self.dead = True
                return errno.EIO
        if self.failing and self.rng.random() < self.failing:
            self.faults += 1
            return errno.EIO
        if self.room is not None and (growth := offset + size - _size(path)) > 0:
            if growth > self.room:
                self.faults += 1
                return errno.ENOSPC
            self.room -= growth
        return 0

    def note(self, path: str, offset: int, size: int) -> None:
        """Remember what a write replaces."""
        if not self.keeps_undo:
            return
        with suppress(FileNotFoundError), Path(path).open("rb") as file:
            file.seek(offset)
            self._undo[path].append((offset, file.read(size), _size(path)))

    def synced(self, path: str) -> bool:
        """Take note of a sync; return False if it fails."""
        if self.dead or (self.failing and self.rng.random() < self.failing):
            self.faults += 1
            return False
        self.syncs += 1
        self.forget(path)
        return True

    def forget(self, path: str) -> None:
        """Take note that power cuts do a file no harm as it is now."""
        self._undo.pop(path, None)

    def cut_power(self) -> int:
        """Take back writes that were not synced: of each file all, the last, or none; return how many."""
        undone = 0
        for path, writes in self._undo.items():
            lost = self.rng.choice([len(writes), len(writes), self.rng.randint(0, len(writes))])
            if lost and Path(path).exists():
                with Path(path).open("r+b") as file:
                    for offset, replaced, size in reversed(writes[len(writes) - lost :]):
                        file.seek(offset)
                        file.write(replaced)
                        file.truncate(size)
                        undone += 1
        return undone

    def after_death(self) -> "Disk":
        """Return the disk that the next process finds: the files as they are now, in their old place.

        What the dead process still holds open is a copy that nobody looks at.
        """
        folder = self.folder
        grave = folder.with_name(f"{folder.name}-dead")
        folder.rename(grave)
        shutil.copytree(grave, folder)
        shutil.rmtree(grave)
        return Disk(folder, self.rng, self.died, keeps_undo=self.keeps_undo)


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116 - asked at every write
    except OSError:
        return 0


def _path_of(file: int) -> str:
    return str(Path(f"/proc/self/fd/{file}").readlink())


class Disks:
    """All disks of a simulation; a file's path tells which disk it is on."""

    def __init__(self, clock: Clock, rng: random.Random) -> None:
        self._clock = clock
        self._rng = rng
        self._disks: list[Disk] = []
        self._paths: dict[int, str] = {}  # of open files of SQLite, by their addresses
        self._methods: dict[int, _Methods] = {}  # ours, by the addresses of SQLite's
        self._kept: list[Any] = []

    def add(self, disk: Disk) -> None:
        """Have files in a disk's folder obey it."""
        self._disks = [each for each in self._disks if each.folder != disk.folder]
        self._disks.append(disk)

    def of(self, path: str) -> Disk | None:
        """Return the disk of a file, None if it is on none that fails."""
        return next((disk for disk in self._disks if path.startswith(f"{disk.folder}/")), None)

    def free_bytes(self, folder: Path) -> int:
        """Return how much files in a folder may still grow."""
        disk = self.of(f"{folder}/")
        return _MUCH_ROOM if disk is None or disk.room is None else disk.room

    # -- SQLite -------------------------------------------------------------------------------------

    def replace_vfs(self, library: ctypes.CDLL) -> None:
        """Put this between SQLite and the system."""
        find = library.sqlite3_vfs_find
        find.restype, find.argtypes = _Ptr, [ctypes.c_char_p]
        for name in _VFS:
            address = find(name)
            if address:
                self._replace(_Vfs.from_address(address))

    def _replace(self, vfs: _Vfs) -> None:
        open_really = _OPEN(vfs.open)

        def opened(own: int, name: int | None, file: int, flags: int, out: int) -> int:
            result = open_really(own, name, file, flags, out)
            methods = ctypes.cast(file, ctypes.POINTER(_Ptr))
            if result == _OK and methods[0] and name is not None:
                self._paths[file] = os.fsdecode(ctypes.string_at(name))
                methods[0] = ctypes.addressof(self._ours(methods[0]))
            return int(result)

        def randomness(_own: int, size: int, target: int) -> int:
            ctypes.memmove(target, self._rng.randbytes(size), size)
            return size

        for slot, function in (("open", _OPEN(opened)), ("randomness", _RANDOM(randomness))):
            self._kept.append(function)
            setattr(vfs, slot, ctypes.cast(function, _Ptr).value)

    def _ours(self, address: int) -> _Methods:
        if address not in self._methods:
            ours = _Methods.from_buffer_copy(_Methods.from_address(address))
            write, truncate, sync = _WRITE(ours.write), _TRUNCATE(ours.truncate), _SYNC(ours.sync)

            def written(file: int, data: int, size: int, offset: int) -> int:
                path = self._paths[file]
                if (disk := self.of(path)) is None:
                    return int(write(file, data, size, offset))
                error = disk.allows(path, offset, size)
                if error == 0:
                    disk.note(path, offset, size)
                    return int(write(file, data, size, offset))
                self._end_in(disk, lambda part: write(file, data, part, offset), size, path, offset)
                return _FULL if error == errno.ENOSPC else _IOERR_WRITE

            def truncated(file: int, size: int) -> int:
                path = self._paths[file]
                disk = self.of(path)
                if disk is not None and disk.dead:
                    return _IOERR_TRUNCATE
                if disk is not None:
                    cut_off = max(0, _size(path) - size)
                    disk.note(path, size, cut_off)
                    if disk.room is not None:
                        disk.room += cut_off
                return int(truncate(file, size))

            def synced(file: int, flags: int) -> int:
                path = self._paths[file]
                disk = self.of(path)
                if disk is not None and not disk.synced(path):
                    return _IOERR_FSYNC
                return int(sync(file, flags))

            functions = _WRITE(written), _TRUNCATE(truncated), _SYNC(synced)
            self._kept += [functions, (write, truncate, sync)]
            ours.write, ours.truncate, ours.sync = (ctypes.cast(each, _Ptr).value for each in functions)
            self._methods[address] = ours
        return self._methods[address]

    def _end_in(self, disk: Disk, write: Callable[[int], object], size: int, path: str, offset: int) -> int:
        """Do some part of a write that fails, and return how much; a process that dies in it sees no more."""
        if disk.dead and disk.writes_left is None:
            return 0  # it has been dead before
        part = disk.rng.randint(0, size - 1) if size else 0
        if offset + size <= _SECTOR:
            part = 0
        if disk.room is not None:
            part = min(part, disk.room)
            disk.room -= part
        if part:
            disk.note(path, offset, part)
            write(part)
        if disk.dead:
            disk.writes_left = None
            disk.died()
        return part

    # -- files that the server writes itself --------------------------------------------------------

    def write(self, file: int, data: bytes) -> int:
        """Do what `os.write` does."""
        path = _path_of(file)
        if (disk := self.of(path)) is not None:
            size = _size(path)
            if error := disk.allows(path, size, len(data)):
                part = self._end_in(disk, lambda part: os.write(file, data[:part]), len(data), path, size)
                if part and not disk.dead:  # the system says so, and not why
                    return part
                raise DiskFailed(error, os.strerror(error))
            disk.note(path, size, len(data))
        return os.write(file, data)

    def replaced(self, path: Path) -> None:
        """Take note that a file is there as a whole."""
        if (disk := self.of(str(path))) is not None:
            disk.forget(str(path))

    def fsync(self, file: int) -> None:
        """Do what `os.fsync` does."""
        path = _path_of(file)
        if (disk := self.of(path)) is not None and not disk.synced(path):
            raise DiskFailed(errno.EIO, os.strerror(errno.EIO))
