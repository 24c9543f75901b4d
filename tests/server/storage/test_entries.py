"""What entries can hold belongs to the version of the journal, by which older programs refuse it.

    python -m tests.server.storage.test_entries

writes the file that says what they hold now.
"""

import json
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

import msgspec

from protocol.events import EVENT_STRUCTS
from server.storage.entries import JOURNAL_VERSION, Contents, Entry

FILE: Final = Path(__file__).parents[2] / "kept" / f"journal-{JOURNAL_VERSION}.txt"
ADVICE: Final = (
    "entries can hold something else than before. Raise JOURNAL_VERSION, unless no version with this number "
    "was released: an older program has to refuse what it cannot read. Then write the file again, as the "
    "beginning of this test says"
)


def entries_text() -> str:
    """Return what entries can hold, each class on a line."""
    entries, events = reduce(or_, Entry.__subclasses__()), reduce(or_, EVENT_STRUCTS.values())
    _, classes = msgspec.json.schema_components([entries, events, Contents], ref_template="{name}")
    lines = [f"{name} {json.dumps(_plain(content))}\n" for name, content in sorted(classes.items())]
    return "".join(lines)


def _plain(content: Any) -> Any:
    """Return a part of a schema without what only people read, and what msgspec says from 0.23 on alone."""
    match content:
        case dict():
            left_out = {name for name in ("title", "description") if isinstance(content.get(name), str)}
            if "enum" in content.get("propertyNames", ()):
                left_out.add("propertyNames")
            return {name: _plain(part) for name, part in content.items() if name not in left_out}
        case list():
            return [*map(_plain, content)]
        case _:
            return content


def test_the_version_says_what_entries_can_hold() -> None:
    assert FILE.exists(), ADVICE
    assert FILE.read_text(encoding="utf-8") == entries_text(), ADVICE


if __name__ == "__main__":
    FILE.write_text(entries_text(), encoding="utf-8")
