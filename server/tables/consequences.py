"""What follows from every change at a table: in one place, in one order, whatever has made the change."""

from collections.abc import Callable
from typing import Final

from server.tables.context import TableContext
from server.tables.game import consent, game_start, moves
from server.tables.seats import seat_admission

AWAITS: Final[tuple[Callable[[TableContext], None], ...]] = (
    seat_admission.watch_host,
    consent.await_end,
)


async def settle(context: TableContext) -> None:
    """Carry out what the change has made due, and tell everybody what differs from before."""
    if not context.is_settled:
        context.is_settled = True
        await moves.give_seats_to_bots(context)
    if context.state.asked is not None:
        await consent.grant_if_agreed(context)
    if context.draw is not None:
        await game_start.begin_if_complete(context)
    context.tell()
