"""What the servers of a database tell each other there: that tables wait to be taken up.

Who hears nothing looks by itself with each renewal of its lease, so no signal has to arrive.
"""

import hashlib
from collections.abc import Callable
from typing import Any, Final

from server.storage.postgresql.database import Connection, Database

NOTIFY: Final = "pg_notify('palatinus_tables_' || md5(current_schema()), '')"


async def notify(connection: Connection) -> None:
    """Tell all servers, when the transaction is committed."""
    await connection.execute(f"SELECT {NOTIFY}")


async def listen(connection: Connection, database: Database, heard: Callable[[], None]) -> None:
    """Call `heard` with each signal that comes while the connection lasts."""

    def called(*_: Any) -> None:
        heard()

    # Channels are those of the whole database, and a name may be too long for one.
    name = hashlib.md5(database.schema.encode(), usedforsecurity=False).hexdigest()
    await connection.add_listener(f"palatinus_tables_{name}", called)
