"""What a host has asked for is never done twice, whatever becomes of the answer."""

from protocol import messages
from protocol.settings import Title
from server.app import running
from server.config import Config
from tests.server.playing import full_table, game
from tests.server.tables.test_answers import Asked, all_seated, repeated


async def test_nothing_that_a_host_asks_for_before_a_game_is_done_twice(config: Config) -> None:
    """Not even if it would be refused by now, or if its player has been given another seat since."""
    async with running(config) as server, full_table(server.port, 5, bots={4: "random"}) as peers:
        anna, bruno, carla, dario = peers
        asked: list[Asked] = [
            (carla, messages.SayReady(carla.next_id(), on=True)),
            (bruno, messages.ChoosePeople(bruno.next_id(), "A")),
            (anna, messages.ChangeSetting(anna.next_id(), Title("Friday"))),
            (anna, messages.Remove(anna.next_id(), 4)),
            (bruno, messages.ChangeSeat(bruno.next_id(), 4)),
            (anna, messages.SeatBot(anna.next_id(), "random")),
            (carla, messages.SayReady(carla.next_id(), on=True)),
            (anna, messages.Arrange(anna.next_id(), (1, 2, 3, 4, 0))),
            (anna, messages.HandOver(anna.next_id(), 1)),
            (carla, messages.Arrange(carla.next_id())),
            (dario, messages.ChoosePeople(dario.next_id(), "E")),
        ]
        for peer, request in asked:
            await peer.done(request)
        await all_seated(server, peers)
    await repeated(config, peers, asked)


async def test_no_request_during_a_game_is_carried_out_twice(config: Config) -> None:
    async with running(config) as server, game(server.port, 3) as peers:
        anna, bruno, _ = peers
        asked: list[Asked] = [
            (anna, messages.HandOver(anna.next_id(), 1)),
            (bruno, messages.EndGame(bruno.next_id())),
        ]
        for peer, request in asked:
            await peer.done(request)
    await repeated(config, peers, asked)
