"""Programs that are away from a study of a finished game."""

import random

from protocol.messages import Leave, Snapshot, Study
from tests.server.peer import connected, state_where
from tests.server.playing import game, play_on
from tests.server.tables.hosted import disconnect, play_to_the_end, served


async def test_a_bot_plays_for_an_absent_program_in_a_study() -> None:
    async with served() as server, game(server.port, 2) as peers, connected(server.port) as program:
        await play_to_the_end(peers)
        anna = peers[0]
        await anna.done(Study, 3)
        told = (await state_where(anna, lambda state: state.studied is not None)).studied
        assert told is not None
        await anna.done(Leave)
        anna.go_back_to(0, [])
        await anna.join(told.table, "Anna", 0)
        await anna.until(Snapshot)
        await program.join(told.table, "Numa", 1, program=True)
        await program.until(Snapshot)
        await play_on([anna, program], random.Random(1), moves=2)
        assert (await disconnect(program, anna)).seats[1].bot
        await play_to_the_end([anna])
