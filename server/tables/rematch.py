"""Playing again: the table that follows a finished game."""

from msgspec.structs import replace

from engine.pieces import Seat
from server.storage.entries import Kept, Opened
from server.tables.state import PersistentState


def options_to_play_again(state: PersistentState) -> Opened:
    """Return the options of a table for another game: all as it was, but the next player clockwise starts."""
    assert state.game is not None  # noqa: S101 - a game that is over was begun
    starting = Seat((state.game.view.start.starting + 1) % len(state.players))
    return replace(state.opened, starting=starting)


def seats_to_play_again(state: PersistentState) -> list[Kept]:
    """Return the seats of a table for another game: each is kept for its player, if not removed."""
    return [
        Kept(seat, player.name, player.token_hash, player.program, state.standing(Seat(seat)))
        for seat, player in enumerate(state.players)
        if player is not None and player.token_hash
    ]
