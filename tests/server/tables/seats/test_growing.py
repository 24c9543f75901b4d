"""Tables whose seats follow the people, until the host starts the game."""

import random
from pathlib import Path

from client.bots.brains import at_random
from engine.draws import pledge_of
from engine.pieces import Seat
from protocol import messages
from protocol.codes import Code
from protocol.settings import Starting
from server.app import running
from server.config import Config
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, state_where
from tests.server.playing import all_caught_up, changed, check_views, play_on, removed, table_of
from tests.server.tables.game.test_game_start import SHARES, Sharer
from tests.server.tables.hosted import begun, disconnect, served

NAMES = "Anna", "Bruno", "Carla", "Dario", "Emma"


async def opened(host: Peer, *guests: Peer) -> str:
    """Open a table that grows, and have the guests come to it one by one."""
    code = (await host.open(2, NAMES[0], grows=True)).table
    for guest, name in zip(guests, NAMES[1:], strict=False):
        await guest.join(code, name)
    return code


def names_in(state: messages.TableState) -> list[str | None]:
    return [seat.name for seat in state.seats]


async def seats_told(peer: Peer, *names: str | None) -> messages.TableState:
    return await state_where(peer, lambda state: names_in(state) == [*names])


async def test_whoever_comes_sits_down_until_there_are_five() -> None:
    async with served() as server, all_connected(server.port, 5) as peers, connected(server.port) as sixth:
        code = await opened(peers[0])
        state = await seats_told(peers[0], "Anna", None)
        assert state.grows
        refused = await peers[0].refused(messages.StartGame)
        assert refused.code == Code.SEATS_EMPTY
        for number, (peer, name) in enumerate(zip(peers[1:], NAMES[1:], strict=True), start=1):
            assert (await peer.join(code, name)).seat == number
            await seats_told(peers[0], *NAMES[: number + 1])
            (listed,) = (await peer.answer(messages.Tables, messages.ListTables)).tables
            assert (listed.players, listed.taken) == (5, number + 1)
        assert await sixth.refusal(messages.JoinTable, code, "Flora") == Code.TABLE_FULL
        await sixth.watch(code)
        await peers[0].done(messages.StartGame)
        await all_caught_up([*peers, sixth], peers[0].seq)
        check_views(table_of(server, peers), peers)
        (listed,) = (await peers[0].answer(messages.Tables, messages.ListTables)).tables
        assert (listed.players, listed.taken) == (5, 5)


async def test_a_game_begins_with_those_who_are_there(tmp_path: Path) -> None:
    """In the order in which they sit, without the seats that others have left between them."""
    async with served(tmp_path) as server, all_connected(server.port, 5) as peers:
        await opened(*peers)
        await changed(server, peers[0], Starting(3))
        await peers[1].done(messages.Leave)
        await peers[4].done(messages.Leave)
        state = await seats_told(peers[0], "Anna", None, "Carla", "Dario")
        assert state.starting == 3
        await peers[0].done(messages.StartGame)
        players = [peers[0], peers[2], peers[3]]
        await all_caught_up(players, peers[0].seq)
        assert [peer.seat for peer in players] == [0, 1, 2]
        assert (peers[0].sight.start.starting, len(peers[0].sight.remaining)) == (2, 3)
        check_views(table_of(server, peers), players)
        await play_on(players, random.Random(1), moves=9)
        code = peers[0].code
    async with served(tmp_path) as server, connected(server.port) as again:
        assert (await again.resume(code, peers[3].token)).seat == 2


async def test_a_seat_goes_with_whoever_leaves_it() -> None:
    clock = ManualClock()
    async with served(time=clock) as server, all_connected(server.port, 4) as peers:
        code = await opened(*peers)
        await removed(server, peers[0], Seat(3))
        assert (await seats_told(peers[0], *NAMES[:3])).grows
        await peers[0].done(messages.Leave)
        state = await seats_told(peers[1], None, "Bruno", "Carla")
        assert state.host in {1, 2}
        await disconnect(peers[2], peers[1])
        clock.advance(server.lobby.config.limits.waiting_seat_seconds + 1)
        assert (await seats_told(peers[1], None, "Bruno")).host == 1
        assert (await peers[0].join(code, "Anna")).seat == 0
        await peers[1].done(messages.StartGame)


async def test_who_comes_while_the_draw_waits_for_shares_plays_too() -> None:
    """And who leaves then does not: the draw begins again, with the seats that there are."""
    config = Config(brains={"random": at_random})
    async with running(config) as server, all_connected(server.port, 4) as peers:
        host, guest, late = (
            Sharer(*each) for each in zip([peers[0], peers[1], peers[3]], SHARES, strict=False)
        )
        await host.peer.open(2, grows=True, pledge=pledge_of(host.share))
        code = host.peer.code
        await guest.peer.ask(messages.JoinTable, code, "Bruno", pledge=pledge_of(guest.share))
        await peers[2].join(code, "Carla")
        await host.peer.send(messages.StartGame(host.peer.next_id()))
        await host.show()
        await late.peer.ask(messages.JoinTable, code, "Dario", pledge=pledge_of(late.share))
        await peers[2].done(messages.Leave)
        await guest.show()
        for each in (host, guest, late):
            await each.show()
        await begun(host.peer, late.peer)
        assert [each.peer.seat for each in (host, guest, late)] == [0, 1, 2]
        assert len(late.peer.sight.remaining) == 3


async def test_who_left_in_the_draw_no_longer_starts_the_next_one() -> None:
    """Everybody hears that before the second draw, which would look as if it were about something else."""
    config = Config(brains={"random": at_random})
    async with running(config) as server, all_connected(server.port, 3) as peers:
        host, guest = (Sharer(*each) for each in zip(peers[:2], SHARES, strict=False))
        await host.peer.open(2, grows=True, pledge=pledge_of(host.share))
        await peers[2].join(host.peer.code, "Bruno")
        await guest.peer.ask(messages.JoinTable, host.peer.code, "Carla", pledge=pledge_of(guest.share))
        await changed(server, host.peer, Starting(1))
        await host.peer.send(messages.StartGame(host.peer.next_id()))
        await host.show()
        await peers[2].done(messages.Leave)
        await guest.show()
        for each in (host, guest):
            await each.called()
            assert each.peer.told(messages.TableState)[-1].starting is None
