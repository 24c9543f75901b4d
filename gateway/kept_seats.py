"""The seats of all guests, kept so that a closed window gets its seat back, and their past games."""

import contextlib
import errno
import logging
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from client.player.seats import EVENING, HeldSeat, Seats
from past_games.records import keep_record
from server.monitoring.logs import about

log = logging.getLogger(__name__)

_MOST_GUESTS: Final = 10_000
_MOST_SEATS: Final = 32  # of one guest
_MOST_GAMES: Final = 20  # of one guest
_LARGEST_RECORD: Final = 16 * 1024  # bytes; a game takes some 2 KiB
_KEPT_SECONDS: Final = 100 * 24 * 3600.0  # as long as any seat


class GuestSeats(Seats):
    """The seats and past games of one guest, at most so many; what was used longest ago goes first."""

    def __init__(self, folder: Path, server: str) -> None:
        super().__init__(folder, server)
        self.games = folder / "games"  # their records
        self._name_file = folder / "name"
        self._told: set[Path] = set()
        self.has_any = False  # as far as was seen

    @property
    def name(self) -> str:
        """Return the name under which the guest last took a seat; empty if that is not known."""
        with contextlib.suppress(OSError, UnicodeDecodeError):
            return self._name_file.read_text("utf-8")
        return ""

    def last_table(self) -> str | None:
        """Return the table of the free seat that was used last, None if there is none."""
        with contextlib.suppress(OSError):  # the client will say what is wrong with the folder
            at_tables = [held for held in self._kept() if held.table != EVENING]
            self.has_any = bool(at_tables)
            if at_tables:
                return max(at_tables, key=_last_use).table
        return None

    def keep(
        self,
        table: str,
        seat: int,
        name: str,
        token: str,
        cluster: Sequence[str] = (),
        *,
        asked: bool = False,
    ) -> HeldSeat:
        kept = sorted(self._kept(), key=_last_use)
        for held in kept[: max(0, len(kept) - _MOST_SEATS + 1)]:
            self.forget(held)
        held = super().keep(table, seat, name, token, cluster, asked=asked)
        self.has_any = True
        with contextlib.suppress(OSError):  # the seat is kept without that
            self._name_file.touch(mode=0o600)
            self._name_file.write_text(name, "utf-8")
        os.utime(self._folder)
        return held

    def keep_game(self, table: str, record: str) -> None:
        """Keep the record of a finished game; raises OSError, which does not tell the host's folders."""
        if len(record.encode()) > _LARGEST_RECORD:
            raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))
        try:
            keep_record(table, record, self.games, _MOST_GAMES)
        except OSError as error:
            log.warning("a guest's game cannot be kept", extra=about(reason=error.strerror or str(error)))
            raise OSError(error.errno, error.strerror) from None

    def _free(self) -> list[HeldSeat]:
        """As ever; but damaged files are told to the host, whose folders are not the guest's business."""
        found = super()._free()
        for path in set(self.damaged) - self._told:
            self._told.add(path)
            log.warning("a guest's seat cannot be read", extra=about(path=str(path)))
        self.damaged = ()
        return found


class GuestBook:
    """The folder in which each guest has one, under a hash: it tells neither keys nor words."""

    def __init__(self, folder: Path) -> None:
        """Use `folder`, which is made if necessary; raises OSError."""
        self._folder = folder
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.tidy()

    def seats(self, guest: str, server: str) -> GuestSeats:
        return GuestSeats(self._folder / guest, server)

    def knows(self, guest: str) -> bool:
        return (self._folder / guest).is_dir()

    def tidy(self) -> None:
        """Remove the guests who have not been here for long, and the oldest if they are too many."""
        latest = sorted(self._folder.iterdir(), key=_modified_at, reverse=True)
        now = time.time()
        for number, folder in enumerate(latest):
            if number >= _MOST_GUESTS or now - _modified_at(folder) > _KEPT_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)


def _last_use(held: HeldSeat) -> float:
    return _modified_at(held.path)


def _modified_at(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return path.stat().st_mtime
    return 0.0
