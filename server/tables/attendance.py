"""Archive or forget a table that everybody has left."""

from server.errors import JournalError
from server.storage.archive_index import ArchivedGame
from server.storage.entries import Forgotten
from server.tables.absence.deadlines import Unattended
from server.tables.context import TableContext


class Attendance:
    """Knows since when nobody has been at a table."""

    def __init__(self, context: TableContext) -> None:
        self._context = context
        self.unattended_since: float | None = None
        self._stage: str | None = None  # at which the table was left

    def seconds_unattended(self) -> int | None:
        """Return how many seconds nobody has been here, None if somebody is."""
        since = self.unattended_since
        return None if since is None else int(self._context.deadlines.time() - since)

    def look(self) -> None:
        """Start or stop the time after which the table is archived or forgotten, by who is here now."""
        state = self._context.state
        stage = None if self._context.audience else state.stage
        if stage == self._stage:
            return
        self._stage = stage
        self._context.deadlines.cancel(Unattended)
        self.unattended_since = None
        if stage is not None:
            limits, deadlines = self._context.limits, self._context.deadlines
            self.unattended_since = deadlines.time()
            brief = stage == "over" or not state.people  # no person is going to come back
            seconds = limits.over_seconds if brief else limits.unattended_seconds
            deadlines.set(Unattended(), seconds)

    async def archive(self, *, attended: bool) -> bool:
        """Archive a game so that its players can come back to it, or forget a table without a game.

        Does nothing if somebody is here, unless `attended`. Returns whether the game was archived.
        """
        context, state = self._context, self._context.state
        if context.audience and not attended:
            return False
        try:
            if state.stage == "gathering":
                await context.store(Forgotten())
                return False
            origin = state.opened.origin or context.code  # in journals of before, nobody's but its own
            await context.journal.archive(context.code, ArchivedGame(origin, state.played))
        except JournalError as error:
            context.counts.journal_failed(error)
            self._stage = None  # try again
            return False
        return True
