"""Many clients send anything in any order: nothing breaks, and nothing is left in the end."""

import asyncio
import contextlib
import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

from engine.board import FIELDS
from engine.pieces import NOTATIONS
from protocol.codec import decode_server, encode
from protocol.messages import (
    ClientMessage,
    Hello,
    JoinTable,
    Lay,
    Leave,
    ListTables,
    OpenTable,
    PlacePiece,
    Resume,
    Say,
    Seated,
    ServerMessage,
    StartGame,
    Sync,
    Watch,
)
from server.app import Running, running
from server.config import Config, Limits
from server.tables.state.persistent_state import PersistentState
from tests.server.peer import connected_without_hello, eventually


class RandomClient:
    """Sends random messages, some of them malformed, and breaks its connection; all share the tokens."""

    def __init__(self, server: Running, rng: random.Random, tokens: list[tuple[str, str]]) -> None:
        self._server = server
        self._rng = rng
        self._tokens = tokens

    async def run(self) -> None:
        with contextlib.suppress(ConnectionClosed):
            async with connected_without_hello(self._server.port) as peer:
                await peer.hello()
                for _ in range(self._rng.randrange(120)):
                    frame = bytearray(encode(self._random_message()))
                    if self._rng.random() < 0.02:
                        frame[self._rng.randrange(len(frame))] = self._rng.randrange(256)
                    await peer.socket.send(bytes(frame))
                    if self._rng.random() < 0.5:
                        self._keep_token(decode_server(await peer.socket.recv(decode=False)))
                peer.socket.transport.abort()

    def _keep_token(self, message: ServerMessage) -> None:
        if isinstance(message, Seated) and message.token is not None:
            self._tokens.append((message.table, message.token))

    def _random_message(self) -> ClientMessage:
        pick, number = self._rng.choice, self._rng.randrange(60)
        code = pick([*self._server.lobby.tables, "AAAA"])
        token = pick([*self._tokens, (code, "guessed")])
        choices: list[Callable[[], ClientMessage]] = [
            lambda: OpenTable(number, 2, pick(["Anna", "Bruno", "\x1b"]), pick([True, False])),
            lambda: JoinTable(number, code, pick(["Carla", "Dario", "Emma"])),
            lambda: Resume(number, *token, pick([0, 1, 5, 99])),
            lambda: Watch(number, code, pick([0, 3])),
            lambda: StartGame(number),
            lambda: Lay(number, pick(range(1, 7)), pick(range(6))),
            lambda: PlacePiece(number, pick(sorted(NOTATIONS)), pick(FIELDS)),
            lambda: Sync(number, pick([0, 3])),
            lambda: Say(number, "hm"),
            lambda: Leave(number) if self._rng.random() < 0.2 else ListTables(number),
            lambda: Hello([1], "again"),
        ]
        return pick(choices)()


@pytest.mark.slow
async def test_many_random_clients_break_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No warning is logged, the journal agrees with every table, and abandoned tables end."""
    caplog.set_level(logging.WARNING)
    limits = Limits(
        burst=10**6,
        burst_per_address=10**6,
        bad_messages=50,
        tables=8,
        tables_per_connection=1000,
        tables_per_address=1000,
        close_seconds=0.1,
    )
    tokens: list[tuple[str, str]] = []
    rng = random.Random(1)
    async with running(Config(data=tmp_path, limits=limits)) as server:
        for _ in range(4):
            async with asyncio.TaskGroup() as clients:
                for _ in range(10):
                    clients.create_task(RandomClient(server, random.Random(rng.random()), tokens).run())
        await eventually(lambda: not any(table._context.audience for table in server.lobby.tables.values()))
    # Now that the server has stopped: a conversation may still read what its client sent before it left.
    tables = {code: _persistent_facts(table.state) for code, table in server.lobby.tables.items()}
    archived = list(server.lobby._journal.archived)  # games without players, archived to make room
    assert archived or any(state[-1] for state in tables.values()), "no game was begun"
    async with running(Config(data=tmp_path)) as server:
        assert {code: _persistent_facts(table.state) for code, table in server.lobby.tables.items()} == tables
    limits = Limits(seat_grace_seconds=0.01, unattended_seconds=0.01, over_seconds=0.01)
    async with running(Config(data=tmp_path, limits=limits)) as server:
        await eventually(lambda: not server.lobby.tables)
    assert not caplog.records


def _persistent_facts(state: PersistentState) -> tuple[object, ...]:
    players = [player and (player.name, player.token_hash) for player in state.players]
    return state.options, players, state.entry_count, state.game and state.game.events
