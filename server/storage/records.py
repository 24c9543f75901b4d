"""Records of finished games, one text file each; a game whose record is missing gets it later."""

import asyncio
import logging
import re
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import Struct, json

from engine.events import Event
from engine.record import recorded
from server.config import Timer, Timers
from server.errors import JournalError
from server.monitoring.failures import RepeatedFailure, Tasks
from server.monitoring.logs import about
from server.probes import probe
from server.storage.entries import contents, events_of
from server.storage.journal import Journal

log = logging.getLogger(__name__)

MOST_KEPT: Final = 10_000  # records, of some 2 KiB each, where nobody has chosen how many
_REMEDY: Final = "if games are missing, stop the server, and put their journal or a backup back"
_NAME: Final = re.compile(r"(\d{8}-\d{6})-[A-Z]{4,8}\.txt")
_EVENING: Final = re.compile(r"evening-(\d{8}-\d{6})\.json")
_TIME: Final = "%Y%m%d-%H%M%S"
_DAY: Final = 86_400  # seconds
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
RETRY_SECONDS: Final = 10.0
_MOST_WAITING: Final = 1000  # records, of 2 KiB each; the journal keeps those beyond for the next start


def prepare_folder(folder: Path) -> None:
    """Make the folder for records if there is none; raises OSError if nothing can be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


class EveningRecord(Struct, frozen=True):
    """The results of an evening: people's names by key, and each table's people, points and items.

    A person has the same key in all evenings to which they came with the same token.
    """

    name: str
    opened: int  # in seconds since 1970
    people: dict[str, str]
    results: list[list[tuple[str, int, int]]]


def evening_name(opened: int) -> str:
    return f"evening-{datetime.fromtimestamp(opened, UTC):{_TIME}}.json"


def write_evening(path: Path, record: EveningRecord) -> None:
    """Write an evening's results in place of those of before; raises OSError."""
    _write(path, json.encode(record))


class Records:
    """Writes the records of finished games into `folder`, in `tasks`.

    The journal says whose record is due, from a game's last move until the record is written. What fails is
    tried again, and at the next start: a failure is logged and harms nobody. The folder keeps the latest
    `most` records, and those of the last `days`, as far as these are not None.
    """

    def __init__(
        self,
        folder: Path,
        most: int | None,
        journal: Journal,
        tasks: Tasks,
        timers: Timers,
        *,
        days: int | None = None,
    ) -> None:
        self._folder = folder
        self._most, self._days = most, days
        self._journal = journal
        self._tasks = tasks
        self._timers = timers
        # When the games ended, and what makes their records, by the tables' codes.
        self._waiting: dict[str, tuple[int, Callable[[], str]]] = {}
        self._writing = asyncio.Lock()
        self._failures = RepeatedFailure()
        self._retry: Timer | None = None
        self._next_look: Timer | None = None  # at how old the records are
        self._closed = False
        if days is not None:
            self._tasks.start(self._remove_old(days), "removing old records")

    def game_over(self, code: str, events: Iterable[Event], names: Sequence[str], ended: int) -> None:
        """Write the record of a game that ended at this time, in seconds since 1970."""
        # Made in a later turn of the loop: the end of a game is long for other tables without it.
        if self._put(code, partial(recorded, events, names), ended):
            self._tasks.start(self._write_waiting(), "writing records")

    async def write_missing(self) -> None:
        """Write the records that an earlier process has left out."""
        try:
            for code, ended in await self._journal.records_due():
                if self._closed:
                    return
                await self._write_from_journal(code, ended)
        except JournalError as error:
            log.warning("missing records cannot be looked up", extra=about(reason=str(error)))

    def warn_if_any(self) -> None:
        """Warn if there are records beside a new journal: that of their games may be lost."""
        if number := sum(_NAME.fullmatch(each.name) is not None for each in self._folder.iterdir()):
            log.warning(
                "the journal is new, but there are records of games",
                extra=about(path=str(self._folder), records=number, remedy=_REMEDY),
            )

    def close(self) -> None:
        """Finish the record being written, then stop; the journal remembers which ones are missing."""
        self._closed = True
        for timer in (self._retry, self._next_look):
            if timer is not None:
                timer.cancel()

    async def _remove_old(self, days: int) -> None:
        """Remove records older than these days, now and once a day."""
        try:
            await asyncio.to_thread(remove_older, self._folder, days)
        except OSError as error:
            reason = error.strerror or str(error)
            log.warning("old records cannot be removed", extra=about(path=str(self._folder), reason=reason))
        if not self._closed:
            self._next_look = self._timers.call_later(
                _DAY, lambda: self._tasks.start(self._remove_old(days), "removing old records")
            )

    async def _write_from_journal(self, code: str, ended: int) -> None:
        if code in self._journal.codes_set_aside:  # until it is restored or removed
            return
        entries = await self._journal.entries(code)
        found = contents(entries)
        if found.stage != "over":  # removed; the code may be another table's by now
            probe("a record is due of a game that has gone")
            await self._journal.record_written(code)
            return
        if self._put(code, lambda: recorded(events_of(entries), found.names), ended):
            await self._write_waiting()

    def _put(self, code: str, make: Callable[[], str], ended: int) -> bool:
        if len(self._waiting) >= _MOST_WAITING:
            probe("too many records wait to be written")
            return False
        self._waiting[code] = ended, make
        return True

    async def _write_waiting(self) -> None:
        async with self._writing:
            for code, (ended, make) in list(self._waiting.items()):
                path = self._folder / f"{code}.txt"
                try:
                    # The name is the same at the next start, so that no record is written twice.
                    path = self._folder / record_name(code, ended)
                    await asyncio.to_thread(write_record, path, make(), self._most)
                except OSError as error:
                    self._fail(path, error)
                    probe("a record cannot be written")
                    return
                except Exception:  # whatever fails, it is the record of one game: the next ones are written
                    log.exception("the record could not be written", extra=about(path=str(path)))
                    del self._waiting[code]
                    continue
                del self._waiting[code]
                log.info("record written", extra=about(path=str(path)))
                self._failures.log_end(log.warning, "records are written again")
                try:
                    await self._journal.record_written(code)
                except JournalError:  # which the journal logs; the next start finds the record
                    probe("a record was written, and that cannot be stored")
                    continue

    def _fail(self, path: Path, error: OSError) -> None:
        reason = error.strerror or str(error)
        self._failures.log(log.error, "the record could not be written", path=str(path), reason=reason)
        if self._retry is not None:
            self._retry.cancel()
        if not self._closed:
            self._retry = self._timers.call_later(RETRY_SECONDS, self._try_again)

    def _try_again(self) -> None:
        self._tasks.start(self._write_waiting(), "writing records")


def record_name(code: str, ended: float) -> str:
    """Return the name of the record of a game that ended at this time, in seconds since 1970.

    Raises OverflowError for a time that no calendar has.
    """
    return f"{_EPOCH + timedelta(seconds=ended):{_TIME}}-{code}.txt"


def write_record(path: Path, text: str, most: int | None) -> None:
    """Write a record, unless it is there; keep the latest `most` in its folder, if that is not None."""
    if not path.exists():  # it does if the process was killed before it could take note of that
        _write(path, text.encode())
    if most is not None:
        names = sorted(each.name for each in path.parent.iterdir() if _NAME.fullmatch(each.name))
        for name in names[:-most]:
            (path.parent / name).unlink(missing_ok=True)


def remove_older(folder: Path, days: int) -> None:
    """Remove the records of games that ended, and of evenings that were opened, more than `days` days ago."""
    oldest = f"{datetime.fromtimestamp(max(0, int(time.time()) - days * _DAY), UTC):{_TIME}}"
    for path in folder.iterdir():
        found = _NAME.fullmatch(path.name) or _EVENING.fullmatch(path.name)
        if found and found[1] < oldest:
            path.unlink(missing_ok=True)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under its own name there is a whole file or none at every moment, even if the power fails.
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
