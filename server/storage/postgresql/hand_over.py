"""Handing tables over to the servers that stay, one by one.

The owner offers a table to one of them. That server makes it its own, or the owner withdraws the offer: each
is one statement on the table's row, so exactly one of the two happens. Until then the owner stores nothing at
the table.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from server.errors import TableLost
from server.probes import probe
from server.storage.entries import JOURNAL_VERSION
from server.storage.postgresql.database import FAILED, Connection, Database, Signal, reason_of

T = TypeVar("T")

_SECONDS_TO_TAKE: Final = 3.0  # more than between two looks of a server that hears no signals
_SECONDS_BETWEEN_LOOKS: Final = 0.01
_SECONDS_TO_ANSWER: Final = 3.0  # for the database

_LEAVE: Final = "UPDATE node SET leaving = true WHERE term = $1"
_STAYING: Final = """
SELECT term, address, (SELECT count(*) FROM game_table WHERE game_table.term = node.term) FROM node
    WHERE expires > clock_timestamp() AND NOT leaving AND address <> '' AND version >= $1
"""
_OFFER: Final = f"""
WITH offer AS (
    UPDATE game_table SET offered = $3 WHERE code = $1 AND term = $2 AND place = '=' RETURNING code
) SELECT {Signal.TABLES_WAIT.notify} FROM offer
"""  # noqa: S608 - a constant
_OWNER: Final = "SELECT term FROM game_table WHERE code = $1"
_WITHDRAW: Final = "UPDATE game_table SET offered = NULL WHERE code = $1 AND term = $2 RETURNING code"


class Departure:
    """The end of the server with this `term`, which gives its tables to others.

    `gone` is called with the code of each that is not this server's any more, and whether it was `given`:
    otherwise nobody can tell where it is.
    """

    def __init__(self, database: Database, term: int, gone: Callable[[str, bool], None]) -> None:
        self._database = database
        self._term = term
        self._gone = gone
        self._connection: Connection = None
        self._lock = asyncio.Lock()  # the connection does one thing at a time
        self._addresses: dict[int, str] = {}  # of the servers that stay, by their terms
        self._tables: dict[int, int] = {}  # how many they have

    async def begin(self) -> None:
        """Say that this server leaves, and learn which ones can take its tables; raises one of FAILED."""
        self._connection = await self._database.connect()
        try:
            # An offer need not outlive PostgreSQL; taking the table up does, and is logged after the offer.
            await self._connection.execute("SET synchronous_commit = off")
            await self._connection.execute(_LEAVE, self._term)
            for term, address, tables in await self._connection.fetch(_STAYING, JOURNAL_VERSION):
                self._addresses[term], self._tables[term] = address, tables
        except BaseException:  # also if the stop has no patience left
            probe("a server that stops cannot begin to give its tables away")
            self.close()
            raise

    def close(self) -> None:
        """Give nothing more away."""
        if self._connection is not None:
            self._connection.terminate()

    def address(self) -> str | None:
        """Return where newcomers may go, to each of the servers in turn; None if there are none."""
        if not self._addresses:
            return None
        term, address = next(iter(self._addresses.items()))
        self._addresses[term] = self._addresses.pop(term)
        return address

    async def give(self, code: str, to: str | None = None) -> str | None:
        """Give a table away; return its new address, None if no server takes it.

        With `to`, it goes to that address only. Raises TableLost if the outcome is unknown.
        """
        try:
            address = await self._find_taker(code, to)
        except BaseException as error:  # also if it is cancelled: another server may have the table, or will
            probe("nobody can tell where a table went")
            self._gone(code, False)
            if isinstance(error, FAILED):
                raise TableLost("{reason}", reason=reason_of(error)) from error
            raise
        if address is not None:
            self._gone(code, True)
        return address

    async def _find_taker(self, code: str, to: str | None) -> str | None:
        """Return where a table is now, as `give` does; raises TableLost, or one of FAILED."""
        while fit := [term for term, address in self._addresses.items() if to in {None, address}]:
            successor = min(fit, key=self._tables.__getitem__)
            address = self._addresses[successor]
            self._tables[successor] += 1
            if await self._offer(code, successor):
                return address
            self._addresses.pop(successor, None)  # it is paused, or slow, or of an older version
            probe("a server does not take a table that it is offered")
        return None

    async def _offer(self, code: str, successor: int) -> bool:
        """Offer a table to a server, and tell whether it has taken it; raises TableLost, or one of FAILED."""
        await self._do(lambda connection: connection.fetch(_OFFER, code, self._term, successor))
        until = asyncio.get_running_loop().time() + _SECONDS_TO_TAKE
        owner = self._term
        while owner == self._term and asyncio.get_running_loop().time() < until:
            await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)
            owner = await self._do(lambda connection: connection.fetchval(_OWNER, code))
        if owner == self._term:
            withdraw = self._do(lambda connection: connection.fetchval(_WITHDRAW, code, self._term))
            if await withdraw is not None:
                probe("a hand-over is withdrawn")
                return False
            probe("a table is taken just when its hand-over is withdrawn")
            owner = await self._do(lambda connection: connection.fetchval(_OWNER, code))
        if owner != successor:
            probe("a table that is handed over goes somewhere else")
            raise TableLost("the lease is lost")
        return True

    async def _do(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async with self._lock, asyncio.timeout(_SECONDS_TO_ANSWER):
            return await work(self._connection)
