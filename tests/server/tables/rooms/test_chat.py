"""What is said at a table: who hears it, when, and how often anybody may speak."""

import random
from pathlib import Path

from engine.game import RandomChance
from engine.pieces import Seat
from protocol import messages
from protocol.limits import REMARKS_REPEATED
from protocol.messages import Said, SaidBefore, Say, StartGame, Sync
from protocol.settings import Quiet, Spectators
from server.storage.entries import EndedByHost, Opened, Taken
from server.tables.feature import Moment
from server.tables.rooms.chat import Chat, Remark
from server.tables.state.persistent_state import PersistentState
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, state_where
from tests.server.playing import (
    all_caught_up,
    changed,
    full_table,
    game,
    happen,
    memory_server,
    removed,
    timed_server,
)
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import play_to_the_end, served


async def hears(peer: Peer, text: str) -> int | None:
    """Wait until the peer hears this; return the number of the spectator who said it."""
    while (said := await peer.until(Said)).text != text:
        pass
    return said.spectator


async def test_who_comes_to_a_table_is_told_what_was_said_there() -> None:
    async with (
        memory_server(chat_per_table=100) as server,
        full_table(server.port, 2) as peers,
        connected(server.port) as late,
    ):
        host, player = peers
        await changed(server, host, Spectators(on=False))
        await host.done(messages.Say, "among us")
        await changed(server, host, Spectators(on=True))
        await player.done(messages.Say, "hello")
        async with connected(server.port) as again:
            await again.watch(host.code)
            for number in range(REMARKS_REPEATED + 1):
                await again.done(messages.Say, str(number))
        await late.watch(host.code)
        told = await late.until(messages.SaidBefore)
        assert [(each.text, each.name) for each in told.remarks[:2]] == [("hello", "Player 1"), ("1", None)]
        assert [each.text for each in told.remarks[1:]] == [str(1 + n) for n in range(REMARKS_REPEATED)]
        await host.ask(messages.Ping)
        heard = {said.text: said.number for said in host.received if isinstance(said, messages.Said)}
        async with resumed(server.port, player) as (back,):
            told = await back.until(messages.SaidBefore)
            assert [each.text for each in told.remarks[:3]] == ["among us", "hello", "1"]
            assert [each.number for each in told.remarks[:2]] == [heard["among us"], heard["hello"]]


async def test_chat_is_limited_by_table_and_by_address() -> None:
    """Players and spectators apart, so that no spectator silences players; a minute later all may go on."""
    clock = ManualClock()
    async with (
        timed_server(clock, chat_per_table=2, chat_per_address=5) as server,
        full_table(server.port, 2, watched=True) as (anna, bruno, spectator),
        full_table(server.port, 2) as (carla, _),
    ):

        async def says(peer: Peer) -> str:
            answer = await peer.ask(messages.Say, "hello")
            return answer.code if isinstance(answer, messages.Refused) else "said"

        for one, other in ((spectator, spectator), (anna, bruno)):
            assert [await says(peer) for peer in (one, other, other)] == ["said", "said", "too-much-chat"]
        refused = bruno.told(messages.Refused)[-1]
        assert refused.about == {"seconds": "60"}
        assert [await says(peer) for peer in (carla, carla)] == ["said", "too-much-chat"]
        clock.advance(60)
        assert [await says(peer) for peer in (bruno, spectator, carla)] == ["said", "said", "said"]


async def test_no_byte_of_what_spectators_say_reaches_a_seat_while_a_quiet_game_runs() -> None:
    """Neither at once nor later, to players who stay, sync or come back; before and after, all hear it."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, watched=True, random_layout=True) as peers,
        connected(server.port) as other,
    ):
        *players, spectator = peers
        await other.watch(players[0].code)
        await changed(server, players[0], Quiet(on=True))
        assert (await state_where(spectator, lambda state: state.switches.quiet)).switches.quiet
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
        await changed(server, host, Quiet(on=True))
        await spectator.done(Say, "a tip")
        await happen(server, host, EndedByHost())
        await spectator.done(Say, "a pity")
        assert await hears(player, "a pity") == 1


def test_the_number_of_a_remark_does_not_count_what_one_may_not_read() -> None:
    """Or it would tell players that spectators had talked."""

    def number(*, busy: bool) -> int | None:
        entries = [Opened(2, random_layout=False, starting=None), Taken(0, "Anna", "h")]
        state = PersistentState(entries, RandomChance(random.Random(1)))
        chat = Chat(state)
        if busy:
            chat.fold(Remark(Said("a tip", spectator=1, number=1), False, "Carla", True))
        remark, _ = chat.decide(Seat(0), Say(1, "hello"), Moment())
        assert isinstance(remark, Remark)
        assert isinstance(remark.message, Said)
        return remark.message.number

    assert number(busy=False) == number(busy=True)


async def test_who_comes_back_is_told_what_they_have_missed(tmp_path: Path) -> None:
    async with served(tmp_path) as server, game(server.port, 2) as peers:
        await peers[1].done(messages.Say, "here")
        await peers[1].done(messages.Leave)
        await peers[0].done(messages.Say, "gone?")
        for missed in ([False, True], [False, False]):
            async with connected(server.port) as back:
                await back.resume(peers[0].code, peers[1].token)
                assert [remark.missed for remark in (await back.until(SaidBefore)).remarks] == missed


async def test_who_takes_over_a_seat_has_missed_nothing() -> None:
    """What was said since somebody else left it was not said to them."""
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 3) as peers, connected(server.port) as new:
        host, gone = peers[0], peers[1]
        await gone.done(messages.Leave)
        await host.done(Say, "gone?")
        clock.advance(60)
        await removed(server, host, Seat(1))
        await new.join(host.code, "Zoe")
        assert [remark.missed for remark in (await new.until(SaidBefore)).remarks] == [False]


async def test_what_was_said_from_a_seat_that_has_gone_is_told_without_one() -> None:
    """A table that grows begins without the seats that are left over."""
    async with served() as server, all_connected(server.port, 3) as peers:
        code = (await peers[0].open(2, "Anna", grows=True)).table
        for peer, name in zip(peers[1:], ("Bruno", "Carla"), strict=True):
            await peer.join(code, name)
        await peers[2].done(Say, "Ciao")
        await peers[2].done(messages.Leave)
        await peers[0].done(StartGame)
        await peers[2].watch(code)
        (told,) = (await peers[2].until(SaidBefore)).remarks
        assert (told.text, told.name, told.seat) == ("Ciao", "Carla", None)
