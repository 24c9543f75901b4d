"""What the parts of a table share: its lasting state, who is here, and how both are stored and told."""

import logging
from collections.abc import Callable
from typing import Final

from protocol.absence import Wait
from server.config import Limits
from server.errors import JournalError
from server.logs import about
from server.net.session import Session
from server.storage.entries import Entry, Held
from server.storage.journal import Journal
from server.tables.absence import Steward
from server.tables.audience import Audience, catch_up
from server.tables.requests import AwayTooLong, Later
from server.tables.stand_in import StandIn
from server.tables.state import Seating
from server.tables.summaries import table_state

log = logging.getLogger(__name__)

AGAIN_SECONDS: Final = 1.0  # until something is tried again that could not be done


class Room:
    """A table's state; only the table's own task changes it.

    `later` puts an errand into the table's queue, `when_changed` hears of all that `tell_state` tells.
    """

    def __init__(
        self,
        code: str,
        seating: Seating,
        journal: Journal,
        limits: Limits,
        stand_in: StandIn,
        *,
        later: Later,
        when_changed: Callable[[], None],
    ) -> None:
        self.code = code
        self.seating = seating
        self.audience = Audience()
        self.journal = journal
        self.limits = limits
        self.later = later
        self._when_changed = when_changed
        self._stand_in = stand_in
        self._resting = False
        self.steward: Steward | None = None  # people who wait for each other need none
        self.appoint_steward()

    @property
    def clock(self) -> int | None:
        """Return how many milliseconds are left to the seat on turn; None without a clock."""
        return None if self.steward is None else self.steward.clock()

    def appoint_steward(self) -> None:
        """Have a steward if the table's policy or a program among its players needs one."""
        seating = self.seating
        needed = not isinstance(seating.absence, Wait) or seating.programs
        if needed and self.steward is None and not self._resting:
            self.steward = Steward(seating, self.audience.seated, self._stand_in, self.limits, self.later)

    def rest(self) -> None:
        """Let nothing more fall due at the policy's behest."""
        self._resting = True
        if self.steward is not None:
            self.steward.close()
            self.steward = None

    async def store(self, *entries: Entry) -> None:
        """Commit the entries and take them in; raises JournalError and changes nothing."""
        await self.journal.append(self.code, self.seating.entries, entries)
        for entry in entries:
            self.seating.fold(entry)

    async def store_or_log(self, *entries: Entry) -> None:
        """Store what nobody asked for; there is nobody to refuse it to."""
        try:
            await self.store(*entries)
        except JournalError as error:
            self.log_not_stored(error)

    def log_not_stored(self, error: JournalError) -> None:
        log.error("not stored", extra=about(table=self.code, reason=str(error)))

    def tell_state(self) -> None:
        """Tell everyone who sits where and who is here."""
        self._when_changed()
        self.audience.broadcast(table_state(self.code, self.seating, self.audience, self.steward))

    def catch_up(self, session: Session, after: int) -> None:
        """Tell the session what happened in the game since event `after`."""
        if self.seating.game is not None:
            catch_up(session, self.seating.game, after, self.clock)

    async def give_to_bots(self) -> bool:
        """Let a bot hold the seats that are to be held by now, and return whether there were any."""
        if self.steward is None or not (seats := self.steward.to_hold()):
            return False
        await self.store_or_log(*map(Held, seats))
        if self.steward is None:
            return True
        for seat in self.steward.to_hold():  # the journal could not be written
            self.later(AGAIN_SECONDS, AwayTooLong(seat))
        self.steward.consider()
        return True
