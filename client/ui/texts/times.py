"""Moments and lengths of time, as people read them."""

import time
from math import ceil
from typing import Final

from client.language import _, counted

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR


def local_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def clock_time(seconds: float) -> str:
    if seconds >= _DAY:
        return span(ceil(seconds / _HOUR) * _HOUR)
    minutes, left = divmod(max(ceil(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def span(seconds: int) -> str:
    """Return a length of time in days, and what is left as a whole number of the largest unit possible."""
    days, rest = divmod(seconds, _DAY)
    if days:
        told = counted("{n} day", "{n} days", days).format(n=days)
        return f"{told} {span(rest)}" if rest else told
    if seconds and seconds % _HOUR == 0:
        return _("{n} h").format(n=seconds // _HOUR)
    if seconds and seconds % _MINUTE == 0:
        return _("{n} min").format(n=seconds // _MINUTE)
    return _("{n} s").format(n=seconds)
