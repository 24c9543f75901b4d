"""Requests that are refused at a table: to whom, when, and with which code."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Final, get_args, get_type_hints

import msgspec
import pytest

from client.bots.brains import at_random
from engine.pieces import Seat
from protocol.codes import Code
from protocol.messages import BesideMoves, ClientMessage, JoinTable, Leave, Refused, Rematch, Sync
from protocol.text import unsafe
from server.app import running
from server.config import Config, Limits
from server.tables.absence.deadlines import AT_SEATS, Due
from server.tables.requests import HANDLERS
from server.tables.rooms import ROOMS
from server.tables.table import WORK
from tests.cases import cases
from tests.server.peer import Peer, connected, eventually
from tests.server.playing import full_table, game, table_of
from tests.server.storage.test_journal import table_facts
from tests.server.tables.hosted import play_to_the_end, queued_requests

CONFIG: Final = Config(brains={"random": at_random}, limits=Limits(stand_in_seconds=0))


async def check_refused(peers: Sequence[Peer], *when: str, to: int | None = None, code: str = "") -> None:
    """Fail unless each request is refused to one of the peers, with the code of its case or the given one."""
    for moment, who, refused_with, text in cases(__file__, "refusals"):
        if moment in when:
            peer = peers[int(who) if to is None else to]
            given = json.loads(text.replace("ZZZZ", peers[0].code)) | {"id": peer.next_id()}
            request: ClientMessage = msgspec.convert(given, ClientMessage)
            refused = await peer.refused(request)
            assert refused.code == (code or refused_with), text
            assert unsafe(refused.text) is None


@pytest.mark.parametrize("started", [False, True])
async def test_players_spectators_and_strangers_may_not_do_what_the_host_may(*, started: bool) -> None:
    opened = game if started else full_table
    async with running(CONFIG) as server, opened(server.port, 3, watched=True) as peers:
        before = table_facts(table_of(server, peers).state)
        await check_refused(peers, "of hosts", "of those at none")
        await check_refused(peers, "of hosts", "of players", to=3, code=Code.NOT_A_PLAYER)
        async with connected(server.port) as stranger:
            of_tables = "of hosts", "of players", "of those at tables"
            await check_refused([*peers, stranger], *of_tables, to=4, code=Code.NOT_AT_A_TABLE)
        assert table_facts(table_of(server, peers).state) == before
        await peers[2].nothing_but_pong()


async def test_before_the_game() -> None:
    """Here seat 2 is a program's, and seat 3 a bot's."""
    async with (
        running(CONFIG) as server,
        full_table(server.port, 4, programs={2}, bots={3: "random"}, watched=True) as peers,
        connected(server.port) as stranger,
    ):
        before = table_facts(table_of(server, peers).state)
        await check_refused([*peers, stranger], "before the game")
        assert table_facts(table_of(server, peers).state) == before
        await peers[1].nothing_but_pong()


async def test_at_a_table_with_a_free_seat() -> None:
    """Here seat 3 is a bot's."""
    async with running(CONFIG) as server, full_table(server.port, 4, bots={3: "random"}) as peers:
        host, second, third = peers
        await third.done(Leave)
        await check_refused(peers, "with a free seat")
        refused = await third.refused(JoinTable, host.code, "Third", 1)
        assert (refused.code, refused.about) == (Code.SEAT_TAKEN, {"seat": "1", "free_seats": "2, 3"})
        table = table_of(server, peers)
        await table._lock.acquire()
        await second.send(Sync(8))
        await eventually(lambda: queued_requests(table) == 1)
        table._context.audience.remove(table._context.audience.seated[Seat(1)])
        table._lock.release()
        assert (await second.until(Refused)).code == Code.LEFT_THE_TABLE


async def test_during_and_after_the_game() -> None:
    """Here seat 2 is a bot's."""
    async with running(CONFIG) as server, game(server.port, 3, bots={2: "random"}, watched=True) as peers:
        before = table_facts(table_of(server, peers).state)
        await check_refused(peers, "during the game")
        assert table_facts(table_of(server, peers).state) == before
        await peers[1].nothing_but_pong()
        await play_to_the_end(peers)
        async with connected(server.port) as late:
            await check_refused([*peers, late], "after the game")


def test_every_request_at_a_table_has_a_handler() -> None:
    """One: of two rooms that decide on the same, the table would know only the last."""
    decided = [*HANDLERS, *(request for room in ROOMS for request, _ in room.requests)]
    assert Counter(decided) == Counter([*get_args(BesideMoves), Rematch])
    for request, handling in HANDLERS.items():
        _context, _session, taken, *_ = get_type_hints(handling.by).values()
        assert request in (get_args(taken) or (taken,)), request


def test_everything_that_falls_due_at_a_table_is_done() -> None:
    assert WORK.keys() | {Due.UNATTENDED} == set(Due)
    for due, work in WORK.items():
        _context, *concerned = list(get_type_hints(work).values())[:2]
        assert due not in AT_SEATS - {Due.ROOM} or Seat in concerned, due
