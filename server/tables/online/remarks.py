"""Recent lobby chat, from this server and from the others that share the database."""

import random
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from protocol.limits import LARGEST_ID, REMARKS_REPEATED
from protocol.messages import LobbyRemark, SaidInLobby
from server.cluster.messages import RemarkElsewhere
from server.limits.rate_limits import PerMinuteLimit
from server.net.session import build_frame
from server.probes import probe

if TYPE_CHECKING:
    from server.cluster.channel import Channel

_KEPT: Final = 200  # remarks: more than are said between two rounds
_REPEATED_SECONDS: Final = 1800.0  # newcomers do not receive older remarks
_FIRST_NUMBERS: Final = 2**30  # at random, so that clients can tell a restarted server's remarks from ours
_LAST_NUMBERS: Final = LARGEST_ID - 2**20  # no server gets this far alone
_SERVERS: Final = 64  # that number their remarks differently
_NUMBERS_KEPT: Final = 5000
_TIMES_MORE: Final = 4  # remarks from another server: those who had said little are heard beyond its limit


class _Said(NamedTuple):
    position: int
    time: float
    remark: LobbyRemark


class Remarks:
    """The remarks as this server heard them, by their positions: `count` is that of the last one.

    Another server may receive them in another order, but with the same numbers. `most` is the limit per
    minute here. `now` is the time of the tables.
    """

    def __init__(self, now: Callable[[], float], seed: int | None, most: int) -> None:
        self.count = 0
        self._now = now
        self._said: deque[_Said] = deque(maxlen=_KEPT)
        self._random = random.Random(seed)
        self._last_number = self._random.randrange(_FIRST_NUMBERS)
        self._numbers: dict[int, None] = {}  # of remarks that were heard, the latest last
        # By the position before the first remark, and whether it is for tables.
        self._frames: dict[tuple[int, bool], bytes] = {}
        self._channel: Channel | None = None
        self._told: deque[str] = deque()  # what the others are told, by keys
        self._heard_from = PerMinuteLimit(_TIMES_MORE * most)

    def share(self, channel: "Channel", changed: Callable[[], None]) -> None:
        """Send this server's remarks to the others; call `changed` when one arrives from them."""
        self._channel = channel
        channel.on_change(RemarkElsewhere, lambda: self._learn(channel, changed))

    def say(self, name: str, text: str, *, table: str | None = None, said_at: str | None = None) -> None:
        """Add a chat message, perhaps from a table, or an invitation to one."""
        number = self._next_number()
        self._add(LobbyRemark(number, name, text, table, said_at), self._now())
        if self._channel is not None:
            self._told.append(f"remark:{number}")
            self._channel.keep(
                self._told[-1], RemarkElsewhere(number, name, text, time.time(), table, said_at)
            )
            if len(self._told) > _KEPT:
                probe("other servers forget an old remark")
                self._channel.keep(self._told.popleft(), None)

    def recent_count(self) -> int:
        """Return how many of the last remarks a newcomer receives."""
        since = self._now() - _REPEATED_SECONDS
        return sum(said.time >= since for said in list(self._said)[-REMARKS_REPEATED:])

    def frame_after(
        self, position: int, holds: Callable[[LobbyRemark], bool], *, at_table: bool
    ) -> bytes | None:
        """Return the frame with all remarks after this position that are kept, None if there are none.

        In the lobby, those that concern a table are left out unless that still `holds`; at a table, all of
        them are.
        """
        if (frame := self._frames.get((position, at_table))) is not None:
            return frame
        remarks = [said.remark for said in self._said if said.position > position]
        told = [each for each in remarks if not _concerns_table(each) or (not at_table and holds(each))]
        if not told:
            if not at_table:
                probe("what concerns a table comes to nothing before the lobby hears it")
            return None
        frame = build_frame(SaidInLobby(told))
        if at_table or not any(map(_concerns_table, remarks)):  # else it may be another one the next time
            self._frames[position, at_table] = frame
        return frame

    def _learn(self, channel: "Channel", changed: Callable[[], None]) -> None:
        """Add what was said at other servers; call `changed` if anything was new."""
        oldest = time.time() - _REPEATED_SECONDS
        new = [
            (node, remark)
            for node, remark in channel.holding(RemarkElsewhere)
            if remark.number not in self._numbers and remark.time >= oldest
        ]
        before, now = self.count, self._now()
        for node, remark in sorted(new, key=lambda each: each[1].time)[-_KEPT:]:
            if remark.number not in self._numbers and self._heard_from.wait(node.name, now) == 0:
                self._heard_from.count(node.name, now)
                age = max(0.0, time.time() - remark.time)
                self._add(
                    LobbyRemark(remark.number, remark.name, remark.text, remark.table, remark.said_at),
                    now - age,
                )
        if self.count > before:
            probe("a remark is heard from another server")
            changed()

    def _add(self, remark: LobbyRemark, when: float) -> None:
        self.count += 1
        self._said.append(_Said(self.count, when, remark))
        self._frames.clear()
        if remark.number <= _LAST_NUMBERS:
            self._last_number = max(self._last_number, remark.number)
        self._numbers[remark.number] = None
        while len(self._numbers) > _NUMBERS_KEPT:
            probe("the number of an old remark is forgotten")
            del self._numbers[next(iter(self._numbers))]

    def _next_number(self) -> int:
        """Return a number that is above all that were heard, and that no other server gives."""
        if self._last_number >= _LAST_NUMBERS:
            self._last_number = self._random.randrange(_FIRST_NUMBERS)
        number = self._last_number + 1
        if self._channel is not None:
            number += (self._channel.term - number) % _SERVERS
        return number


def _concerns_table(remark: LobbyRemark) -> bool:
    return remark.table is not None or remark.said_at is not None
