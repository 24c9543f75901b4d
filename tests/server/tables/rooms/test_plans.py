"""Plans: placements that players prepare for when it is their turn."""

import logging
import random
from pathlib import Path

import pytest
from msgspec import structs

from engine.board import Field
from engine.pieces import Seat
from protocol.absence import WAIT, Absence, ByBot, GameClock, MoveClock
from protocol.messages import (
    BesideMoves,
    Condition,
    Events,
    PlacePiece,
    Places,
    Plan,
    Planned,
    PlannedMove,
    PlanPlayed,
    Resume,
    Seated,
    Snapshot,
    Sync,
    TableState,
    WhySkipped,
)
from server.app import running
from server.config import Config
from tests.games import rest_slow
from tests.server.manual_clock import ManualClock
from tests.server.peer import Peer, connected, fields_in
from tests.server.playing import all_caught_up, game, table_of
from tests.server.storage.test_journal import resumed
from tests.server.tables.hosted import game_of, served
from tests.server.tables.test_answers import repeated


async def plan(peer: Peer, piece: str | None = None, field: str | None = None) -> None:
    """Have the peer plan a move, or nothing; the server tells it so."""
    await peer.done(Plan, piece, field)
    assert Planned(piece, field) in peer.received[-2:]


def place(peer: Peer, *, on: str) -> PlacePiece:
    move = peer.random_move(random.Random(1))
    assert isinstance(move, PlacePiece)
    return PlacePiece(move.id, move.piece, on)


@pytest.mark.parametrize("absence", rest_slow(ByBot(0), WAIT, MoveClock(86_400)))
async def test_a_planned_move_is_made_when_the_turn_comes(
    tmp_path: Path, absence: Absence, caplog: pytest.LogCaptureFixture
) -> None:
    """A second later, after a restart and while its player is away, too; as a move of the player's own."""
    caplog.set_level(logging.INFO)
    async with served(tmp_path) as server, game(server.port, 2, absence=absence) as peers:
        piece = str(next(iter(game_of(server, peers).view.hands[Seat(1)])))
        await plan(peers[1], piece, "D2")
        await plan(peers[1], piece, "D4")
        await peers[0].nothing_but_pong()
    time = ManualClock()
    async with served(tmp_path, pause=1.0, time=time) as server, resumed(server.port, *peers) as again:
        assert await again[1].until(Planned) == Planned(piece, "D4")
        for peer in again:
            await peer.done(Sync, 0)
        assert isinstance(again[1].received[-3], Snapshot)  # which shows no plan, so that it is told again
        assert again[1].received[-2] == Planned(piece, "D4")
        assert not any(isinstance(each, Planned) for each in again[0].received)
        await again[1].socket.close()
        await again[0].done(place(again[0], on="A1"))
        time.advance(0.9)
        assert game_of(server, again).view.turn == 1
        time.advance(0.1)
        while (news := await again[0].until(Events)).turn != 0:
            pass
        assert news.by is None
        state = table_of(server, again).state
        assert str(game_of(server, again).view.placed[Field("D4")]) == piece
        assert (state.planned(Seat(1)), state.stood_in) == ([], [])
    assert not [each for each in caplog.messages if "stand-in" in each or "D4" in each]


async def test_a_plan_is_made_where_nothing_was_timed_before() -> None:
    """Nobody comes or goes in between, and nothing has been planned at an earlier turn."""
    time = ManualClock()
    async with served(pause=1.0, time=time) as server, game(server.port, 2) as peers:
        await plan(peers[1], str(next(iter(game_of(server, peers).view.hands[Seat(1)]))), "D4")
        await peers[0].done(place(peers[0], on="A1"))
        time.advance(1)
        await all_caught_up(peers, peers[0].seq + 1)
        assert Field("D4") in game_of(server, peers).view.placed


async def test_a_plan_is_not_made_for_whose_clock_has_run_out() -> None:
    time = ManualClock()
    async with (
        served(time=time) as server,
        game(server.port, 2, absence=GameClock(30)) as (anna, bruno),
    ):
        time.advance(30)
        assert (await anna.until(Events)).by == "clock"
        view = game_of(server, [anna]).view
        own, other = [field for field in ("A1", "B1", "C1") if Field(field) not in view.placed][:2]
        await plan(anna, str(next(iter(view.hands[Seat(0)]))), own)
        await all_caught_up([anna, bruno], anna.seq)
        await bruno.done(place(bruno, on=other))
        while (news := await anna.until(Events)).turn != 1:
            pass
        assert news.by == "clock"


@pytest.mark.parametrize(("second", "skipped"), [("A1", ("condition", "illegal")), ("B1", ("condition",))])
async def test_the_first_plan_that_is_possible_is_made(
    tmp_path: Path, second: str, skipped: tuple[WhySkipped, ...]
) -> None:
    """Its player alone is told which, and why none before it, even after coming back much later."""
    time = ManualClock()
    async with served(tmp_path, pause=1.0, time=time) as server, game(server.port, 2) as peers:
        piece = str(next(iter(game_of(server, peers).view.hands[Seat(1)])))
        plans = (
            PlannedMove(piece, "F1", Condition("A1", 1)),
            PlannedMove(piece, second, Condition("G6", unless=True)),
            PlannedMove(piece, "D4", Condition("A1", 0)),
            PlannedMove(piece, "G1"),
        )
        await peers[1].done(Plan, plans=plans)
        assert Planned(plans=plans) in peers[1].received
        await peers[0].done(place(peers[0], on="A1"))
        time.advance(1)
        await all_caught_up(peers, peers[0].seq + 1)
        told = Planned(played=PlanPlayed(plans[: len(skipped) + 1], skipped))
        assert peers[1].told(Planned)[-1] == told
        assert str(game_of(server, peers).view.placed[Field(plans[len(skipped)].field)]) == piece
    async with served(tmp_path) as server, resumed(server.port, *peers) as again:
        assert await again[1].until(Planned) == told
        assert not any(isinstance(each, Planned) for peer in (peers[0], again[0]) for each in peer.received)


async def test_a_plan_that_is_illegal_when_the_turn_comes_shows_nobody_anything() -> None:
    sent = []
    for plans in (False, True):
        time = ManualClock()
        async with served(pause=1.0, time=time) as server, game(server.port, 2) as peers:
            if plans:
                piece = str(next(iter(game_of(server, peers).view.hands[Seat(1)])))
                await plan(peers[1], piece, "A1")
            await peers[0].done(place(peers[0], on="A1"))
            await all_caught_up(peers, peers[0].seq)
            time.advance(10)
            assert isinstance(peers[1].legal, Places)
            assert "A1" not in fields_in(peers[1].legal)
            await peers[1].done(place(peers[1], on="B1"))
            await all_caught_up(peers, peers[1].seq)
            assert not table_of(server, peers).state.planned(Seat(1))
            sent.append([(each.seq, each.turn, each.by) for each in peers[0].told(Events) if each.seq > 3])
    assert sent[0] == sent[1]
    assert len(sent[0]) >= 2


async def test_how_many_plans_there_are_shows_nobody_anything() -> None:
    """Others are sent the same at the same times, whatever comes before the plan that is made."""
    sent = []
    for before in ((), (PlannedMove("", "E1", Condition("A1", unless=True)), PlannedMove("", "A1"))):
        time = ManualClock()
        async with served(pause=1.0, time=time) as server, game(server.port, 2) as peers:
            piece = str(next(iter(game_of(server, peers).view.hands[Seat(1)])))
            plans = tuple(structs.replace(each, piece=piece) for each in (*before, PlannedMove(piece, "B1")))
            await peers[1].done(Plan, plans=plans)
            await peers[0].done(place(peers[0], on="A1"))
            time.advance(0.9)
            await peers[0].nothing_but_pong()
            time.advance(0.1)
            await all_caught_up(peers, peers[0].seq + 1)
            await peers[0].nothing_but_pong()
            assert Field("B1") in game_of(server, peers).view.placed
            heard = [each for each in peers[0].received if not isinstance(each, Seated | TableState)]
            sent.append([(type(each), structs.asdict(each) | {"id": 0}) for each in heard])
    assert sent[0] == sent[1]


async def test_a_plan_can_be_taken_away_and_has_to_be_possible() -> None:
    time = ManualClock()
    async with served(pause=1.0, time=time) as server, game(server.port, 2) as peers:
        piece = str(next(iter(game_of(server, peers).view.hands[Seat(1)])))
        other = str(next(iter(game_of(server, peers).view.hands[Seat(0)])))
        assert await peers[1].refusal(Plan, other, "A1") == "not-in-hand"
        await plan(peers[1], piece, "B1")
        await peers[0].done(place(peers[0], on="A1"))
        assert await peers[1].refusal(Plan, piece, "A1") == "field-taken"
        elsewhere = (PlannedMove(piece, "C1", Condition("D1", 2)),)
        assert await peers[1].refusal(Plan, plans=elsewhere) == "no-such-seat"
        await plan(peers[1])
        time.advance(10)
        await peers[1].nothing_but_pong()
        assert game_of(server, peers).view.turn == 1


async def test_a_plan_stays_when_its_player_gets_a_new_token() -> None:
    async with served() as server, game(server.port, 2) as peers:
        await plan(peers[1], str(next(iter(game_of(server, peers).view.hands[Seat(1)]))), "D4")
        async with connected(server.port) as again:
            await again.answer(Seated, Resume, peers[0].code, peers[1].token, new_token="N" * 43)
            assert table_of(server, peers).state.planned(Seat(1))


async def test_no_plan_is_made_twice(tmp_path: Path) -> None:
    """A request that comes again after a restart, because its answer was lost, does nothing."""
    config = Config(data=tmp_path)
    async with running(config) as server, game(server.port, 2) as peers:
        piece = str(next(iter(game_of(server, peers).view.hands[Seat(1)])))
        several = PlannedMove(piece, "A1", Condition("B1")), PlannedMove(piece, "A1")
        asked: list[tuple[Peer, BesideMoves]] = [
            (peers[1], Plan(peers[1].next_id(), plans=several)),
            (peers[1], Plan(peers[1].next_id(), piece, "A1")),
            (peers[1], Plan(peers[1].next_id())),
        ]
        for peer, request in asked:
            await peer.done(request)
    await repeated(config, peers, asked)
