"""Tables before and around their game: opening, joining, watching, leaving, names and chat."""

from ipaddress import ip_network
from typing import Any

import pytest

from client.bots.brains import at_random
from engine.pieces import Seat
from protocol import messages
from protocol.absence import ByBot
from protocol.codes import CloseReason, Code
from protocol.limits import ARRAY_LENGTH
from protocol.settings import (
    ChosenSwitches,
    Switches,
)
from server.app import running
from server.config import Config, Limits
from server.limits.rate_limits import PerMinuteLimit
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually, next_state_where, state_where
from tests.server.playing import (
    check_views,
    full_table,
    game,
    memory_server,
    rearranged,
    table_of,
    timed_server,
)
from tests.server.storage.test_journal import table_facts
from tests.server.tables.hosted import disconnect, served


async def table_list(peer: Peer) -> list[messages.TableSummary]:
    answer = await peer.answer(messages.Tables, messages.ListTables)
    return answer.tables


async def deserted(peer: Peer) -> dict[str, bool]:
    return {table.table: table.deserted for table in await table_list(peer)}


async def test_the_list_shows_tables_newest_first() -> None:
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        assert await table_list(anna) == []
        first = await anna.open(2, "Anna")
        options: dict[str, Any] = {"random_layout": True, "absence": ByBot(60)}
        second = await bruno.open(
            5, "Bruno", switches=ChosenSwitches(hints=True, spectators=False), **options
        )
        older = messages.TableSummary(first.table, "Anna", 2, 1, "gathering")
        switches = Switches(hints=True, spectators=False)
        newer = messages.TableSummary(second.table, "Bruno", 5, 1, "gathering", switches=switches, **options)
        assert await table_list(anna) == [newer, older]


async def test_deserted_tables_are_behind_all_others() -> None:
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as zoe:
        await anna.open(2, "Anna")
        async with game(server.port, 2) as peers:
            code, token = peers[0].code, peers[0].token
            assert await deserted(zoe) == {code: False, anna.code: False}
            await zoe.watch(code)
        await eventually(lambda: not server.lobby.tables[code].audience.seated)
        await zoe.done(messages.Leave)
        assert list((await deserted(zoe)).items()) == [(anna.code, False), (code, True)]
        await zoe.resume(code, token)
        assert list((await deserted(anna)).items()) == [(code, False), (anna.code, False)]


async def test_a_game_of_programs_alone_is_archived_as_soon_as_one_that_is_over() -> None:
    """When they have all gone; where a person has a seat, the table waits for longer."""
    time, codes = ManualClock(), []
    async with timed_server(time, over_seconds=10, unattended_seconds=100) as server:
        for person in (True, False):
            async with connected(server.port) as host, connected(server.port) as guest:
                await host.open(2, "Bot", program=True)
                await guest.join(host.code, "Guest", program=not person)
                await host.done(messages.StartGame)
                codes.append(host.code)
            await eventually(lambda: server.lobby.tables[codes[-1]].unattended_since is not None)
        time.advance(9)
        assert set(codes) == set(server.lobby.tables)
        time.advance(2)
        await eventually(lambda: codes[1] not in server.lobby.tables)
        assert codes[0] in server.lobby.tables
        time.advance(100)
        await eventually(lambda: codes[0] not in server.lobby.tables)


async def test_a_list_of_very_many_tables_can_be_read() -> None:
    async with memory_server() as server, connected(server.port) as peer:
        seated = await peer.open(2)
        table = server.lobby.tables[seated.table]
        server.lobby.tables.update({f"no. {number}": table for number in range(520)})
        assert len(await table_list(peer)) == ARRAY_LENGTH
        for number in range(520):
            del server.lobby.tables[f"no. {number}"]


async def test_leaving_frees_the_seat_and_passes_the_host_on() -> None:
    async with memory_server() as server, full_table(server.port, 3) as peers, connected(server.port) as late:
        host, second, third = peers
        await host.done(messages.Leave)
        state = await next_state_where(third, lambda state: state.seats[0].name is None)
        assert state.host == 1
        assert await third.refusal(messages.StartGame) == Code.NOT_THE_HOST
        assert await second.refusal(messages.StartGame) == Code.SEATS_EMPTY
        assert (await late.join(second.code, "Late")).seat == 0
        await host.nothing_but_pong()
        await second.done(messages.StartGame)


async def test_people_become_host_before_programs_and_those_who_are_there_before_others() -> None:
    async with memory_server() as server, all_connected(server.port, 4) as peers:
        host, program, away, there = peers
        await host.open(4)
        await program.join(host.code, "Robot", program=True)
        await away.join(host.code, "Bruno")
        await there.join(host.code, "Carla")
        await disconnect(away, there)
        await host.done(messages.Leave)
        assert (await state_where(program, lambda state: state.host != 0)).host == there.seat
        await there.done(messages.Leave)
        assert (await state_where(program, lambda state: state.host != there.seat)).host == away.seat


async def test_a_table_closes_when_everybody_has_left() -> None:
    async with (
        memory_server() as server,
        full_table(server.port, 2, watched=True) as (host, second, spectator),
    ):
        await host.done(messages.Leave)
        await second.done(messages.Leave)
        refused = await spectator.until(messages.Refused)
        assert (refused.code, refused.id) == (Code.TABLE_CLOSED, None)
        assert await table_list(spectator) == []
        assert await host.refusal(messages.Watch, host.code) == Code.NO_SUCH_TABLE
        await spectator.open(2)


async def test_the_grace_time_starts_when_the_player_last_left() -> None:
    clock = ManualClock()
    async with timed_server(clock, waiting_seat_seconds=10) as server, full_table(server.port, 2) as peers:
        host, second = peers
        await disconnect(second, host)
        clock.advance(6)
        async with connected(server.port) as again:
            await again.resume(host.code, second.token)
            await next_state_where(host, lambda state: state.seats[1].here)
        await next_state_where(host, lambda state: not state.seats[1].here)
        clock.advance(6)
        await host.nothing_but_pong()
        clock.advance(5)
        await next_state_where(host, lambda state: state.seats[1].name is None)


async def test_a_leave_repeated_under_its_id_is_carried_out_again() -> None:
    """A client that restarts its ids on each connection can still leave the table."""
    async with memory_server() as server, game(server.port, 2) as (_, second):
        for _ in range(2):
            await second.done(messages.Leave)
            assert await second.refusal(messages.Sync) == Code.NOT_AT_A_TABLE
            await second.resume(second.code, second.token)


async def test_a_token_is_valid_at_its_own_table_only() -> None:
    """It cannot be guessed; other tables' tokens and hashes are refused, and a few end the connection."""
    async with memory_server() as server, connected(server.port) as anna, connected(server.port) as bruno:
        first = await anna.open(2)
        assert len(first.token or "") == 43
        second = await bruno.open(2)
        await bruno.done(messages.Leave)
        await bruno.open(2)
        player = server.lobby.tables[first.table].state.players[0]
        assert player is not None
        await bruno.done(messages.Leave)
        for token in (second.token or "", "x" * 43, player.token_hash[:43], "0"):
            assert await bruno.refusal(messages.Resume, first.table, token) == Code.BAD_TOKEN
        await bruno.send(messages.Resume(bruno.next_id(), first.table, "y"))
        assert await bruno.closed() == (1008, CloseReason.TOO_MANY_WRONG_TOKENS)


@pytest.mark.parametrize("limit", ["tables_per_connection", "tables_per_address"])
async def test_opening_tables_is_rate_limited(limit: str) -> None:
    async with memory_server(**{limit: 2}) as server, all_connected(server.port, 2) as (anna, bruno):
        for _ in range(2):
            await anna.open(2)
            await anna.done(messages.Leave)
        refused = await anna.refused(messages.OpenTable, 2, "Anna")
        assert refused.code == Code.TOO_SOON
        assert refused.about is not None
        assert 0 < int(refused.about["seconds"]) <= 60
        assert refused.about["seconds"] in refused.text
        if limit == "tables_per_connection":
            await anna.join((await bruno.open(2, "Bruno")).table, "Anna")
        else:
            assert await bruno.refusal(messages.OpenTable, 2, "Bruno") == Code.TOO_SOON


def test_a_client_that_has_waited_a_minute_may_go_on() -> None:
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
    assert list(limit._uses) == ["b"]


async def test_one_address_does_not_take_all_places_for_spectators() -> None:
    """Whoever comes from another one has the place of its newest; two of one address take none from it."""
    config = Config(limits=Limits(spectators=2), trusted_proxies=(ip_network("127.0.0.1"),))
    addresses = [f"192.0.2.{host}" for host in (1, 7, 7, 8, 9)]
    async with running(config) as server, all_connected(server.port, addresses) as peers:
        host, old, new, elsewhere, last = peers
        code = (await host.open(2)).table
        await old.watch(code)
        await new.watch(code)
        await elsewhere.watch(code)
        assert (await new.until(messages.Refused)).code == Code.SPECTATORS_FULL
        assert await last.refusal(messages.Watch, code) == Code.SPECTATORS_FULL
        assert await new.refusal(messages.Watch, code) == Code.SPECTATORS_FULL


async def test_whoever_comes_and_goes_is_told_at_a_bounded_rate() -> None:
    """One address made the server send 815 kB/s to each person at a table; newcomers see it immediately."""
    clock = ManualClock()
    async with (
        timed_server(clock, burst=10**6, burst_per_address=10**6) as server,
        full_table(server.port, 2) as (anna, _),
        connected(server.port) as stranger,
    ):
        for _ in range(60):
            await stranger.watch(anna.code)
            assert (await stranger.until(messages.TableState)).spectators == 1
            await stranger.done(messages.Leave)
        await stranger.watch(anna.code)
        await anna.ask(messages.Ping)
        assert sum(isinstance(message, messages.TableState) for message in anna.received) <= 20
        clock.advance(1)
        assert (await anna.until(messages.TableState)).spectators == 1


async def test_a_host_is_told_who_comes_to_a_table_and_who_leaves_it() -> None:
    told: list[tuple[str, str, bool]] = []
    async with running(Config(attendance=lambda *visit: told.append(visit))) as server:
        async with full_table(server.port, 3, programs={2}, bots={}) as peers:
            code = peers[0].code
            await peers[1].done(messages.Leave)
        await eventually(lambda: len(told) == 4)
    assert {at for _, at, _ in told} == {code}
    assert [name for name, _, here in told if here] == ["Player 0", "Player 1"]
    assert [name for name, _, here in told if not here] == ["Player 1", "Player 0"]


def ready_in(state: messages.TableState) -> list[int]:
    return [seat for seat, each in enumerate(state.seats) if each.ready]


async def say_ready(*peers: Peer, on: bool = True) -> None:
    for peer in peers:
        await peer.done(messages.SayReady, on)


async def test_everybody_sees_who_is_ready() -> None:
    async with served() as server, full_table(server.port, 3, programs={2}, watched=True) as peers:
        await say_ready(peers[2], on=False)
        await say_ready(peers[0], peers[1])
        for peer in peers:
            await state_where(peer, lambda state: ready_in(state) == [0, 1, 2])
        await say_ready(peers[0], on=False)
        await state_where(peers[1], lambda state: ready_in(state) == [1, 2])
        await peers[0].done(messages.StartGame)
        await state_where(peers[1], lambda state: state.stage == "playing" and not ready_in(state))


async def test_a_game_that_changes_is_agreed_on_anew() -> None:
    """As when a seat is taken again, or seats are swapped; not when a player leaves."""
    async with memory_server() as server, full_table(server.port, 3) as peers:
        state = table_of(server, peers).state
        await say_ready(*peers)
        await peers[2].done(messages.Leave)
        assert state.ready == {0, 1}
        await peers[2].join(peers[0].code, "Newcomer")
        assert state.ready == set()
        await say_ready(*peers)
        await rearranged(server, peers[0], 1, 0, 2)
        assert state.ready == set()


async def test_a_player_moves_to_a_free_seat() -> None:
    async with served() as server, connected(server.port) as host, connected(server.port) as bruno:
        await host.open(4, "Anna", starting=0)
        await bruno.join(host.code, "Bruno")
        await say_ready(host, bruno)
        await host.done(messages.ChangeSeat, 3)
        assert host.told(messages.Reseated) == [messages.Reseated(3)]
        state = await state_where(bruno, lambda state: state.seats[3].name == "Anna")
        assert (state.host, state.starting, ready_in(state)) == (3, 3, [])
        async with connected(server.port) as carla:
            await carla.join(host.code, "Carla", 0)
            async with connected(server.port) as late:
                await late.join(host.code, "Dario")
                await host.done(messages.StartGame)
                for peer in (host, bruno, carla, late):
                    await peer.caught_up(host.seq)
                check_views(table_of(server, [host]), [host, bruno, carla, late])
                assert [peer.seat for peer in (host, bruno, carla, late)] == [3, 1, 0, 2]


async def test_moving_keeps_no_absent_players_seat() -> None:
    clock = ManualClock()
    async with served(time=clock) as server, full_table(server.port, 3) as peers:
        await peers[2].done(messages.Leave)
        await disconnect(peers[1], peers[0])
        for seat in (2, 0) * 5:
            clock.advance(table_of(server, peers)._context.limits.waiting_seat_seconds / 8)
            if table_of(server, peers).state.players[1] is None:
                break
            await peers[0].done(messages.ChangeSeat, seat)
        await state_where(peers[0], lambda state: state.seats[1].name is None)


def peoples_in(state: messages.TableState) -> str:
    """Return the seats' peoples, the chosen ones as capital letters."""
    return "".join(
        (each.people or "-") if each.chosen else (each.people or "-").lower() for each in state.seats
    )


async def choose(peer: Peer, people: str | None) -> None:
    await peer.done(messages.ChoosePeople, people)


async def see_peoples(peers: list[Peer], peoples: str) -> None:
    for peer in peers:
        await state_where(peer, lambda state: peoples_in(state) == peoples)


async def test_players_choose_their_peoples() -> None:
    async with served() as server, full_table(server.port, 4, watched=True) as peers:
        await see_peoples(peers, "eslm")
        await choose(peers[1], "A")
        await see_peoples(peers, "eAlm")
        refused = await peers[2].refused(messages.ChoosePeople, "A")
        about = {"people": "A", "name": "Player 1", "free_peoples": "E, S, L, M"}
        assert (refused.code, refused.about) == (Code.PEOPLE_TAKEN, about)
        await choose(peers[3], "E")
        await see_peoples(peers, "sAlE")
        await choose(peers[1], None)
        await see_peoples(peers, "mslE")
        await choose(peers[1], "L")
        await see_peoples(peers, "sLmE")
        await peers[0].done(messages.StartGame)
        for peer in peers:
            await state_where(peer, lambda state: state.stage == "playing" and peoples_in(state) == "----")
            assert ["".join(own) for own in peer.sight.start.peoples] == ["S", "L", "M", "E"]


async def test_saying_it_twice_stores_nothing_and_tells_nobody() -> None:
    """Nor does a choice change anybody's mind: colours do not change the game."""
    async with memory_server() as server, full_table(server.port, 2) as peers:
        await say_ready(*peers)
        await choose(peers[1], "A")
        await see_peoples(peers, "eA")
        before = table_facts(table_of(server, peers).state)
        assert before["ready"] == {0, 1}
        await say_ready(*peers)
        await choose(peers[1], "A")
        await choose(peers[0], None)
        assert table_facts(table_of(server, peers).state) == before
        await peers[0].nothing_but_pong()


async def test_a_choice_goes_with_its_player_and_ends_when_the_player_leaves() -> None:
    """The host swaps seats, a player moves, one leaves, one is removed, and bots get what is left."""
    async with running(Config(brains={"random": at_random})) as server, full_table(server.port, 4) as peers:
        await choose(peers[0], "S")
        await choose(peers[2], "A")
        await choose(peers[3], "E")
        await see_peoples(peers, "SlAE")
        await rearranged(server, peers[0], 2, 1, 3, 0)
        await see_peoples(peers, "AlES")
        await peers[1].done(messages.Leave)
        await peers[2].done(messages.ChangeSeat, 1)
        await see_peoples([peers[0]], "lAES")
        assert await table_of(server, peers).remove_player(Seat(1))
        await see_peoples([peers[0]], "lmES")
        for seat in (0, 1):
            await peers[0].done(messages.SeatBot, "random", seat)
        await see_peoples([peers[0]], "lmES")
