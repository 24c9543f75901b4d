"""What spectators say at a table that is quiet while the game runs."""

from protocol.messages import EndGame, Said, SaidBefore, Say, StartGame, Sync
from protocol.settings import Quiet
from server.tables.audience import Talk
from tests.server.peer import Peer, all_caught_up, connected, full_table, game, memory_server
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import changed, play_to_the_end, state_where


async def test_no_byte_of_what_spectators_say_reaches_a_seat_while_a_quiet_game_runs() -> None:
    """Neither at once nor later, to players who stay, sync or come back; before and after, all hear it."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, watched=True, random_layout=True) as peers,
        connected(server.port) as other,
    ):
        *players, spectator = peers
        await other.watch(players[0].code)
        await changed(players[0], Quiet(on=True))
        assert (await state_where(spectator, lambda state: state.quiet)).quiet
        await spectator.done(Say, "before")
        assert await hears(players[1], "before") == 1
        await players[0].done(StartGame)
        await all_caught_up([*peers, other], players[0].seq)
        await spectator.done(Say, "a tip")
        assert await hears(other, "a tip") == 1
        await players[1].done(Say, "thanks")
        assert await hears(other, "thanks") is None
        await players[0].done(Sync, 0)
        async with resumed(server.port, players[1]) as again:
            told = await again[0].until(SaidBefore)
            assert [each.text for each in told.remarks] == ["before", "thanks"]
            await again[0].nothing_but_pong()
            await play_to_the_end([players[0], *again])
            await spectator.done(Say, "after")
            for peer in (players[0], *again):
                assert await hears(peer, "after") == 1
                assert not any(b"a tip" in frame for frame in peer.frames)
        assert not any(b"a tip" in frame for frame in players[1].frames)


async def test_an_ended_game_is_quiet_no_more() -> None:
    async with memory_server() as server, game(server.port, 2, watched=True) as (host, player, spectator):
        await changed(host, Quiet(on=True))
        await spectator.done(Say, "a tip")
        await host.done(EndGame)
        await spectator.done(Say, "a pity")
        assert await hears(player, "a pity") == 1


def test_the_number_of_a_remark_does_not_count_what_one_may_not_read() -> None:
    """Or it would tell players that spectators had talked."""
    said, tip = Said("hello", seat=0), Said("a tip", spectator=1)
    silent, busy = Talk(), Talk()
    busy.add(tip, "Carla", to_players=False, to_spectators=True)
    numbers = {talk.add(said, "Anna", to_players=True, to_spectators=True).number for talk in (silent, busy)}
    assert len(numbers) == 1


async def hears(peer: Peer, text: str) -> int | None:
    """Wait until the peer hears this; return the number of the spectator who said it."""
    while (said := await peer.until(Said)).text != text:
        pass
    return said.spectator
