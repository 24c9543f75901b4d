"""Records of finished games, one text file each."""

import asyncio
import logging
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from engine.game import Game
from engine.record import recorded
from server.logs import about

log = logging.getLogger(__name__)


def prepare_folder(folder: Path) -> None:
    """Make the folder for records if there is none; raises OSError if nothing can be written there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=folder):
        pass


async def write_record(folder: Path, code: str, game: Game, names: Sequence[str]) -> None:
    """Write the record of a finished game into `folder`; a failure is logged and harms no one."""
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{code}.txt"
    try:
        await asyncio.to_thread(_write, path, recorded(game.events, names))
    except Exception:  # whatever fails, it is the record of one game, and the others play on
        log.exception("the record could not be written", extra=about(path=str(path)))
    else:
        log.info("record written", extra=about(path=str(path)))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    # Under its own name there is a whole record or none at every moment, even if the power fails.
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
