"""What a round is played on: one server or several nodes, with the network that leads there."""

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from bench.chaos.network.proxy import Proxy
from client.network.transport import Access
from server.storage.entries import Entry
from simulation.judging.ownership import Ownership
from simulation.people.operator import Operator
from simulation.people.plan import Disturbance


class Servers(Protocol):
    """What a round needs of the servers; `operator` uses their admin socket if that is in the plan.

    `long_tables` have had so many entries that the journal may have dropped some.
    """

    proxy: Proxy
    access: Access
    authority: Path | None  # a certificate that clients in processes of their own are to trust
    operator: Operator | None
    long_tables: set[str]

    @property
    def url(self) -> str:
        """Return where clients connect."""

    def running(self) -> AbstractAsyncContextManager[None]:
        """Run the servers while the context lasts, then kill them; raises NotStarted."""

    def strike(self, kind: Disturbance, server: str) -> None:
        """Begin a disturbance at once, between two pieces of data; perhaps at the server named."""

    async def carry_out(self, kind: Disturbance) -> str | None:
        """Go on with what has struck, until all run again; return what went wrong, if anything did."""

    async def wait_for_records(self, tables: set[str]) -> None:
        """Start the servers once more for a while: they write the records that they could not write before.

        Raises NotStarted.
        """

    async def journal(self) -> dict[str, list[Entry]]:
        """Return the entries of every table, archived ones too; raises JournalError. No server runs."""

    async def ownership(self) -> Ownership | None:
        """Return which server had which table when, None if one had them all."""

    def records_of(self, table: str) -> list[Path]:
        """Return the records of a table's game that were written."""

    def complaints(self) -> str:
        """Return what was logged that is not to be expected; in a good run that is nothing."""

    def secrets_logged(self, tokens: set[str]) -> list[str]:
        """Return the lines logged that name a piece, or contain one of these tokens."""

    async def close(self) -> None:
        """End what outlives the servers."""

    def count(self) -> dict[str, int]:
        """Return what is worth counting."""
