"""Moments and lengths of time, as people read them."""

import re
import time
from datetime import datetime, timedelta
from math import ceil
from typing import Final

from client.language import N_, _, counted
from client.typed_text import BadText

_MINUTE: Final = 60
_HOUR: Final = 60 * _MINUTE
_DAY: Final = 24 * _HOUR
WEEKDAYS: Final = (
    N_("Monday"),
    N_("Tuesday"),
    N_("Wednesday"),
    N_("Thursday"),
    N_("Friday"),
    N_("Saturday"),
    N_("Sunday"),
)
_MOMENT: Final = re.compile(r"(?:(.+) )?(\d{1,2}):(\d{2})", re.ASCII)
_LETTERS_OF_DAY: Final = 3  # as they are shown ...
_LEAST_LETTERS: Final = 2  # ... and which are enough to know a day by
_LAST: Final = 2**32 - 1  # moment that can be sent


def local_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def time_since_then(seconds: float, now: float) -> str:
    """Return a past moment: only the time if that was today."""
    moment = time.localtime(seconds)
    today = moment[:3] == time.localtime(now)[:3]
    return time.strftime("%H:%M", moment) if today else local_time(seconds)


def local_day_and_time(seconds: float) -> str:
    return f"{_(WEEKDAYS[time.localtime(seconds).tm_wday])} {local_time(seconds)}"


def brief_day_and_time(seconds: float) -> str:
    """Return a moment of the coming weeks in few letters."""
    moment = time.localtime(seconds)
    return f"{_(WEEKDAYS[moment.tm_wday])[:_LETTERS_OF_DAY]} {time.strftime('%d %H:%M', moment)}"


def moment_named(text: str, now: datetime) -> int:
    """Return the moment, in seconds since 1970, that `text` names in local time: the next one that fits.

    Raises BadText.
    """
    hint = _("{text!r} is not a time. Write 20:00, friday 20:00, or 2026-11-27 20:00.").format(text=text)
    if (written := _MOMENT.fullmatch(text.strip())) is None:
        raise BadText(hint)
    try:
        moment = now.replace(hour=int(written[2]), minute=int(written[3]), second=0, microsecond=0)
        if (day := written[1]) is None:
            moment += timedelta(days=moment <= now)
        elif (weekday := _weekday_named(day)) is not None:
            days = (weekday - now.weekday()) % 7
            moment += timedelta(days=days or 7 * (moment <= now))
        else:
            date = datetime.strptime(day, "%Y-%m-%d")  # noqa: DTZ007 - local time
            moment = moment.replace(date.year, date.month, date.day)
        return min(max(0, int(moment.timestamp())), _LAST)
    except (ValueError, OverflowError, OSError):
        raise BadText(hint) from None


def _weekday_named(text: str) -> int | None:
    """Return the weekday, Monday as 0, whose name begins with `text`, in the language in use or English."""
    for number, name in enumerate(WEEKDAYS):
        if any(each.casefold().startswith(text.casefold()) for each in (name, _(name))):
            return number if len(text) >= _LEAST_LETTERS else None
    return None


def universal_time(seconds: float) -> str:
    """Return a moment as a page's script finds it, and shows it in the reader's own time zone."""
    return time.strftime("%Y-%m-%dT%H:%MZ", time.gmtime(seconds))


def clock_time(seconds: float) -> str:
    if seconds >= _DAY:
        return span(ceil(seconds / _HOUR) * _HOUR)
    minutes, left = divmod(max(ceil(seconds), 0), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{left:02}" if hours else f"{minutes}:{left:02}"


def span(seconds: int) -> str:
    """Return a length of time in days, and the rest as a whole number of the largest unit possible."""
    days, rest = divmod(seconds, _DAY)
    if days:
        told = counted("{n} day", "{n} days", days).format(n=days)
        return f"{told} {span(rest)}" if rest else told
    if seconds and seconds % _HOUR == 0:
        return _("{n} h").format(n=seconds // _HOUR)
    if seconds and seconds % _MINUTE == 0:
        return _("{n} min").format(n=seconds // _MINUTE)
    return _("{n} s").format(n=seconds)
