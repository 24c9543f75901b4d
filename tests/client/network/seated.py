"""A server's part of a script in which the client gets a seat at table ABCD."""

import contextlib
import dataclasses
from collections.abc import AsyncIterator

from client.network.connection import Connection, open_connection
from engine.game import Game
from engine.pieces import Seat
from engine.redaction import redacted
from engine.view import eyes_of
from protocol.events import event_map
from protocol.messages import NEW, Events, JoinTable, Ping, Pong, Resume, Seated
from tests.client.scripted import FAST_RETRIES, Act, Peer, scripted

SHORT_TIMEOUTS = dataclasses.replace(FAST_RETRIES, opening=0.05, answer=0.05)
TOKEN = "a-token"


def events_frame(game: Game, first: int, last: int | None = None) -> Events:
    """Return the frame with events `first` to `last`, as seat 0 receives them."""
    seen = [redacted(event, eyes_of(Seat(0))) for event in game.events[first - 1 : last]]
    return Events(first, [event_map(event) for event in seen])


async def seat_joiner(peer: Peer, *others: str) -> None:
    """Greet the client, tell it the addresses of other servers, and give it seat 0 at table ABCD."""
    await peer.welcome(*others)
    await peer.answer(JoinTable, Seated(NEW, "ABCD", 0, TOKEN))


async def seat_and_drop(peer: Peer) -> None:
    await seat_joiner(peer)
    peer.drop()


async def seat_returner(peer: Peer, *others: str, seat: int = 0, table: str = "ABCD") -> None:
    """Greet the client, which shows its token, and give it its seat back."""
    await peer.welcome(*others)
    resume = await peer.answer(Resume, Seated(NEW, table, seat))
    assert (resume.table, resume.token) == (table, TOKEN)


async def answer_ping(peer: Peer) -> None:
    await peer.answer(Ping, Pong(NEW))


@contextlib.asynccontextmanager
async def joined(*acts: Act) -> AsyncIterator[Connection]:
    """Yield a connection to a server that follows a script, which has seated its client at table ABCD."""
    async with scripted(*acts) as url, open_connection(url, timeouts=FAST_RETRIES) as connection:
        await connection.ask(JoinTable(NEW, "ABCD", "ann"))
        yield connection
