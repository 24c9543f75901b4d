"""Files that a player saves: none is ever overwritten."""

import itertools
from pathlib import Path


def saved(path: Path, content: str) -> Path:
    """Write `content` to `path`, or beside it with a number if there is such a file; return the file's path.

    Raises OSError if it cannot be written.
    """
    for number in itertools.count(2):
        try:
            with path.open("x", encoding="utf-8") as file:
                file.write(content)
        except FileExistsError:
            stem = path.stem if number == 2 else path.stem.rpartition("-")[0]
            path = path.with_stem(f"{stem}-{number}")
        else:
            return path
    raise AssertionError("there is always another number")
