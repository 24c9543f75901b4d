"""Games without any player present: they are archived, and restored when a player comes back."""

import asyncio
import contextlib
import dataclasses
import gc
import random
import sqlite3
import weakref
from collections import Counter
from ipaddress import ip_network
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace

from engine.pieces import Seat
from protocol import messages
from protocol.absence import WAIT, Absence, ByBot, GameClock
from protocol.codes import CloseReason, Code
from server.app import Running, running
from server.config import Config, Limits
from server.storage.archive_index import ArchivedGame, ArchiveIndex
from server.storage.sqlite.journal_file import FILE_NAME
from server.storage.stored_tables import link_rows, pack, unpack
from tests.games import rest_slow
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, all_connected, connected, eventually
from tests.server.playing import all_caught_up, archived_game, check_views, game, held_back, play_on, table_of
from tests.server.storage.test_journal import journal_of
from tests.server.tables.hosted import queued_requests

SHORT_LIMITS = Limits(unattended_seconds=0.01, over_seconds=0.01)


@given(
    st.lists(
        st.tuples(
            st.none() | st.integers(1, 2**40), st.text(st.characters(codec="utf-8", exclude_characters="\n"))
        ),
        min_size=1,
    ),
    st.data(),
)
def test_packing_loses_nothing(lines: list[tuple[int | None, str]], data: st.DataObject) -> None:
    rows = link_rows("CODE", lines)
    content = pack(rows)
    assert unpack(content) == rows
    cut = unpack(content[: data.draw(st.integers(0, len(content) - 1))])
    assert cut[:-1] == rows[: len(cut)][:-1]


def codes_in_file(data: Path, table: str) -> set[str]:
    """Return the codes in one of the two tables of a journal that no server uses."""
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
        return {code for (code,) in database.execute(f"SELECT code FROM {table}")}  # noqa: S608 - our own


async def all_resumed(port: int, stack: contextlib.AsyncExitStack, before: list[Peer]) -> list[Peer]:
    """Bring players back over new connections, all at the same time, from what they last knew."""
    again = await stack.enter_async_context(all_connected(port, len(before)))
    pairs = list(zip(again, before, strict=True))
    for peer, known in pairs:
        peer.view, peer.seq, peer.seen = known.view, known.seq, known.seen
    await asyncio.gather(*(peer.resume(known.code, known.token, known.seq) for peer, known in pairs))
    for peer in again:
        await peer.news()
    return again


async def test_a_table_is_not_archived_once_somebody_is_back(tmp_path: Path) -> None:
    """They may have come while whoever needed its place waited for the table."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        await table_of(server, peers).archive(attended=False)
        assert peers[0].code in server.lobby.tables
        await play_on(peers, random.Random(1), 1)


@pytest.mark.parametrize("absence", [WAIT, ByBot(600)])
async def test_a_table_that_has_ended_leaves_memory_at_once(absence: Absence) -> None:
    """It is freed without the garbage collector, which would stop all other tables."""
    async with running(Config(limits=SHORT_LIMITS)) as server:
        gc.collect()
        gc.disable()
        try:
            async with game(server.port, 2, absence=absence) as peers:
                await play_on(peers, random.Random(1))
                table = table_of(server, peers)
                ended = weakref.ref(table), weakref.ref(table.state)
                del table
            await eventually(lambda: all(each() is None for each in ended))
        finally:
            gc.enable()


@pytest.mark.parametrize("restarted", rest_slow(True, False))
async def test_an_archived_game_is_restored_for_its_players(tmp_path: Path, restarted: bool) -> None:
    config = Config(data=tmp_path, limits=SHORT_LIMITS)
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running(config))
        async with game(server.port, 3) as peers:
            await play_on(peers, random.Random(1), moves=7)
            entries = table_of(server, peers).state.entry_count
        await eventually(lambda: not server.lobby.tables)
        if restarted:
            await stack.aclose()
            assert codes_in_file(tmp_path, "archive") == {peers[0].code}
            assert not codes_in_file(tmp_path, "entry")
            server = await stack.enter_async_context(running(config))
        async with connected(server.port) as other:
            assert (await other.answer(messages.Tables, messages.ListTables)).tables == []
        again = await all_resumed(server.port, stack, peers)
        table = table_of(server, peers)
        assert table.state.entry_count == entries
        check_views(table, again)
        await play_on(again, random.Random(2))
        check_views(table, again)
        assert again[0].sight.result is not None
    async with running(Config(data=tmp_path)) as server:
        assert server.lobby.tables[peers[0].code].state.stage == "over"


async def test_an_archived_turn_goes_on_from_where_it_was(tmp_path: Path) -> None:
    """Whoever lets a game be archived gets no time back for that."""
    clock = ManualClock()
    async with contextlib.AsyncExitStack() as stack:
        server = await stack.enter_async_context(running(Config(data=tmp_path, timers=lambda: clock)))
        peers = await stack.enter_async_context(game(server.port, 2, absence=GameClock(600)))
        clock.advance(40.0)
        assert await table_of(server, peers).archive(attended=True)
        await eventually(lambda: not server.lobby.tables)
        await all_resumed(server.port, stack, peers)
        assert table_of(server, peers).state.clocks.left(Seat(0)) == 560_000


async def test_only_its_players_restore_an_archived_game(tmp_path: Path) -> None:
    async with (
        running(Config(data=tmp_path, limits=SHORT_LIMITS)) as server,
        connected(server.port) as outsider,
    ):
        code = (await archived_game(server, moves=0))[0].code
        assert await outsider.refusal(messages.Watch, code) == Code.NO_SUCH_TABLE
        assert await outsider.refusal(messages.JoinTable, code, "Anna") == Code.NO_SUCH_TABLE
        for number in range(4):
            assert await outsider.refusal(messages.Resume(3 + number, code, "guessed")) == Code.BAD_TOKEN
        assert not server.lobby.tables
        await outsider.send(messages.Resume(9, code, "guessed"))
        assert await outsider.closed() == (1008, CloseReason.TOO_MANY_WRONG_TOKENS)


async def test_a_player_who_returns_during_archiving_finds_the_game(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path, limits=SHORT_LIMITS)) as server, connected(server.port) as peer:
        async with held_back(server.lobby.journal, "archive") as waiting:
            async with game(server.port, 2) as peers:
                table = table_of(server, peers)
            await waiting.wait()
            await peer.send(messages.Resume(peer.next_id(), peers[0].code, peers[0].token))
            await eventually(lambda: queued_requests(table) == 1)
        await peer.news()
        assert not any(isinstance(message, messages.Refused) for message in peer.received)
        assert server.lobby.tables[peers[0].code] is not table


async def test_a_game_that_cannot_be_archived_stays(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path, limits=SHORT_LIMITS)) as server:
        journal = journal_of(server)
        async with game(server.port, 2) as peers:
            journal._database.execute("PRAGMA query_only = ON")
        await eventually(lambda: journal.not_stored > 1)
        assert table_of(server, peers).state.stage == "playing"
        journal._database.execute("PRAGMA query_only = OFF")
        await eventually(lambda: not server.lobby.tables)


async def test_tables_of_one_address_make_room_for_those_from_elsewhere(tmp_path: Path) -> None:
    """Two addresses held all of them by being there; tables without a game go first, and no game is lost."""
    config = Config(data=tmp_path, limits=Limits(tables=3), trusted_proxies=(ip_network("127.0.0.1"),))
    addresses = [f"192.0.2.{host}" for host in (1, 2, 3, *[7] * 6)]
    async with running(config) as server, all_connected(server.port, addresses) as peers:
        (anna, bruno, carla), hosts, guests = peers[:3], peers[3:6], peers[6:]
        codes = [(await host.open(2, random_layout=True)).table for host in hosts]
        for host, guest in zip(hosts[:2], guests[:2], strict=True):
            await guest.join(host.code, "Guest")
            await host.send(messages.StartGame(host.next_id()))
            await guest.news()
        await anna.open(2)
        closed = await hosts[2].until(messages.Refused)
        assert (closed.code, closed.about) == (Code.TABLE_CLOSED, {"table": codes[2]})
        assert await hosts[2].refusal(messages.OpenTable, 2, "Again") == Code.TOO_MANY_TABLES
        await bruno.open(2)
        assert server.lobby.tables.keys() == {codes[0], anna.code, bruno.code}
        assert list(server.lobby.journal.archived) == [codes[1]]
        closed = await hosts[1].until(messages.Refused)
        assert closed.code == Code.TABLE_CLOSED
        assert "game is kept" in closed.text
        assert await carla.refusal(messages.OpenTable, 2, "Carla") == Code.TOO_MANY_TABLES
        await anna.done(messages.Leave)
        await hosts[1].resume(codes[1], hosts[1].token)


async def test_unattended_games_make_room_for_new_ones(tmp_path: Path) -> None:
    config = Config(data=tmp_path, limits=Limits(tables=2))
    async with running(config) as server, all_connected(server.port, 2) as (anna, bruno):
        async with game(server.port, 2) as left_first:
            await play_on(left_first, random.Random(4), moves=3)
        await eventually(lambda: table_of(server, left_first).unattended_since is not None)
        async with game(server.port, 2) as left_second:
            pass
        await eventually(lambda: table_of(server, left_second).unattended_since is not None)
        await anna.open(2)
        assert server.lobby.tables.keys() == {left_second[0].code, anna.code}
        await bruno.open(2)
        assert server.lobby.tables.keys() == {anna.code, bruno.code}
        async with contextlib.AsyncExitStack() as stack:
            late = await stack.enter_async_context(connected(server.port))
            assert await late.refusal(messages.OpenTable, 2, "Late") == Code.TOO_MANY_TABLES
            back = messages.Resume(late.next_id(), left_first[0].code, left_first[0].token)
            assert await late.refusal(back) == Code.TOO_MANY_TABLES
            await bruno.done(messages.Leave)
            again = await all_resumed(server.port, stack, left_first)
            check_views(table_of(server, again), again)
            await play_on(again, random.Random(5), moves=2)
            await all_caught_up(again, again[0].seq)


async def unattended_games(server: Running, games: int) -> list[list[Peer]]:
    left = []
    for _ in range(games):
        async with game(server.port, 2) as peers:
            table = table_of(server, peers)
        await eventually(lambda: table.archived or table.unattended_since is not None)  # noqa: B023 - waited for
        left.append(peers)
    return left


async def test_tables_opened_at_once_archive_different_games(tmp_path: Path) -> None:
    config = Config(data=tmp_path, limits=Limits(tables=5))
    async with running(config) as server, all_connected(server.port, 6) as (late, *peers):
        await unattended_games(server, 5)
        await asyncio.gather(*(peer.open(2) for peer in peers))
        assert server.lobby.tables.keys() == {peer.code for peer in peers}
        assert await late.refusal(messages.OpenTable, 2, "Late") == Code.TOO_MANY_TABLES


async def test_restoring_games_is_rate_limited(tmp_path: Path) -> None:
    async with running(Config(data=tmp_path, limits=Limits(tables=1))) as server:
        left = await unattended_games(server, 3)
    slow = Limits(tables=1, tables_per_connection=2)
    async with running(Config(data=tmp_path, limits=slow)) as server, connected(server.port) as peer:
        for peers in left[:2]:
            await peer.resume(peers[0].code, peers[0].token)
            await peer.done(messages.Leave)
        assert await peer.refusal(messages.Resume, left[2][0].code, left[2][0].token) == Code.TOO_SOON
        await peer.resume(left[1][0].code, left[1][0].token)  # which is in memory


@pytest.mark.slow
async def test_an_address_with_many_tables_makes_room_with_its_own(tmp_path: Path) -> None:
    """Games of other addresses stay in memory as long as the opener has unattended games."""
    async with running(Config(data=tmp_path, limits=Limits(tables=3))) as server:
        (friends,) = await unattended_games(server, 1)
        table = table_of(server, friends)
        table.state.opened = replace(table.state.opened, origin="elsewhere")
        await unattended_games(server, 8)
        assert server.lobby.tables[friends[0].code] is table
        # Fewer than there are, as after a restart with other limits.
        limits = dataclasses.replace(server.lobby.config.limits, tables=2)
        server.lobby.config = dataclasses.replace(server.lobby.config, limits=limits)
        await unattended_games(server, 1)
        assert len(server.lobby.tables) == 2


async def test_a_game_of_an_older_journal_shares_its_origin_with_no_other(tmp_path: Path) -> None:
    """Nobody knows who opened it, so it does not count against anyone."""
    async with running(Config(data=tmp_path, limits=SHORT_LIMITS)) as server:
        async with game(server.port, 2) as peers:
            table = table_of(server, peers)
            table.state.opened = replace(table.state.opened, origin="")
        await eventually(lambda: not server.lobby.tables)
        journal = journal_of(server)
        assert journal._archive._games[peers[0].code] == ArchivedGame(peers[0].code, played=False)


@example([("a", True), ("a", False)], 5, 1)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.booleans()), min_size=1, max_size=40),
    st.integers(1, 5),
    st.integers(5, 10),
)
def test_the_largest_address_loses_games_first(games: list[tuple[str, bool]], share: int, most: int) -> None:
    """If every address is within its share, unplayed games go before played ones."""
    index = ArchiveIndex(share)
    for number, (origin, played) in enumerate(games):
        index.add(str(number), ArchivedGame(origin, played))
        counts = Counter(game.origin for game in index._games.values())
        while len(index.codes) > most:
            gone = index.discard(index.least_worth())
            assert gone is not None
            if max(counts.values()) > share:
                assert counts[gone.origin] == max(counts.values())
            same = [other for other in index._games.values() if max(counts.values()) <= share]
            assert not (gone.played and any(not other.played for other in same))
            counts[gone.origin] -= 1


async def test_a_damaged_archived_game(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = Config(data=tmp_path, limits=SHORT_LIMITS)
    async with running(config) as server, game(server.port, 2) as peers:
        pass
    async with running(config) as server:
        await eventually(lambda: not server.lobby.tables)
        journal = journal_of(server)
        with journal._database as database:  # as when a disk forgets while the server runs
            database.execute("UPDATE archive SET entries = x'00'")
        async with connected(server.port) as peer, game(server.port, 2) as others:
            for number in range(2):
                back = messages.Resume(number, peers[0].code, peers[0].token)
                assert await peer.refusal(back) == Code.TABLE_DAMAGED
            await play_on(others, random.Random(6), moves=2)
    assert "a damaged table is set aside" in caplog.messages
    assert peers[0].code not in codes_in_file(tmp_path, "archive")  # where the others may be by now
    assert codes_in_file(tmp_path, "set_aside") == {peers[0].code}
