"""Playing again: the table that follows a finished game."""

from msgspec.structs import replace

from engine.pieces import Seat
from server.storage.entries import Entry, Kept
from server.tables.state import Seating


def played_again(seating: Seating) -> list[Entry]:
    """Return the entries of a table for another game of the same players.

    Everything is as it was opened, each seat waits for its player, and the next one clockwise starts.
    """
    assert seating.game is not None  # noqa: S101 - a game that is over was begun
    starting = Seat((seating.game.view.start.starting + 1) % len(seating.players))
    kept = [
        Kept(seat, player.name, player.token_hash, player.program)
        for seat, player in enumerate(seating.players)
        if player is not None
    ]
    return [replace(seating.opened, starting=starting), *kept]
