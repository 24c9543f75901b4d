"""What the people who run the server do with a table: close it, and remove a player."""

import random
from pathlib import Path
from unittest.mock import AsyncMock

import pytest

from engine.pieces import Seat
from protocol import messages
from protocol.absence import ByVote, GameClock, Wait
from protocol.codes import Code
from server.app import running
from server.config import Config, Limits
from server.errors import JournalError
from server.refusal import Refusal
from server.tables.state.persistent_state import Player
from tests.server.peer import connected, eventually, full_table, game, memory_server, play_on, table_of
from tests.server.tables.hosted import sent_away


@pytest.mark.parametrize("reason", [None, "Rude names."])
async def test_everybody_at_a_closed_table_is_told_and_is_in_the_lobby(reason: str | None) -> None:
    async with memory_server() as server, game(server.port, 2, watched=True) as peers:
        await server.lobby.registry.close(peers[0].code, reason)
        for peer in peers:
            if reason is not None:
                assert (await peer.until(messages.Announced)).text == reason
            assert (await sent_away(peer)).code == Code.CLOSED_BY_SERVER
            await peer.open(2, "Still here")


async def test_an_archived_table_can_be_closed_too(tmp_path: Path) -> None:
    config = Config(data=tmp_path, limits=Limits(over_seconds=0.01))
    async with running(config) as server:
        async with game(server.port, 2) as peers:
            await play_on(peers, random.Random(1))
        await eventually(lambda: peers[0].code in server.lobby.journal.archived)
        await server.lobby.registry.close(peers[0].code, None)
        assert not server.lobby.journal.archived
    async with running(config) as server:
        assert not server.lobby.journal.archived


async def test_a_closed_table_answers_whoever_still_knows_it() -> None:
    """Nobody is there any more, and everything is refused."""
    async with memory_server() as server, game(server.port, 2) as peers:
        table = table_of(server, peers)
        session = table._context.audience.seated[Seat(0)]
        await table.close(None)
        for refused in (
            table.handle(session, messages.Sync(1)),
            table.enter(session, messages.JoinTable(1, table.code, "Anna")),
            table.enter(session, messages.Resume(1, table.code, peers[0].token)),
            table.enter(session, messages.Watch(1, table.code)),
            *(table.handle(session, messages.Rematch(1)), table.handle(session, messages.GetRecord(1))),
            *(table.arrive(session, 1, Player("Anna", "")), table.close(None), table.remove_player(Seat(0))),
        ):
            with pytest.raises(Refusal):
                await refused
        for now_refused in (lambda: table.seat_opener(session, 1, ""), table.as_seen):
            with pytest.raises(Refusal):
                now_refused()
        await table.disconnect(session)
        await table.shorten_if_long()
        assert await table.archive(attended=False)
        table.stop()
        table.tell_state()
        assert not table.audience
        assert table.seconds_unattended() is table.unattended_since is None
        assert table.summary().table == table.code


async def test_a_table_that_cannot_be_stored_as_closed_stays_open() -> None:
    async with memory_server() as server, game(server.port, 2) as peers:
        failing = AsyncMock(side_effect=JournalError("the disk is full"))
        server.lobby.journal.append = failing  # type: ignore[method-assign]
        with pytest.raises(JournalError):
            await server.lobby.registry.close(peers[0].code, "Nothing of this is said.")
        await peers[0].nothing_but_pong()
        assert peers[0].code in server.lobby.tables


async def test_before_the_game_the_seat_of_a_removed_player_is_free() -> None:
    async with memory_server() as server, full_table(server.port, 2) as peers:
        assert await server.lobby.registry.table(peers[0].code).remove_player(Seat(1))
        assert (await sent_away(peers[1])).code == Code.REMOVED_BY_SERVER
        state = await peers[0].until(messages.TableState)
        assert [seat.name for seat in state.seats] == ["Player 0", None]
        assert await peers[1].refusal(messages.Resume, peers[0].code, peers[1].token) == Code.BAD_TOKEN
        assert not await server.lobby.registry.table(peers[0].code).remove_player(Seat(1))
        async with connected(server.port) as other:
            assert (await other.join(peers[0].code, "Other")).seat == 1


@pytest.mark.parametrize("absence", [Wait(), ByVote(0), GameClock(600)])
async def test_in_a_running_game_a_bot_plays_for_a_removed_player(absence: Wait | ByVote | GameClock) -> None:
    """Under every policy and to the end; the others need not wait, and nobody has the token any more."""
    async with memory_server(stand_in_seconds=0) as server, game(server.port, 2, absence=absence) as peers:
        assert await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        assert (await sent_away(peers[0])).code == Code.REMOVED_BY_SERVER
        while (state := await peers[1].until(messages.TableState)).seats[0].here:
            pass
        assert state.seats[0].bot
        moved = await peers[1].until(messages.Events)
        assert moved.by == "bot"
        assert await peers[0].refusal(messages.Resume, peers[0].code, peers[0].token) == Code.BAD_TOKEN
        if isinstance(absence, ByVote):
            assert await peers[1].refusal(messages.Vote, 0, agree=False) == Code.BOT_PLAYS_ALREADY


async def test_an_absent_player_can_be_removed() -> None:
    async with memory_server(stand_in_seconds=0) as server, game(server.port, 2) as peers:
        await peers[0].done(messages.Leave)
        assert await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        assert (await peers[1].until(messages.Events)).by == "bot"


async def test_a_removed_player_stays_removed_after_a_restart(tmp_path: Path) -> None:
    """Even if the table was archived in the meantime: the token brings nothing back from there."""
    config = Config(data=tmp_path, limits=Limits(stand_in_seconds=0, unattended_seconds=0.01))
    keeping = Config(data=tmp_path, limits=Limits(stand_in_seconds=0))
    async with running(keeping) as server, game(server.port, 2) as peers:
        await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        await peers[1].until(messages.Events)
    async with running(config) as server, connected(server.port) as peer:
        assert await peer.refusal(messages.Resume, peers[0].code, peers[0].token) == Code.BAD_TOKEN
        await eventually(lambda: peers[0].code in server.lobby.journal.archived)
        assert await peer.refusal(messages.Resume, peers[0].code, peers[0].token) == Code.BAD_TOKEN
        assert peers[0].code in server.lobby.journal.archived
        await peer.resume(peers[1].code, peers[1].token)
        assert (await peer.until(messages.TableState)).seats[0].bot


async def test_the_others_play_again_without_a_removed_player() -> None:
    async with memory_server(stand_in_seconds=0) as server, game(server.port, 2) as peers:
        await play_on(peers, random.Random(1))
        await server.lobby.registry.table(peers[0].code).remove_player(Seat(0))
        answer = await peers[1].answer(messages.Seated, messages.Rematch)
        state = await peers[1].until(messages.TableState)
        assert [seat.name for seat in state.seats] == [None, "Player 1"]
        async with connected(server.port) as other:
            await other.join(answer.table, "Other")
            peers[1].go_back_to(0, [])
            await peers[1].done(messages.StartGame)
