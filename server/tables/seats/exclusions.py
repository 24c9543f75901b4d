"""Who was removed from a table: for some minutes they cannot come straight back.

For less than that nobody new at their address can come either, as it may be them under another name. They may
as well be others in the same house, who should not have to wait for long, or read that they were removed.
"""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.codes import Code
from server.net.session import Session
from server.networks import Networks
from server.refusal import Refusal
from server.tables.seats.names import alike

_MOST: Final = 100  # at one table; of more, those removed first may come back


@dataclass(frozen=True, slots=True)
class _Excluded:
    at: float
    session: str
    address: Networks | None
    name: str | None


class Exclusions:
    """The clients and names removed from a table within the last `seconds`.

    `address_seconds` is how long their addresses are excluded.
    """

    def __init__(self, now: Callable[[], float], seconds: float, address_seconds: float) -> None:
        self._now = now
        self._seconds = seconds
        self._address_seconds = address_seconds
        self._excluded: deque[_Excluded] = deque(maxlen=_MOST)

    def add(self, session: Session, name: str | None, *, whole_address: bool) -> None:
        """Exclude a client, and its name; also everybody else at its address if `whole_address`."""
        address = session.address if whole_address else None
        self._excluded.append(_Excluded(self._now(), session.id, address, name))

    def check(self, session: Session, name: str | None, table: str) -> None:
        """Raise Refusal if the client, its address or this name was removed too short a time ago."""
        now = self._now()
        for each in self._excluded:
            same_name = name is not None and each.name is not None and alike(name, each.name)
            if each.at + self._seconds > now and (session.id == each.session or same_name):
                raise Refusal(Code.REMOVED, table=table)
        for each in self._excluded:
            wait = each.at + self._address_seconds - now
            if session.address == each.address and wait > 0:
                raise Refusal(Code.REMOVED_NEARBY, table=table, seconds=math.ceil(wait))
