"""Looking back on a finished game together."""

import random
import re
from dataclasses import replace
from pathlib import Path

from client.ui.screens.scoring import steps
from engine.events import GameStarted, lasting, stops
from engine.pieces import Seat
from engine.redaction import redacted
from engine.view import SPECTATOR, eyes_of
from protocol import messages
from protocol.codes import Code
from protocol.events import event_map
from protocol.messages import Seen, Show, Shown
from server.app import Running, running
from server.config import Config, Limits
from server.storage.entries import GivenToBot
from tests.pages.serving.viewer import seated_in_browser
from tests.server.peer import Peer, all_connected, connected, eventually, next_state_where
from tests.server.playing import check_views, finished_game, game, happen, memory_server, play_on, table_of
from tests.server.tables.hosted import check_makes_no_room, game_of, play_to_the_end, served
from tests.server.tables.test_answers import repeated


async def _see(peers: list[Peer], shown: Shown | None) -> None:
    for peer in peers:
        await next_state_where(peer, lambda state: state.shown == shown)


async def test_one_at_a_time_leads_until_they_stop_or_go() -> None:
    async with memory_server() as server, finished_game(server, 3, watched=True) as peers:
        first, second, third, spectator = peers
        before = table_of(server, peers).state.entry_count
        await first.done(Show, 7)
        await _see(peers[1:], Shown(7, 0))
        for other in (second, spectator):
            assert await other.refusal(Show, 3) == Code.LED_ALREADY
        async with connected(server.port) as late:
            await late.watch(first.code)
            await _see([late], Shown(7, 0))
        await first.done(Show)
        await _see(peers[1:], None)
        await spectator.done(Show, 0)
        await _see(peers[:3], Shown(0, spectator=1))
        await spectator.socket.close()
        await _see(peers[:3], None)
        await third.done(Show, 255)
        await _see(peers[:2], Shown(255, 2))
        async with connected(server.port) as resumed:  # whose client knows nothing of having led
            await resumed.resume(first.code, third.token)
            await _see([first, second, resumed], None)
        assert table_of(server, peers).state.entry_count == before


async def test_who_has_seen_a_step_is_told_as_long_as_somebody_leads() -> None:
    async with memory_server() as server, finished_game(server, 3, watched=True) as peers:
        first, second, third, spectator = peers
        await second.done(Seen, 9)
        await first.done(Show, 7)
        await _see(peers[1:], Shown(7, 0, seen=[1]))
        await third.done(Seen, 6)
        await first.done(Show, 6)
        await _see(peers[1:], Shown(6, 0, seen=[1, 2]))
        await second.done(Seen, 2)  # who goes back has seen what comes later nevertheless
        await first.done(Seen, 20)
        await first.done(Show, 9)
        await _see(peers[1:], Shown(9, 0, seen=[1]))
        await first.done(Show)
        await spectator.done(Show, 20)
        await _see(peers[:3], Shown(20, spectator=1, seen=[0]))


async def test_every_step_is_shown_at_last_however_fast_they_come() -> None:
    async with memory_server() as server, finished_game(server, 2) as peers:
        for step in range(30):
            await peers[0].send(Show(peers[0].next_id(), step))
        await _see(peers, Shown(29, 0))
        states = [each for each in peers[1].received if getattr(each, "shown", None) is not None]
        assert len(states) < 25  # after 20 in a row, at most twice a second


async def _study(asker: Peer, step: int) -> str:
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
    records, step = tmp_path / "records", 30
    config = Config(data=tmp_path / "data", records=records)
    async with running(config) as server, finished_game(server, 3, watched=True) as peers:
        code = await _study(peers[1], step)
        for other in (peers[0], peers[3]):
            await next_state_where(other, lambda state: state.studied == messages.Studied(code, step, 1))
        tables = await peers[0].answer(messages.Tables, messages.ListTables)
        shown = {each.table: (each.study, each.vacant) for each in tables.tables}
        assert shown == {code: (True, 3), peers[0].code: (False, 0)}
        assert await peers[3].refusal(messages.Study, 3) == Code.NOT_A_PLAYER
        last = await peers[0].refused(messages.Study, 255)
        assert last.code == Code.NO_SUCH_STEP
        assert last.about == {"last": str(len(stops(lasting(game_of(server, peers).events))) - 3)}
        seen = _until(server, code, step)
        assert seen == _until(server, peers[0].code, step)
        await eventually(lambda: len(list(records.iterdir())) == 1)
    async with running(config) as server, all_connected(server.port, 3) as players:
        assert _until(server, code, step) == seen
        for seat in (2, 0, 1):
            assert (await players[seat].join(code, f"Player {seat}")).seat == seat
            await players[seat].news()
        check_views(table := table_of(server, players), players)
        await play_on(players, random.Random(2))
        state = await next_state_where(players[0], lambda state: state.stage == "over")
        assert state.study
        assert [seat.standing for seat in state.seats] == [messages.NEWCOMER] * 3
        assert (table.state.played, server.lobby.counts.games) == (False, 0)
        assert await server.lobby.journal.records_due() == []
        assert len(list(records.iterdir())) == 1


async def test_a_bot_plays_at_once_for_a_seat_of_a_study_that_nobody_has_taken() -> None:
    async with served() as server, finished_game(server, 2) as peers:
        code = await _study(peers[0], 12)
        async with connected(server.port) as alone:
            await alone.join(code, "Player 0")
            await happen(server, alone, GivenToBot(1))
            await play_to_the_end([alone])
            assert table_of(server, [alone]).state.stage == "over"


async def test_a_study_costs_what_another_table_does(tmp_path: Path) -> None:
    """One that nobody joins is forgotten."""
    config = Config(data=tmp_path, limits=Limits(tables_per_connection=2, over_seconds=0.01))
    async with running(config) as server, finished_game(server, 2) as peers:
        code = await _study(peers[0], 0)
        await eventually(lambda: code not in server.lobby.tables)
        assert code not in server.lobby.journal.archived
        assert await peers[0].refusal(messages.Study, 0) == Code.TOO_SOON


async def test_a_study_is_opened_once(config: Config) -> None:
    async with running(config) as server, game(server.port, 2) as peers:
        await play_to_the_end(peers)
        study = messages.Study(peers[0].next_id(), 3)
        await peers[0].done(study)
        assert len(server.lobby.tables) == 2
    await repeated(config, peers, [(peers[0], study)])
    async with running(config) as server:
        assert len(server.lobby.tables) == 2


async def test_a_table_never_makes_room_for_a_study_of_its_game(tmp_path: Path) -> None:
    await check_makes_no_room(tmp_path, messages.Study(1, 5))


async def test_a_page_follows_who_leads_if_its_player_wants_that() -> None:
    async with seated_in_browser(starting=1) as (host, page):
        await host.send(messages.StartGame(host.next_id()))
        await page.news()
        await host.news()
        await play_on((host, page), random.Random(1))
        await page.until_shown(lambda parts: "rematch" in parts.get("ask", ""))
        await page.socket.send('{"moment": 999}')
        await page.until_shown(lambda parts: "<table>" in parts["result"])
        await host.done(Show, 5)
        await page.until_shown(lambda parts: "Host leads" in parts["look"])
        assert "<table>" in page.parts["result"]
        await page.socket.send('{"follow": true}')
        await page.until_shown(lambda parts: ">6/" in parts["look"] and "Looking back" in parts["now"])
        await host.done(Show, 255)
        await page.until_shown(lambda parts: "<table>" in parts["result"])
        await host.done(Show, 36)
        last = 6 + len(host.sight.placed) + 1 + len(steps(host.sight))  # after as many tiles
        await page.until_shown(lambda parts: f">37/{last}<" in parts["look"])
        assert not re.search(r"\?\*", "".join(page.parts[f"hex{each}"] for each in range(50)))
        await page.socket.send('{"follow": false, "moment": 3}')
        await page.until_shown(lambda parts: ">3/" in parts["look"])
        await host.done(Show)
        await page.until_shown(lambda parts: "leads" not in parts["look"])
