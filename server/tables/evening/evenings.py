"""The evening of a server: begun, resumed, taken up by another server of its cluster, or set aside."""

import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from protocol import pages
from protocol.admin import EveningPlan
from protocol.codes import Code
from protocol.messages import AskEvening, InEvening, SignUp, TakePart
from server.cluster.messages import EveningHere
from server.errors import NotStoredNow, TableLost
from server.monitoring.logs import about
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.storage import entries as stored
from server.storage.entries import Entry
from server.storage.names import EVENING
from server.tables.evening.evening import RunningEvening, new_seed
from server.tables.evening.host_key import HostKey
from server.tables.evening.state import EveningState, fold_as_far_as_possible
from server.tables.names import check_name
from server.tables.owner import TableOwner
from server.tables.registry.table_registry import TableRegistry
from server.tables.server_part import ServerPart

if TYPE_CHECKING:
    from server.cluster.channel import Channel

log = logging.getLogger(__name__)

_KEY: Final = "evening"  # of what this server tells the others


class Evenings(ServerPart):
    """The evening that is `running` here, if any, or where another server of the cluster has it.

    The key `host_key` makes a browser its host's page.
    """

    requests = AskEvening, SignUp, TakePart

    def __init__(self, lobby: TableOwner, registry: TableRegistry) -> None:
        self._lobby, self._registry, self._journal = lobby, registry, lobby.journal
        self.running: RunningEvening | None = None
        self.host_key = HostKey(lobby.config.data)
        self._channel: Channel | None = None
        self._elsewhere = False  # some server of the cluster has it, or had it

    async def answer(self, session: Session, request: InEvening) -> None:
        self._lobby.check_lease()
        await self.here().answer(session, request)

    def welcomed(self) -> Mapping[str, Any]:
        return {"evening": self.is_known}

    def share(self, channel: "Channel") -> None:
        self._channel = channel
        channel.on_change(EveningHere, self._hear)
        self._tell()

    def table_changed(self, code: str) -> None:
        table = None if self.running is None else self._registry.tables.get(code)
        if self.running is not None and table is not None and table.state.of_evening:
            self.running.look()

    def table_ended(self, _: str) -> None:
        if self.running is not None:
            self.running.look()

    def session_gone(self, session: Session) -> None:
        if self.running is not None:
            self.running.disconnect(session)

    def give_up(self) -> None:
        if (running := self.running) is not None:
            self._set(None)
            running.give_up()

    def stop(self) -> None:
        if self.running is not None:
            self.running.stop()

    # -- what the host of the server asks -----------------------------------------------------------

    async def restore(self, entries: Sequence[Entry]) -> None:
        """Resume an evening of an earlier process, and begin the configured one.

        Raises JournalError.
        """
        if entries:
            await self.take_up(entries)
        plan, earlier = self._lobby.config.evening, self.running
        if plan is None or (earlier and earlier.plan.name == plan.name and not earlier.is_long_over):
            return
        try:
            await self.begin(plan)
        except Refusal as refusal:  # its earlier one goes on
            log.warning("the evening is not begun", extra=about(reason=refusal.code))

    async def take_up(self, entries: Sequence[Entry]) -> RunningEvening | None:
        """Continue an evening of another process and return it; None if it is damaged, and was set aside.

        Raises JournalError.
        """
        state, whole = fold_as_far_as_possible(entries)
        if state is None or whole < len(entries):
            probe("an evening is set aside")
            await self._journal.set_aside(EVENING, whole, f"entry {whole} does not fit the evening")
            return None
        return self._run(state)

    async def restore_set_aside(self) -> bool:
        """Continue a damaged evening after its last intact entry; return False if nothing of it is left.

        Raises Refusal if none is damaged, or JournalError, and changes nothing.
        """
        stored_evening = await self._journal.tables_set_aside([EVENING])
        if not stored_evening:
            raise Refusal(Code.NO_SUCH_TABLE, table=EVENING)
        if self.running is not None:
            raise Refusal(Code.EVENING_RUNS, name=self.running.plan.name)
        state, whole = fold_as_far_as_possible(stored_evening[0].entries)
        if state is None:
            return False
        await self._journal.restore(EVENING, whole)
        probe("an evening that was set aside is restored")
        log.warning("damaged table restored by the host", extra=about(table=EVENING, entries=whole))
        self._run(state)
        return True

    async def hand_over(self, give: Callable[[str], Awaitable[str | None]]) -> str | None:
        """Hand the evening to another server with `give`; return the address, None if it is at none."""
        if self.running is None:
            return None
        try:
            address = await self.running.hand_over(give)
        except BaseException as error:  # even if it is cancelled: another server may have it, or will
            self._set(None)
            if isinstance(error, TableLost):
                return None
            raise
        if address is not None:
            self._set(None)
        return address

    async def begin(self, plan: EveningPlan) -> None:
        """Begin an evening in place of the one before, whose tables must be over.

        Raises Refusal or JournalError and changes nothing.
        """
        lobby, levels = self._lobby, self._lobby.stand_in.levels
        check_name(plan.name)
        if plan.bots is not None and plan.bots not in levels:
            raise Refusal(Code.NO_SUCH_LEVEL, level=plan.bots, levels=", ".join(levels))
        if lobby.config.database is not None:
            raise Refusal(Code.EVENING_IN_CLUSTER)
        begun = stored.EveningBegun(plan, new_seed() if plan.same_draws else None, int(time.time()))
        if self.running is not None:
            await self.running.give_way(begun)
        elif EVENING in self._journal.codes_set_aside:  # which would be lost if it was restored later
            raise Refusal(Code.TABLE_DAMAGED, table=EVENING)
        else:
            await self._journal.append(EVENING, 0, [begun])
        self._run(EveningState(begun))

    # -- where it is --------------------------------------------------------------------------------

    @property
    def is_known(self) -> bool:
        """Return whether there is an evening, here or at another server that can be named."""
        return self.running is not None or self._elsewhere

    def here(self) -> RunningEvening:
        """Return the evening; raises Refusal or JournalError if it is not this server's."""
        if self.running is not None:
            return self.running
        if (address := self._address()) is not None:
            probe("an evening is asked for at another server")
            raise Refusal(Code.TABLE_ELSEWHERE, table=pages.EVENING, address=address)
        if self._elsewhere:
            probe("an evening is asked for while nobody has it")
            raise NotStoredNow("another server is taking the evening up")
        raise Refusal(Code.NO_EVENING)

    def _run(self, state: EveningState) -> RunningEvening:
        evening = RunningEvening(self._lobby, self._registry, state)
        self._set(evening)
        return evening

    def _set(self, evening: RunningEvening | None) -> None:
        self.running = evening
        self._tell()

    def _tell(self) -> None:
        if self._channel is not None:
            self._channel.keep(_KEY, None if self.running is None else EveningHere())

    def _hear(self) -> None:
        self._elsewhere = self._elsewhere or self._address() is not None

    def _address(self) -> str | None:
        """Return where the evening is, if another server of the cluster has it."""
        held = () if self._channel is None else self._channel.holding(EveningHere)
        return next((node.address for node, _ in held if node.address), None)
