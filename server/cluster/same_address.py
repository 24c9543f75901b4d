"""Noticing two servers that tell the same address: clients cannot get to the tables of one of them."""

import logging
from collections.abc import Iterable
from typing import Final

from server.logs import about
from server.storage.postgresql.telling import Node

# The lease of a server that is started again under another name goes on for a while beside the new one.
_SECONDS_BESIDE: Final = 10.0

log = logging.getLogger(__name__)


class SameAddress:
    """Logs, once for each, which other servers tell this one's address for long."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # by their terms, when that was first seen
        self._logged: set[int] = set()

    def look(self, nodes: Iterable[Node], term: int, now: float) -> None:
        """Look at all `nodes`; this server's lease is the one with this `term`."""
        by_term = {node.term: node for node in nodes}
        if (own := by_term.get(term)) is None or not own.address:
            return
        same = {node.term for node in by_term.values() if node.runs and node.address == own.address} - {term}
        self._since = {other: self._since.get(other, now) for other in same}
        self._logged &= same
        for other, since in self._since.items():
            if now - since > _SECONDS_BESIDE and other not in self._logged:
                self._logged.add(other)
                name = by_term[other].name
                log.error(
                    "another server has this one's address",
                    extra=about(node=name, address=own.address),
                )
