"""Mistakes in what keeps nodes apart that share a database: leases, terms, and commits in doubt."""

from typing import Any, Final

from server.errors import NotStored
from server.storage.postgresql import held_lease
from server.storage.postgresql.journal import PostgresJournal
from server.storage.postgresql.line import Line
from server.tables.lobby import Lobby
from simulation.broken.making import exchange, mistake
from simulation.people.plan import Disturbance

_SLEEPY: Final[dict[str, Any]] = {"nodes": 3, "faults": (Disturbance.SLEEP,) * 6, "kills": 1}
_HELD_UP: Final[dict[str, Any]] = {"nodes": 3, "faults": (Disturbance.SILENCE,) * 8, "kills": 1}
NO_CHECK: Final = """
DO $do$ DECLARE source text; BEGIN
    SELECT pg_get_functiondef(oid) INTO source FROM pg_proc
        WHERE proname = 'append_entries' AND pronamespace = current_schema::regnamespace;
    source := replace(source, 'IF NOT FOUND THEN', 'IF false THEN');
    source := replace(source, 'IF not_owned IS NOT NULL THEN', 'IF false THEN');
    EXECUTE source;
END $do$
"""


@mistake("commits-not-fenced", "lets the database store what a node sends without its lease", **_HELD_UP)
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
    def resolve(right: Any) -> Any:
        async def wrong(line: Line, connection: Any, number: int, error: Exception) -> None:
            await right(line, connection, number, error)
            raise NotStored("the journal could not be written: {reason}", reason=error)

        return wrong

    exchange(Line, "_resolve", resolve)
