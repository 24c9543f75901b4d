"""Playing again: the table that follows a finished game."""

from msgspec.structs import replace

from engine.pieces import Seat
from protocol.settings import Hints, Private, Quiet, Setting, Spectators, Title
from server.storage.entries import BotSeated, Changed, Entry, Hosted, Kept, Opened, PeopleChosen
from server.tables.state.persistent_state import PersistentState


def options_to_play_again(state: PersistentState) -> Opened:
    """Return the options of a table for another game: all as it was, but the next player clockwise starts."""
    assert state.game is not None  # noqa: S101 - a game that is over was begun
    starting = Seat((state.game.view.start.starting + 1) % len(state.players))
    return replace(state.opened, starting=starting, absence=state.absence)


def entries_to_play_again(state: PersistentState) -> list[Entry]:
    """Return the seats and settings of a rematch's table: bots come along immediately.

    Players who were not removed have their seats kept, with the peoples that they chose.
    """
    seats: list[Entry] = []
    for seat, player in enumerate(state.players):
        if player is None:
            continue
        standing = state.standing(Seat(seat))
        if player.level is not None:
            seats.append(BotSeated(seat, player.level, player.name, standing))
        elif player.token_hash:
            seats.append(Kept(seat, player.name, player.token_hash, player.program, standing))
            if player.people is not None:
                seats.append(PeopleChosen(seat, player.people))
    settings: list[Setting] = []
    if state.title:
        settings.append(Title(state.title))
    if state.private:
        settings.append(Private(on=True))
    if state.no_spectators:
        settings.append(Spectators(allowed=False))
    if state.hints:
        settings.append(Hints(on=True))
    if state.quiet:
        settings.append(Quiet(on=True))
    host = [] if state.host is None else [Hosted(state.host)]
    return [*seats, *host, *map(Changed, settings)]
