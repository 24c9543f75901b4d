"""What follows from every change at a table: in one place, in one order, whatever has made the change."""

from collections.abc import Callable
from typing import Final

from server.tables.context import TableContext
from server.tables.game import game_start, moves
from server.tables.seats import seat_admission

AWAITS: Final[tuple[Callable[[TableContext], None], ...]] = (seat_admission.watch_host,)


async def settle(context: TableContext) -> None:
    """Carry out what the change has made due, and tell everybody what differs from before."""
    if not context.is_settled:
        context.is_settled = True
        await moves.give_seats_to_bots(context)
        for room in context.state.rooms.values():
            if follows := room.follow(context.moment()):
                await context.store_or_log(*follows)
    if context.draw is not None:
        await game_start.begin_if_complete(context)
    context.tell()
