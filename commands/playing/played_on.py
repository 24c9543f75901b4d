"""A recorded game played on from one of its moves: a kept game against bots that begins in its middle."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from client.bots.search.worlds import Worlds, told
from client.ui.requests import PlayOn
from commands.playing.kept_games import KeptGame
from engine.board import FIELDS
from engine.events import GameStarted, LayoutDrawn, LayTile, Place, Placed, SeenEvent, TileLaid
from engine.pieces import Kind, Piece, Seat
from engine.terrain import FARMER
from engine.view import Phase, View, eyes_of
from protocol.events import event_map, move_message
from protocol.messages import StartGame
from protocol.settings import Hints
from server.net.tokens import new_code, new_token, token_hash
from server.storage.entries import Changed, Entry, Hosted, Opened, Played, Taken, entry_text
from server.storage.sqlite.data_folder import make_folder
from server.storage.stored_tables import Everything, Stored, relinked


def fill(game: KeptGame, played: PlayOn, name: str, *, redraw: bool) -> KeptGame:
    """Return the new kept game with what has been played, to go on with for the player `name`.

    With `redraw` the others' wolves are what a search in that seat may think them. Raises JournalError or
    OSError.
    """
    recording, stop, seat = played.recording, played.move, played.seat
    events: Sequence[SeenEvent] = recording.events[: recording.counts[stop]]
    if redraw:
        events = _with_wolves_redrawn(events, recording.view(stop, eyes_of(seat)), seat)
    cuts = recording.counts[: stop + 1]
    moves = [events[start:end] for start, end in pairwise((0, *cuts))]
    code, tokens = new_code(private=False), [new_token() for _ in recording.names]
    names = [name if number == seat else recording.names[number] for number in recording.seats]
    entries = list(_entries(moves, names, tokens, seat))
    now = int(time.time())
    rows = relinked(code, ((now, entry_text(entry)) for entry in entries))
    make_folder(game.folder, Everything([Stored(code, rows, entries)]))
    for number, token in enumerate(tokens):
        seats = game.seat if number == seat else game.bots
        seats.keep(code, number, names[number], token).release()
    return replace(game, table=code)


def _with_wolves_redrawn(events: Sequence[SeenEvent], view: View, seat: Seat) -> Sequence[SeenEvent]:
    """Return the events with kinds of the others' wolves that agree with the seat's `view`."""
    if view.phase is not Phase.PLACING:
        return events
    board = Worlds(view, told(view)).draw(random.Random()).board

    def redrawn(event: SeenEvent) -> SeenEvent:
        if not isinstance(event, Placed) or event.seat == seat or not event.piece.wolf:
            return event
        kind = Kind.FARMER if board[FIELDS.index(event.field)] >= FARMER else Kind.MERCHANT
        return replace(event, piece=Piece.of(event.piece.people, kind, wolf=True))

    return list(map(redrawn, events))


def _entries(
    moves: Sequence[Sequence[SeenEvent]], names: Sequence[str], tokens: Sequence[str], host: Seat
) -> Iterator[Entry]:
    """Yield a table's entries until these moves; nobody can prove draws that have yet to come."""
    begun = [replace(event, draws=None) if isinstance(event, GameStarted) else event for event in moves[0]]
    random_layout = any(isinstance(event, LayoutDrawn) for event in begun)
    yield Opened(len(names), random_layout, starting=None)
    for number, name in enumerate(names):
        yield Taken(number, name, token_hash(tokens[number]), program=number != host)
    yield Hosted(host)
    yield Changed(Hints(on=True))
    yield Played(host, StartGame(0), list(map(event_map, begun)))
    for number, happened in enumerate(moves[1:], 1):
        match happened[0]:
            case TileLaid(seat, _, position, orientation):
                command: LayTile | Place = LayTile(seat, position, orientation)
            case Placed(seat, piece, field):
                command = Place(seat, piece, field)
        yield Played(command.seat, move_message(number, command), list(map(event_map, happened)))
