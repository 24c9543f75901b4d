"""Who was removed from a table: for some minutes they cannot come straight back."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.codes import Code
from server.net.session import Session
from server.refusal import Refusal
from server.tables.seats.names import alike

_MOST: Final = 100  # at one table; of more, those removed first may come back


@dataclass(frozen=True, slots=True)
class _Excluded:
    until: float
    connection: str
    address: str | None
    name: str | None


class Exclusions:
    """The clients and names removed from a table within the last `seconds`."""

    def __init__(self, now: Callable[[], float], seconds: float) -> None:
        self._now = now
        self._seconds = seconds
        self._excluded: deque[_Excluded] = deque(maxlen=_MOST)

    def add(self, session: Session, name: str | None, *, whole_address: bool) -> None:
        """Exclude a client, and its name; also everybody else at its address if `whole_address`."""
        address = session.address if whole_address else None
        self._excluded.append(_Excluded(self._now() + self._seconds, session.name, address, name))

    def check(self, session: Session, name: str | None, table: str) -> None:
        """Raise Refusal if the client, its address or this name was removed too short a time ago."""
        now = self._now()
        for each in self._excluded:
            known = session.name == each.connection or session.address == each.address
            same_name = name is not None and each.name is not None and alike(name, each.name)
            if each.until > now and (known or same_name):
                raise Refusal(Code.REMOVED, table=table)
