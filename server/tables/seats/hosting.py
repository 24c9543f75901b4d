"""Who is host: a host who leaves, or is away for long, is followed by somebody who is here."""

from engine.pieces import Seat
from server.storage.entries import Hosted
from server.tables.absence.deadlines import Due
from server.tables.context import TableContext


class HostSuccession:
    """Watches whether a table's host is here; the table calls `watch` whenever somebody came or went."""

    def __init__(self, context: TableContext) -> None:
        self._context = context
        self._overdue = False  # the host has been away for long enough, but nobody was here to follow
        self.watch()

    def watch(self) -> None:
        """Start or stop the time after which an absent host is followed by somebody else."""
        context, host = self._context, self._context.state.host
        if host is None or host in context.audience.seated:
            context.deadlines.cancel(Due.HOST_AWAY)
            self._overdue = False
        elif context.deadlines.is_set(Due.HOST_AWAY):
            return
        elif not self._overdue:
            wait = context.patience(context.limits.host_grace_seconds)
            context.deadlines.set(Due.HOST_AWAY, wait, self._follow)
        elif self._present_heir() is not None:
            context.deadlines.set(Due.HOST_AWAY, 0, self._follow)

    async def _follow(self) -> None:
        """Make a present player host, if the host is still away."""
        context = self._context
        context.deadlines.cancel(Due.HOST_AWAY)
        if context.state.host is None or context.state.host in context.audience.seated:
            return
        self._overdue = True
        if (heir := self._present_heir()) is None:
            return
        await context.store(Hosted(heir))
        context.broadcast_state()
        self.watch()

    def heir(self, leaving: Seat) -> Seat | None:
        """Return who becomes host when a seat's player leaves: people first, then players who are here."""
        state, seated = self._context.state, self._context.audience.seated
        others = [seat for seat in state.taken if seat != leaving]
        return min(others, key=lambda seat: (seat in state.programs, seat not in seated, seat), default=None)

    def _present_heir(self) -> Seat | None:
        """Return which present player becomes host: a person, unless all players are programs."""
        state = self._context.state
        here = [seat for seat in state.taken if seat in self._context.audience.seated]
        people = [seat for seat in here if seat not in state.programs]
        programs_only = state.programs.issuperset(state.taken)
        return min(people or (here if programs_only else []), default=None)
