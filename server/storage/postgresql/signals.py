"""The notifications by which the servers of a database have each other look there.

A notification is part of the transaction that it is about. None has to arrive: who hears nothing looks by
itself now and then.
"""

import enum
import hashlib
from collections.abc import Callable
from typing import Any

from server.storage.postgresql.database import Connection, Database


class Signal(enum.Enum):
    """What there is to see, and how PostgreSQL's channel for that begins."""

    TABLES_WAIT = "palatinus_tables_"  # to be taken up: heard where the lease is renewed, at once
    TOLD = "palatinus_"  # by a server, or no longer: the schema's `tell` sends it, too

    @property
    def notify(self) -> str:
        """Return the SQL that notifies all servers of the schema."""
        return f"pg_notify('{self.value}' || md5(current_schema()), '')"

    def channel(self, schema: str) -> str:
        """Return the channel's name: it is one of the whole database, and a schema's may be too long."""
        return self.value + hashlib.md5(schema.encode(), usedforsecurity=False).hexdigest()


async def notify(connection: Connection, signal: Signal) -> None:
    """Notify all servers when the transaction is committed."""
    await connection.execute(f"SELECT {signal.notify}")


async def listen(
    connection: Connection, database: Database, signal: Signal, heard: Callable[[str], None]
) -> None:
    """Call `heard` with the text of each such notification that comes while the connection lasts."""

    def called(_connection: Any, _pid: int, _channel: str, payload: str) -> None:
        heard(payload)

    await connection.add_listener(signal.channel(database.schema), called)
