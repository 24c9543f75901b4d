"""What holds at the other servers, as far as this one knows."""

import logging
from collections.abc import Iterable, Iterator, Set
from typing import Final, NamedTuple, TypeVar

from protocol.limits import ADDRESS_LENGTH, ADDRESSES_TOLD
from protocol.text import printable
from server.cluster.messages import Message
from server.logs import about
from server.storage.postgresql.telling import Node, Tally

M = TypeVar("M", bound=Message)

_MOST_FROM_ONE: Final = 10_000  # of one server: it has fewer tables and people
# The lease of a server that is started again under another name goes on for a while beside the new one.
_SECONDS_BESIDE: Final = 10.0

log = logging.getLogger(__name__)


class Known(NamedTuple):
    """One thing as it was told, under a number; None if this server does not understand it."""

    number: int
    message: Message | None


class Others:
    """What the others have told that holds, by their terms and by keys; `nodes` are all servers, by terms."""

    def __init__(self) -> None:
        self.nodes: dict[int, Node] = {}
        self._known: dict[int, dict[str, Known]] = {}
        self._changed: set[type[object]] = set()

    def holding(self, kind: type[M]) -> Iterator[tuple[Node, M]]:
        """Yield what holds of this kind, and at which server."""
        for term, known in self._known.items():
            for each in known.values():
                if isinstance(each.message, kind):
                    yield self.nodes[term], each.message

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

    def know(self, nodes: Iterable[Node]) -> None:
        """Record which servers there are; what the departed ones announced no longer holds."""
        self.nodes = {node.term: node for node in nodes}
        for term in self._known.keys() - self.nodes.keys():
            self.forget(term, self._known[term].keys())
            del self._known[term]

    def differ(self, tallies: Iterable[Tally]) -> list[int]:
        """Return the terms of servers that have told something else than this one knows."""
        told = {tally.term: (tally.count, tally.total) for tally in tallies}
        return [
            term for term in self.nodes if told.get(term, (0, 0)) != self._tally(self._known.get(term, {}))
        ]

    def keys(self, term: int) -> Set[str]:
        """Return the keys of what is known of a server."""
        return self._known.get(term, {}).keys()

    def number(self, term: int, key: str) -> int:
        """Return the number under which something was told, 0 if it is not known."""
        known = self._known.get(term, {}).get(key)
        return 0 if known is None else known.number

    def put(self, term: int, key: str, known: Known) -> None:
        """Know that this holds at a server."""
        all_known = self._known.setdefault(term, {})
        before = all_known.get(key)
        if before is None and len(all_known) >= _MOST_FROM_ONE:
            return
        all_known[key] = known
        if before is None or before.message != known.message:
            self._note(before)
            self._note(known)

    def forget(self, term: int, keys: Iterable[str]) -> None:
        """Know that nothing with these keys holds at a server any longer."""
        all_known = self._known.get(term, {})
        for key in list(keys):
            self._note(all_known.pop(key, None))

    def _note(self, known: Known | None) -> None:
        if known is not None and known.message is not None:
            self._changed.add(type(known.message))

    @staticmethod
    def _tally(known: dict[str, Known]) -> tuple[int, int]:
        return len(known), sum(each.number for each in known.values())


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
                    "another server is using this one's address",
                    extra=about(node=name, address=own.address),
                )
