"""What a table needs of the lobby that it belongs to."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from engine.game import Game, RandomChance
from server.config import Config, Timers
from server.monitoring.counts import Counts
from server.monitoring.failures import Tasks
from server.net.session import Session
from server.storage.commit_queue import Part
from server.storage.journal import Journal
from server.tables.absence.stand_in import StandIn
from server.tables.feature import GoesOn, Opening
from server.tables.rates import Rates
from server.tables.state.persistent_state import PersistentState, Player


class NextTable(Protocol):
    """The table where the players of a finished game play again."""

    code: str

    async def arrive(self, session: Session, id: int, player: Player) -> None:  # noqa: A002 - the wire's own word
        """Seat a player of the previous game, as the answer to request `id`.

        Raises Refusal or JournalError and changes nothing.
        """


class TableOwner(Protocol):
    """The lobby, as far as its parts and its tables know it."""

    config: Config
    journal: Journal
    tasks: Tasks
    counts: Counts
    timers: Timers
    rates: Rates
    stand_in: StandIn
    chances: Iterator[RandomChance]
    stopped: bool  # nothing falls due any more

    def stopping(self) -> Mapping[str, object] | None:
        """Return the facts of the refusal if the server takes no more tables, else None."""

    def check_lease(self) -> None:
        """Raise NotStored if this server's tables may be out of date."""

    def table_changed(self, code: str) -> None:
        """Record that a table's entry in the list has changed."""

    def privacy_changed(self) -> None:
        """Record that a table has become private, or has ceased to be."""

    def said_at_table(self, session: Session, text: str) -> None:
        """Take note of what the session has just said at its table."""

    def table_ended(self, code: str, *, failed: bool) -> None:
        """Record that a table has ended."""

    def game_over(self, code: str, game: Game, names: Sequence[str], ended: int) -> None:
        """Record a finished game, its players' names by seat, and when it ended, in s since 1970."""

    def sits_elsewhere(self, code: str, held: str) -> bool:
        """Return whether the holder of the token with this hash is at a table here other than `code`."""

    async def open_beside(self, session: Session, opening: Opening, beside: Part) -> str:
        """Open a table, and return its code.

        What goes `beside` that is stored with it; the caller folds that. Raises Refusal or JournalError and
        changes nothing.
        """

    async def table_after(
        self, session: Session, code: str, state: PersistentState, goes_on: GoesOn
    ) -> NextTable:
        """Return the table of the next game after table `code` for the session's player, opened if necessary.

        The link to a new table is stored with it; the caller folds it. Raises Refusal or JournalError, and
        then nothing has changed.
        """
