"""All mistakes that the simulation has to find: those of chaos, and two that chaos found by luck."""

from contextvars import ContextVar
from typing import Any

from protocol.absence import ByBot
from server.storage.postgresql.held_lease import HeldLease
from server.tables.context import TableContext
from server.tables.seats.seat_admission import SeatAdmission
from simulation.broken.making import exchange, mistake
from simulation.broken.mistakes import MISTAKES
from simulation.people.plan import Disturbance

__all__ = ["MISTAKES"]


@mistake(
    "let-in-after-the-lease",
    "lets a player come back although the lease ran out while that was stored",
    nodes=3,
    faults=(Disturbance.SLEEP,) * 16,
    policies=(ByBot(0),),
)
def _let_in_after_the_lease() -> None:
    comes_back = ContextVar("comes_back", default=False)

    def come_back(right: Any) -> Any:
        async def wrong(*args: Any, **options: Any) -> None:
            token = comes_back.set(True)
            try:
                await right(*args, **options)
            finally:
                comes_back.reset(token)

        return wrong

    def check_lease(right: Any) -> Any:
        def wrong(context: TableContext) -> None:
            if not comes_back.get():
                right(context)

        return wrong

    exchange(SeatAdmission, "_come_back", come_back)
    exchange(TableContext, "check_lease", check_lease)


@mistake(
    "own-tables-given-up",
    "gives up its own tables when a connection breaks as it looks for others",
    nodes=3,
    faults=(Disturbance.SILENCE,) * 8,
)
def _give_up_own_tables() -> None:
    def tables_wait(_right: Any) -> Any:
        async def wrong(_lease: HeldLease, _connection: Any) -> bool:
            return True

        return wrong

    exchange(HeldLease, "_tables_wait", tables_wait)
