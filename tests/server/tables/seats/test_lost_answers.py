"""Requests for a seat whose answers are lost, and tokens that clients have made."""

import contextlib
import random
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from engine.pieces import Seat
from protocol import messages
from protocol.absence import LongClock
from protocol.admin import EveningPlan
from protocol.codes import CloseCode, Code
from protocol.messages import JoinTable, OpenTable, Resume, Seated
from protocol.settings import ChosenSwitches
from server.app import Running, running
from server.config import Config, Limits
from server.tables.state.persistent_state import Player
from tests.server.cluster.running_cluster import cluster
from tests.server.manual_clock import ManualClock
from tests.server.peer import connected, eventually, next_state_where
from tests.server.playing import full_table, game, held_back, memory_server, play_on, removed, table_of
from tests.server.tables.hosted import disconnect, served

OWN, OTHER = "a" * 41 + "-_", "B" * 43


@contextlib.asynccontextmanager
async def answer_lost(port: int, request: JoinTable | OpenTable) -> AsyncIterator[None]:
    """Send a request, and cut the connection at the end, without having read the answer."""
    async with connected(port) as cut:
        await cut.send(request)
        yield
        cut.socket.transport.abort()


def players_of(server: Running, code: str) -> list[Player | None]:
    return server.lobby.tables[code].state.players


async def test_a_join_that_is_sent_again_gets_the_seat_it_took() -> None:
    """Not a second one, and not `name-taken` because of the ghost of the first attempt."""
    async with memory_server() as server, connected(server.port) as host:
        code = (await host.open(3, "Anna")).table
        join = JoinTable(7, code, "Bruno", token=OWN)
        async with answer_lost(server.port, join):
            await next_state_where(host, lambda state: state.seats[1].name == "Bruno")
        await next_state_where(host, lambda state: not state.seats[1].here)
        async with connected(server.port) as again:
            seated = await again.answer(Seated, join)
            assert (seated.table, seated.seat, seated.token) == (code, 1, None)
            state = await next_state_where(host, lambda state: state.seats[1].here)
            assert state.seats[2].name is None
            await again.done(messages.SayReady, on=True)


async def test_the_first_connection_need_not_be_known_to_be_dead() -> None:
    """It is told so, if it still hears anything; so nobody sits in a seat twice."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as dead:
        code = (await host.open(2, "Anna")).table
        await dead.answer(Seated, join := JoinTable(7, code, "Bruno", token=OWN))
        async with connected(server.port) as again:
            await again.answer(Seated, join)
            assert (await dead.closed())[0] == CloseCode.TAKEN_OVER
            await again.done(messages.SayReady, on=True)


async def test_the_token_that_a_client_has_made_holds_its_seat() -> None:
    """As one of the server's does; the answer does not repeat it."""
    async with memory_server() as server, connected(server.port) as host:
        code = (await host.open(2, "Anna")).table
        async with connected(server.port) as peer:
            assert (await peer.answer(Seated, JoinTable, code, "Bruno", token=OWN)).token is None
        async with connected(server.port) as later:
            assert (await later.resume(code, OWN)).seat == 1


async def test_without_a_token_of_its_own_a_client_is_given_one() -> None:
    """As clients are that know nothing of this: the second attempt of such a one is a second player."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as old:
        code = (await host.open(3, "Anna")).table
        assert len((await old.join(code, "Bruno")).token or "") == 43
        async with connected(server.port) as again:
            assert await again.refusal(JoinTable, code, "Bruno") == Code.NAME_TAKEN


@pytest.mark.parametrize("token", ["", "a" * 42, "a" * 44, "a" * 42 + "=", "a" * 42 + "\n", "à" * 43])
async def test_a_token_must_be_as_hard_to_guess_as_the_servers(token: str) -> None:
    """As far as can be seen from outside: 43 characters of base64. It is in no refusal."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as peer:
        code = (await host.open(2, "Anna")).table
        for request in (JoinTable(1, code, "Bruno", token=token), OpenTable(2, 2, "Bruno", token=token)):
            refused = await peer.refused(request)
            assert refused.code == Code.BAD_MESSAGE
            assert not token or token not in str(refused)
        assert players_of(server, code)[1] is None


async def test_a_token_is_shown_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    """In no log, in nothing that anybody is sent, nor in the text of a message."""
    caplog.set_level("DEBUG")
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as peer:
        code = (await host.open(2, "Anna", token=OTHER)).table
        await peer.answer(Seated, join := JoinTable(1, code, "Bruno", token=OWN))
        async with connected(server.port) as again:
            await again.answer(Seated, join)
            frames = b"".join(host.frames + peer.frames + again.frames)
    assert not any(token.encode() in frames for token in (OWN, OTHER))
    assert not any(token in caplog.text or token in str(join) for token in (OWN, OTHER))
    assert OTHER not in str(Resume(1, code, OWN, new_token=OTHER))


async def test_a_join_sent_again_while_it_is_being_stored_waits_for_it() -> None:
    async with memory_server() as server, connected(server.port) as host:
        code = (await host.open(3, "Anna")).table
        join = JoinTable(7, code, "Bruno", token=OWN)
        async with connected(server.port) as first, connected(server.port) as again:
            async with held_back(server.lobby.journal, "append") as storing:
                await first.send(join)
                await storing.wait()
                first.socket.transport.abort()
                await again.send(join)
            assert (await again.until(Seated)).seat == 1
        assert players_of(server, code)[2] is None


async def test_a_join_sent_again_gets_its_seat_from_a_restarted_server(tmp_path: Path) -> None:
    config = Config(data=tmp_path)
    async with running(config) as server, connected(server.port) as host:
        code, token = (await host.open(2, "Anna")).table, host.token
        join = JoinTable(7, code, "Bruno", token=OWN)
        async with answer_lost(server.port, join):
            await next_state_where(host, lambda state: state.seats[1].name == "Bruno")
    async with running(config) as server, connected(server.port) as again, connected(server.port) as host:
        assert (await again.answer(Seated, join)).seat == 1
        await host.resume(code, token)


async def test_a_seat_that_was_freed_in_the_meantime_is_taken_like_any_other() -> None:
    """By the same request, unless the host has removed its player."""
    async with served(time=(clock := ManualClock())) as server, connected(server.port) as host:
        code = (await host.open(3, "Anna")).table
        join = JoinTable(7, code, "Bruno", token=OWN)
        async with answer_lost(server.port, join):
            await next_state_where(host, lambda state: state.seats[1].name == "Bruno")
        await next_state_where(host, lambda state: not state.seats[1].here)
        clock.advance(Limits().waiting_seat_seconds + 1)
        await next_state_where(host, lambda state: state.seats[1].name is None)
        async with connected(server.port) as again:
            assert (await again.answer(Seated, join)).seat == 1


async def test_a_removed_player_cannot_come_back_by_asking_again() -> None:
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as peer:
        code = (await host.open(3, "Anna")).table
        await peer.answer(Seated, join := JoinTable(7, code, "Bruno", token=OWN))
        await removed(server, host, Seat(1))
        assert await peer.refusal(join) == Code.REMOVED


async def test_a_vacant_seat_of_a_running_game_is_taken_over_once() -> None:
    """Where a ghost would keep the game waiting until the host acts."""
    async with served(time=(clock := ManualClock())) as server, game(server.port, 3) as (host, *others):
        await disconnect(others[0], host)
        clock.advance(Limits().waiting_seat_seconds + 1)
        await removed(server, host, Seat(1))
        await play_on([host], random.Random(1), 1)
        join = JoinTable(7, host.code, "Zoe", token=OWN)
        async with answer_lost(server.port, join):
            await next_state_where(host, lambda state: state.seats[1].name == "Zoe")
        async with connected(server.port) as again:
            seated = await again.answer(Seated, join)
            assert (seated.seat, seated.taken_over) == (1, "Player 1")
            await again.news()
            assert again.view is not None


async def test_an_address_with_all_its_seats_gets_this_one_back() -> None:
    """As with a token: the first connection may not be known to be dead."""
    async with (
        memory_server(connections_per_address=8) as server,
        full_table(server.port, 4),
        connected(server.port) as first,
        connected(server.port) as second,
        connected(server.port) as third,
    ):
        await first.answer(Seated, opening := OpenTable(7, 2, "Anna", token=OTHER))
        await second.answer(Seated, join := JoinTable(7, first.code, "Bruno", token=OWN))
        assert await third.refusal(OpenTable, 2, "Zoe", token="Z" * 43) == Code.TOO_MANY_SEATS
        assert (await third.answer(Seated, join)).seat == 1
        async with connected(server.port) as fourth:
            assert (await fourth.answer(Seated, opening)).table == first.code


async def test_a_table_is_opened_once_however_often_that_is_asked() -> None:
    """While it is being stored, after that, and under whatever code it has."""
    async with memory_server() as server, connected(server.port) as first, connected(server.port) as again:
        opening = OpenTable(7, 2, "Anna", switches=ChosenSwitches(private=True), token=OWN)
        async with held_back(server.lobby.journal, "append_together") as storing:
            await first.send(opening)
            await storing.wait()
            first.socket.transport.abort()
            await again.send(opening)
        seated = await again.until(Seated)
        assert list(server.lobby.tables) == [seated.table]
        assert (seated.seat, seated.token) == (0, None)
        await again.done(messages.ChoosePeople, "A")
        async with connected(server.port) as later:
            assert (await later.answer(Seated, opening)).table == seated.table
        async with connected(server.port) as other:
            assert (await other.answer(Seated, OpenTable, 2, "Anna", token=OTHER)).table != seated.table


async def test_an_opening_sent_again_finds_its_table_after_a_restart(tmp_path: Path) -> None:
    config, opening = Config(data=tmp_path), OpenTable(7, 2, "Anna", token=OWN)
    async with running(config) as server:
        async with answer_lost(server.port, opening):
            await eventually(lambda: bool(server.lobby.tables))
        (code,) = server.lobby.tables
    async with running(config) as server, connected(server.port) as again:
        assert (await again.answer(Seated, opening)).table == code


async def test_a_table_that_has_ended_is_opened_anew() -> None:
    async with memory_server() as server, connected(server.port) as peer:
        before = (await peer.answer(Seated, opening := OpenTable(7, 2, "Anna", token=OWN))).table
        await peer.done(messages.Leave)
        assert (await peer.answer(Seated, opening)).table in server.lobby.tables
        assert before not in server.lobby.tables or peer.code == before


async def test_another_server_of_the_cluster_knows_the_seat(database: str) -> None:
    """It took the table up from the one that seated the client and stopped before it answered."""
    async with cluster(database, "one", "two") as (one, two):
        async with connected(one.port) as host:
            code = (await host.open(2, "Anna")).table
            join = JoinTable(7, code, "Bruno", token=OWN)
            async with answer_lost(one.port, join):
                await next_state_where(host, lambda state: state.seats[1].name == "Bruno")
            one.stop.set()
            await eventually(lambda: code in two.lobby.tables)
        async with connected(two.port) as again:
            assert (await again.answer(Seated, join)).seat == 1


async def test_another_server_of_the_cluster_knows_the_table_that_was_opened(database: str) -> None:
    """It sends the client there, or has taken the table up; so there is one table, not a ghost of it."""
    opening, limits = OpenTable(7, 2, "Anna", token=OWN), Limits(tables_per_connection=1)
    async with cluster(database, "one", "two", limits=limits) as (one, two):
        async with connected(one.port) as host:
            code = (await host.answer(Seated, opening)).table
        async with connected(two.port) as again:
            refused = await again.refused(opening)
            assert (refused.code, refused.about) == (
                Code.TABLE_ELSEWHERE,
                {"table": code, "address": f"ws://127.0.0.1:{one.port}"},
            )
            assert await again.refusal(opening) == Code.TOO_SOON  # each look costs as much as a table
        one.stop.set()
        await eventually(lambda: code in two.lobby.tables)
        async with connected(two.port) as again:
            assert (await again.answer(Seated, opening)).table == code
            assert list(two.lobby.tables) == [code]


async def test_nobody_sits_down_at_a_table_of_an_evening_like_this() -> None:
    config = Config(evening=EveningPlan("Friday", rounds=1))
    async with running(config) as server, connected(server.port) as one, connected(server.port) as two:
        for peer, token in ((one, OWN), (two, OTHER)):
            await peer.answer(messages.SignedUp, messages.SignUp, token[:5], token)
        assert server.lobby.evenings.running is not None
        server.lobby.evenings.running.draw_now()
        await eventually(lambda: bool(server.lobby.tables))
        (code,) = server.lobby.tables
        assert await one.refusal(JoinTable, code, "Bruno", token=OWN) == Code.OF_THE_EVENING


# -- a new token for a seat -----------------------------------------------------------------------------


async def test_a_new_token_replaces_the_one_that_it_comes_with() -> None:
    """Whoever knows the old one has the seat no longer, and is told so."""
    async with memory_server() as server, connected(server.port) as host, connected(server.port) as old:
        code = (await host.open(2, "Anna")).table
        await old.join(code, "Bruno")
        async with connected(server.port) as new:
            await new.answer(Seated, request := Resume(1, code, old.token, new_token=OWN))
            assert (await old.closed())[0] == CloseCode.TAKEN_OVER
            async with connected(server.port) as sender:
                assert await sender.refusal(Resume, code, old.token) == Code.BAD_TOKEN
            async with connected(server.port) as again:  # whose answer was lost
                assert (await again.answer(Seated, request)).seat == 1
            async with connected(server.port) as later:
                assert (await later.resume(code, OWN)).seat == 1


async def test_a_new_token_holds_a_kept_seat_after_a_restart(tmp_path: Path) -> None:
    async with (
        running(Config(data=tmp_path)) as server,
        game(server.port, 2) as (host, peer),
        connected(server.port) as new,
    ):
        await new.answer(Seated, Resume, host.code, peer.token, new_token=OWN)
    async with running(Config(data=tmp_path)) as server, connected(server.port) as again:
        assert await again.refusal(Resume, host.code, peer.token) == Code.BAD_TOKEN
        assert (await again.resume(host.code, OWN)).seat == 1


async def test_everything_else_about_the_seat_stays(tmp_path: Path) -> None:
    """It is the same player."""
    clock = LongClock(seconds=3 * 86400)
    async with served(tmp_path) as server, game(server.port, 3, absence=clock, peoples={1: "A"}) as peers:
        host, peer, third = peers
        table = table_of(server, peers)
        await host.done(host.random_move(random.Random(1)))
        before = [replace(each, token_hash="", answers=None) for _, each in table.state.held]  # type: ignore[arg-type]
        for each, token in ((host, "H" * 43), (peer, OWN), (third, OTHER)):
            async with connected(server.port) as new:
                await new.answer(Seated, Resume, host.code, each.token, new_token=token)
        after = [replace(each, token_hash="", answers=None) for _, each in table.state.held]  # type: ignore[arg-type]
        assert after == before


async def test_no_seat_gets_the_token_of_another() -> None:
    async with (
        memory_server() as server,
        game(server.port, 2) as (host, peer),
        connected(server.port) as new,
    ):
        for token in (host.token, peer.token):
            refused = await new.refusal(Resume, host.code, peer.token, new_token=token)
            assert refused == Code.BAD_TOKEN
        assert (await new.resume(host.code, peer.token)).seat == 1
