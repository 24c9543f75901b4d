"""What a client heard of is stored: restarts, kills and full disks lose nothing and invent nothing."""

import asyncio
import contextlib
import random
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import pytest

from engine.pieces import Seat
from engine.view import View
from protocol.codes import Code
from protocol.messages import Done, Events, JoinTable, Leave, OpenTable, Say, StartGame, TableState
from server.app import Running, running
from server.config import Config, Limits
from server.errors import JournalError
from server.storage.entries import Entry, Freed, Opened, Played, Taken, entry_text
from server.storage.journal_file import FILE_NAME, SCHEMA_VERSION
from server.storage.sqlite_journal import SqliteJournal
from server.tables.state import PersistentState
from tests.server.peer import (
    Peer,
    all_caught_up,
    check_views,
    connected,
    eventually,
    full_table,
    game,
    peer_on_turn,
    play_on,
    table_of,
)
from tests.server.process import serving


def journal_of(server: Running) -> SqliteJournal:
    journal = server.lobby._journal
    assert isinstance(journal, SqliteJournal)
    return journal


def stored(data: Path) -> list[tuple[str, int, str]]:
    """Return all that a journal holds which nobody uses."""
    with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
        return database.execute("SELECT code, number, body FROM entry ORDER BY code, number").fetchall()


def facts(state: PersistentState) -> dict[str, object]:
    """Return what lasts of a table."""
    game = state.game
    return {
        "options": state.options,
        "absence": state.absence,
        "held": state.bot_seats,
        "votes": state.votes,
        "clocks": [state.clocks.left(Seat(seat)) for seat in range(len(state.players))],
        "players": [player and (player.name, player.token_hash) for player in state.players],
        "entries": state.entry_count,
        "stage": state.stage,
        "host": state.host,
        "events": game and game.events,
        "view": game and game.view,
        "legal": game and game.legal(),
    }


@contextlib.asynccontextmanager
async def back(port: int, *peers: Peer) -> AsyncIterator[list[Peer]]:
    """Bring players and spectators back from what they last knew, over new connections."""
    async with contextlib.AsyncExitStack() as stack:
        again = []
        for peer in peers:
            other = await stack.enter_async_context(connected(port))
            other.code, other.token, other.seat, other.id = peer.code, peer.token, peer.seat, peer.id
            other.view, other.seq, other.seen = peer.view, peer.seq, peer.seen
            if peer.seat is None:
                await other.watch(peer.code, after=peer.seq)
            else:
                await other.resume(peer.code, peer.token, after=peer.seq)
            if peer.seq or peer.view:
                await other.news()
            again.append(other)
        yield again


async def test_nobody_hears_of_a_move_before_it_is_stored(tmp_path: Path) -> None:
    """While the commit has not come back, neither the mover nor anyone else is told."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2, watched=True) as peers:
        journal = journal_of(server)
        may_commit, append = asyncio.Event(), journal.append
        waiting = asyncio.Event()

        async def slowly(code: str, first: int, entries: Sequence[Entry]) -> None:
            waiting.set()
            await may_commit.wait()
            await append(code, first, entries)

        journal.append = slowly  # type: ignore[method-assign]
        try:
            move = peers[0].random_move(random.Random(1))
            await peers[0].send(move)
            await waiting.wait()
            for peer in peers[1:]:
                await peer.nothing_but_pong()
            with pytest.raises(TimeoutError):  # the mover's own ping would wait for its move
                await asyncio.wait_for(peers[0].socket.recv(), 0.05)
            check_views(table_of(server, peers), peers)
        finally:
            may_commit.set()
        seq = peers[0].seq + 1
        await all_caught_up(peers, seq)
        check_views(table_of(server, peers), peers)


async def test_a_restart_resumes_every_table(tmp_path: Path) -> None:
    """Seats by token, views, event numbers, legal moves: every game goes on as if nothing had been."""
    chooser = random.Random(2)
    async with (
        running(Config(data=tmp_path)) as server,
        game(server.port, 3, watched=True, random_layout=False) as first,
        game(server.port, 2) as other,
    ):
        await play_on(first, chooser, moves=2)
        await play_on(other, chooser, moves=5)
        tables = {code: facts(table.state) for code, table in server.lobby.tables.items()}
        parties: list[list[Peer]] = [first, other]
    for moves in (1, 3, 20, 1000):
        async with running(Config(data=tmp_path)) as server:
            assert {code: facts(table.state) for code, table in server.lobby.tables.items()} == tables
            again = []
            async with contextlib.AsyncExitStack() as stack:
                for party in parties:
                    peers = await stack.enter_async_context(back(server.port, *party))
                    check_views(table_of(server, peers), peers)
                    await play_on(peers, chooser, moves=moves)
                    check_views(table_of(server, peers), peers)
                    again.append(peers)
                tables = {code: facts(table.state) for code, table in server.lobby.tables.items()}
            parties = again
    assert all(peer.view is not None and peer.view.result is not None for party in parties for peer in party)


async def test_a_restart_keeps_a_table_that_has_not_begun(tmp_path: Path) -> None:
    """Players come back to their seats, a newcomer fills the last one, and the game starts."""
    async with (
        running(Config(data=tmp_path)) as server,
        connected(server.port) as anna,
        connected(server.port) as bruno,
    ):
        code = (await anna.open(3, "Anna", starting=2)).table
        await bruno.join(code, "Bruno", seat=2)
    async with running(Config(data=tmp_path)) as server, back(server.port, anna, bruno) as peers:
        assert (await peers[0].refused(StartGame(peers[0].next_id()))).code == Code.SEATS_EMPTY
        async with connected(server.port) as carla:
            assert (await carla.join(code, "Carla")).seat == 1
            await peers[0].done(StartGame(peers[0].next_id()))
            assert peers[0].view is not None
            assert peers[0].view.start.starting == 2


async def test_after_a_restart_absent_players_lose_seats_at_tables_that_have_not_begun(
    tmp_path: Path,
) -> None:
    """The grace begins anew with the server, also for those who never came back."""
    async with running(Config(data=tmp_path)) as server, full_table(server.port, 2) as (anna, _):
        pass
    limits = Limits(seat_grace_seconds=0.2)
    async with running(Config(data=tmp_path, limits=limits)) as server, back(server.port, anna) as (again,):
        state = await again.until(TableState)
        while state.seats[1].name is not None:
            state = await again.until(TableState)
        assert state.seats[0].here
    async with running(Config(data=tmp_path, limits=limits)) as server:
        await eventually(lambda: not server.lobby.tables)


async def test_answers_survive_a_restart(tmp_path: Path) -> None:
    """A move that comes again is answered and counts once; its id is not free for another."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        move = peers[0].random_move(random.Random(3))
        await peers[0].done(move)
        await all_caught_up(peers, peers[0].seq)
    async with running(Config(data=tmp_path)) as server, back(server.port, *peers) as again:
        entries = table_of(server, again).state.entry_count
        assert await again[0].ask(move) == Done(move.id)
        assert (await again[0].refused(Say(move.id, "hm"))).code == Code.ID_REUSED
        assert table_of(server, again).state.entry_count == entries
        check_views(table_of(server, again), again)


async def test_the_file_holds_whole_facts_and_no_token(tmp_path: Path) -> None:
    """Folding its entries gives the live table; of tokens there are only hashes."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(4))
        live = facts(table_of(server, peers).state)
    journal = SqliteJournal(tmp_path)
    entries = journal.tables()[peers[0].code]
    await journal.close()
    state = table_of(server, peers).state
    assert facts(PersistentState(entries, state.chance)) == live
    content = (tmp_path / FILE_NAME).read_bytes()
    assert not any(peer.token.encode() in content for peer in peers)


async def test_a_closed_table_leaves_the_file(tmp_path: Path) -> None:
    """Its code is free again, and the file does not grow for ever."""
    async with running(Config(data=tmp_path)) as server, connected(server.port) as peer:
        await peer.open(2)
        await peer.done(Leave(peer.next_id()))
        await peer.open(2)
        kept = peer.code
    assert {code for code, _, _ in stored(tmp_path)} == {kept}


async def test_the_file_is_private(tmp_path: Path) -> None:
    """The folder that the server makes is its owner's alone: the file knows every hand."""
    async with running(Config(data=tmp_path / "new" / "folder")):
        assert (tmp_path / "new" / "folder").stat().st_mode & 0o077 == 0


@contextlib.contextmanager
def full_disk(server: Running) -> Iterator[None]:
    """Make every write to the journal fail."""
    database = journal_of(server)._database
    database.execute("PRAGMA query_only = ON")
    try:
        yield
    finally:
        database.execute("PRAGMA query_only = OFF")


async def test_what_cannot_be_stored_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """Open, join, start, move and leave; the same messages succeed when the journal can be written again."""
    async with (
        running(Config(data=tmp_path)) as server,
        full_table(server.port, 2, random_layout=True, starting=0) as peers,
        connected(server.port) as late,
    ):
        table = table_of(server, peers)
        host, other = peers

        async def check_fails(peer: Peer, message: OpenTable | JoinTable | StartGame | Leave) -> None:
            before = facts(table.state)
            with full_disk(server):
                refused = await peer.refused(message)
                assert (refused.code, refused.rule) == (Code.NOT_STORED, None)
                for each in (*peers, late):
                    await each.nothing_but_pong()
            assert facts(table.state) == before
            assert list(server.lobby.tables) == [host.code]

        await check_fails(late, OpenTable(1, 2, "Late"))
        await check_fails(other, Leave(2))
        await other.done(Leave(2))
        await host.until(TableState)
        await check_fails(other, JoinTable(3, host.code, "Other"))
        await other.join(host.code, "Other")
        await other.until(TableState)
        await host.until(TableState)
        start = StartGame(4)
        await check_fails(host, start)
        await host.done(start)
        await other.news()
        for peer in peers:
            await peer.until(TableState)
        move = host.random_move(random.Random(5))
        await check_fails(host, move)  # type: ignore[arg-type]
        await host.done(move)
        await all_caught_up(peers, host.seq)
        check_views(table, peers)
    assert len(stored(tmp_path)) == table.state.entry_count


async def test_a_newer_file_is_refused_and_left_alone(tmp_path: Path) -> None:
    """This version cannot know what it would destroy."""
    path = tmp_path / FILE_NAME
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE of_the_future (x)")
        database.execute(f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    before = path.read_bytes()
    with pytest.raises(JournalError, match="newer Palatinus"):
        async with running(Config(data=tmp_path)):
            pass
    assert path.read_bytes() == before


def damaged_header(data: Path) -> None:
    path = data / FILE_NAME
    path.write_bytes(b"x" * 100 + path.read_bytes()[100:])


def damaged_middle(data: Path) -> None:
    path = data / FILE_NAME
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xa5" * 4096 + content[8192:])


def cut_short(data: Path) -> None:
    path = data / FILE_NAME
    path.write_bytes(path.read_bytes()[:5000])


def written(statement: str, *values: object) -> Callable[[Path], None]:
    def damage(data: Path) -> None:
        with contextlib.closing(sqlite3.connect(data / FILE_NAME)) as database:
            database.execute(statement, values)
            database.commit()

    return damage


def replaced(entry: Entry) -> Callable[[Path], None]:
    return written("UPDATE entry SET body = ? WHERE number = 3", entry_text(entry))


@pytest.mark.parametrize(
    "damage",
    [
        damaged_header,
        damaged_middle,
        cut_short,
        written("UPDATE entry SET body = '{' WHERE number = 2"),
        written("""UPDATE entry SET body = '{"t":"unheard of"}' WHERE number = 2"""),
        written("UPDATE entry SET body = x'ff00' WHERE number = 2"),
        written("DELETE FROM entry WHERE number = 2"),
        written("DELETE FROM entry WHERE number = 0"),
        written("DROP TABLE entry"),
        replaced(Taken(9, "Nobody", "")),
        replaced(Freed(9)),
        replaced(Opened(17, random_layout=False, starting=None)),
        replaced(Played(0, StartGame(1), [{"t": "unheard of"}])),
        replaced(Played(0, StartGame(1), [{"t": "placed", "seat": 0, "piece": "Em", "field": "A1"}])),
        replaced(Played(0, StartGame(1), [])),
    ],
)
async def test_a_damaged_file_is_refused_and_left_alone(
    tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    """One clear sentence, whatever is wrong with it."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(6), moves=8)
    damage(tmp_path)
    before = (tmp_path / FILE_NAME).read_bytes()
    with pytest.raises(JournalError, match=FILE_NAME) as error:
        async with running(Config(data=tmp_path)):
            pass
    assert "\n" not in str(error.value)
    assert (tmp_path / FILE_NAME).read_bytes() == before


async def test_a_file_in_use_is_refused(tmp_path: Path) -> None:
    """The server that has it plays on."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2) as peers:
        with pytest.raises(JournalError, match="another server, or palatinus tables, is using"):
            async with running(Config(data=tmp_path)):
                pass
        await play_on(peers, random.Random(7), moves=2)


async def test_many_tables_share_commits_and_each_gets_its_own_entries(tmp_path: Path) -> None:
    """What several tables store at once is stored for each."""
    async with running(Config(data=tmp_path)) as server, contextlib.AsyncExitStack() as stack:
        parties = [await stack.enter_async_context(game(server.port, 2)) for _ in range(6)]
        await asyncio.gather(*(play_on(peers, random.Random(8), moves=6) for peers in parties))
        tables = {code: facts(table.state) for code, table in server.lobby.tables.items()}
    async with running(Config(data=tmp_path)) as server:
        assert {code: facts(table.state) for code, table in server.lobby.tables.items()} == tables


async def test_a_killed_server_loses_no_move_that_anyone_heard_of(tmp_path: Path) -> None:
    """Killed again and again right after a move was seen; the game goes on with nothing lost or doubled.

    At either durability, in turn: a commit of the other kind must not be told sooner.
    """
    chooser = random.Random(9)
    kills = 6
    peers: list[Peer] = []
    heard: View | None = None
    for kill in range(kills + 1):
        durable = ("normal", "full")[kill // 2 % 2]
        async with (
            serving("--data", str(tmp_path), "--durable", durable) as server,
            contextlib.AsyncExitStack() as stack,
        ):
            if not peers:
                peers = await stack.enter_async_context(game(server.port, 2, watched=True))
            else:
                peers = await stack.enter_async_context(back(server.port, *peers))
                await all_caught_up(peers, max(peer.seq for peer in peers))
            await play_on(peers, chooser, moves=chooser.randrange(4))
            if kill == kills:
                await play_on(peers, chooser)
                heard = peers[-1].view
                break
            mover = peer_on_turn(peers)
            assert mover is not None
            move = mover.random_move(chooser)
            await mover.send(move)
            first_to_hear = peers[-1] if kill % 2 else mover
            await first_to_hear.caught_up(first_to_hear.seq + 1)
            server.process.kill()
            for peer in peers:
                await peer.closed()
    assert heard is not None
    assert heard.result is not None
    assert [len(peer.seen) for peer in peers] == [3 + 32 + len(heard.scoring)] * 3


async def test_a_move_that_was_killed_unheard_is_played_once_when_it_comes_again(tmp_path: Path) -> None:
    """Whether it was stored or not: the client sends it again under its id, and it counts once."""
    chooser = random.Random(10)
    async with serving("--data", str(tmp_path)) as server, game(server.port, 2) as peers:
        await play_on(peers, chooser, moves=2)
        known = peers[0].seq  # the server may still tell the move before it dies
        move = peers[0].random_move(chooser)
        await peers[0].send(move)
        server.process.kill()
        for peer in peers:
            await peer.closed()
    async with serving("--data", str(tmp_path)) as server, back(server.port, *peers) as again:
        answer = await again[0].ask(move)
        assert isinstance(answer, Done | Events)
        await all_caught_up(again, known + 1)
        assert isinstance(await again[0].ask(move), Done)
        await again[1].nothing_but_pong()


async def test_the_journal_is_for_its_owners_eyes(tmp_path: Path) -> None:
    """It holds hidden pieces: no other user of the host's machine may read any of its files."""
    async with running(Config(data=tmp_path)) as server, game(server.port, 2):
        assert {path.stat().st_mode & 0o077 for path in journal_of(server).path.parent.iterdir()} == {0}
