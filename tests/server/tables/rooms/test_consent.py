"""What needs consent: pauses, moves taken back, and more time."""

import asyncio
import contextlib
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import pytest

from engine.events import TakenBack
from engine.pieces import Seat
from engine.record import recorded, replayed
from protocol import messages
from protocol.absence import WAIT, Absence, ByBot, ByVote, GameClock, LongClock, MoveClock
from protocol.bot_pace import MOST_SECONDS
from protocol.codes import Code
from protocol.limits import ARRAY_LENGTH, OTHERS_WAIT_SECONDS
from protocol.messages import Events, Leave
from protocol.settings import AbsenceSetting
from server.app import Running, running
from server.config import Config
from server.net.tokens import token_hash
from server.storage.entries import EndedByHost, Entry, GivenToBot, Hosted
from server.storage.sqlite.data_folder import DataFolder
from server.tables.rooms.consent import LONGEST_PAUSE_DAYS, PAUSE_SECONDS, PAUSES, TAKE_BACKS, Consent
from tests.server.manual_clock import BEGUN, DAY, ManualClock, clock_of_day
from tests.server.peer import Peer, connected, eventually, next_state_where, state_where
from tests.server.playing import changed, check_views, game, happen, play_on, removed, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.absence.test_clocks import latest
from tests.server.tables.hosted import game_of, has_chosen, policy_of, served
from tests.server.tables.test_answers import repeated

THINKING = 1.0  # seconds that bots take


async def pause(peer: Peer, *, on: bool = True) -> None:
    await peer.done(messages.AskPause, on)


def consent(server: Running, peers: Sequence[Peer]) -> Consent:
    room = table_of(server, peers).state.rooms[Consent]
    assert isinstance(room, Consent)
    return room


async def paused_by(peer: Peer, seat: int) -> messages.TableState:
    return await state_where(peer, lambda state: state.paused is not None and state.paused.seat == seat)


async def goes_on(peer: Peer) -> None:
    await state_where(peer, lambda state: state.paused is None)


@pytest.mark.parametrize("policy", [WAIT, ByBot(60), ByVote(60)])
async def test_without_a_clock_a_pause_is_granted_at_once(policy: Absence) -> None:
    async with served() as server, game(server.port, 3, absence=policy, watched=True) as peers:
        assert await peers[1].refusal(messages.AskPause, on=False) == Code.NOT_PAUSED
        await pause(peers[1])
        for peer in peers:
            state = await paused_by(peer, 1)
            assert state.paused is not None
            assert (state.paused.seconds, state.paused.seconds_left) == (0, PAUSE_SECONDS)
            if peer is not peers[1]:  # who has it with the answer
                await peer.until(messages.Events)
            assert peer.legal is None
        assert await peers[0].refusal(messages.Lay, 1, 0) == Code.PAUSED
        asking = messages.AskTurn(peers[0].next_id(), peers[0].code, token_hash(peers[0].token))
        assert (await peers[0].answer(messages.Turn, asking)).paused
        await pause(peers[1], on=False)
        for peer in peers:
            await goes_on(peer)
        await play_on(peers, random.Random(1), moves=3)
        check_views(table_of(server, peers), peers)


@pytest.mark.parametrize("policy", [MoveClock(60), GameClock(60)])
async def test_with_a_clock_the_others_have_to_agree(policy: Absence) -> None:
    """All people who are here; a program has no say. The one who asked first has paused."""
    async with served() as server, game(server.port, 4, programs={3}, absence=policy) as peers:
        await pause(peers[2])
        state = await state_where(peers[0], lambda state: state.pause_asked == [2])
        assert state.paused is None
        assert state.still_asked == [0, 1]
        await peers[1].done(messages.Leave)
        await state_where(peers[0], lambda state: state.still_asked == [0])
        assert await peers[3].refusal(messages.AskPause, on=True) == Code.PROGRAMS_DO_NOT_VOTE
        assert table_of(server, peers).state.paused is None
        await pause(peers[0])
        state = await paused_by(peers[2], 2)
        assert state.pause_asked == state.still_asked == []


HAPPENINGS: dict[str, Callable[[Running, list[Peer]], Awaitable[object]]] = {
    "leaves": lambda _, peers: peers[0].done(messages.Leave),
    "is cut off": lambda _, peers: peers[0].socket.close(),
    "is removed": lambda server, peers: table_of(server, peers).remove_player(Seat(0)),
    "hands over": lambda server, peers: happen(server, peers[0], Hosted(1)),
    "takes the clock away": lambda server, peers: changed(server, peers[0], AbsenceSetting(WAIT)),
}


@pytest.mark.parametrize("what", HAPPENINGS)
async def test_a_pause_is_granted_when_nobody_is_left_who_has_to_agree(what: str) -> None:
    """The last one who had not agreed, here the host, is gone, or has no say any more."""
    async with served() as server, game(server.port, 3, absence=MoveClock(60)) as peers:
        await pause(peers[2])
        await pause(peers[1])
        state = await state_where(peers[0], lambda state: state.pause_asked == [2, 1])
        assert state.paused is None
        await HAPPENINGS[what](server, peers)
        state = await paused_by(peers[1], 2)
        assert state.pause_asked == []
        await pause(peers[2], on=False)
        await goes_on(peers[1])


async def test_a_request_is_withdrawn_and_ends_when_its_player_moves() -> None:
    async with served() as server, game(server.port, 3, absence=MoveClock(60)) as peers:
        await pause(peers[1])
        await pause(peers[2], on=True)
        await state_where(peers[0], lambda state: state.pause_asked == [1, 2])
        await pause(peers[2], on=False)
        await state_where(peers[0], lambda state: state.pause_asked == [1])
        await pause(peers[1], on=False)
        await state_where(peers[0], lambda state: state.pause_asked == [])
        await pause(peers[1])
        await play_on(peers, random.Random(1), moves=1)
        await state_where(peers[0], lambda state: state.pause_asked == [1])
        await play_on(peers, random.Random(1), moves=1)
        await state_where(peers[0], lambda state: state.pause_asked == [])
        await pause(peers[1])
        await peers[1].done(messages.Leave)
        await state_where(peers[0], lambda state: not state.seats[1].here and state.pause_asked == [])


@pytest.mark.parametrize("policy", [MoveClock(60), GameClock(60)])
async def test_clocks_stand_still_and_lose_nothing(tmp_path: Path, policy: Absence) -> None:
    """Neither in the pause nor over a restart in the middle of it, and time that was used stays used."""
    clock = ManualClock()
    async with served(tmp_path, clock) as server, game(server.port, 2, absence=policy) as peers:
        clock.advance(20)
        await pause(peers[0])
        await paused_by(peers[1], 0)
        clock.advance(100)
    clock = ManualClock()
    async with served(tmp_path, clock) as server, resumed(server.port, *peers) as again:
        state = await paused_by(again[1], 0)
        assert state.paused is not None
        clock.advance(100)
        assert await again[0].refusal(messages.AskPause, on=True) == Code.PAUSED
        await pause(again[0], on=False)
        await goes_on(again[0])
        news = again[0].told(messages.Events)[-1]
        assert news.clock == 40_000
        assert again[0].legal is not None
        clock.advance(41)
        while again[1].view is None or again[1].view.turn != 1:
            await again[1].news()  # the stand-in moves: the time was up after all


async def test_nobody_plays_for_absent_players_meanwhile() -> None:
    """Nor does their time away count; a seat that a bot held is held again afterwards."""
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 2, absence=ByBot(60)) as peers:
        await play_on(peers, random.Random(1), moves=1)
        await pause(peers[0])
        await peers[1].done(messages.Leave)
        clock.advance(PAUSE_SECONDS - 1)
        assert table_of(server, peers).state.bot_seats == set()
        await happen(server, peers[0], GivenToBot(1))
        state = await state_where(peers[0], lambda state: state.seats[1].bot)
        assert state.paused is not None
        seq = peers[0].seq
        await pause(peers[0], on=False)
        while peers[0].seq == seq:
            await peers[0].news()


async def test_the_host_or_later_anybody_ends_it() -> None:
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 3) as peers:
        await pause(peers[1])
        await pause(peers[0], on=False)
        await pause(peers[1])
        clock.advance(OTHERS_WAIT_SECONDS - 1)
        refused = await peers[2].refused(messages.AskPause, on=False)
        assert (refused.code, refused.about) == (Code.PAUSE_GOES_ON, {"seconds": "1"})
        clock.advance(1)
        await pause(peers[2], on=False)
        await goes_on(peers[1])


async def test_the_game_goes_on_by_itself() -> None:
    """Only the pause that has lasted so long ends; one that was ended before is not confused with it."""
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 2) as peers:
        await pause(peers[1])
        clock.advance(PAUSE_SECONDS - 10)
        await pause(peers[1], on=False)
        await pause(peers[1])
        clock.advance(20)
        state = await paused_by(peers[0], 1)
        clock.advance(PAUSE_SECONDS - 20)
        while state.paused is not None:
            state = await peers[0].until(messages.TableState)
        await play_on(peers, random.Random(1), moves=2)


async def test_pauses_are_counted_for_good() -> None:
    """Whoever agrees to another's loses none; and the host may end a paused game."""
    async with served() as server, game(server.port, 2) as peers:
        for _ in range(PAUSES):
            await pause(peers[1])
            await pause(peers[1], on=False)
        assert await peers[1].refusal(messages.AskPause, on=True) == Code.NO_PAUSES_LEFT
        await changed(server, peers[0], AbsenceSetting(MoveClock(60)))
        await pause(peers[0])
        await paused_by(peers[1], 0)
        assert consent(server, peers).pauses == {0: 1, 1: PAUSES}
        await happen(server, peers[0], EndedByHost())
        assert (await state_where(peers[1], lambda state: state.ended)).paused is None
        assert await peers[1].refusal(messages.AskPause, on=True) == "game-over"


@pytest.mark.parametrize("policy", [WAIT, MoveClock(60)])
async def test_a_pause_until_a_moment_ends_then_whoever_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, policy: Absence
) -> None:
    """All people must agree, here or not; nobody stays, the server restarts, and clocks lose nothing."""
    clock, friday = clock_of_day(monkeypatch), BEGUN + 4 * DAY
    async with served(tmp_path, clock) as server, game(server.port, 3, absence=policy) as peers:
        clock.advance(20)
        await peers[0].done(messages.AskPause, on=True, until=friday)
        assert await peers[1].refusal(messages.AskPause, on=True, until=friday + 60) == Code.OTHERS_ASKED
        await pause(peers[1])
        await peers[0].done(messages.Leave)
        await asked_in(peers[2], messages.Asked("pause", [0, 1], until=friday))
        await pause(peers[2])
        state = await paused_by(peers[1], 0)
        assert state.paused is not None
        assert (state.paused.until, state.paused.seconds_left) == (friday, 4 * DAY - 20)
        assert state.seats[0].removable_in == 4 * DAY - 20 + 60
        table = table_of(server, peers)
        for peer in peers[1:]:
            await peer.done(messages.Leave)
        clock.advance(DAY)
        assert not table.archived
    async with served(tmp_path, clock) as server:
        table = server.lobby.tables[peers[0].code]
        clock.advance(3 * DAY - 21)
        assert table.state.paused == 0
        clock.advance(1)
        await eventually(lambda: table.state.paused is None)
        async with resumed(server.port, *peers) as again:
            assert again[0].legal is not None
            told = [each for each in again[0].received if isinstance(each, Events | messages.Snapshot)]
            assert told[-1].clock == (None if policy == WAIT else 40_000)


async def test_a_pause_ends_when_the_clock_of_the_computer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within an hour, if that was set forward: it was slow."""
    clock = clock_of_day(monkeypatch)
    async with served(time=clock) as server, game(server.port, 2, programs={1}) as peers:
        for seconds in (-60, LONGEST_PAUSE_DAYS * DAY + 60):
            refused = await peers[0].refused(messages.AskPause, on=True, until=BEGUN + seconds)
            assert (refused.code, refused.about) == (Code.BAD_MOMENT, {"most": str(LONGEST_PAUSE_DAYS)})
        await peers[0].done(messages.AskPause, on=True, until=BEGUN + DAY)
        await paused_by(peers[0], 0)
        clock.advance(7200)
        await paused_by(peers[0], 0)
        monkeypatch.setattr(time, "time", lambda: BEGUN + DAY)
        clock.advance(3600)
        await goes_on(peers[0])


async def ask(peer: Peer, what: messages.Wish, *, on: bool = True) -> None:
    await peer.done(messages.Ask, what, on)


async def asked_in(peer: Peer, asked: messages.Asked | None) -> None:
    await state_where(peer, lambda state: state.asked == asked)


async def test_a_move_is_taken_back_when_everybody_else_agrees(tmp_path: Path) -> None:
    """With all that followed it; an absent player must agree, too, and a restart changes nothing in this."""
    async with served(tmp_path) as server, game(server.port, 3, watched=True, programs={1}) as peers:
        assert await peers[0].refusal(messages.Ask, "take-back", on=True) == "nothing-to-take-back"
        await play_on(peers, random.Random(1), moves=3)
        await ask(peers[0], "take-back")
        await peers[2].done(messages.Leave)
        await asked_in(peers[3], messages.Asked("take-back", [0]))
        assert await peers[1].refusal(messages.Ask, "take-back", on=True) == Code.PROGRAMS_DO_NOT_VOTE
        assert await peers[0].refusal(messages.AskPause, on=True) == Code.OTHERS_ASKED
    async with served(tmp_path) as server, resumed(server.port, *peers[:3]) as again:
        before = [peer.seq for peer in again]
        await ask(again[2], "take-back")
        for peer, seq in zip(again, before, strict=True):
            await peer.caught_up(seq + 1)
            await asked_in(peer, None)
            assert isinstance(peer.seen[-1], TakenBack)
            assert (peer.sight.placed, peer.sight.turn) == ({}, 0)
        check_views(table_of(server, again), again)
        await play_on(again, random.Random(2))
        check_views(table_of(server, again), again)
        events = game_of(server, again).events
        assert replayed(recorded(events)).events == events


async def test_who_was_away_gets_what_was_taken_back_in_a_snapshot() -> None:
    """Older clients, too, which do not know the event: the snapshot says how it stands."""
    async with served() as server, game(server.port, 2, programs={1}) as peers:
        await play_on(peers, random.Random(1), moves=2)
        seq = peers[0].seq
        await ask(peers[0], "take-back")
        await play_on(peers, random.Random(2), moves=1)
        async with connected(server.port) as late:
            await late.watch(peers[0].code, seq)
            news = await late.until(messages.Snapshot)
            assert news.missed[0]["t"] == "taken-back"
            assert news.seq == seq + 2 == len(news.missed) + seq
            await late.done(messages.Leave)
            await late.watch(peers[0].code, 0)
            missed = (await late.until(messages.Snapshot)).missed
            assert len(missed) == seq + 2  # a newcomer looks back at all of it
        check_views(table_of(server, peers), peers)


async def test_a_game_has_no_more_events_than_clients_read() -> None:
    """Somebody alone with a bot could take moves back forever; who comes later gets all that happened."""
    async with served() as server, game(server.port, 2, programs={1}) as peers:
        for number in range(TAKE_BACKS):
            await play_on(peers, random.Random(number), moves=2)
            await ask(peers[0], "take-back")
        await play_on(peers, random.Random(1), moves=2)
        refused = await peers[0].refused(messages.Ask, "take-back", on=True)
        assert (refused.code, refused.about) == (Code.NO_TAKE_BACKS_LEFT, {"most": str(TAKE_BACKS)})
        await play_on(peers, random.Random(1))
        more = 3 * TAKE_BACKS  # pieces that five players could have placed in vain
        assert len(game_of(server, peers).events) + more < ARRAY_LENGTH


async def test_a_request_is_refused_by_one_and_by_nobody_twice() -> None:
    async with served() as server, game(server.port, 3) as peers:
        await play_on(peers, random.Random(1), moves=1)
        await ask(peers[0], "take-back")
        await ask(peers[1], "take-back")
        await ask(peers[1], "take-back", on=False)
        await asked_in(peers[2], messages.Asked("take-back", [0]))
        await ask(peers[2], "take-back", on=False)
        await asked_in(peers[0], messages.Asked("take-back", [0], refused=2))
        for peer in peers:
            assert await peer.refusal(messages.Ask, "take-back", on=False) == Code.NOTHING_ASKED
        await ask(peers[0], "take-back")
        await ask(peers[0], "take-back", on=False)
        await asked_in(peers[1], messages.Asked("take-back", [0], refused=0))
        await play_on(peers, random.Random(1), moves=3)
        await asked_in(peers[1], None)


@pytest.mark.parametrize(("policy", "left"), [(MoveClock(60), 110_000), (GameClock(60), 62_000)])
async def test_more_time_is_given_to_who_asks(policy: Absence, left: int) -> None:
    """As long again for the move, or a fifth of the game's clock."""
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 2, absence=policy) as peers:
        clock.advance(10)
        await ask(peers[0], "more-time")
        await ask(peers[1], "more-time")
        granted = messages.Asked("more-time", [0, 1], granted=True)
        state = await state_where(peers[0], lambda state: state.asked == granted)
        assert state.seats[1].clock == (60_000 if isinstance(policy, GameClock) else None)
        assert (await peers[0].until(messages.Events)).clock == left


@pytest.mark.parametrize("policy", [MoveClock(60), GameClock(60)])
async def test_nobody_alone_takes_more_and_more_time(policy: Absence) -> None:
    async with served() as server, game(server.port, 2, programs={1}, absence=policy) as peers:
        for _ in range(100):
            answer = await peers[0].ask(messages.Ask, "more-time", on=True)
            if isinstance(answer, messages.Refused):
                break
        assert isinstance(answer, messages.Refused)
        assert answer.code == Code.ENOUGH_TIME
        assert 600_000 < (policy_of(server, peers).time_left() or 0) < 720_000


async def test_everybody_is_told_of_more_time_each_time_it_is_given() -> None:
    """Also if it is another's turn, whose clock they are told again."""
    async with served() as server, game(server.port, 2, programs={1}, absence=GameClock(60)) as peers:
        await play_on(peers, random.Random(1), moves=1)
        for times in (1, 2):
            await ask(peers[0], "more-time")
            state = await next_state_where(peers[1], lambda state: state.asked is not None)
            assert state.seats[0].clock == 60_000 + 12_000 * times
            again = await peers[1].until(Events)
            assert (again.events, again.turn, again.clock) == ([], 1, 60_000)


async def test_more_time_needs_a_clock_and_for_a_move_the_turn() -> None:
    async with served() as server, game(server.port, 2) as peers:
        assert await peers[0].refusal(messages.Ask, "more-time", on=True) == Code.NO_CLOCK
    async with served() as server, game(server.port, 2, absence=MoveClock(60)) as peers:
        assert await peers[1].refusal(messages.Ask, "more-time", on=True) == "not-your-turn"


async def test_a_request_for_time_ends_with_the_clock() -> None:
    """When the host takes it away, from the next round on: nobody can agree to what gives nothing."""
    async with served() as server, game(server.port, 2, absence=GameClock(60)) as peers:
        await play_on(peers, random.Random(1), moves=1)
        await ask(peers[0], "more-time")
        await changed(server, peers[0], AbsenceSetting(WAIT))
        await asked_in(peers[1], messages.Asked("more-time", [0]))
        await play_on(peers, random.Random(1), moves=1)
        await asked_in(peers[1], None)
        assert await peers[1].refusal(messages.Ask, "more-time", on=True) == Code.NO_CLOCK


async def test_a_local_game_goes_back_to_before_a_move_that_still_counts(tmp_path: Path) -> None:
    """A move that was taken back by consent is not the last one that the folder's owner forgets."""
    async with served(tmp_path) as server, game(server.port, 2, programs={1}) as peers:
        await play_on(peers, random.Random(1), moves=3)
        await ask(peers[0], "take-back")
        code = peers[0].code
    with DataFolder(tmp_path) as folder:
        assert [table.moves for table in folder.tables()] == [2]  # and the operators count it no more
        assert folder.take_back(code, Seat(0))
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        view = again[0].view
        assert view is not None
        assert (view.placed, view.turn) == ({}, 0)


async def test_what_is_asked_lapses_with_the_seat_of_whoever_agreed() -> None:
    """Somebody else in the seat has agreed to nothing, nor asked for anything."""
    clock = ManualClock()
    async with served(time=clock) as server, game(server.port, 3, absence=MoveClock(60)) as peers:
        host, gone = peers[0], peers[1]
        await gone.done(messages.AskPause, on=True, until=int(time.time()) + 1000)
        await state_where(host, lambda state: state.asked is not None)
        await gone.done(Leave)
        clock.advance(60)
        await removed(server, host, Seat(1))
        assert (await state_where(host, lambda state: state.seats[1].vacant)).asked is None
        async with connected(server.port) as newcomer:
            await newcomer.join(host.code, "Zoe")
            assert consent(server, peers).asked is None


async def test_a_long_turn_goes_on_while_its_clock_is_stored(tmp_path: Path) -> None:
    """What a slow disk takes is charged, and not given back when the clock stops."""
    clock, stored = ManualClock(), asyncio.Event()
    async with served(tmp_path, clock) as server, game(server.port, 2, absence=MoveClock(86_400)) as peers:
        journal = table_of(server, peers)._context.lobby.journal
        append = journal.append

        async def slow(code: str, number: int, entries: Sequence[Entry], ended: int | None = None) -> None:
            await append(code, number, entries, ended)
            clock.advance(5)
            stored.set()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(journal, "append", slow)
            clock.advance(3600)
            await stored.wait()
        await peers[0].done(messages.AskPause, on=True)
        assert peers[0].told(Events)[-1].clock == 1000 * (86_400 - 3605)


@pytest.mark.parametrize("restart", [False, True])
async def test_a_bot_waits_while_the_game_is_paused(tmp_path: Path, restart: bool) -> None:
    """A pause stops it in mid-move, and it does not begin one; it moves when the game goes on."""
    clock = ManualClock()
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(served(tmp_path, time=clock, pause=THINKING))
        (host,) = await stack.enter_async_context(game(server.port, 2, bots={1: "random"}))
        await host.done(host.random_move(random.Random(1)))
        clock.advance(THINKING / 2)
        await host.done(messages.AskPause, on=True)
        if restart:
            await stack.aclose()
            server = await stack.enter_async_context(served(tmp_path, time=clock, pause=THINKING))
            (host,) = await stack.enter_async_context(resumed(server.port, host))
        seq = host.seq
        clock.advance(100 * THINKING)
        state = await latest(host)
        assert state.paused is not None
        assert host.seq == seq
        await host.done(messages.AskPause, on=False)
        await eventually(lambda: has_chosen(policy_of(server, [host])))
        clock.advance(MOST_SECONDS * THINKING)
        while host.seq == seq:
            await host.news()
        check_views(table_of(server, [host]), [host])


async def test_a_take_back_is_asked_for_once_across_a_restart(tmp_path: Path) -> None:
    """Else it would take a second move back: in a game with a bot nobody else has to agree."""
    async with served(tmp_path) as server, game(server.port, 2, bots={1: "random"}) as peers:
        for _ in range(3):
            await peers[0].done(peers[0].random_move(random.Random(1)))
            while peers[0].legal is None:
                await peers[0].receive()
        ask = messages.Ask(peers[0].next_id(), "take-back", on=True)
        await peers[0].done(ask)
        while peers[0].legal is None:
            await peers[0].receive()
        before = table_of(server, peers).state.entry_count
    async with served(tmp_path) as server, resumed(server.port, peers[0]) as (again,):
        assert await again.ask(ask) == messages.Done(ask.id)
        other = messages.Ask(ask.id, "pause", on=True)
        assert await again.refusal(other) == Code.ID_REUSED
        assert table_of(server, peers).state.entry_count == before


async def test_whoever_agrees_again_after_a_restart_takes_nothing_else_back(tmp_path: Path) -> None:
    """Between two people, too: the last one who agrees repeats that, and the first has asked once more."""
    async with served(tmp_path) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1), moves=4)
        await ask(peers[0], "take-back")
        agree = messages.Ask(peers[1].next_id(), "take-back", on=True)
        await peers[1].done(agree)
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        await ask(again[0], "take-back")
        events = len(game_of(server, again).events)
        assert await again[1].ask(agree) == messages.Done(agree.id)
        assert len(game_of(server, again).events) == events
        assert consent(server, again).asked == messages.Asked("take-back", [0])


async def test_no_request_is_carried_out_twice(tmp_path: Path) -> None:
    config = Config(data=tmp_path, timers=ManualClock)
    async with running(config) as server, game(server.port, 3, absence=LongClock(DAY)) as peers:
        anna, bruno, _ = peers
        asked: list[tuple[Peer, messages.BesideMoves]] = [
            (anna, messages.Ask(anna.next_id(), "more-time", on=True)),
            (bruno, messages.Ask(bruno.next_id(), "more-time", on=False)),
            (anna, messages.Ask(anna.next_id(), "pause", on=True)),
            (anna, messages.AskPause(anna.next_id(), on=False)),
        ]
        for peer, request in asked:
            await peer.done(request)
    await repeated(config, peers, asked)


async def test_what_is_asked_stays_when_its_player_gets_a_new_token() -> None:
    """It is the same player."""
    async with served() as server, game(server.port, 3, absence=LongClock(3 * DAY)) as peers:
        host, peer, third = peers
        await host.done(host.random_move(random.Random(1)))
        await host.done(messages.Ask, "take-back", on=True)
        asked = consent(server, peers).asked
        for each, token in ((host, "H" * 43), (peer, "P" * 43), (third, "T" * 43)):
            async with connected(server.port) as new:
                await new.answer(messages.Seated, messages.Resume, host.code, each.token, new_token=token)
        assert consent(server, peers).asked == asked
        assert asked is not None
