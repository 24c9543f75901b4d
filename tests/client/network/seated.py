"""A server's part of a script in which the client gets a seat at table ABCD."""

import dataclasses

from engine.game import Game
from engine.pieces import Seat
from engine.redaction import redacted
from engine.view import eyes_of
from protocol.events import event_map
from protocol.messages import (
    Events,
    JoinTable,
    Seated,
)
from tests.client.scripted import FAST_RETRIES, Peer

SHORT_TIMEOUTS = dataclasses.replace(FAST_RETRIES, opening=0.05, answer=0.05)
TOKEN = "a-token"


def events_frame(game: Game, first: int, last: int | None = None) -> Events:
    """Return the frame with events `first` to `last`, as seat 0 receives them."""
    seen = [redacted(event, eyes_of(Seat(0))) for event in game.events[first - 1 : last]]
    return Events(first, [event_map(event) for event in seen])


async def seat_joiner(peer: Peer) -> None:
    """Greet the client and give it seat 0 at table ABCD."""
    await peer.welcome()
    join = await peer.receive(JoinTable)
    await peer.send(Seated(join.id, "ABCD", 0, TOKEN))


async def greet_and_wait(peer: Peer) -> None:
    """Greet the client, and send nothing until it goes."""
    await peer.welcome()
    await peer.until_closed()
