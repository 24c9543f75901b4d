"""A table's letters: each is sent in a task of its own, and what has become of it happens at the table."""

import asyncio
import hashlib
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace

from protocol.codes import Code
from server.config import PlayerNotice
from server.limits.networks import Networks
from server.monitoring.logs import about
from server.net.session import Session
from server.refusal import Refusal
from server.tables.feature import Letter
from server.tables.owner import TableOwner

log = logging.getLogger(__name__)


def notice_key(code: str, token_hash: str, kind: str, number: int) -> str:
    """Return the key of a notice, by which its receiver can drop a duplicate."""
    return hashlib.sha256(f"{code} {token_hash} {kind} {number}".encode()).hexdigest()[:32]


class Post:
    """Sends the letters of a table."""

    __slots__ = ("_owner", "_table", "_under_way")

    def __init__(self, owner: TableOwner, table: str) -> None:
        self._owner = owner
        self._table = table
        self._under_way = set[asyncio.Task[None]]()

    @property
    def is_busy(self) -> bool:
        return bool(self._under_way)

    def caused_by(self, session: Session, letter: Letter) -> Letter:
        """Count a letter for which a session has asked; raises Refusal if it may not be sent."""
        if (postman := self._owner.config.postman) is None:
            raise Refusal(Code.NO_NOTICES)
        kind = postman.kind_of(letter.to.address)
        self._owner.rates.count_code_sent(session, kind, postman.receiver(letter.to.address))
        return replace(letter, asker=session.address)

    def send(
        self, letter: Letter, opener: Networks, outcome: Callable[[Letter, str | None], Awaitable[None]]
    ) -> None:
        """Send a letter, queued fairly by who caused it or who opened the table.

        `outcome` is awaited with None, or with the reason why it was not delivered.
        """
        key = ""
        if letter.kind != "confirm":  # a code that is asked for again is another one
            key = notice_key(self._table, letter.holder, letter.kind, letter.number)
        notice = PlayerNotice(letter.kind, self._table, key, letter.digits, letter.seconds)
        sending = self._send(letter, notice, letter.asker or opener, outcome)
        task = self._owner.tasks.start(sending, "a letter")
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def finish(self) -> None:
        """Wait until all that is being sent has been, and that is stored: the table is about to move."""
        if self._under_way:
            await asyncio.wait(self._under_way)

    async def _send(
        self,
        letter: Letter,
        notice: PlayerNotice,
        asker: Networks,
        outcome: Callable[[Letter, str | None], Awaitable[None]],
    ) -> None:
        config, to = self._owner.config, letter.to
        assert config.postman is not None  # noqa: S101 - else there are no letters
        fault = await config.postman.send(to.address, to.language, config.address, notice, asker)
        if fault is not None:
            self._log(letter, fault)
        await outcome(letter, fault)

    def _log(self, letter: Letter, fault: str) -> None:
        if letter.kind == "confirm":
            log.info("a code was not delivered", extra=about(table=self._table, reason=fault))
            return
        log.warning(
            "a notice was not delivered",
            extra=about(table=self._table, seat=letter.seat, reason=fault, attempt=letter.attempt),
        )
