"""What measurements are made with: connections for load, and brains that respond to the search."""

import random
import socket
import threading

import pytest

from bench.bots.exploit import RESPONDERS
from bench.load.wire import HANDSHAKE, Wire
from client.bots.arena.games import ArenaPlayer, play_to_end, start_game
from client.bots.brains import brain_named


def test_threads_do_not_read_what_others_receive() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        wires, servers = list[Wire](), list[socket.socket]()
        for _ in range(2):
            opening = threading.Thread(target=lambda: wires.append(Wire(listener.getsockname()[1])))
            opening.start()
            servers.append(listener.accept()[0])
            servers[-1].recv(len(HANDSHAKE))
            servers[-1].sendall(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
            opening.join()
    for server, letter in zip(servers, (b"a", b"b"), strict=True):
        server.sendall(b"\x82\x03" + 3 * letter)
    one, other = wires

    class Delayed:
        """A socket whose reader sleeps, after the data have come, until another thread has read its own."""

        def recv_into(self, buffer: bytearray) -> int:
            size = own.recv_into(buffer)
            reading = threading.Thread(target=lambda: found.extend(other.frames()))
            reading.start()
            reading.join()
            return size

    found, own = list[bytes](), one.socket
    one.socket = Delayed()  # type: ignore[assignment]
    assert [*one.frames()] == [b"aaa"]
    assert found == [b"bbb"]
    for each in (own, other.socket, *servers):
        each.close()


@pytest.mark.slow
@pytest.mark.parametrize("responder", RESPONDERS)
def test_responders_play_to_the_end(responder: str) -> None:
    rng = random.Random(1)
    names = [f"bench.bots.exploit:{responder}:20", "citizen"]
    game = start_game(2, rng, random_layout=True)
    play_to_end(game, [ArenaPlayer(name, brain_named(name).choose, rng) for name in names])
    assert game.legal() is None
