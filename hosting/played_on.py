"""A recorded game played on from one of its moves: a kept game against bots that begins in its middle."""

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from client.bots.brains import brain_named
from client.bots.search.worlds import Worlds, clues_in
from client.ui.requests import PlayOn
from engine.board import FIELDS
from engine.events import LayoutDrawn, Placed, SeenEvent
from engine.pieces import Kind, Piece, Seat
from engine.terrain import FARMER
from engine.view import Phase, View, eyes_of
from hosting.kept_games import KeptGame
from protocol.bot_names import at_level
from protocol.settings import Hints
from server.net.tokens import new_code, new_token, token_hash
from server.storage.entries import Changed, Entry, Hosted, Opened, Taken, entry_text, played_so_far
from server.storage.sqlite.data_folder import make_folder
from server.storage.stored_tables import Everything, Stored, link_rows


def fill(game: KeptGame, played: PlayOn, name: str, *, redraw: bool) -> KeptGame:
    """Return the new kept game with what has been played, to go on with for the player `name`.

    Bots keep their names, but not their levels, for the first brain of the game plays them.
    With `redraw` the others' wolves are what a search in that seat may think them. Raises JournalError or
    OSError.
    """
    recording, stop, seat = played.recording, played.move, played.seat
    events: Sequence[SeenEvent] = recording.events[: recording.counts[stop]]
    if redraw:
        events = _with_wolves_redrawn(events, recording.view(stop, eyes_of(seat)), seat)
    code, tokens = new_code(private=False), [new_token() for _ in recording.names]
    others = [
        recording.names[seat] if each.casefold() == name.casefold() else each for each in recording.names
    ]
    level = brain_named(game.brains[0]).name
    names = [name if number == seat else at_level(others[number], level) for number in recording.seats]
    entries = list(_entries(events, names, tokens, seat))
    now = int(time.time())
    rows = link_rows(code, ((now, entry_text(entry)) for entry in entries))
    make_folder(game.folder, Everything([Stored(code, rows, entries)]))
    for number, token in enumerate(tokens):
        seats = game.seat if number == seat else game.bots
        seats.keep(code, number, names[number], token).release()
    return replace(game, table=code)


def _with_wolves_redrawn(events: Sequence[SeenEvent], view: View, seat: Seat) -> Sequence[SeenEvent]:
    """Return the events with kinds of the others' wolves that agree with the seat's `view`."""
    if view.phase is not Phase.PLACING:
        return events
    board = Worlds(view, clues_in(view)).draw(random.Random()).board

    def redrawn(event: SeenEvent) -> SeenEvent:
        if not isinstance(event, Placed) or event.seat == seat or not event.piece.wolf:
            return event
        kind = Kind.FARMER if board[FIELDS.index(event.field)] >= FARMER else Kind.MERCHANT
        return replace(event, piece=Piece.of(event.piece.people, kind, wolf=True))

    return list(map(redrawn, events))


def _entries(
    events: Sequence[SeenEvent], names: Sequence[str], tokens: Sequence[str], host: Seat
) -> Iterator[Entry]:
    """Yield a table's entries until these events."""
    random_layout = any(isinstance(event, LayoutDrawn) for event in events)
    yield Opened(len(names), random_layout, starting=None)
    for number, name in enumerate(names):
        yield Taken(number, name, token_hash(tokens[number]), program=number != host)
    yield Hosted(host)
    yield Changed(Hints(on=True))
    yield from played_so_far(events, host)
