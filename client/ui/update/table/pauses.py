"""Pauses of the game."""

from client.tables.table import TableModel
from client.ui.update import requests


def pause_request(model: TableModel) -> requests.AskPause | None:
    """Return what the pause key asks for: a pause or to agree, or to go on or take it back."""
    state = model.state
    if state is None or state.stage != "playing" or model.seat is None:
        return None
    return requests.AskPause(on=state.paused is None and model.seat not in state.pause_asked)
