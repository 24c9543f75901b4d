"""At an evening, nobody decides with whom they play again."""

from protocol import messages
from protocol.admin import EveningPlan
from protocol.codes import Code
from server.app import running
from tests.server.tables.evenings import Guest, config, draw, signed_up


async def test_nobody_plays_again_at_a_table_of_an_evening() -> None:
    guests = [Guest(f"Guest {number}") for number in range(3)]
    plan = EveningPlan("Friday", rounds=1)
    async with running(config(plan)) as server, signed_up(server, guests):
        draw(server)
        await guests[0].go(await guests[0].called(1))
        assert await guests[0].peer.refusal(messages.Rematch) == Code.OF_THE_EVENING
