"""Mistakes in what keeps nodes apart that share a database: leases, terms, and commits in doubt."""

from contextvars import ContextVar
from typing import Any, Final

from protocol.absence import ByBot
from server.errors import NotStored
from server.storage.postgresql import held_lease
from server.storage.postgresql.held_lease import HeldLease
from server.storage.postgresql.journal import PostgresJournal
from server.storage.postgresql.line import Line
from server.tables.context import TableContext
from server.tables.lobby import Lobby
from server.tables.seats.seat_admission import SeatAdmission
from simulation.broken.making import exchange, mistake

_SLEEPY: Final[dict[str, Any]] = {"nodes": 3, "sleeps": 6, "kills": 1}
_HELD_UP: Final[dict[str, Any]] = {"nodes": 3, "silences": 8, "kills": 1}
NO_CHECK: Final = """
DO $do$ DECLARE source text; BEGIN
    SELECT pg_get_functiondef(oid) INTO source FROM pg_proc
        WHERE proname = 'append_entries' AND pronargs = 13 AND pronamespace = current_schema::regnamespace;
    source := replace(source, 'IF NOT FOUND THEN', 'IF false THEN');
    source := replace(source, 'IF not_owned IS NOT NULL THEN', 'IF false THEN');
    source := replace(source, 'IF lost IS NOT NULL THEN', 'IF false THEN');
    EXECUTE source;
END $do$
"""


@mistake(
    "commits-not-fenced",
    "lets the database store what a node sends without its lease",
    **_HELD_UP | {"silences": 20},
)
def _do_not_fence() -> None:
    def prepare(right: Any) -> Any:
        async def wrong(connection: Any, database: Any) -> None:
            await right(connection, database)
            await connection.execute(NO_CHECK)

        return wrong

    exchange(held_lease, "prepare", prepare)


@mistake("lease-never-lapses", "answers, and tells, after its lease has run out", **_SLEEPY)
def _never_lapse() -> None:
    exchange(PostgresJournal, "lapsed", lambda _right: property(lambda _journal: False))


@mistake("tables-kept", "goes on with its tables when its lease is lost", **_SLEEPY)
def _keep_tables() -> None:
    exchange(Lobby, "give_up", lambda _right: lambda _lobby: None)


@mistake("doubt-is-no", "says that a move is not stored when it does not know", **_HELD_UP)
def _take_doubt_for_no() -> None:
    def make_again(right: Any) -> Any:
        async def wrong(line: Line, until: float, term: int, error: Exception) -> None:
            await right(line, until, term, error)
            raise NotStored("the journal could not be written: {reason}", reason=error)

        return wrong

    exchange(Line, "_next", make_again)


@mistake(
    "let-in-after-the-lease",
    "lets a player come back although the lease ran out while that was stored",
    nodes=3,
    sleeps=16,
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
    silences=8,
)
def _give_up_own_tables() -> None:
    def tables_wait(_right: Any) -> Any:
        async def wrong(_lease: HeldLease, _connection: Any) -> bool:
            return True

        return wrong

    exchange(HeldLease, "_tables_wait", tables_wait)
