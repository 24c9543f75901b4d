"""Playing again: the table that follows a finished game."""

from msgspec.structs import replace

from engine.pieces import Seat
from server.storage.entries import Entry, Kept
from server.tables.state import PersistentState


def entries_to_play_again(state: PersistentState) -> list[Entry]:
    """Return the entries of a table for another game of the same players.

    Everything is as it was opened, each seat is kept for its player, and the next one clockwise starts.
    """
    assert state.game is not None  # noqa: S101 - a game that is over was begun
    starting = Seat((state.game.view.start.starting + 1) % len(state.players))
    kept = [
        Kept(seat, player.name, player.token_hash, player.program)
        for seat, player in enumerate(state.players)
        if player is not None
    ]
    return [replace(state.opened, starting=starting), *kept]
