"""A request that was carried out and stored is never carried out again, whatever becomes of its answer."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

from protocol import messages
from protocol.codes import Code
from server.app import Running, running
from server.config import Config, Limits
from server.storage.entries import Answered, Freed
from server.tables.context import ENTRIES_BETWEEN_SHORTENINGS
from server.tables.state.answers import KEPT
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, state_where
from tests.server.playing import full_table, happen, rearranged, table_of
from tests.server.storage.test_journal import count_rows, full_disk, resumed, table_facts
from tests.server.tables.hosted import disconnect, served

Asked: TypeAlias = tuple[Peer, messages.BesideMoves]


async def repeated(config: Config, peers: Sequence[Peer], asked: Sequence[Asked]) -> None:
    """Fail unless all these requests are answered as done after a restart, and nothing else happens."""
    async with running(config) as server, resumed(server.port, *peers) as again:
        state = table_of(server, peers).state
        before = table_facts(state)
        for peer, request in asked:
            assert await again[peers.index(peer)].ask(request) == messages.Done(request.id), request
        assert table_facts(state) == before


async def test_no_id_is_used_for_two_requests(config: Config) -> None:
    """Not across a restart either."""
    async with running(config) as server, full_table(server.port, 2) as peers:
        ready = messages.SayReady(peers[0].next_id(), on=True)
        await peers[0].done(ready)
    async with running(config) as server, resumed(server.port, peers[0]) as (again,):
        assert await again.refusal(messages.ChoosePeople(ready.id, "A")) == Code.ID_REUSED


async def test_no_request_before_a_game_is_carried_out_twice(config: Config) -> None:
    """Not even if it would be refused by now, or if its player has been given another seat since."""
    async with running(config) as server, full_table(server.port, 5, bots={4: "random"}) as peers:
        anna, bruno, carla, dario = peers
        await happen(server, anna, Freed(4))
        asked: list[Asked] = [
            (carla, messages.SayReady(carla.next_id(), on=True)),
            (bruno, messages.ChoosePeople(bruno.next_id(), "A")),
            (bruno, messages.ChangeSeat(bruno.next_id(), 4)),
            (anna, messages.SeatBot(anna.next_id(), "random")),
            (carla, messages.SayReady(carla.next_id(), on=True)),
            (dario, messages.ChoosePeople(dario.next_id(), "E")),
        ]
        for peer, request in asked:
            await peer.done(request)
        await rearranged(server, anna, 1, 2, 3, 4, 0)
        await all_seated(server, peers)
    await repeated(config, peers, asked)


async def all_seated(server: Running, peers: Sequence[Peer]) -> None:
    """Wait until all peers know their seats."""
    for peer in peers:
        await peer.ask(messages.Ping)
    names = table_of(server, peers).state.names
    assert [names[peer.seat] for peer in peers if peer.seat is not None] == [
        f"Player {number}" for number in range(len(peers))
    ]


async def test_a_request_that_was_not_stored_can_be_repeated(tmp_path: Path) -> None:
    """Each is stored with what it does, and with nothing else: not with what others do, nor the table."""
    time = ManualClock()
    async with served(tmp_path, time) as server, full_table(server.port, 3) as peers:
        anna, bruno, carla = peers
        say_ready = messages.SayReady(bruno.next_id(), on=True)
        with full_disk(server):
            assert await bruno.refusal(say_ready) == Code.NOT_STORED
        choice = messages.ChoosePeople(anna.next_id(), "A")
        await anna.done(choice)
        await bruno.done(say_ready)
        await carla.done(messages.Sync, 0)
        await disconnect(carla, anna)
        time.advance(Limits().waiting_seat_seconds)
        await state_where(anna, lambda state: state.seats[2].name is None)
        await anna.done(messages.SayReady, on=False)  # that is so already
        entries = await server.lobby.journal.entries(anna.code)
        answered = [entry for entry in entries if isinstance(entry, Answered)]
        assert [(entry.seat, [number for number, _ in entry.requests]) for entry in answered] == [
            (0, [choice.id]),
            (1, [say_ready.id]),
        ]


async def test_the_latest_requests_stay_in_a_journal_that_is_shortened(tmp_path: Path) -> None:
    config = Config(data=tmp_path, limits=Limits(burst=1_000_000, burst_per_address=1_000_000))
    async with running(config) as server, full_table(server.port, 2) as peers:
        asked = [
            (peers[1], messages.SayReady(peers[1].next_id(), on=bool(number % 2))) for number in range(301)
        ]
        for peer, request in asked[1:]:
            await peer.done(request)
        kept = count_rows(tmp_path)
    assert kept <= ENTRIES_BETWEEN_SHORTENINGS + KEPT + 6
    await repeated(config, peers, asked[-KEPT:])
