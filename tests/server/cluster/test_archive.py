"""The archive is that of all servers, also before each has looked what the others have changed there."""

import math
import random
from typing import Any

import pytest

from protocol.codes import Code
from protocol.messages import Resume
from server.app import Running
from server.config import Limits
from server.storage.postgresql.journal import PostgresJournal
from tests.server.cluster.running_cluster import cluster
from tests.server.peer import Peer, connected, eventually, game, play_on, table_of

AT_ONCE = Limits(unattended_seconds=0.0)


async def nothing(*_: Any) -> None:
    """Look at nothing."""


def look(server: Running) -> None:
    """Have a server look soon what the others have changed, as it does with each renewal of its lease."""
    journal = server.lobby._journal
    assert isinstance(journal, PostgresJournal)
    journal._lease._renewal_due = -math.inf
    journal._lease._wake.set()


async def archived_game(server: Running) -> list[Peer]:
    """Return the players of a game that this server has put into the archive."""
    async with game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=2)
        table = table_of(server, peers)
    await eventually(lambda: table.archived)
    return list(peers)


async def test_players_of_an_archived_game_come_back_to_different_servers(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first one brings it back; the second learns where it is, and has not lost the seat."""
    async with cluster(database, "one", "two", limits=AT_ONCE) as (one, two):
        first, second = await archived_game(one)
        look(two)
        await eventually(lambda: first.code in two.lobby.archived)
        monkeypatch.setattr(PostgresJournal, "look_at_others", nothing)
        async with connected(one.port) as at_one, connected(two.port) as at_two:
            await at_one.resume(first.code, first.token)
            refused = await at_two.refused(Resume(1, second.code, second.token, 0))
            assert (refused.code, (refused.about or {})["address"]) == (
                Code.TABLE_ELSEWHERE,
                f"ws://127.0.0.1:{one.port}",
            )


async def test_a_game_that_another_server_has_just_archived_is_not_gone(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its player, who comes here, is asked to try again, and has the seat as soon as this server knows."""
    async with cluster(database, "one", "two", limits=AT_ONCE) as (one, two), connected(two.port) as peer:
        with monkeypatch.context() as patch:
            patch.setattr(PostgresJournal, "look_at_others", nothing)
            first, _ = await archived_game(one)
            assert (await peer.refused(Resume(1, first.code, first.token, 0))).code == Code.NOT_STORED
        look(two)
        await eventually(lambda: first.code in two.lobby.archived)
        await peer.resume(first.code, first.token)
