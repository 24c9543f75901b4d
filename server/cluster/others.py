"""What holds at the other servers, as far as this one knows."""

import logging
import math
from collections.abc import Iterable, Iterator
from typing import Final, TypeVar

from protocol.limits import ADDRESS_LENGTH, ADDRESSES_TOLD
from protocol.text import printable
from server.cluster.messages import Message
from server.monitoring.logs import about
from server.storage.postgresql.telling import Node

M = TypeVar("M", bound=Message)

_MOST_FROM_ONE: Final = 10_000  # of one server: it has fewer tables and people
# The lease of a server that is started again under another name goes on for a while beside the new one.
_SECONDS_BESIDE: Final = 10.0

log = logging.getLogger(__name__)


class Others:
    """What the others have told that holds, by their terms and by keys; `nodes` are all servers, by terms."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self._known: dict[int, dict[str, Message]] = {}
        self._changed: set[type[object]] = set()

    def holding(self, kind: type[M]) -> Iterator[tuple[Node, M]]:
        """Yield what holds of this kind, and at which server."""
        for term, known in self._known.items():
            for message in known.values():
                if isinstance(message, kind):
                    yield self.nodes[term], message

    def addresses(self, own: int) -> list[str]:
        """Return where clients reach the servers besides `own`, as many as they are told.

        Each server begins with the one after itself, those whose lease runs before all others.
        """
        terms = list(self.nodes)
        after = terms.index(own) + 1 if own in self.nodes else 0
        found = [self.nodes[term] for term in terms[after:] + terms[:after] if term != own]
        found.sort(key=lambda node: not node.runs)
        told = dict.fromkeys(node.address for node in found)
        return [each for each in told if 0 < len(each) <= ADDRESS_LENGTH and printable(each) == each][
            :ADDRESSES_TOLD
        ]

    def changes(self) -> set[type[object]]:
        """Return the kinds of which something has changed since this was last asked."""
        changed, self._changed = self._changed, set()
        return changed

    def know(self, nodes: Iterable[Node], *, anew: bool) -> None:
        """Record which servers there are; what departed ones told holds no longer, or `anew` nothing does."""
        self.nodes = {node.term: node for node in nodes}
        for term in list(self._known):
            if anew or term not in self.nodes:
                self._changed.update(map(type, self._known.pop(term).values()))

    def put(self, term: int, key: str, message: Message | None) -> None:
        """Know that this holds at a server, or that nothing with this key does that is understood."""
        known = self._known.setdefault(term, {})
        before = known.pop(key, None)
        if message is not None and len(known) < _MOST_FROM_ONE:
            known[key] = message
        if before != message:
            self._changed |= {type(each) for each in (before, message) if each is not None}


class SameAddress:
    """Logs, once for each, which other servers tell this one's address for long."""

    def __init__(self) -> None:
        self._since: dict[int, float] = {}  # by their terms, when that was first seen; infinite once logged

    def look(self, nodes: Iterable[Node], term: int, now: float) -> None:
        """Look at all `nodes`; this server's lease is the one with this `term`."""
        by_term = {node.term: node for node in nodes}
        if (own := by_term.get(term)) is None or not own.address:
            return
        same = {node.term for node in by_term.values() if node.runs and node.address == own.address} - {term}
        self._since = {other: self._since.get(other, now) for other in same}
        for other, since in self._since.items():
            if now - since > _SECONDS_BESIDE:
                self._since[other] = math.inf
                name = by_term[other].name
                log.error(
                    "another server is using this one's address", extra=about(node=name, address=own.address)
                )
