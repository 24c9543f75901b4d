"""Looking back on a finished game together."""

from protocol.codes import Code
from protocol.messages import Show, Shown
from tests.server.peer import Peer, connected, next_state_where
from tests.server.playing import memory_server, rematch, table_of
from tests.server.tables.test_rematch import finished_game


async def _see(peers: list[Peer], shown: Shown | None) -> None:
    for peer in peers:
        await next_state_where(peer, lambda state: state.shown == shown)


async def test_one_at_a_time_leads_until_they_stop_or_go() -> None:
    async with memory_server() as server, finished_game(server, 3, watched=True) as peers:
        first, second, third, spectator = peers
        before = table_of(server, peers).state.entry_count
        await first.done(Show, 7)
        await _see(peers[1:], Shown(7, 0))
        for other in (second, spectator):
            assert await other.refusal(Show, 3) == Code.LED_ALREADY
        async with connected(server.port) as late:
            await late.watch(first.code)
            await _see([late], Shown(7, 0))
        await first.done(Show)
        await _see(peers[1:], None)
        await spectator.done(Show, 0)
        await _see(peers[:3], Shown(0, spectator=1))
        await spectator.socket.close()
        await _see(peers[:3], None)
        await third.done(Show, 255)
        await _see(peers[:2], Shown(255, 2))
        async with connected(server.port) as resumed:  # whose client knows nothing of having led
            await resumed.resume(first.code, third.token)
            await _see([first, second, resumed], None)
        assert table_of(server, peers).state.entry_count == before
        await second.done(Show, 9)
        await _see([first], Shown(9, 1))
        await rematch(second)  # who has the same seat at the next table
        await _see([first], None)


async def test_every_step_is_shown_at_last_however_fast_they_come() -> None:
    async with memory_server() as server, finished_game(server, 2) as peers:
        for step in range(30):
            await peers[0].send(Show(peers[0].next_id(), step))
        await _see(peers, Shown(29, 0))
        states = [each for each in peers[1].received if getattr(each, "shown", None) is not None]
        assert len(states) < 25  # after 20 in a row, at most twice a second
