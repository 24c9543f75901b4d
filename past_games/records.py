"""Records of games that players keep: where they are, and what can be read of them."""

import contextlib
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

from client.player.folders import data_folder
from client.records import PastGame, Recording, player_name
from engine.record import names_in, outcome_in, replayed
from server.storage.records import MOST_KEPT, EveningRecord, record_name, write_record

_NAME: Final = re.compile(r"(\d{8}-\d{6})-([A-Z]{4,8})\.txt")
_MOST_BYTES: Final = 64 * 1024  # of a record; what is longer is none


def records_folder() -> Path:
    return data_folder() / "records"


def keep_record(table: str, record: str, folder: Path | None = None, most: int = MOST_KEPT) -> None:
    """Keep the record of a game that was played elsewhere, here or in `folder`; raises OSError.

    It may have been kept there already: by a server on this computer, or from another window. The latest
    `most` stay.
    """
    folder = folder or records_folder()
    known = folder.glob(f"*-{table}.txt")
    if not any(path.read_text(encoding="utf-8", errors="replace") == record for path in known):
        write_record(folder / record_name(table, time.time()), record, most)


def past_games(folder: Path) -> list[PastGame]:
    """Return the games whose records are in `folder`, the latest first; none if there is no such folder.

    Raises OSError if the folder cannot be read.
    """
    try:
        names = [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    return [past_game(folder / name) for name in sorted(names, reverse=True) if _NAME.fullmatch(name)]


def past_game(path: Path) -> PastGame:
    """Return the game of a record, as far as the file can be read."""
    when, table = path.stem.rsplit("-", 1)
    try:
        ended = datetime.strptime(when, "%Y%m%d-%H%M%S").replace(tzinfo=UTC).timestamp()
    except ValueError:  # digits, but not a time
        ended = 0.0
    text = ""
    with contextlib.suppress(OSError, UnicodeDecodeError), path.open("rb") as file:
        text = file.read(_MOST_BYTES).decode()
    if (outcome := outcome_in(text)) is None:
        return PastGame(path.name, table, ended)
    known = names_in(text)
    names = tuple(player_name(known.get(seat), seat) for seat in range(len(outcome.points)))
    return PastGame(path.name, table, ended, names, outcome.points, outcome.winners)


def past_evenings(folder: Path) -> list[EveningRecord]:
    """Return the evenings whose results are in `folder`, the latest first, as far as they can be read."""
    found = []
    for path in sorted(folder.glob("evening-*.json"), reverse=True):
        with contextlib.suppress(OSError, msgspec.DecodeError):
            found.append(msgspec.json.decode(path.read_bytes(), type=EveningRecord))
    return found


def recording_of(text: str) -> Recording:
    """Return the recording of a record; raises DamagedRecord if it cannot be read or replayed."""
    return Recording.of(replayed(text).events, names_in(text))
