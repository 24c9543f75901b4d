"""Studies: a finished game that goes on from one of its moments at a new table, and counts for nothing."""

import contextlib
import random
from dataclasses import replace
from pathlib import Path

from engine.events import GameStarted, lasting, stops
from engine.pieces import Seat
from engine.redaction import redacted
from engine.view import SPECTATOR, eyes_of
from protocol import messages
from protocol.codes import Code
from protocol.events import event_map
from server.app import Running, running
from server.config import Config, Limits
from tests.server import peer
from tests.server.tables.hosted import game_of, next_state_where, play_to_the_end, served
from tests.server.tables.test_rematch import finished_game


async def _study(asker: peer.Peer, step: int) -> str:
    """Open a study, and return its code."""
    await asker.done(messages.Study, step)
    state = asker.told(messages.TableState)[-1]  # before the answer
    assert state.studied is not None
    assert (state.studied.step, state.studied.seat) == (step, asker.seat)
    return state.studied.table


def _until(server: Running, code: str, step: int) -> list[messages.EventMap]:
    """Return what a spectator and then each seat may see of the game at a table up to this step."""
    found = server.lobby.tables[code].state.game
    assert found is not None
    events = lasting(found.events)
    begun, *others = events[: stops(events)[step]]
    assert isinstance(begun, GameStarted)
    return [
        event_map(redacted(event, eyes))
        for eyes in (SPECTATOR, *(eyes_of(Seat(seat)) for seat in range(found.view.seats)))
        for event in (replace(begun, draws=None), *others)
    ]


async def test_a_finished_game_goes_on_from_a_moment_and_counts_for_nothing(tmp_path: Path) -> None:
    """Everybody sees of it what their seat saw then, and gets their seat back; a restart keeps it."""
    records, step = tmp_path / "records", 30
    config = Config(data=tmp_path / "data", records=records)
    async with running(config) as server, finished_game(server, 3, watched=True) as peers:
        code = await _study(peers[1], step)
        for other in (peers[0], peers[3]):
            await next_state_where(other, lambda state: state.studied == messages.Studied(code, step, 1))
        tables = await peers[0].answer(messages.Tables, messages.ListTables)
        assert {each.table: (each.study, each.vacant) for each in tables.tables} == {
            code: (True, 3),
            peers[0].code: (False, 0),
        }
        assert await peers[3].refusal(messages.Study, 3) == Code.NOT_A_PLAYER
        last = await peers[0].refused(messages.Study, 255)
        assert last.code == Code.NO_SUCH_STEP
        assert last.about == {"last": str(len(stops(lasting(game_of(server, peers).events))) - 3)}
        seen = _until(server, code, step)
        assert seen == _until(server, peers[0].code, step)
        await peer.eventually(lambda: len(list(records.iterdir())) == 1)
    async with contextlib.AsyncExitStack() as stack, running(config) as server:
        assert _until(server, code, step) == seen
        players = [await stack.enter_async_context(peer.connected(server.port)) for _ in range(3)]
        for seat in (2, 0, 1):
            assert (await players[seat].join(code, f"Player {seat}")).seat == seat
            await players[seat].news()
        peer.check_views(table := peer.table_of(server, players), players)
        await peer.play_on(players, random.Random(2))
        state = await next_state_where(players[0], lambda state: state.stage == "over")
        assert state.study
        assert [seat.standing for seat in state.seats] == [messages.NEWCOMER] * 3
        assert (table.state.played, server.lobby.counts.games) == (False, 0)
        assert await server.lobby.journal.records_due() == []
        assert len(list(records.iterdir())) == 1
        again = (await peer.rematch(players[0])).table
        assert not server.lobby.tables[again].state.study


async def test_a_bot_plays_at_once_for_a_seat_of_a_study_that_nobody_has_taken() -> None:
    async with served() as server, finished_game(server, 2) as peers:
        code = await _study(peers[0], 12)
        async with peer.connected(server.port) as alone:
            await alone.join(code, "Player 0")
            await alone.done(messages.SubstituteNow, 1)
            await play_to_the_end([alone])
            assert peer.table_of(server, [alone]).state.stage == "over"


async def test_a_study_costs_what_another_table_does(tmp_path: Path) -> None:
    """One that nobody joins is forgotten."""
    config = Config(data=tmp_path, limits=Limits(tables_per_connection=2, over_seconds=0.01))
    async with running(config) as server, finished_game(server, 2) as peers:
        code = await _study(peers[0], 0)
        await peer.eventually(lambda: code not in server.lobby.tables)
        assert code not in server.lobby.journal.archived
        assert await peers[0].refusal(messages.Study, 0) == Code.TOO_SOON
