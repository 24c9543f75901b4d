"""What follows from every change at a table: in one place, in one order, whatever has made the change."""

from server.probes import probe
from server.tables.absence.deadlines import RETRY_SECONDS, Due
from server.tables.context import TableContext
from server.tables.game import game_start
from server.tables.rooms import FOLLOWING


async def settle(context: TableContext) -> None:
    """Carry out what the change has made due, and tell everybody what differs from before."""
    if not context.is_settled:
        context.is_settled = True
        for room in FOLLOWING:
            follows = context.state.rooms[room].follow(context.moment())
            if follows and not await context.store_or_log(*follows):
                probe("what follows from a change is stored later")
                context.deadlines.set(Due.FOLLOW, RETRY_SECONDS)
    if context.draw is not None:
        await game_start.begin_if_complete(context)
    context.tell()
