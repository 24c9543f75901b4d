"""The names under which a journal stores entries: the code of a table, or a word for the evening.

An evening has the same chain, places, lease and commit list as a table. Its name says that it is none, even
if nothing else is left of it, and no client can send that name as the code of a table.
"""

import re
from typing import Final

from protocol import admin

EVENING: Final = admin.EVENING
BEFORE_JOURNAL_6: Final = "EVENING"  # which is spelt like a table's code
_NAME: Final = re.compile(f"[A-Z]+|{EVENING}")


def is_table(name: str) -> bool:
    return name != EVENING


def name_now(stored: str) -> str:
    """Return the name that something has now and had in a journal of any version."""
    return EVENING if stored == BEFORE_JOURNAL_6 else stored


def is_name(text: str) -> bool:
    """Return whether a server may have stored something under this name."""
    return _NAME.fullmatch(text) is not None
