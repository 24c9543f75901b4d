"""What becomes of plans when moves are taken back."""

from engine.pieces import Seat
from protocol.messages import Ask, Planned
from tests.server.manual_clock import ManualClock
from tests.server.playing import game, table_of
from tests.server.tables.hosted import game_of, served
from tests.server.tables.rooms.test_plans import place, plan


async def test_a_move_taken_back_takes_the_plan_for_after_it_away() -> None:
    """Otherwise it would be made in place of that move; nobody else's plan is touched."""
    time = ManualClock()
    async with served(pause=1.0, time=time) as server, game(server.port, 2) as peers:
        hands = game_of(server, peers).view.hands
        await peers[0].done(place(peers[0], on="A1"))
        await plan(peers[0], str(next(iter(hands[Seat(0)]))), "D2")
        await plan(peers[1], str(next(iter(hands[Seat(1)]))), "D4")
        for peer in peers:
            await peer.done(Ask, "take-back", on=True)
        assert await peers[0].until(Planned) == Planned()
        state = table_of(server, peers).state
        assert not state.planned(Seat(0))
        assert state.planned(Seat(1))
        time.advance(10)
        await peers[0].caught_up(peers[1].seq)
        assert Planned() in peers[0].received
        assert game_of(server, peers).view.turn == 0
