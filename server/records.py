"""Records of finished games, one text file each."""

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path

from engine.game import Game
from engine.record import recorded
from server.logs import about

log = logging.getLogger(__name__)


async def write_record(folder: Path, code: str, game: Game) -> None:
    """Write the record of a finished game into `folder`; a failure is logged and harms no one."""
    path = folder / f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{code}.txt"
    try:
        await asyncio.to_thread(_write, path, recorded(game.events))
    except Exception:  # whatever fails, it is the record of one game, and the others play on
        log.exception("the record could not be written", extra=about(path=str(path)))
    else:
        log.info("record written", extra=about(path=str(path)))


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
