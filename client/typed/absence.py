"""Absence policies as users type them: `wait`, `move-clock:60`, `game-clock:30m`, `vote:2m`, `bot:60s`."""

import re
from typing import Final

from client.language import _
from protocol.absence import BOUNDS, WAIT, Absence

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_TIMED: Final = {str(kind.__struct_config__.tag): kind for kind in BOUNDS}
_WRITTEN: Final = re.compile(r"([a-z-]+):([0-9]{1,6})([smhd]?)")


class BadPolicy(ValueError):
    """The text is not a policy; the message says what to write."""


def policy_named(text: str) -> Absence:
    """Return the policy that `text` names; raises BadPolicy."""
    if text == "wait":
        return WAIT
    written = _WRITTEN.fullmatch(text)
    if written is None or (kind := _TIMED.get(written[1])) is None:
        hint = _(
            "{text!r} is not an absence policy. Write wait, move-clock:60, game-clock:30m, "
            "vote:2m or bot:60s."
        )
        raise BadPolicy(hint.format(text=text))
    seconds = int(written[2]) * _UNITS[written[3]]
    least, most = BOUNDS[kind]
    if not least <= seconds <= most:
        hint = _("{text!r} is out of range. Choose {least} to {most}.")
        raise BadPolicy(hint.format(text=text, least=_written(least), most=_written(most)))
    return kind(seconds)


def _written(seconds: int) -> str:
    """Return a time as it is typed, in the largest unit that fits."""
    fitting = (unit for unit in _UNITS if seconds and seconds % _UNITS[unit] == 0)
    unit = max(fitting, key=lambda each: (_UNITS[each], each), default="")
    return f"{seconds // _UNITS[unit]}{unit}"
