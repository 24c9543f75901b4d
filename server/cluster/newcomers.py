"""Where newcomers go from a server that drains: to one that shares its database and takes new tables."""

import itertools

from server.cluster.channel import Channel
from server.cluster.messages import Draining

_KEY = "draining"


class Newcomers:
    """Has the others know whether this server drains, and knows which of them do not."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._turns = itertools.count()

    def draining(self, *, on: bool) -> None:
        """Announce that this server takes no new tables, or takes them again."""
        self._channel.keep(_KEY, Draining() if on else None)

    def address(self) -> str | None:
        """Return where a new table may be opened, at each of the servers in turn; None if at none of them."""
        drain = {node.term for node, _ in self._channel.holding(Draining)}
        ready = [
            node.address
            for term, node in sorted(self._channel.nodes.items())
            if node.runs and node.address and not node.leaving and term not in drain | {self._channel.term}
        ]
        return ready[next(self._turns) % len(ready)] if ready else None
