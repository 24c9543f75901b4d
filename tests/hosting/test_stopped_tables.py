"""The tables of a server that this computer's user hosted, once it is gone."""

import hashlib
from pathlib import Path

from client.player.seats import KeptSeat
from hosting.stopped_tables import stopped_tables
from protocol.messages import EndGame, Leave, StartGame, Study
from server.app import running
from server.config import Config
from tests.server.peer import Peer, connected, next_state_where
from tests.server.playing import finished_game

SERVER = "ws://127.0.0.1:7733"


def seat_of(peer: Peer, name: str) -> KeptSeat:
    return KeptSeat(SERVER, peer.code, name, hashlib.sha256(peer.token.encode()).hexdigest())


async def test_tables_say_whose_turn_it_is_and_who_is_waited_for(tmp_path: Path) -> None:
    """None while a server runs, none of another seat, none that is over, none where nobody else has come."""
    config = Config(data=tmp_path)
    assert stopped_tables(tmp_path, ()) == ()
    async with (
        running(config) as server,
        connected(server.port) as ann,
        connected(server.port) as bob,
        connected(server.port) as alone,
        connected(server.port) as ended,
        connected(server.port) as guest,
    ):
        await ann.open(2, "Ann", random_layout=True, starting=1)
        await bob.join(ann.code, "Bob")
        await ann.done(StartGame)
        await alone.open(2, "Ann")
        await ended.open(2, "Ann", random_layout=True)
        await guest.join(ended.code, "Guest")
        await ended.done(StartGame)
        await ended.done(EndGame)
        own = seat_of(ann, "Ann")
        seats = (seat_of(alone, "Ann"), own, seat_of(bob, "Bob"), seat_of(ended, "Ann"))
        assert stopped_tables(tmp_path, seats) == ()
    (stopped,) = stopped_tables(tmp_path, seats)
    assert (stopped.seat, stopped.others, stopped.turn.name) == (own, ("Bob",), "Bob")
    assert (stopped.turn.seat, stopped.turn.turn, stopped.turn.stage) == (0, 1, "playing")
    for other in (own._replace(proof="0" * 64), own._replace(server="wss://example.org")):
        assert stopped_tables(tmp_path, [other]) == ()


async def test_a_study_is_nothing_that_others_wait_for(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path)) as server, finished_game(server, 2) as peers:
        await peers[0].done(Study, 1)
        state = await next_state_where(peers[1], lambda state: state.studied is not None)
        assert state.studied is not None
        await peers[0].done(Leave)
        await peers[0].join(state.studied.table, "Player 0")
        seat = seat_of(peers[0], "Player 0")
    assert stopped_tables(tmp_path, [seat]) == ()
