"""A file that nobody else on the computer may read, such as one with people's addresses."""

import os
from pathlib import Path


def replace_private_file(file: Path, content: bytes) -> None:
    """Replace the file, whole or not at all; raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    unfinished = file.with_name(f"{file.name}.unfinished")
    unfinished.unlink(missing_ok=True)
    opened = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(opened, "wb") as target:
            target.write(content)
            target.flush()
            os.fsync(target.fileno())
        unfinished.replace(file)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
