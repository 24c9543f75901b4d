"""Who is called and when, and what a notice says: of a game, only which one, and how much time is left."""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from protocol.absence import LongClock, letter_seconds
from server.config import PlayerNotice
from server.net.tokens import token_hash
from server.storage.commit_queue import Storing
from server.storage.entries import (
    Entry,
    OnHoliday,
    Paused,
    Played,
    StoodIn,
    Taken,
    TookBack,
    Unpaused,
)
from server.storage.journal import Journal
from server.tables.post import notice_key
from simulation.machine.loop import EPOCH
from simulation.people.correspondent import Correspondent
from simulation.people.postbox import Letter
from simulation.verdict import Finding, Verdict

_KEY: Final = re.compile(r"[0-9a-f]{32}")
_CODE: Final = re.compile(r"[A-Z]{4}|[A-Z]{8}")
_DIGITS: Final = re.compile(r"[0-9]{6}")
_WITH_TIME: Final = {"turn", "short"}
_WITHOUT: Final = {"resumed", "over"}
_DAY: Final = 86_400
_HOUR: Final = 3600.0
_LONG_ENOUGH: Final = 10 * _HOUR  # for every attempt to call
_AROUND_A_STAY: Final = 5.0  # seconds in which a letter arrives, and a lost connection is noticed


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


def check_calls(
    table: str, people: Sequence[Correspondent], letters: Sequence[Letter], down: Sequence[float]
) -> Verdict:
    """Nobody is called who is there, nor that time is short before it is; `down` is when something failed."""
    verdict = Verdict()
    for letter in letters:
        for each in people:
            policy, left, at = each.absence, letter.notice.seconds, EPOCH + letter.at
            if not letter.notice.key or letter.address != each.address_at(table):
                continue
            whole = letter_seconds(policy) + (policy.reserve if isinstance(policy, LongClock) else 0)
            if letter.notice.kind == "short" and left is not None and left > min(_DAY, whole // 4):
                text = f"time is short with {left} s of {whole} s"
                verdict.different.append(Finding(text, table, at))
            since = _there_since(each, letter.at, down)
            if since is not None:
                text = f"{each.name} is there, and called: {letter.notice}"
                verdict.invented.append(Finding(text, table, at, since=EPOCH + since))
    return verdict


def _there_since(player: Correspondent, at: float, down: Iterable[float]) -> float | None:
    """Return since when a player has been at the table who surely was when a letter was sent."""
    for since, until in player.stays:
        if since + _AROUND_A_STAY < at < until - _AROUND_A_STAY:
            return None if any(since - _HOUR < each < until for each in down) else since
    return None


def check_calls_in_time(
    table: str,
    people: Sequence[Correspondent],
    letters: Sequence[Letter],
    entries: Sequence[Entry],
    moved: Mapping[int, float],
) -> Verdict:
    """Whose time runs out, and who has not been there in all of it, was called before.

    `moved` has when players have moved, by the numbers of the events before.
    """
    verdict = Verdict()
    came = {letter.notice.key for letter in letters}
    seats = {entry.seat: entry.name for entry in entries if isinstance(entry, Taken)}
    stopped = any(isinstance(entry, Paused | OnHoliday | TookBack) for entry in entries)
    before, events = 0, 0
    for entry in entries:
        if not isinstance(entry, Played | StoodIn) or stopped:
            continue
        away = next((each for each in people if each.name == seats[entry.seat]), None)
        began = moved.get(before, math.inf)
        before, events = events, events + len(entry.events)
        if not isinstance(entry, StoodIn) or entry.by != "clock" or away is None or away.called_since is None:
            continue
        until = began + letter_seconds(away.absence) + _LONG_ENOUGH
        visited = any(began <= visit <= until for visit in away.visits)
        if began == math.inf or visited or away.called_since > began - _HOUR:
            continue
        if notice_key(table, token_hash(away.token), "short", before) not in came:
            text = f"{away.name} was not called when time was short after event {before}"
            verdict.lost.append(Finding(text, table, EPOCH + began))
    return verdict


def check_calls_after_pauses(
    table: str,
    people: Sequence[Correspondent],
    letters: Sequence[Letter],
    entries: Sequence[Entry],
    *,
    ends: Sequence[float],
    moved: Mapping[int, float],
) -> Verdict:
    """After a pause until an agreed moment all who are away are called; `ends` has when pauses have ended."""
    verdict = Verdict()
    came = {letter.notice.key for letter in letters}
    names = {entry.seat: entry.name for entry in entries if isinstance(entry, Taken)}
    on_holiday = {names[entry.seat] for entry in entries if isinstance(entry, OnHoliday)}
    pauses = [entry for entry in entries if isinstance(entry, Paused)]
    if len(ends) != len(pauses):
        return verdict  # one could not be stored at first
    last = max(moved.values(), default=0.0)
    for number, (pause, goes_on) in enumerate(zip(pauses, ends, strict=True), start=1):
        if pause.until is None or goes_on + _LONG_ENOUGH > last:
            continue
        for each in people:
            called_since = math.inf if each.called_since is None else each.called_since
            visited = any(goes_on - _HOUR <= visit <= goes_on + _LONG_ENOUGH for visit in each.visits)
            if visited or called_since > goes_on - _HOUR or each.name in on_holiday:
                continue
            if notice_key(table, token_hash(each.token), "resumed", number) not in came:
                text = f"{each.name} was not called after a pause"
                verdict.lost.append(Finding(text, table, EPOCH + goes_on))
    return verdict


def note_ends_of_pauses(ends: dict[str, list[float]], now: Callable[[], float]) -> None:
    """Have all journals add to `ends`, by tables, when the end of a pause is to be stored."""
    append = Journal.append

    def noted(
        self: Journal, code: str, first: int, entries: Sequence[Entry], ended: int | None = None
    ) -> Storing:
        if any(isinstance(entry, Unpaused) for entry in entries):
            ends.setdefault(code, []).append(now())
        return append(self, code, first, entries, ended)

    Journal.append = noted  # type: ignore[method-assign]  # a process has one world
