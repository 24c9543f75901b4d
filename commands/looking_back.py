"""Finished games as the client shows and saves them; the client itself reads no records."""

from pathlib import Path
from typing import TYPE_CHECKING

from commands.analysing import analyse

if TYPE_CHECKING:
    from client.records.recording import Recording
    from client.ui.online.visit import LookingBack


def looking_back() -> "LookingBack":
    """Return what the client needs for finished games: what it saves goes into the current folder."""
    from client.ui.online.visit import LookingBack

    return LookingBack(recording_of, Path.cwd(), analyse)


def recording_of(text: str) -> "Recording":
    """Return the recording of a record; raises DamagedRecord if it cannot be read or replayed."""
    from client.records.recording import Recording
    from engine.record import names_in, replayed

    return Recording.of(replayed(text).events, names_in(text))
