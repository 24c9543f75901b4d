"""What a notice may say: of a game, only which one it is, and how much time is left."""

import re
from typing import Final

from server.config import PlayerNotice

_KEY: Final = re.compile(r"[0-9a-f]{32}")
_CODE: Final = re.compile(r"[A-Z]{4}|[A-Z]{8}")
_DIGITS: Final = re.compile(r"[0-9]{6}")
_WITH_TIME: Final = {"turn", "short"}
_WITHOUT: Final = {"resumed", "over"}


def is_plain(notice: PlayerNotice) -> bool:
    """Return whether a notice has nothing in it but what its kind needs."""
    kind, table, key, digits, *rest = notice
    if _CODE.fullmatch(table) is None:
        return False
    if kind == "confirm":
        return key == "" and _DIGITS.fullmatch(digits) is not None and rest == [None]
    known = kind in _WITH_TIME or (kind in _WITHOUT and rest == [None])
    is_number = len(rest) == 1 and isinstance(rest[0], int | None)
    return known and is_number and digits == "" and _KEY.fullmatch(key) is not None
