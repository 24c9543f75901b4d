"""Tables before and around their game: opening, joining, watching, leaving, names and chat."""

import asyncio
import contextlib
import gc
import random
import weakref
from ipaddress import ip_network

import pytest

from engine.pieces import Seat
from protocol.codes import CloseReason, Code
from protocol.limits import ARRAY_LENGTH, REMARKS_REPEATED
from protocol.messages import (
    ChangeSeat,
    JoinTable,
    Leave,
    ListTables,
    OpenTable,
    Ping,
    Refused,
    Resume,
    Said,
    SaidBefore,
    Say,
    SeatBot,
    SeatSummary,
    StartGame,
    Sync,
    Tables,
    TableState,
    TableSummary,
    Watch,
)
from protocol.settings import Spectators
from protocol.text import unsafe
from server.app import running
from server.config import Config, Limits
from server.rate_limits import PerMinuteLimit
from server.tables.lobby import Lobby
from tests.server.manual_clock import ManualClock
from tests.server.peer import (
    Peer,
    connected,
    eventually,
    full_table,
    game,
    memory_server,
    play_on,
    queued_requests,
    table_of,
)
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import changed
from tests.server.tables.states import next_state_where


async def table_list(peer: Peer) -> list[TableSummary]:
    answer = await peer.ask(ListTables(peer.next_id()))
    assert isinstance(answer, Tables)
    return answer.tables


async def table_gone(lobby: Lobby, code: str) -> None:
    """Wait until there is no table with this code."""
    await eventually(lambda: code not in lobby.tables)


async def test_the_list_shows_tables_newest_first() -> None:
    """Each table is listed with host, seats, stage and options."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        assert await table_list(anna) == []
        first = await anna.open(2, "Anna")
        second = await bruno.open(5, "Bruno", random_layout=True)
        assert await table_list(anna) == [
            TableSummary(second.table, "Bruno", 5, 1, "gathering", random_layout=True),
            TableSummary(first.table, "Anna", 2, 1, "gathering"),
        ]


async def test_deserted_tables_are_behind_all_others() -> None:
    """Until a player is back; a spectator does not count."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as zoe:
        await anna.open(2, "Anna")
        async with game(server.port, 2) as peers:
            code, token = peers[0].code, peers[0].token
            assert [(table.table, table.deserted) for table in await table_list(zoe)] == [
                (code, False),
                (anna.code, False),
            ]
            await zoe.watch(code)
        await eventually(lambda: not server.lobby.tables[code].players_here)
        await zoe.done(Leave(zoe.next_id()))
        assert [(table.table, table.deserted) for table in await table_list(zoe)] == [
            (anna.code, False),
            (code, True),
        ]
        await zoe.resume(code, token)
        assert [(table.table, table.deserted) for table in await table_list(anna)] == [
            (code, False),
            (anna.code, False),
        ]


async def test_a_game_of_programs_alone_is_archived_as_soon_as_one_that_is_over() -> None:
    """When they have all gone; where a person has a seat, the table waits for longer."""
    time = ManualClock()
    config = Config(limits=Limits(over_seconds=10, unattended_seconds=100), timers=lambda: time, seed=1)
    async with running(config) as server:
        codes = []
        for person in (True, False):
            async with connected(server.port) as host, connected(server.port) as guest:
                await host.open(2, "Bot", program=True)
                await guest.join(host.code, "Guest", program=not person)
                await host.done(StartGame(host.next_id()))
                codes.append(host.code)
            await eventually(lambda: server.lobby.tables[codes[-1]].unattended_since is not None)
        time.advance(9)
        assert set(codes) == set(server.lobby.tables)
        time.advance(2)
        await table_gone(server.lobby, codes[1])
        assert codes[0] in server.lobby.tables
        time.advance(100)
        await table_gone(server.lobby, codes[0])


async def test_the_list_shows_the_stage() -> None:
    """A table is gathering, then playing, then over."""
    async with memory_server() as server, game(server.port, 2) as peers:
        assert (await table_list(peers[0]))[0].stage == "playing"
        await play_on(peers, random.Random(1))
        assert (await table_list(peers[0]))[0].stage == "over"


async def test_a_list_of_very_many_tables_can_be_read() -> None:
    """The list is cut to the size that a message may have."""
    async with memory_server() as server, connected(server.port) as peer:
        seated = await peer.open(2)
        table = server.lobby.tables[seated.table]
        server.lobby.tables.update({f"no. {number}": table for number in range(520)})
        assert len(await table_list(peer)) == ARRAY_LENGTH
        for number in range(520):
            del server.lobby.tables[f"no. {number}"]


async def test_the_opener_is_host_at_seat_0_and_gets_a_token() -> None:
    """The state shows the opener in that seat."""
    async with memory_server() as server, connected(server.port) as peer:
        seated = await peer.open(3, "Anna", random_layout=True)
        assert seated.seat == 0
        assert seated.token is not None
        assert len(seated.token) == 43
        state = await peer.until(TableState)
        assert state == TableState(
            seated.table,
            "gathering",
            [SeatSummary("Anna", here=True, people="E"), SeatSummary(people="S"), SeatSummary(people="L")],
            0,
            random_layout=True,
        )


async def test_joining_takes_the_first_free_seat_or_the_one_asked_for() -> None:
    """A seat may be chosen by number, and each seat has its own token."""
    async with (
        memory_server() as server,
        connected(server.port) as anna,
        connected(server.port) as bruno,
        connected(server.port) as carla,
    ):
        code = (await anna.open(4, "Anna")).table
        assert (await bruno.join(code, "Bruno", seat=2)).seat == 2
        assert (await carla.join(code, "Carla")).seat == 1
        assert len({anna.token, bruno.token, carla.token}) == 3
        state = await next_state_where(anna, lambda state: state.seats[1].name == "Carla")
        assert [seat.name for seat in state.seats] == ["Anna", "Carla", "Bruno", None]


async def test_a_seat_that_is_taken_or_does_not_exist_is_refused() -> None:
    """The refusal names the free seats."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        code = (await anna.open(3)).table
        for seat in (0, 3, 4):
            refused = await bruno.refused(JoinTable(bruno.next_id(), code, "Bruno", seat))
            assert refused.code == Code.SEAT_TAKEN
            assert "2, 3" in refused.text  # people count from 1


async def test_an_unsafe_name_is_refused() -> None:
    """It reaches neither other terminals nor the refusal."""
    name = "An\x1b[31mna"
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        code = (await anna.open(2)).table
        refused = await bruno.refused(JoinTable(bruno.next_id(), code, name))
        assert refused.code.startswith("name-")
        assert unsafe(refused.text) is None
        assert (await bruno.refused(OpenTable(bruno.next_id(), 2, name))).code == refused.code
        assert [line.taken for line in await table_list(bruno)] == [1]


async def test_a_name_that_looks_like_another_at_the_table_is_refused() -> None:
    """Nobody can impersonate a player by case, width, ligatures, spaces or invisible marks."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        code = (await anna.open(2, "Anna")).table
        refused = await bruno.refused(JoinTable(bruno.next_id(), code, "\uff21n na"))
        assert refused.code == Code.NAME_TAKEN


async def test_what_nobody_can_have_at_a_full_table_is_refused() -> None:
    """Nor is anything done for who has left meanwhile."""
    async with memory_server() as server, full_table(server.port, 2) as peers:
        host, second = peers
        assert (await second.refused(ChangeSeat(7, 0))).code == Code.NO_FREE_SEAT
        assert (await host.refused(SeatBot(7, "greedy"))).code == Code.NO_BOTS
        table = table_of(server, peers)
        async with table._lock:
            await second.send(Sync(8))
            await eventually(lambda: queued_requests(table) == 1)
            table._context.audience.remove(table._context.audience.seated[Seat(1)])
        assert (await second.until(Refused)).code == Code.LEFT_THE_TABLE


async def test_leaving_frees_the_seat_and_passes_the_host_on() -> None:
    """The lowest taken seat is host, also after another player takes the free seat."""
    async with memory_server() as server, full_table(server.port, 3) as peers, connected(server.port) as late:
        host, second, third = peers
        await host.done(Leave(host.next_id()))
        state = await next_state_where(third, lambda state: state.seats[0].name is None)
        assert state.host == 1
        assert (await third.refused(StartGame(third.next_id()))).code == Code.NOT_THE_HOST
        assert (await second.refused(StartGame(second.next_id()))).code == Code.SEATS_EMPTY
        assert (await late.join(second.code, "Late")).seat == 0
        await host.nothing_but_pong()
        await second.done(StartGame(second.next_id()))


async def test_a_seat_given_up_cannot_be_resumed() -> None:
    """The old token is refused, even when another player has the seat."""
    async with memory_server() as server, full_table(server.port, 2) as (host, second):
        await second.done(Leave(second.next_id()))
        resume = Resume(second.next_id(), host.code, second.token)
        assert (await second.refused(resume)).code == Code.BAD_TOKEN
        old = second.token
        await second.join(host.code, "Second")
        await second.done(Leave(second.next_id()))
        await second.join(host.code, "Third")
        await second.done(Leave(second.next_id()))
        assert (await second.refused(Resume(second.next_id(), host.code, old))).code == Code.BAD_TOKEN


async def test_a_table_closes_when_everybody_has_left() -> None:
    """Spectators are told, and return to the lobby."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, watched=True) as (host, second, spectator),
    ):
        await host.done(Leave(host.next_id()))
        await second.done(Leave(second.next_id()))
        refused = await spectator.until(Refused)
        assert (refused.code, refused.id) == (Code.TABLE_CLOSED, None)
        assert await table_list(spectator) == []
        assert (await host.refused(Watch(host.next_id(), host.code))).code == Code.NO_SUCH_TABLE
        await spectator.open(2)


async def test_requests_that_cross_the_end_of_a_table_are_answered() -> None:
    """Joins and watches sent while a table closes are all answered."""
    async with memory_server() as server, connected(server.port) as host:
        code = (await host.open(2)).table
        peers = [connected(server.port) for _ in range(20)]
        others = [await peer.__aenter__() for peer in peers]
        await asyncio.gather(
            host.send(Leave(host.next_id())), *(other.send(Watch(1, code)) for other in others)
        )
        for other in others:
            while getattr(await other.receive(), "id", None) != 1:
                pass
        for peer in peers:
            await peer.__aexit__(None, None, None)
        await table_gone(server.lobby, code)


async def test_the_grace_time_starts_when_the_player_last_left() -> None:
    """An earlier absence does not shorten the grace time of a later one."""
    clock = ManualClock()
    config = Config(limits=Limits(seat_grace_seconds=10), timers=lambda: clock)
    async with running(config) as server, full_table(server.port, 2) as (host, second):
        await second.socket.close()
        await next_state_where(host, lambda state: not state.seats[1].here)
        clock.advance(6)
        async with connected(server.port) as again:
            await again.resume(host.code, second.token)
            await next_state_where(host, lambda state: state.seats[1].here)
        await next_state_where(host, lambda state: not state.seats[1].here)
        clock.advance(6)
        await host.nothing_but_pong()
        clock.advance(5)
        await next_state_where(host, lambda state: state.seats[1].name is None)


async def test_a_table_without_players_is_closed_after_the_grace_time() -> None:
    """This holds before the game only."""
    async with memory_server(seat_grace_seconds=0.05) as server, connected(server.port) as peer:
        await peer.open(2)
        await peer.socket.close()
        await table_gone(server.lobby, peer.code)


async def test_a_running_game_keeps_its_seats() -> None:
    """The grace time does not apply; the limit for unattended tables does."""
    limits = {"seat_grace_seconds": 0.01, "unattended_seconds": 0.3}
    async with memory_server(**limits) as server, connected(server.port) as later:
        async with game(server.port, 2) as peers:
            code, token = peers[0].code, peers[0].token
        await later.resume(code, token)
        assert [player is not None for player in server.lobby.tables[code].state.players] == [
            True,
            True,
        ]
        await later.done(Leave(later.next_id()))
        await table_gone(server.lobby, code)


async def test_a_finished_table_is_closed_when_everybody_has_left() -> None:
    """It stays as long as somebody looks at the result."""
    async with memory_server(over_seconds=0.05) as server, connected(server.port) as late:
        async with game(server.port, 2) as peers:
            await play_on(peers, random.Random(1))
            code = peers[0].code
            assert code in server.lobby.tables
            joining = JoinTable(late.next_id(), code, "Late")
            assert (await late.refused(joining)).code == Code.GAME_FINISHED
            await late.watch(code)
        assert code in server.lobby.tables
        await late.done(Leave(late.next_id()))
        await table_gone(server.lobby, code)


async def test_closed_tables_leave_nothing_behind() -> None:
    """No timer keeps a closed table in memory."""
    async with memory_server() as server, connected(server.port) as peer:
        await peer.open(2)
        table = weakref.ref(server.lobby.tables[peer.code])
        await peer.done(Leave(peer.next_id()))
        await table_gone(server.lobby, peer.code)
        await peer.nothing_but_pong()
        gc.collect()
        assert table() is None


async def test_a_leave_repeated_under_its_id_is_carried_out_again() -> None:
    """A client that restarts its ids on each connection can still leave the table."""
    async with memory_server() as server, game(server.port, 2) as (_, second):
        for _ in range(2):
            await second.done(Leave(77))
            assert (await second.refused(Sync(78))).code == Code.NOT_AT_A_TABLE
            await second.resume(second.code, second.token)


async def test_a_player_is_at_one_table_at_a_time() -> None:
    """At a table, open, join, resume and watch are refused."""
    async with memory_server() as server, full_table(server.port, 2) as (host, second):
        for message in (
            OpenTable(1000, 2, "Twice"),
            JoinTable(1001, host.code, "Twice"),
            Resume(1002, host.code, host.token),
            Watch(1003, host.code),
        ):
            assert (await second.refused(message)).code == Code.AT_A_TABLE


async def test_a_token_is_valid_at_its_own_table_only() -> None:
    """Guesses, other tables' tokens and hashes are refused, and a few of them end the connection."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        first = await anna.open(2)
        second = await bruno.open(2)
        await bruno.done(Leave(bruno.next_id()))
        await bruno.open(2)
        player = server.lobby.tables[first.table].state.players[0]
        assert player is not None
        await bruno.done(Leave(bruno.next_id()))
        for token in (second.token or "", "x" * 43, player.token_hash[:43], "0"):
            refused = await bruno.refused(Resume(bruno.next_id(), first.table, token))
            assert refused.code == Code.BAD_TOKEN
        await bruno.send(Resume(bruno.next_id(), first.table, "y"))
        assert await bruno.closed() == (1008, CloseReason.TOO_MANY_WRONG_TOKENS)


async def test_the_number_of_tables_is_limited() -> None:
    """The refusal changes nothing, and a closed table makes room."""
    async with (
        memory_server(tables=1) as server,
        connected(server.port) as anna,
        connected(server.port) as bruno,
    ):
        await anna.open(2)
        assert (await bruno.refused(OpenTable(1, 2, "Bruno"))).code == Code.TOO_MANY_TABLES
        await anna.done(Leave(anna.next_id()))
        await table_gone(server.lobby, anna.code)
        await bruno.open(2)


@pytest.mark.parametrize("limit", ["tables_per_connection", "tables_per_address"])
async def test_opening_tables_is_rate_limited(limit: str) -> None:
    """Per connection and per address; the refusal says when to try again, and joining is always possible."""
    async with (
        memory_server(**{limit: 2}) as server,
        connected(server.port) as anna,
        connected(server.port) as bruno,
    ):
        for _ in range(2):
            await anna.open(2)
            await anna.done(Leave(anna.next_id()))
        refused = await anna.refused(OpenTable(7, 2, "Anna"))
        assert refused.code == Code.TOO_SOON
        assert refused.about is not None
        assert 0 < int(refused.about["seconds"]) <= 60
        assert refused.about["seconds"] in refused.text
        if limit == "tables_per_connection":
            await anna.join((await bruno.open(2, "Bruno")).table, "Anna")
        else:
            assert (await bruno.refused(OpenTable(7, 2, "Bruno"))).code == Code.TOO_SOON


def test_a_client_that_has_waited_a_minute_may_go_on() -> None:
    """The minute slides with time, and clients that were idle for a minute are forgotten."""
    limit = PerMinuteLimit(2)
    for now in (0.0, 30.0):
        assert limit.wait("a", now) == 0
        limit.count("a", now)
    assert limit.wait("a", 30.5) == 30
    assert limit.wait("b", 30.5) == 0
    assert limit.wait("a", 60.0) == 0
    limit.count("a", 60.0)
    assert limit.wait("a", 60.0) == 30
    limit.count("b", 200.0)
    assert list(limit._times) == ["b"]


async def test_spectators_are_limited() -> None:
    """A spectator beyond the limit is refused, and one who leaves makes room."""
    async with (
        memory_server(spectators=1) as server,
        full_table(server.port, 2, watched=True) as peers,
        connected(server.port) as late,
    ):
        assert (await late.refused(Watch(1, peers[0].code))).code == Code.SPECTATORS_FULL
        await peers[2].done(Leave(peers[2].next_id()))
        await late.watch(peers[0].code)


async def test_one_address_does_not_take_all_places_for_spectators() -> None:
    """Whoever comes from another one has the place of its newest; two of one address take none from it."""
    config = Config(limits=Limits(spectators=2), trusted_proxies=(ip_network("127.0.0.1"),))
    async with running(config) as server, contextlib.AsyncExitStack() as stack:
        host, old, new, elsewhere, last = [
            await stack.enter_async_context(connected(server.port, address))
            for address in ("192.0.2.1", "192.0.2.7", "192.0.2.7", "192.0.2.8", "192.0.2.9")
        ]
        code = (await host.open(2)).table
        await old.watch(code)
        await new.watch(code)
        await elsewhere.watch(code)
        assert (await new.until(Refused)).code == Code.SPECTATORS_FULL
        assert (await last.refused(Watch(1, code))).code == Code.SPECTATORS_FULL
        assert (await new.refused(Watch(1, code))).code == Code.SPECTATORS_FULL


async def test_whoever_comes_and_goes_is_told_at_a_bounded_rate() -> None:
    """One address made the server send 815 kB/s to each person at a table; newcomers see it immediately."""
    clock = ManualClock()
    limits = Limits(burst=10**6, burst_per_address=10**6)
    async with (
        running(Config(limits=limits, timers=lambda: clock)) as server,
        full_table(server.port, 2) as (anna, _),
        connected(server.port) as stranger,
    ):
        for _ in range(60):
            await stranger.watch(anna.code)
            assert (await stranger.until(TableState)).spectators == 1
            await stranger.done(Leave(stranger.next_id()))
        await stranger.watch(anna.code)
        await anna.done(Say(anna.next_id(), "still here"))
        assert sum(isinstance(message, TableState) for message in anna.received) <= 20
        clock.advance(1)
        assert (await anna.until(TableState)).spectators == 1


async def test_chat_reaches_everybody_at_the_table() -> None:
    """Players speak with their seat, spectators without one; nobody else receives it."""
    async with (
        memory_server() as server,
        full_table(server.port, 2, watched=True) as peers,
        connected(server.port) as other,
    ):
        await peers[1].done(Say(peers[1].next_id(), "hello 🦊"))
        await peers[2].done(Say(peers[2].next_id(), "I watch"))
        for peer in peers:
            chat = [message for message in peer.received if isinstance(message, Said)]
            while len(chat) < 2:
                chat.append(await peer.until(Said))
            assert [(said.text, said.seat, said.spectator) for said in chat] == [
                ("hello 🦊", 1, None),
                ("I watch", None, 1),
            ]
        await other.nothing_but_pong()


async def test_who_comes_to_a_table_is_told_what_was_said_there() -> None:
    """The last remarks of players and of spectators, with the names of then, as far as they were for all."""
    async with (
        memory_server(chat_per_table=100) as server,
        full_table(server.port, 2) as peers,
        connected(server.port) as late,
    ):
        host, player = peers
        await changed(host, Spectators(allowed=False))
        await host.done(Say(host.next_id(), "among us"))
        await changed(host, Spectators(allowed=True))
        await player.done(Say(player.next_id(), "hello"))
        async with connected(server.port) as again:
            await again.watch(host.code)
            for number in range(REMARKS_REPEATED + 1):
                await again.done(Say(again.next_id(), str(number)))
        await late.watch(host.code)
        told = await late.until(SaidBefore)
        assert [(each.text, each.name) for each in told.remarks[:2]] == [("hello", "Player 1"), ("1", None)]
        assert [each.text for each in told.remarks[1:]] == [str(1 + n) for n in range(REMARKS_REPEATED)]
        await host.ask(Ping(host.next_id()))
        heard = {said.text: said.number for said in host.received if isinstance(said, Said)}
        async with resumed(server.port, player) as (back,):
            told = await back.until(SaidBefore)
            assert [each.text for each in told.remarks[:3]] == ["among us", "hello", "1"]
            assert [each.number for each in told.remarks[:2]] == [heard["among us"], heard["hello"]]


async def test_chat_is_limited_by_table_and_by_address() -> None:
    """Players and spectators apart, so that no spectator silences players; a minute later all may go on."""
    clock = ManualClock()
    limits = Limits(chat_per_table=2, chat_per_address=5)
    async with (
        running(Config(limits=limits, timers=lambda: clock)) as server,
        full_table(server.port, 2, watched=True) as (anna, bruno, spectator),
        full_table(server.port, 2) as (carla, _),
    ):

        async def says(peer: Peer) -> str:
            answer = await peer.ask(Say(peer.next_id(), "hello"))
            return answer.code if isinstance(answer, Refused) else "said"

        for one, other in ((spectator, spectator), (anna, bruno)):
            assert [await says(peer) for peer in (one, other, other)] == ["said", "said", "too-much-chat"]
        refused = [message for message in bruno.received if isinstance(message, Refused)][-1]
        assert refused.about == {"seconds": "60"}
        assert [await says(peer) for peer in (carla, carla)] == ["said", "too-much-chat"]
        clock.advance(60)
        assert [await says(peer) for peer in (bruno, spectator, carla)] == ["said", "said", "said"]


async def test_unsafe_chat_is_refused() -> None:
    """Text that a terminal could act on reaches nobody."""
    async with memory_server() as server, full_table(server.port, 2) as (host, second):
        assert (await host.refused(Say(host.next_id(), "\x1b]0;title\x07"))).code.startswith("text-")
        await second.nothing_but_pong()


async def test_spectators_do_not_play() -> None:
    """They may chat and sync, but do nothing else."""
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        spectator = peers[2]
        assert (await spectator.refused(StartGame(1))).code == Code.NOT_A_PLAYER
        await spectator.done(Sync(2))
        await spectator.done(Say(3, "hm"))


async def test_a_host_is_told_who_comes_to_a_table_and_who_leaves_it() -> None:
    """People alone, each once, whether they leave or lose their connection."""
    told: list[tuple[str, str, bool]] = []

    def tell(name: str, code: str, here: bool) -> None:
        told.append((name, code, here))

    async with running(Config(attendance=tell)) as server:
        async with full_table(server.port, 3, programs={2}, bots={}) as peers:
            code = peers[0].code
            await peers[1].done(Leave(peers[1].next_id()))
        await eventually(lambda: len(told) == 4)
    assert told == [
        ("Player 0", code, True),
        ("Player 1", code, True),
        ("Player 1", code, False),
        ("Player 0", code, False),
    ]
