"""Cases of a test, kept as lines of text beside it: what is given, ` | `, and what comes of it."""

from pathlib import Path


def cases(file: str, name: str) -> list[tuple[str, ...]]:
    """Return the columns of each line of `name`.txt beside a test's file, without the heading."""
    text = Path(file).with_name(f"{name}.txt").read_text(encoding="utf-8")
    return [tuple(line.split(" | ")) for line in text.splitlines()[1:]]
