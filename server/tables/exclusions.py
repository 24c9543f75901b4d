"""Players removed from a table: for some minutes they cannot come back.

For a shorter time, nobody new from their address can join either, because it may be the same person under
another name. It may also be somebody else in the same household, who should not have to wait long or read
that they were removed. A name alone excludes nobody, because somebody else may have used it.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocol.codes import Code
from server.config import Limits
from server.limits.networks import Networks
from server.net.session import Session
from server.probes import probe
from server.refusal import Refusal
from server.tables.names import alike

_MOST: Final = 100  # at one table; of more, those removed first may come back


@dataclass(frozen=True, slots=True)
class _Excluded:
    at: float
    session: str
    network: str  # the widest with its address, in which it may have all the others
    name: str | None
    whole_address: bool


class Exclusions:
    """The clients and names removed from a table within the last `removed_seconds`.

    `removed_address_seconds` is how long their addresses are excluded.
    """

    __slots__ = ("_excluded", "_limits", "_now")

    def __init__(self, now: Callable[[], float], limits: Limits) -> None:
        self._now = now
        self._limits = limits
        self._excluded: list[_Excluded] = []

    def add(self, session: str, address: Networks, name: str | None, *, whole_address: bool) -> None:
        """Exclude a client, and its name at its address; the entire address if `whole_address`.

        `session` is the id of its session, which may have ended.
        """
        self._excluded.append(_Excluded(self._now(), session, address[-1], name, whole_address))
        del self._excluded[:-_MOST]

    def check(self, session: Session, name: str | None, table: str) -> None:
        """Raise Refusal if the client was removed too short a time ago, or may be one that was."""
        now, network = self._now(), session.address[-1]
        for each in reversed(self._excluded):
            wait = each.at + self._limits.removed_seconds - now
            same_name = name is not None and each.name is not None and alike(name, each.name)
            if wait > 0 and (session.id == each.session or (same_name and network == each.network)):
                raise Refusal(Code.REMOVED, table=table, seconds=math.ceil(wait))
        for each in reversed(self._excluded):
            wait = each.at + self._limits.removed_address_seconds - now
            if wait > 0 and each.whole_address and network == each.network:
                probe("somebody waits because another one at the address was removed")
                raise Refusal(Code.REMOVED_NEARBY, table=table, seconds=math.ceil(wait))
