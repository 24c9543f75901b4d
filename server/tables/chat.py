"""The chat at a table."""

import zlib
from collections import Counter, deque
from typing import TypeAlias

from msgspec.structs import replace

from protocol.limits import LARGEST_ID, REMARKS_REPEATED
from protocol.messages import Said, TableRemark

_Kind: TypeAlias = tuple[bool, bool, bool]  # of a player, for players, for spectators


class Talk:
    """The last remarks at a table, in memory only, for people who come back or arrive later.

    Each kind has its own space: spectators cannot push out what players said, and nobody can infer from gaps
    that others were told more.
    """

    def __init__(self) -> None:
        self._count = 0
        self._counts: Counter[_Kind] = Counter()
        self._kept: dict[_Kind, deque[tuple[int, TableRemark]]] = {}

    def add(self, said: Said, name: str | None, *, to_players: bool, to_spectators: bool) -> Said:
        """Keep a message for a while; return it with its number."""
        kind = said.seat is not None, to_players, to_spectators
        kept = self._kept.setdefault(kind, deque(maxlen=REMARKS_REPEATED))
        self._count += 1
        self._counts[kind] += 1  # of its kind alone, so that it does not show what one may not read
        # With the text, because counts begin again with every server.
        told = f"{self._counts[kind]} {said.seat} {said.spectator} {said.text}"
        number = zlib.crc32(told.encode()) % LARGEST_ID + 1
        kept.append((self._count, TableRemark(number, said.text, said.seat, said.spectator, name)))
        return replace(said, number=number)

    def read_by(self, *, player: bool) -> list[TableRemark]:
        """Return the remarks that a player, or a spectator, may read, latest last."""
        kept = [
            each
            for (_, to_players, to_spectators), remarks in self._kept.items()
            if (to_players if player else to_spectators)
            for each in remarks
        ]
        return [remark for _, remark in sorted(kept, key=lambda each: each[0])]

    def clear(self) -> None:
        """Forget what was said."""
        self._kept.clear()
