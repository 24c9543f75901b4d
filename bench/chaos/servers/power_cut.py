"""Power cuts: what the server has written and not synced is taken back after it was killed.

A small library (power_cut.c) is preloaded into the server and keeps what each write replaces.
"""

import os
import random
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Final

from server.storage.sqlite.journal_file import FILE_NAME

_SOURCE: Final = Path(__file__).with_suffix(".c")
_HEAD: Final = struct.Struct("=QQQ")  # offset, bytes replaced, size of the file: `Undo` in the C source


def compiler() -> str | None:
    """Return a C compiler for the library, None where power cuts cannot be tried."""
    return (shutil.which("cc") or shutil.which("gcc")) if sys.platform == "linux" else None


class PowerCuts:
    """Takes back what a killed process has not synced of the journal in `data`; works in `folder`."""

    def __init__(self, data: Path, folder: Path, seed: str) -> None:
        self.undone = 0
        self._data = data
        self._undo = folder / "undo"
        self._undo.mkdir()
        self._rng = random.Random(f"{seed} power")
        library = folder / "power_cut.so"
        cc = compiler()
        assert cc is not None
        subprocess.run(
            [cc, "-shared", "-fPIC", "-O1", "-o", str(library), str(_SOURCE), "-ldl", "-lpthread"], check=True
        )
        self.environment = {
            "LD_PRELOAD": str(library),
            "PALATINUS_UNDO": str(self._undo),
            "PALATINUS_WATCHED": FILE_NAME,
        }

    def cut(self) -> None:
        """Take back the writes since the last sync: of each file all of them, the last ones, or none.

        A disk may have written some of them before the power failed, for it writes when it likes.
        """
        for undo in sorted(self._undo.glob("*.undo")):
            path = self._data / undo.name.removesuffix(".undo")
            writes = _writes(undo.read_bytes())
            lost = self._rng.choice([len(writes), len(writes), self._rng.randint(0, len(writes))])
            if path.exists() and lost:
                with path.open("r+b") as file:
                    for offset, replaced, size in reversed(writes[len(writes) - lost :]):
                        file.seek(offset)
                        file.write(replaced)
                        file.truncate(size)
                        self.undone += 1
                    os.fsync(file.fileno())
            undo.unlink()


def _writes(log: bytes) -> list[tuple[int, bytes, int]]:
    writes, at = [], 0
    while at + _HEAD.size <= len(log):
        offset, count, size = _HEAD.unpack_from(log, at)
        at += _HEAD.size
        if len(log) < at + count:  # killed while it was about to write
            break
        writes.append((offset, log[at : at + count], size))
        at += count
    return writes
