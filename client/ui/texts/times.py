"""Moments and lengths of time, as people read them."""

import time
from math import ceil
from typing import Final

from client.language import _

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE


def local_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def clock_time(seconds: float) -> str:
    minutes, left = divmod(max(ceil(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def span(seconds: int) -> str:
    """Return a length of time as a whole number of the largest unit possible."""
    if seconds and seconds % _HOUR == 0:
        return _("{n} h").format(n=seconds // _HOUR)
    if seconds and seconds % _MINUTE == 0:
        return _("{n} min").format(n=seconds // _MINUTE)
    return _("{n} s").format(n=seconds)
