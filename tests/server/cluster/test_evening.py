"""An evening that was copied into a database: it goes on at one server after the other, and is no table."""

import asyncio
import random
from pathlib import Path

import pytest

from protocol import messages, pages
from protocol.admin import EveningPlan
from protocol.codes import Code
from server.app import running
from server.storage.names import EVENING
from server.storage.postgresql.database_tables import fill_database
from server.storage.sqlite.data_folder import DataFolder
from tests.server.cluster.running_cluster import cluster
from tests.server.cluster.test_list import listed
from tests.server.manual_clock import FastClock
from tests.server.match import LIMITS
from tests.server.peer import connected, eventually
from tests.server.tables.evenings import Guest, config, draw, play_round, signed_up
from tests.server.tables.hosted import begun

FRIDAY = EveningPlan("Friday", rounds=2)


async def copied(data: Path, database: str) -> None:
    """Copy a data folder into the database, as `palatinus tables copy` does."""
    with DataFolder(data) as folder:
        content = folder.everything()
    await asyncio.to_thread(fill_database, database, content)


async def evening_with(data: Path, guests: list[Guest], *, rounds: int) -> None:
    """Hold an evening in a data folder, with so many rounds played."""
    async with running(config(FRIDAY, data)) as server, signed_up(server, guests):
        for number in range(1, rounds + 1):
            draw(server)
            await play_round(guests, number, random.Random(number))
            await guests[0].evening(lambda told: all(each.games == number for each in told.people))  # noqa: B023 - awaited before the next


async def test_an_evening_goes_to_the_server_that_takes_over(tmp_path: Path, database: str) -> None:
    """Scores, places and the next round are there; nowhere is it a table, and people are sent where it is."""
    guests = [Guest(f"Guest {number}") for number in range(4)]
    await evening_with(tmp_path, guests, rounds=1)
    await copied(tmp_path, database)
    options = {"timers": FastClock, "limits": LIMITS}
    async with cluster(database, "two", **options) as (two,):
        assert two.lobby.evenings.running is not None
        scores = [
            (each.name, each.games, each.points) for each in two.lobby.evenings.running.message().people
        ]
        async with cluster(database, "three", **options) as (three,):
            assert three.lobby.evenings.running is None
            await eventually(lambda: three.lobby.evenings.is_known)
            assert EVENING not in {table.table for table in await listed(three.port)}
            async with connected(three.port) as peer:
                refused = await peer.refused(messages.AskEvening)
                assert (refused.code, (refused.about or {})["table"]) == (Code.TABLE_ELSEWHERE, pages.EVENING)
                assert str(two.port) in (refused.about or {})["address"]
                for code in (pages.EVENING, pages.EVENING[:4]):  # nor by its name, which a table can have
                    assert await peer.refusal(messages.Watch, code) == Code.NO_SUCH_TABLE
            two.stop.set()
            await eventually(lambda: three.lobby.evenings.running is not None)
            assert EVENING not in three.lobby.tables
            assert EVENING not in {table.table for table in await listed(three.port)}
            evening = three.lobby.evenings.running
            assert evening is not None
            assert [(each.name, each.games, each.points) for each in evening.message().people] == scores
            async with signed_up(three, guests):
                draw(three)
                await play_round(guests, 2, random.Random(2))
                over = await guests[0].evening(lambda evening: evening.over)
                assert [each.games for each in over.people] == [2] * 4


@pytest.mark.slow
async def test_the_tables_of_an_evening_go_where_it_goes(tmp_path: Path, database: str) -> None:
    """In the middle of a round, whoever else could take them; its games are played to their ends there."""
    guests = [Guest(f"Guest {number}") for number in range(8)]
    async with running(config(FRIDAY, tmp_path)) as server, signed_up(server, guests):
        draw(server)
        tables = {(await guest.called(1)).table for guest in guests}
        for guest in guests:
            await guest.go(await guest.called(1))
        await begun(*(guest.peer for guest in guests))
    await copied(tmp_path, database)
    options = {"timers": FastClock, "limits": LIMITS}
    async with cluster(database, "two", **options) as (two,):
        await eventually(lambda: two.lobby.tables.keys() == tables)
        async with cluster(database, "three", "four", **options) as others:
            await eventually(lambda: all(each.lobby.evenings.is_known for each in others))
            async with signed_up(two, guests[:4]):
                for guest in guests[:4]:
                    await guest.go(await guest.called(1))
                two.stop.set()
                moved = await guests[0].peer.until(messages.Moved)
                await eventually(lambda: any(each.lobby.evenings.running is not None for each in others))
            (holder,) = (each for each in others if each.lobby.evenings.running is not None)
            assert moved.address.endswith(str(holder.port))
            await eventually(lambda: holder.lobby.tables.keys() == tables)
            async with signed_up(holder, guests):
                await play_round(guests, 1, random.Random(1))
                told = await guests[0].evening(lambda evening: not playing(evening))
                assert [each.games for each in told.people] == [1] * 8


def playing(evening: messages.Evening) -> bool:
    return any(table.stage != "over" for table in evening.tables)
